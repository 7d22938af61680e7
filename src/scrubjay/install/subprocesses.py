"""Asks the programs that start and stop services."""

import shutil
import subprocess
from dataclasses import dataclass

_SECONDS = 60.0


class Unreachable(Exception):
    """A program is not there, does not answer, or refuses; the text says which."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a program ended, and what it said."""

    code: int
    out: str
    err: str


def ask(program: str, *arguments: str) -> Answer:
    """Run a program to its end; raises Unreachable when it cannot be run."""
    path = shutil.which(program)
    if path is None:
        raise Unreachable(f"{program} is not on this machine")
    try:
        done = subprocess.run(  # noqa: S603 - a program that we name, with arguments of our own
            [path, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unreachable(f"{program} has not answered for {_SECONDS:.0f} seconds") from None
    except OSError as error:
        raise Unreachable(f"{program} cannot be run: {error.strerror or error}") from None
    return Answer(done.returncode, done.stdout, done.stderr)


def demand(program: str, *arguments: str) -> Answer:
    """The same of what must succeed; raises Unreachable with what the program said."""
    answer = ask(program, *arguments)
    if answer.code:
        text = " ".join((answer.err or answer.out).split())[:300] or f"it ended with {answer.code}"
        raise Unreachable(f"{program} {' '.join(arguments)}: {text}")
    return answer
