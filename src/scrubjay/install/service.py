"""`scrubjay service`: the daemon starts at login, and is started again when it dies."""

import sys
from dataclasses import dataclass, replace

from scrubjay.errors import Conflict, DaemonUnavailable, InvalidInput
from scrubjay.install.daemon_command import MARK, Job
from scrubjay.install.diff import diff_of
from scrubjay.install.files import Found, read_file, remove_file, replace_file
from scrubjay.install.launchd import Launchd
from scrubjay.install.subprocesses import Unreachable
from scrubjay.install.supervisor import State, Supervisor
from scrubjay.install.systemd import Systemd


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceChange:
    """What was done to the service, or would be."""

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
            return self.diff.rstrip("\n") or f"{self.file} would stay as it is"
        reported = f"the service is {self.action}" if self.action != "absent" else "there is no service"
        lines = [f"{reported}: {self.file}"]
        if self.running:
            lines.append(f"  runs     pid {self.pid}")
        elif self.detail:
            lines.append(f"  state    {self.detail}")
        if self.log:
            lines.append(f"  log      {self.log}")
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """How the service stands; what could not be asked is None, and `trouble` says why."""

    supervisor: str
    file: str
    installed: bool
    enabled: bool | None = None
    running: bool | None = None
    pid: int = 0
    detail: str = ""
    trouble: str = ""

    def __str__(self) -> str:
        def word(known: bool | None) -> str:
            return "unknown" if known is None else "yes" if known else "no"

        rows = [
            ("installed", f"{word(self.installed)}, {self.file}"),
            ("at login", word(self.enabled)),
            ("running", word(self.running) + (f", pid {self.pid}" if self.pid else "")),
            (self.supervisor, self.detail or self.trouble),
        ]
        return "\n".join(f"{name:<9}  {value}" for name, value in rows)


def supervisor_here() -> Supervisor:
    """Whatever starts programs at login on this machine."""
    if sys.platform == "darwin":
        return Launchd()
    if sys.platform.startswith("linux"):
        return Systemd()
    raise InvalidInput(
        f"services are known for systemd and launchd, not for {sys.platform}",
        hint="Let the system start `scrubjay serve` when you log in; agents start a daemon by themselves in any case",
    )


def install_service(supervisor: Supervisor, job: Job, *, start: bool = True, dry_run: bool = False) -> ServiceChange:
    """Write the service's file and have it started; says what was done, or with dry_run what would be."""
    results = _own_file(supervisor)
    text = supervisor.written(job)
    is_same = results.data is not None and results.text == text
    done = ServiceChange(
        action="unchanged" if is_same else "installed" if results.data is None else "updated",
        supervisor=supervisor.name,
        file=str(results.path),
        warnings=tuple(
            f"{secret} is set here, and secrets are not written into a service: "
            "use a key file or the keyring, or an EnvironmentFile that only you can read"
            for secret in job.secrets
        ),
        dry_run=dry_run,
    )
    if dry_run:
        return replace(done, diff="" if is_same else diff_of(results.path, results.text, text))
    if not is_same:
        replace_file(results, text.encode(), keep=False)
    try:
        supervisor.begin(job, now=start, anew=not is_same)
        state = supervisor.state()
    except Unreachable as error:
        raise DaemonUnavailable(
            f"{results.path} is written, but the service could not be started ({error})",
            hint=f"Type: {supervisor.by_hand}",
            path=str(results.path),
        ) from None
    return replace(done, running=state.running, pid=state.pid, detail=state.detail, log=supervisor.log)


def uninstall_service(supervisor: Supervisor, *, dry_run: bool = False) -> ServiceChange:
    """Stop the service and remove its file, if it is ours."""
    results = _own_file(supervisor)
    done = ServiceChange(action="removed", supervisor=supervisor.name, file=str(results.path), dry_run=dry_run)
    if results.data is None:
        return replace(done, action="absent")
    if dry_run:
        return replace(done, diff=diff_of(results.path, results.text, ""))
    trouble = ""
    try:
        supervisor.end()
    except Unreachable as error:
        trouble = str(error)
    remove_file(results.path)
    try:
        supervisor.forget()
    except Unreachable as error:
        trouble = trouble or str(error)
    if trouble:
        raise DaemonUnavailable(
            f"{results.path} is removed, but the service may still run ({trouble})",
            hint="It is not started again at the next login. `scrubjay status` tells its process id",
            path=str(results.path),
        )
    return done


def service_status(supervisor: Supervisor) -> ServiceStatus:
    """Whether the service is installed, started at login, and running."""
    results = read_file(supervisor.file)
    status = ServiceStatus(supervisor=supervisor.name, file=str(supervisor.file), installed=results.data is not None)
    try:
        state: State = supervisor.state()
    except Unreachable as error:
        return replace(status, trouble=str(error))
    return replace(status, enabled=state.enabled, running=state.running, pid=state.pid, detail=state.detail)


def _own_file(supervisor: Supervisor) -> Found:
    """The service's file; raises Conflict when somebody else has written it."""
    results = read_file(supervisor.file)
    if results.data is not None and MARK not in results.text:
        raise Conflict(
            f"{results.path} was not written by Scrubjay",
            hint="Move it away first, if it may go",
            path=str(results.path),
        )
    return results
