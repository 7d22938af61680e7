"""A property list for macOS's launchd."""

import os
import plistlib
import re
import time
from dataclasses import dataclass
from pathlib import Path

from scrubjay.errors import InvalidInput
from scrubjay.install.daemon_command import MARK, Job
from scrubjay.install.subprocesses import Unreachable, ask, demand
from scrubjay.install.supervisor import State
from scrubjay.paths import home_folder

_LABEL = "dev.scrubjay.daemon"
# A name stays taken for some seconds after the service that had it was told to go.
_TRIES = 40
_PID = re.compile(r"^\s*pid = (\d+)$", re.MULTILINE)
_STATE = re.compile(r"^\s*state = (.+)$", re.MULTILINE)
# XML cannot hold these, not even spelled out.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Launchd:
    """The manager of a user's services on macOS."""

    name: str = "launchd"
    pause: float = 0.5

    @property
    def file(self) -> Path:
        """Where the property list is written."""
        return home_folder() / "Library" / "LaunchAgents" / f"{_LABEL}.plist"

    def written(self, job: Job) -> str:
        """The property list."""
        for word in (*job.command, *job.environment.values()):
            if _UNWRITABLE.search(word):
                raise InvalidInput(f"{word!r} cannot stand in a property list", hint="Use a folder without such signs")
        reported = plistlib.dumps(
            {
                "Label": _LABEL,
                "ProgramArguments": list(job.command),
                "EnvironmentVariables": dict(job.environment),
                "RunAtLoad": True,
                "KeepAlive": {"SuccessfulExit": False},
                "ThrottleInterval": 10,
                "ExitTimeOut": 60,
                "Umask": 0o077,
                "StandardOutPath": str(job.log),
                "StandardErrorPath": str(job.log),
            },
            sort_keys=False,
        ).decode("utf-8")
        return reported.replace("<plist ", f"<!-- {MARK} -->\n<plist ", 1)

    def begin(self, job: Job, *, now: bool, anew: bool) -> None:
        """Have it started at login, and now; one that runs by an older file is started anew."""
        # It makes the log, but not the folder.
        job.log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        demand("launchctl", "enable", _target())
        if not now:
            return
        is_loaded = ask("launchctl", "print", _target()).code == 0
        if is_loaded and not anew:
            return
        if is_loaded:
            demand("launchctl", "bootout", _target())
        self._load(tries=_TRIES if is_loaded else 1)

    def end(self) -> None:
        """Stop it, and have it started no more."""
        if ask("launchctl", "print", _target()).code == 0:
            demand("launchctl", "bootout", _target())

    def forget(self) -> None:
        """Nothing is left to do: what is not in the folder is not started."""

    def state(self) -> State:
        """Whether it is started at login, and whether it runs."""
        answer = ask("launchctl", "print", _target())
        pid = _PID.search(answer.out) if answer.code == 0 else None
        state = _STATE.search(answer.out) if answer.code == 0 else None
        disabled = re.search(
            rf'"{re.escape(_LABEL)}" => (true|disabled)', ask("launchctl", "print-disabled", _domain()).out
        )
        return State(
            enabled=self.file.exists() and disabled is None,
            running=pid is not None,
            pid=int(pid[1]) if pid else 0,
            detail=state[1] if state else "not loaded",
        )

    @property
    def by_hand(self) -> str:
        """What to type when we could not do it."""
        return f"launchctl bootstrap {_domain()} '{self.file}'"

    @property
    def log(self) -> str:
        """Where to read what it says."""
        return "daemon.log in the data folder"

    def _load(self, *, tries: int) -> None:
        for left in reversed(range(tries)):
            try:
                demand("launchctl", "bootstrap", _domain(), str(self.file))
            except Unreachable:
                if not left:
                    raise
                time.sleep(self.pause)
            else:
                return


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _target() -> str:
    return f"{_domain()}/{_LABEL}"
