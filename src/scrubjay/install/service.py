"""`scrubjay service`: a supervisor starts the daemon at login, and restarts it if it fails."""

import sys
from dataclasses import replace

from scrubjay.errors import Conflict, DaemonUnavailable, InvalidInput
from scrubjay.install.commands import ServiceCommand
from scrubjay.install.files import FileContent, read_file, remove_file, replace_file, unified_diff
from scrubjay.install.launchd import Launchd
from scrubjay.install.supervisor import FILE_MARK, Supervisor, SupervisorUnavailable
from scrubjay.install.systemd import Systemd
from scrubjay.lazy import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceChange:
    """A change of the service; with `dry_run` the change that would be made."""

    action: str
    supervisor: str
    file: str
    running: bool = False
    pid: int = 0
    detail: str = ""
    log: str = ""
    diff: str = ""
    warnings: tuple[str, ...] = ()
    dry_run: bool = False

    def __str__(self) -> str:
        if self.dry_run:
            return self.diff.rstrip("\n") or f"{self.file} would not change"
        summary = f"the service is {self.action}" if self.action != "absent" else "there is no service"
        lines = [f"{summary}: {self.file}"]
        if self.running:
            lines.append(f"  runs     pid {self.pid}")
        elif self.detail:
            lines.append(f"  state    {self.detail}")
        if self.log:
            lines.append(f"  log      {self.log}")
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """The state of the service; unknown values are None, and `trouble` says why."""

    supervisor: str
    file: str
    installed: bool
    enabled: bool | None = None
    running: bool | None = None
    pid: int = 0
    detail: str = ""
    trouble: str = ""

    def __str__(self) -> str:
        def word(flag: bool | None) -> str:
            return "unknown" if flag is None else "yes" if flag else "no"

        rows = [
            ("installed", f"{word(self.installed)}, {self.file}"),
            ("at login", word(self.enabled)),
            ("running", word(self.running) + (f", pid {self.pid}" if self.pid else "")),
            (self.supervisor, self.detail or self.trouble),
        ]
        return "\n".join(f"{name:<9}  {value}" for name, value in rows)


def find_supervisor() -> Supervisor:
    """Return the supervisor of this platform."""
    if sys.platform == "darwin":
        return Launchd()
    if sys.platform.startswith("linux"):
        return Systemd()
    raise InvalidInput(
        f"services are supported on systemd and launchd, not on {sys.platform}",
        hint="Start `scrubjay serve` when you log in, by other means; agents can also start a daemon by themselves",
    )


def install_service(
    supervisor: Supervisor, service: ServiceCommand, *, start: bool = True, dry_run: bool = False
) -> ServiceChange:
    """Write the file of the service and start the service; with dry_run only return the diff."""
    file = _own_file(supervisor)
    text = supervisor.render(service)
    is_same = file.data is not None and file.text == text
    change = ServiceChange(
        action="unchanged" if is_same else "installed" if file.data is None else "updated",
        supervisor=supervisor.name,
        file=str(file.path),
        warnings=tuple(
            f"{secret} is set here, and secrets are not written to the file of a service: "
            "use a key file or the keyring, or an EnvironmentFile that only you can read"
            for secret in service.secrets
        ),
        dry_run=dry_run,
    )
    if dry_run:
        return replace(change, diff="" if is_same else unified_diff(file.path, file.text, text))
    if not is_same:
        replace_file(file, text.encode(), keep_copy=False)
    try:
        supervisor.enable(service, now=start, restart=not is_same)
        state = supervisor.state()
    except SupervisorUnavailable as error:
        raise DaemonUnavailable(
            f"{file.path} is written, but the service could not be started ({error})",
            hint=f"Type: {supervisor.by_hand}",
            path=str(file.path),
        ) from None
    return replace(change, running=state.running, pid=state.pid, detail=state.detail, log=supervisor.log)


def uninstall_service(supervisor: Supervisor, *, dry_run: bool = False) -> ServiceChange:
    """Stop the service and remove its file, if Scrubjay has written it."""
    file = _own_file(supervisor)
    change = ServiceChange(action="removed", supervisor=supervisor.name, file=str(file.path), dry_run=dry_run)
    if file.data is None:
        return replace(change, action="absent")
    if dry_run:
        return replace(change, diff=unified_diff(file.path, file.text, ""))
    problem = ""
    try:
        supervisor.disable()
    except SupervisorUnavailable as error:
        problem = str(error)
    remove_file(file.path)
    try:
        supervisor.forget()
    except SupervisorUnavailable as error:
        problem = problem or str(error)
    if problem:
        raise DaemonUnavailable(
            f"{file.path} is removed, but the service may still run ({problem})",
            hint="It does not start at the next login. `scrubjay status` shows its process id",
            path=str(file.path),
        )
    return change


def service_status(supervisor: Supervisor) -> ServiceStatus:
    """Return whether the service is installed, starts at login, and runs."""
    file = read_file(supervisor.file)
    status = ServiceStatus(supervisor=supervisor.name, file=str(supervisor.file), installed=file.data is not None)
    try:
        state = supervisor.state()
    except SupervisorUnavailable as error:
        return replace(status, trouble=str(error))
    return replace(status, enabled=state.enabled, running=state.running, pid=state.pid, detail=state.detail)


def _own_file(supervisor: Supervisor) -> FileContent:
    """Read the file of the service; raises Conflict if Scrubjay has not written it."""
    file = read_file(supervisor.file)
    if file.data is not None and FILE_MARK not in file.text:
        raise Conflict(
            f"{file.path} was not written by Scrubjay", hint="Move it away if you do not need it", path=str(file.path)
        )
    return file
