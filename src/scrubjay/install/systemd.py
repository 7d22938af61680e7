"""A systemd unit of the user."""

import re
from pathlib import Path

from scrubjay.errors import CODES, InvalidInput, StoreDamaged, StoreTooNew, WrongKey
from scrubjay.install.commands import ServiceCommand
from scrubjay.install.supervisor import FILE_MARK, ServiceState, require_success
from scrubjay.lazy import dataclass
from scrubjay.paths import settings_folder

_PERMANENT = (InvalidInput, StoreTooNew, StoreDamaged, WrongKey)
_UNIT = "scrubjay.service"
_PROPERTIES = "LoadState,ActiveState,SubState,UnitFileState,MainPID"
_PLAIN = re.compile(r"[A-Za-z0-9_@+=:,./-]+")
_SPECIAL = re.compile(r"[\\\"\x00-\x1f\x7f]")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# Characters that systemd refuses in the path of a program, even escaped.
_REFUSED = re.compile(r"[$\\\"'\x00-\x1f\x7f]")
_LAUNCHER = ("/bin/sh", "-c", 'exec "$0" "$@"')
# Options that need no privileges. No namespaces: some systems forbid them.
_TEMPLATE = """\
# {mark}
[Unit]
Description=Scrubjay, long-term memory for agents
# A daemon that an agent has started locks the data until it ends; then this one takes over.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={command}
{environment}\
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=10
# Errors that a restart does not solve.
RestartPreventExitStatus={permanent}
# Accepted requests are finished first.
TimeoutStopSec=60
KillMode=mixed
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native

[Install]
WantedBy=default.target
"""


@dataclass(frozen=True, slots=True)
class Systemd:
    """The supervisor of user services on Linux."""

    name: str = "systemd"

    @property
    def file(self) -> Path:
        """The file of the unit."""
        return settings_folder() / "systemd" / "user" / _UNIT

    def render(self, service: ServiceCommand) -> str:
        """Return the unit."""
        command = (*_LAUNCHER, *service.command) if _REFUSED.search(service.command[0]) else service.command
        return _TEMPLATE.format(
            mark=FILE_MARK,
            command=" ".join([quote(command[0]), *(quote(word, dollar="$$") for word in command[1:])]),
            permanent=" ".join(sorted({str(CODES[error].exit) for error in _PERMANENT}, key=int)),
            environment="".join(
                f"Environment={quote(f'{name}={value}')}\n" for name, value in service.environment.items()
            ),
        )

    def enable(self, service: ServiceCommand, *, now: bool, restart: bool) -> None:  # noqa: ARG002 - as launchd
        """Start the service at login, and now; `restart` a running one, because its file has changed."""
        _systemctl("daemon-reload")
        _systemctl("enable", *(("--now",) if now else ()), _UNIT)
        if now and restart:
            _systemctl("try-restart", _UNIT)

    def disable(self) -> None:
        """Stop the service, and do not start it again."""
        _systemctl("disable", "--now", _UNIT)

    def forget(self) -> None:
        """Remove the traces of a unit whose file is removed."""
        link = self.file.parent / "default.target.wants" / _UNIT
        if link.is_symlink():
            link.unlink()
        _systemctl("daemon-reload")

    def state(self) -> ServiceState:
        """Return whether the service starts at login, and whether it runs."""
        result = require_success("systemctl", "--user", "show", _UNIT, f"--property={_PROPERTIES}")
        properties = dict(line.split("=", 1) for line in result.out.splitlines() if "=" in line)
        pid = properties.get("MainPID", "")
        return ServiceState(
            enabled=properties.get("UnitFileState") == "enabled",
            running=properties.get("ActiveState") in ("active", "reloading"),
            pid=int(pid) if pid.isdecimal() else 0,
            detail=f"{properties.get('ActiveState', '')} ({properties.get('SubState', '')})",
        )

    @property
    def by_hand(self) -> str:
        """The command for the user if we could not start the service."""
        return f"systemctl --user daemon-reload && systemctl --user enable --now {_UNIT}"

    @property
    def log(self) -> str:
        """The command that shows the log."""
        return f"journalctl --user -u {_UNIT}"


def quote(word: str, *, dollar: str = "$") -> str:
    """Return a word for a unit: in quotes if necessary, and with % escaped, which starts a specifier."""
    escaped = _SPECIAL.sub(lambda match: _ESCAPES.get(match[0]) or f"\\x{ord(match[0]):02x}", word)
    escaped = escaped.replace("%", "%%").replace("$", dollar)
    return escaped if _PLAIN.fullmatch(escaped) else f'"{escaped}"'


def _systemctl(*arguments: str) -> None:
    require_success("systemctl", "--user", *arguments)
