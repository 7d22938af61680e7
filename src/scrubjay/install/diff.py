"""What would change in a file, as programmers read it."""

import difflib
from pathlib import Path


def diff_of(file: Path, before: str, after: str) -> str:
    """A unified diff; empty when nothing differs."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), fromfile=str(file), tofile=str(file)
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
