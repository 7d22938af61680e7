"""Durations as people compare them, and what the process holds in memory."""

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_PROCESSES = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How long an operation took, in milliseconds, over so many of them."""

    count: int
    p50: float
    p95: float
    p99: float


def spread(seconds: Sequence[float]) -> Spread:
    """The middle and the slow end of some durations."""
    ordered = sorted(seconds)
    slow, slowest = (ordered[round(share * (len(ordered) - 1))] * 1000 for share in (0.95, 0.99))
    return Spread(count=len(ordered), p50=statistics.median(ordered) * 1000, p95=slow, p99=slowest)


def resident_mb(pid: int | None = None) -> float:
    """Memory that a process holds now, in MB; of this one, where the system does not tell, the most it ever held."""
    status = _PROCESSES / ("self" if pid is None else str(pid)) / "status"
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines() if ":" in line)
        return int(fields["VmRSS"].split()[0]) / 1024
    if sys.platform == "win32":
        return 0.0
    if pid is not None:
        reported = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=False, text=True)
        return int(reported.stdout or 0) / 1024
    import resource  # noqa: PLC0415 - not on every platform

    # macOS counts bytes here.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 / 1024


def busy_seconds(pid: int) -> float:
    """Seconds that a process has computed so far, on all cores; 0 where the system does not tell."""
    try:
        # Behind its name, which may hold anything, come its state and numbers: the 12th and 13th are what is wanted.
        reported = (_PROCESSES / str(pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(reported[11]) + int(reported[12])) / os.sysconf("SC_CLK_TCK")
