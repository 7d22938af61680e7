"""How much memory this process holds."""

import os
import resource
import sys
from pathlib import Path

_HERE = Path("/proc/self/statm")
_KIB = 1024


def resident_bytes() -> int:
    """What it holds now or, where the system does not tell, the most it ever held."""
    try:
        return int(_HERE.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # macOS counts bytes here, the others KiB.
        return most if sys.platform == "darwin" else most * _KIB
