"""The interface of service supervisors, and the calls of their programs."""

import shutil
import subprocess
from pathlib import Path
from typing import Protocol

from scrubjay.install.commands import ServiceCommand
from scrubjay.lazy import dataclass

FILE_MARK = "Written by `scrubjay service install`; `scrubjay service uninstall` removes it."
_TIMEOUT_SECONDS = 60.0


class SupervisorUnavailable(Exception):
    """A program of the supervisor is missing, does not answer, or fails; the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState:
    """The state of our service, as the supervisor reports it."""

    enabled: bool
    running: bool
    pid: int = 0
    detail: str = ""


class Supervisor(Protocol):
    """Starts and stops our service; methods that call its programs raise SupervisorUnavailable."""

    @property
    def name(self) -> str:
        """The name of the supervisor."""
        ...

    @property
    def file(self) -> Path:
        """The file that describes our service."""
        ...

    @property
    def by_hand(self) -> str:
        """The command for the user if we could not start the service."""
        ...

    @property
    def log(self) -> str:
        """Where the user can read the log of the service."""
        ...

    def render(self, service: ServiceCommand) -> str:
        """Return the content of the file."""
        ...

    def enable(self, service: ServiceCommand, *, now: bool, restart: bool) -> None:
        """Start the service at login, and now; `restart` a running one, because its file has changed."""
        ...

    def disable(self) -> None:
        """Stop the service, and do not start it again."""
        ...

    def forget(self) -> None:
        """Remove the traces of a service whose file is removed."""
        ...

    def state(self) -> ServiceState:
        """Return whether the service starts at login, and whether it runs."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """The exit code of a program, and its output."""

    code: int
    out: str
    err: str


def run_program(program: str, *arguments: str) -> ProcessResult:
    """Run a program; raises SupervisorUnavailable if that is not possible."""
    path = shutil.which(program)
    if path is None:
        raise SupervisorUnavailable(f"{program} is not on this machine")
    try:
        done = subprocess.run(  # noqa: S603 - a program that we name, with arguments of our own
            [path, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SupervisorUnavailable(f"{program} has not answered for {_TIMEOUT_SECONDS:.0f} seconds") from None
    except OSError as error:
        raise SupervisorUnavailable(f"{program} cannot be run: {error.strerror or error}") from None
    return ProcessResult(done.returncode, done.stdout, done.stderr)


def require_success(program: str, *arguments: str) -> ProcessResult:
    """Run a program; raises SupervisorUnavailable with its output if it fails."""
    result = run_program(program, *arguments)
    if result.code:
        text = " ".join((result.err or result.out).split())[:300] or f"it ended with {result.code}"
        raise SupervisorUnavailable(f"{program} {' '.join(arguments)}: {text}")
    return result
