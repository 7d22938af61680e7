"""The wall around a worker: the kernel's namespaces and limits, on top of the interpreter that has no way out itself.

A worker is a process of its own in any case. Under `bubblewrap` it has no network, no environment, no process but
itself, and no file but its own program and the libraries of it.
"""

import asyncio
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from scrubjay.errors import InvalidInput, WrongState
from scrubjay.lazy import dataclass
from scrubjay.model.code import CodeLimits

_PROGRAM = "/program"
_TRIAL_SECONDS = 10
# Besides the values of a program, a worker holds its code, its libraries and copies of what it sends.
_EXTRA_MB = 512
_FILES = 32


class Wall(StrEnum):
    """What is around a worker, the strongest first."""

    BUBBLEWRAP = "bubblewrap"
    PRLIMIT = "prlimit"
    PROCESS = "process"


class WallPolicy(StrEnum):
    """Which walls are accepted: the strongest there is, or none but the strongest."""

    AUTO = "auto"
    REQUIRED = "required"

    @classmethod
    def parse(cls, text: str) -> "WallPolicy":
        """Read the setting."""
        try:
            return cls(text.strip().lower())
        except ValueError:
            choices = " or ".join(cls)
            raise InvalidInput(f"SCRUBJAY_CODE_WALL must be {choices}, not {text[:60]!r}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class WalledProgram:
    """A program to start instead of another, which starts that one behind a wall; `why` there is no stronger one."""

    wall: Wall
    path: Path
    why: str = ""

    def close(self) -> None:
        """Remove the file, if it is one of ours."""
        if self.wall is not Wall.PROCESS:
            shutil.rmtree(self.path.parent, ignore_errors=True)


async def build_wall(program: Path, *, limits: CodeLimits, policy: WallPolicy) -> WalledProgram:
    """Return the strongest wall that works on this machine; raises WrongState if it is not the demanded one."""
    return await asyncio.to_thread(_build, program, limits, policy)


def wall_command(program: Path, wall: Wall, limits: CodeLimits) -> list[str]:
    """Return the command that starts a program behind a wall; arguments of the program follow it."""
    if wall is Wall.PROCESS:
        return [str(program)]
    limited = [_tool("prlimit"), *_resource_limits(limits), "--"]
    return [*limited, *(_bubblewrap(program) if wall is Wall.BUBBLEWRAP else [str(program)])]


def _build(program: Path, limits: CodeLimits, policy: WallPolicy) -> WalledProgram:
    why: list[str] = []
    if sys.platform == "linux":
        for wall in (Wall.BUBBLEWRAP, Wall.PRLIMIT):
            built, problem = _try(program, wall, limits)
            if built is not None and (wall is Wall.BUBBLEWRAP or policy is WallPolicy.AUTO):
                return WalledProgram(wall=wall, path=built, why="; ".join(why))
            why.append(problem)
    else:
        why.append("bubblewrap is a program of Linux")
    if policy is WallPolicy.REQUIRED:
        raise WrongState(
            f"programs need a wall, and there is none: {why[0]}",
            hint="Install bubblewrap, or set SCRUBJAY_CODE_WALL to auto",
        )
    return WalledProgram(wall=Wall.PROCESS, path=program, why="; ".join(why))


def _try(program: Path, wall: Wall, limits: CodeLimits) -> tuple[Path | None, str]:
    """Return a script that starts the program behind a wall, or why that does not work here."""
    missing = [name for name in _tools(wall) if shutil.which(name) is None]
    if missing:
        return None, f"{missing[0]} is not installed"
    try:
        command = shlex.join(wall_command(program, wall, limits))
        folder = Path(tempfile.mkdtemp(prefix="scrubjay-wall-"))
        script = folder / "worker"
        script.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        script.chmod(0o700)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"{wall} cannot be used: {error}"
    problem = _problem_of(script)
    if problem:
        shutil.rmtree(folder, ignore_errors=True)
        return None, f"{wall} does not work here: {problem}"
    return script, ""


def _problem_of(script: Path) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - our own script
            [script, "--version"], capture_output=True, text=True, timeout=_TRIAL_SECONDS, check=False
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def _tools(wall: Wall) -> Sequence[str]:
    return ("bwrap", "prlimit") if wall is Wall.BUBBLEWRAP else ("prlimit",)


def _tool(name: str) -> str:
    return shutil.which(name) or name


def _resource_limits(limits: CodeLimits) -> list[str]:
    memory = (2 * limits.memory_mb + _EXTRA_MB) << 20
    return [f"--as={memory}", "--core=0", "--fsize=0", f"--nofile={_FILES}"]


def _bubblewrap(program: Path) -> list[str]:
    command = [_tool("bwrap"), "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]
    for library in _libraries(program):
        command += ["--ro-bind", library, library]
    return [*command, "--ro-bind", str(program), _PROGRAM, "--remount-ro", "/", "--chdir", "/", "--", _PROGRAM]


def _libraries(program: Path) -> list[str]:
    """Return the libraries that a program loads, its loader among them."""
    done = subprocess.run(  # noqa: S603 - a program of our own installation
        [_tool("ldd"), program], capture_output=True, text=True, timeout=_TRIAL_SECONDS, check=False
    )  # fmt: skip
    words = (word for line in done.stdout.splitlines() for word in line.split())
    return list(dict.fromkeys(word for word in words if word.startswith("/") and Path(word).exists()))
