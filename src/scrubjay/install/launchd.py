"""A property list for launchd, on macOS."""

import os
import plistlib
import re
import time
from pathlib import Path

from scrubjay.errors import InvalidInput
from scrubjay.install.commands import ServiceCommand
from scrubjay.install.supervisor import (
    FILE_MARK,
    ServiceState,
    SupervisorUnavailable,
    require_success,
    run_program,
)
from scrubjay.lazy import dataclass
from scrubjay.paths import home_folder

_LABEL = "dev.scrubjay.daemon"
# The name of a service stays in use for a few seconds after the service was unloaded.
_ATTEMPTS = 40
_PID = re.compile(r"^\s*pid = (\d+)$", re.MULTILINE)
_STATE = re.compile(r"^\s*state = (.+)$", re.MULTILINE)
# Characters that XML cannot contain, even escaped.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Launchd:
    """The supervisor of user services on macOS."""

    name: str = "launchd"
    pause: float = 0.5

    @property
    def file(self) -> Path:
        """The file of the property list."""
        return home_folder() / "Library" / "LaunchAgents" / f"{_LABEL}.plist"

    def render(self, service: ServiceCommand) -> str:
        """Return the property list."""
        for word in (*service.command, *service.environment.values()):
            if _NOT_XML.search(word):
                raise InvalidInput(
                    f"{word!r} contains a control character, which a property list cannot contain",
                    hint="Use a folder without control characters in its name",
                )
        plist = plistlib.dumps(
            {
                "Label": _LABEL,
                "ProgramArguments": list(service.command),
                "EnvironmentVariables": dict(service.environment),
                "RunAtLoad": True,
                "KeepAlive": {"SuccessfulExit": False},
                "ThrottleInterval": 10,
                "ExitTimeOut": 60,
                "Umask": 0o077,
                "StandardOutPath": str(service.log),
                "StandardErrorPath": str(service.log),
            },
            sort_keys=False,
        ).decode("utf-8")
        return plist.replace("<plist ", f"<!-- {FILE_MARK} -->\n<plist ", 1)

    def enable(self, service: ServiceCommand, *, now: bool, restart: bool) -> None:
        """Start the service at login, and now; `restart` a running one, because its file has changed."""
        # launchd creates the log, but not its folder.
        service.log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        require_success("launchctl", "enable", _target())
        if not now:
            return
        is_loaded = run_program("launchctl", "print", _target()).code == 0
        if is_loaded and not restart:
            return
        if is_loaded:
            require_success("launchctl", "bootout", _target())
        self._load(attempts=_ATTEMPTS if is_loaded else 1)

    def disable(self) -> None:
        """Stop the service, and do not start it again."""
        if run_program("launchctl", "print", _target()).code == 0:
            require_success("launchctl", "bootout", _target())

    def forget(self) -> None:
        """Do nothing: without its file the service does not start."""

    def state(self) -> ServiceState:
        """Return whether the service starts at login, and whether it runs."""
        result = run_program("launchctl", "print", _target())
        pid = _PID.search(result.out) if result.code == 0 else None
        state = _STATE.search(result.out) if result.code == 0 else None
        disabled = re.search(
            rf'"{re.escape(_LABEL)}" => (true|disabled)', run_program("launchctl", "print-disabled", _domain()).out
        )
        return ServiceState(
            enabled=self.file.exists() and disabled is None,
            running=pid is not None,
            pid=int(pid[1]) if pid else 0,
            detail=state[1] if state else "not loaded",
        )

    @property
    def by_hand(self) -> str:
        """The command for the user if we could not start the service."""
        return f"launchctl bootstrap {_domain()} '{self.file}'"

    @property
    def log(self) -> str:
        """Where the user can read the log of the service."""
        return "daemon.log in the data folder"

    def _load(self, *, attempts: int) -> None:
        for remaining in reversed(range(attempts)):
            try:
                require_success("launchctl", "bootstrap", _domain(), str(self.file))
            except SupervisorUnavailable:
                if not remaining:
                    raise
                time.sleep(self.pause)
            else:
                return


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _target() -> str:
    return f"{_domain()}/{_LABEL}"
