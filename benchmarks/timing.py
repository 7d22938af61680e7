"""Percentiles of durations, and the memory and CPU time of processes."""

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
    """Percentiles of the durations of an operation, in milliseconds."""

    count: int
    p50: float
    p95: float
    p99: float


def spread(seconds: Sequence[float]) -> Spread:
    """Return the percentiles of durations in seconds."""
    ordered = sorted(seconds)
    slow, slowest = (ordered[round(share * (len(ordered) - 1))] * 1000 for share in (0.95, 0.99))
    return Spread(count=len(ordered), p50=statistics.median(ordered) * 1000, p95=slow, p99=slowest)


def resident_mb(pid: int | None = None) -> float:
    """Return the resident memory of a process in MB; of this process its peak where the system has no other figure."""
    status = _PROCESSES / ("self" if pid is None else str(pid)) / "status"
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines() if ":" in line)
        return int(fields["VmRSS"].split()[0]) / 1024
    if sys.platform == "win32":
        return 0.0
    if pid is not None:
        ps = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=False, text=True)
        return int(ps.stdout or 0) / 1024
    import resource  # noqa: PLC0415 - not on every platform

    # macOS counts bytes here.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 / 1024


def busy_seconds(pid: int) -> float:
    """Return the CPU seconds of a process on all cores; 0 where the system has no such figure."""
    try:
        # The state and numbers follow the name, which may contain anything; the 12th and 13th are the CPU times.
        fields = (_PROCESSES / str(pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
