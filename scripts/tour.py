"""Runs the tour of the README, or of a named page, and compares the output of the commands with the page.

The commands run on a new store. The tour is every block that opens with ```console tour. A line that starts with "$ "
is a command, lines that start with "> " continue it, and all others are output, in which "…" matches any text.
"""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Step:
    """A command of the tour, and its output on the page."""

    command: str
    shown: tuple[str, ...]


def main() -> int:
    """Run the tour; stop at the first step with another output."""
    page = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "README.md"
    steps = steps_of(page.read_text(encoding="utf-8"))
    if not steps:
        print(f"{page} has no tour: no block opens with ```console tour", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="scrubjay-tour-") as folder:
        for step in steps:
            print(f"\n$ {step.command}", flush=True)
            done = run(step.command, folder=Path(folder))
            print(done.stdout, end="", flush=True)
            if done.returncode:
                print(f"the tour stops here: exit code {done.returncode}", file=sys.stderr)
                return 1
            if missing := first_missing(step.shown, done.stdout):
                print(f"the page shows a line that is not in the output: {missing}", file=sys.stderr)
                return 1
    print(f"\nThat was the tour: {len(steps)} commands on a temporary store, which is deleted now.")
    print("To keep what you store, activate the environment (. .venv/bin/activate) and type them yourself.")
    return 0


def steps_of(text: str, *, kind: str = "tour") -> tuple[Step, ...]:
    """Return the commands of a Markdown text's tour, or of its blocks of another kind, in order."""
    steps: list[Step] = []
    blocks = re.findall(rf"^```console {kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for line in (line for block in blocks for line in block.splitlines()):
        if line.startswith("$ "):
            steps.append(Step(command=line[2:], shown=()))
        elif not steps:
            raise SystemExit(f"the tour begins with output: {line}")
        elif line.startswith("> ") and not steps[-1].shown:
            steps[-1] = Step(command=f"{steps[-1].command}\n{line[2:]}", shown=())
        elif line.strip():
            steps[-1] = Step(command=steps[-1].command, shown=(*steps[-1].shown, line))
    return tuple(steps)


def run(command: str, *, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a new user would, with the data and the working folder of the tour."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SCRUBJAY_", "MEMORY_"))}
    environment |= {
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), environment.get("PATH", os.defpath))),
        "SCRUBJAY_HOME": str(folder / "data"),
        "COLUMNS": "120",
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
    }
    return subprocess.run(
        ["sh", "-euc", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )


def first_missing(shown: tuple[str, ...], output: str) -> str:
    """Return the first shown line that the output lacks in this order, or an empty text."""
    lines = iter(_STYLE.sub("", output).splitlines())
    for expected in shown:
        pattern = re.compile(".*".join(re.escape(part.strip()) for part in expected.split("…")))
        if not any(pattern.fullmatch(line.strip()) for line in lines):
            return expected
    return ""


if __name__ == "__main__":
    sys.exit(main())
