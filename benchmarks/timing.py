"""Durations as people compare them, and what the process holds in memory."""

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How long an operation took, in milliseconds, over so many of them."""

    count: int
    p50: float
    p95: float


def spread(seconds: Sequence[float]) -> Spread:
    """The middle and the slow end of some durations."""
    ordered = sorted(seconds)
    slow = ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]
    return Spread(count=len(ordered), p50=statistics.median(ordered) * 1000, p95=slow * 1000)


def resident_mb() -> float:
    """Memory that this process holds now, in MB; where the system does not tell, the most it ever held."""
    if _STATUS.exists():
        fields = dict(line.split(":", 1) for line in _STATUS.read_text(encoding="utf-8").splitlines() if ":" in line)
        return int(fields["VmRSS"].split()[0]) / 1024
    if sys.platform == "win32":
        return 0.0
    import resource  # noqa: PLC0415 - not on every platform

    # macOS counts bytes here.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 / 1024
