"""What starts programs at login, and keeps them running."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from scrubjay.install.daemon_command import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a supervisor says of our service."""

    enabled: bool
    running: bool
    pid: int = 0
    detail: str = ""


class Supervisor(Protocol):
    """Starts and stops our service; what asks a program raises Unreachable."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def file(self) -> Path:
        """The file that tells it of our service."""
        ...

    @property
    def by_hand(self) -> str:
        """What to type when we could not do it."""
        ...

    @property
    def log(self) -> str:
        """Where to read what the service says."""
        ...

    def written(self, job: Job) -> str:
        """The file."""
        ...

    def begin(self, job: Job, *, now: bool, anew: bool) -> None:
        """Have it started at login, and now; one that runs by an older file is started anew."""
        ...

    def end(self) -> None:
        """Stop it, and have it started no more."""
        ...

    def forget(self) -> None:
        """Let go of a service whose file is gone."""
        ...

    def state(self) -> State:
        """Whether it is started at login, and whether it runs."""
        ...
