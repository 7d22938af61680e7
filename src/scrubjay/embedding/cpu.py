"""What this CPU has for int8 arithmetic: without it, the bundled model is slower and computes the same."""

import platform
import re
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
# As Linux names them, the best first.
_FAST = {"i8mm": "i8mm", "asimddp": "dot product", "amx_int8": "AMX", "avx512_vnni": "VNNI", "avx_vnni": "VNNI"}
_WANTED = {"x86_64": "VNNI", "amd64": "VNNI", "aarch64": "dot product", "arm64": "dot product"}


def describe_int8(file: Path = _CPUINFO, *, machine: str = "") -> str:
    """Return the instructions for int8 that the CPU has, or which ones it lacks; empty if that is not known."""
    machine = (machine or platform.machine()).lower()
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        # Every Mac with an ARM processor has them.
        return "int8 by dot product" if machine == "arm64" and platform.system() == "Darwin" else ""
    line = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    if line is None or machine not in _WANTED:
        return ""
    flags = set(line[1].split())
    fast = next((name for flag, name in _FAST.items() if flag in flags), "")
    return f"int8 by {fast}" if fast else f"int8 without {_WANTED[machine]}: slower"
