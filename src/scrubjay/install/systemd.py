"""A unit for the systemd of a user."""

import re
from dataclasses import dataclass
from pathlib import Path

from scrubjay.errors import CODES, InvalidInput, StoreDamaged, StoreTooNew, WrongKey
from scrubjay.install.daemon_command import MARK, Job
from scrubjay.install.subprocesses import demand
from scrubjay.install.supervisor import State
from scrubjay.paths import settings_folder

_HOPELESS = (InvalidInput, StoreTooNew, StoreDamaged, WrongKey)
_UNIT = "scrubjay.service"
_SHOWN = "LoadState,ActiveState,SubState,UnitFileState,MainPID"
_PLAIN = re.compile(r"[A-Za-z0-9_@+=:,./-]+")
_SPECIAL = re.compile(r"[\\\"\x00-\x1f\x7f]")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# What systemd does not take in the path of a program that is named first, however it is written.
_UNNAMEABLE = re.compile(r"[$\\\"'\x00-\x1f\x7f]")
_LAUNCHER = ("/bin/sh", "-c", 'exec "$0" "$@"')
# Only what a user's own manager can enforce without privileges. No namespaces: they are not allowed everywhere.
_TEMPLATE = """\
# {mark}
[Unit]
Description=Scrubjay, long-term memory for agents
# A daemon that an agent has started holds the data until it leaves; then this one takes over.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={command}
{environment}\
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=10
# What does not get better by trying again.
RestartPreventExitStatus={hopeless}
# What was accepted is finished first.
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
    """The manager of a user's services on Linux."""

    name: str = "systemd"

    @property
    def file(self) -> Path:
        """Where the unit is written."""
        return settings_folder() / "systemd" / "user" / _UNIT

    def written(self, job: Job) -> str:
        """The unit."""
        command = (*_LAUNCHER, *job.command) if _UNNAMEABLE.search(job.command[0]) else job.command
        return _TEMPLATE.format(
            mark=MARK,
            command=" ".join([quoted(command[0]), *(quoted(word, dollar="$$") for word in command[1:])]),
            hopeless=" ".join(sorted({str(CODES[item].exit) for item in _HOPELESS}, key=int)),
            environment="".join(f"Environment={quoted(f'{key}={item}')}\n" for key, item in job.environment.items()),
        )

    def begin(self, job: Job, *, now: bool, anew: bool) -> None:  # noqa: ARG002 - systemd keeps the log itself
        """Have it started at login, and now; one that runs by an older unit is started anew."""
        _systemctl("daemon-reload")
        _systemctl("enable", *(("--now",) if now else ()), _UNIT)
        if now and anew:
            _systemctl("try-restart", _UNIT)

    def end(self) -> None:
        """Stop it, and have it started no more."""
        _systemctl("disable", "--now", _UNIT)

    def forget(self) -> None:
        """Let go of a unit whose file is gone."""
        expected = self.file.parent / "default.target.wants" / _UNIT
        if expected.is_symlink():
            expected.unlink()
        _systemctl("daemon-reload")

    def state(self) -> State:
        """Whether it is started at login, and whether it runs."""
        answer = demand("systemctl", "--user", "show", _UNIT, f"--property={_SHOWN}")
        reported = dict(line.split("=", 1) for line in answer.out.splitlines() if "=" in line)
        pid = reported.get("MainPID", "")
        return State(
            enabled=reported.get("UnitFileState") == "enabled",
            running=reported.get("ActiveState") in ("active", "reloading"),
            pid=int(pid) if pid.isdecimal() else 0,
            detail=f"{reported.get('ActiveState', '')} ({reported.get('SubState', '')})",
        )

    @property
    def by_hand(self) -> str:
        """What to type when we could not do it."""
        return f"systemctl --user daemon-reload && systemctl --user enable --now {_UNIT}"

    @property
    def log(self) -> str:
        """Where to read what it says."""
        return f"journalctl --user -u {_UNIT}"


def quoted(word: str, *, dollar: str = "$") -> str:
    """A word as a unit's file spells it: in quotes where it needs them, and % never a specifier."""
    reported = _SPECIAL.sub(lambda found: _ESCAPES.get(found[0]) or f"\\x{ord(found[0]):02x}", word)
    reported = reported.replace("%", "%%").replace("$", dollar)
    return reported if _PLAIN.fullmatch(reported) else f'"{reported}"'


def _systemctl(*arguments: str) -> None:
    demand("systemctl", "--user", *arguments)
