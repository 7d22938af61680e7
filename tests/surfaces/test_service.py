"""`scrubjay service`, with stand-ins for the service managers: no real one is touched."""

import plistlib
import sys
from pathlib import Path

import pytest
from tests.surfaces.shell import CommandResult, run, run_json

from scrubjay.errors import CODES, Conflict, DaemonUnavailable, InvalidInput
from scrubjay.install.commands import ServiceCommand
from scrubjay.install.launchd import Launchd
from scrubjay.install.service import install_service

# Logs its calls, prints the file `state`, and fails for the verbs in `failing`, some of them only a number of times.
# After `bootout` the service is gone, and its name stays taken for as long as `draining` says.
STAND_IN = """#!/bin/sh
here=${0%/*}
echo "$*" >> "$here/calls"
for word in "$@"; do
    while read -r verb times; do
        if [ "$verb" = "$word" ]; then
            echo "it cannot be done: $word" >&2
            if [ "${times:-0}" -gt 1 ]; then echo "$verb $((times - 1))" > "$here/failing"; fi
            if [ "${times:-0}" -eq 1 ]; then : > "$here/failing"; fi
            exit 5
        fi
    done < "$here/failing"
done
case "$*" in
    *show*|print\\ *) while read -r line; do echo "$line"; done < "$here/state" ;;
esac
case "$1" in
    bootout) if [ -e "$here/draining" ]; then read -r line < "$here/draining"; else line=print; fi
        echo "$line" > "$here/failing" ;;
    bootstrap) : > "$here/failing" ;;
esac
"""
UNIT = "systemd/user/scrubjay.service"
LABEL = "dev.scrubjay.daemon"
ACTIVE = "LoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=enabled\nMainPID=4242\n"


class Machine:
    """A user's home, and the service manager of that machine."""

    def __init__(self, folder: Path, program: str) -> None:
        self.home = folder / "user"
        self.bin = folder / "bin"
        self.home.mkdir()
        self.bin.mkdir()
        self.program = self.bin / program
        self.program.write_text(STAND_IN)
        self.program.chmod(0o755)
        self.set_failing("")
        self.set_state(ACTIVE)

    def set_state(self, state: str) -> None:
        (self.bin / "state").write_text(state)

    def set_failing(self, *verbs: str) -> None:
        (self.bin / "failing").write_text("".join(f"{verb}\n" for verb in verbs if verb))

    def calls(self) -> list[str]:
        """Return the calls since the last time."""
        log = self.bin / "calls"
        calls = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [call.removeprefix("--user ") for call in calls]

    @property
    def unit(self) -> Path:
        return self.home / ".config" / UNIT

    @property
    def plist(self) -> Path:
        return self.home / "Library" / "LaunchAgents" / f"{LABEL}.plist"


@pytest.fixture
def linux(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine(tmp_path, monkeypatch, platform="linux", program="systemctl")


@pytest.fixture
def mac(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = machine(tmp_path, monkeypatch, platform="darwin", program="launchctl")
    made.set_state(f"gui/0/{LABEL} = {{\n\tstate = running\n\tpid = 4242\n}}\n")
    return made


def machine(folder: Path, monkeypatch: pytest.MonkeyPatch, *, platform: str, program: str) -> Machine:
    made = Machine(folder, program)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("PATH", str(made.bin))
    monkeypatch.setattr(sys, "platform", platform)
    return made


def assert_refused(answer: CommandResult, error: type[Exception], *words: str) -> None:
    assert answer.code == CODES[error].exit, answer  # type: ignore[index]
    for word in words:
        assert word in answer.err


@pytest.mark.embedded
def test_it_is_written_enabled_and_started(linux: Machine, home: Path) -> None:
    answer = run("service", "install")
    assert answer.code == 0, answer.err
    assert answer.out.splitlines() == [
        f"the service is installed: {linux.unit}",
        "  runs     pid 4242",
        "  log      journalctl --user -u scrubjay.service",
    ]
    assert linux.calls()[:-1] == ["daemon-reload", "enable --now scrubjay.service", "try-restart scrubjay.service"]
    text = linux.unit.read_text()
    assert f"serve --data={home}\n" in text
    assert "Environment=SCRUBJAY_EMBEDDER=none\n" in text
    assert linux.unit.stat().st_mode & 0o777 == 0o600
    again = run_json("service", "install")
    assert (again["action"], again["running"], again["pid"]) == ("unchanged", True, 4242)
    assert linux.calls()[:-1] == ["daemon-reload", "enable --now scrubjay.service"]
    assert [item.name for item in linux.unit.parent.iterdir()] == ["scrubjay.service"]


def test_a_change_is_written_and_the_service_restarted(linux: Machine) -> None:
    run("service", "install")
    linux.calls()
    assert run_json("service", "install", "--http", "127.0.0.1:3000", "--tools", "core,kg")["action"] == "updated"
    assert "try-restart scrubjay.service" in linux.calls()
    assert "--http=127.0.0.1:3000 --tools=core,kg" in linux.unit.read_text()
    assert [item.name for item in linux.unit.parent.iterdir()] == ["scrubjay.service"]


def test_it_can_wait_for_the_next_login(linux: Machine) -> None:
    linux.set_state(ACTIVE.replace("=active", "=inactive").replace("running", "dead").replace("4242", "0"))
    assert "  state    inactive (dead)\n" in run("service", "install", "--no-start").out
    assert linux.calls()[:-1] == ["daemon-reload", "enable scrubjay.service"]


def test_looking_changes_nothing(linux: Machine) -> None:
    shown = run("service", "install", "--print")
    assert shown.out.startswith("# Written by `scrubjay service install`")
    diff = run("service", "install", "--dry-run")
    assert diff.out.startswith(f"--- {linux.unit}\n+++ {linux.unit}\n")
    assert run("service", "uninstall", "--dry-run").out == f"{linux.unit} would not change\n"
    assert not linux.unit.exists()
    run("service", "install")
    linux.calls()
    assert run("service", "install", "--dry-run").out == f"{linux.unit} would not change\n"
    assert "-[Service]" in run("service", "uninstall", "--dry-run").out
    assert linux.unit.exists()
    assert linux.calls() == []
    assert linux.unit.read_text() == shown.out


def test_a_unit_is_in_the_configuration_folder(linux: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    run("service", "install")
    assert (tmp_path / "config" / UNIT).exists()


def test_without_systemctl_the_unit_is_written_and_the_next_steps_are_shown(linux: Machine) -> None:
    linux.program.unlink()
    assert_refused(
        run("service", "install"), DaemonUnavailable, "systemctl is not on this machine", str(linux.unit),
        "systemctl --user daemon-reload && systemctl --user enable --now scrubjay.service",
    )  # fmt: skip
    assert linux.unit.exists()
    status = run_json("service", "status")
    assert (status["installed"], status["enabled"], status["running"]) == (True, None, None)
    assert "unknown" in run("service", "status").out
    assert_refused(run("service", "uninstall"), DaemonUnavailable, "may still run")
    assert not linux.unit.exists()


def test_without_a_bus_the_unit_is_written_and_the_error_is_shown(linux: Machine) -> None:
    linux.set_failing("daemon-reload", "show", "disable")
    answer = run("service", "install", "--json")
    assert_refused(answer, DaemonUnavailable, "it cannot be done: daemon-reload")
    assert answer.error()["path"] == str(linux.unit)
    assert linux.unit.exists()
    assert run_json("service", "status")["trouble"]
    wants = linux.unit.parent / "default.target.wants"
    wants.mkdir()
    (wants / "scrubjay.service").symlink_to(linux.unit)
    assert_refused(run("service", "uninstall"), DaemonUnavailable, "is removed", "it cannot be done: disable")
    assert not linux.unit.exists()
    assert list(wants.iterdir()) == []


def test_it_is_stopped_and_removed(linux: Machine) -> None:
    run("service", "install")
    linux.calls()
    assert run("service", "uninstall").out == f"the service is removed: {linux.unit}\n"
    assert linux.calls() == ["disable --now scrubjay.service", "daemon-reload"]
    assert not linux.unit.exists()
    assert run("service", "uninstall").out == f"there is no service: {linux.unit}\n"
    assert linux.calls() == []


def test_a_foreign_unit_is_not_changed(linux: Machine) -> None:
    linux.unit.parent.mkdir(parents=True)
    linux.unit.write_text("[Service]\nExecStart=/usr/bin/mine\n")
    for command in ("install", "uninstall"):
        assert_refused(run("service", command), Conflict, "was not written by Scrubjay")
    assert linux.calls() == []
    assert "mine" in linux.unit.read_text()


def test_the_status_of_the_service(linux: Machine) -> None:
    linux.set_state("LoadState=not-found\nActiveState=inactive\nSubState=dead\nUnitFileState=\nMainPID=0\n")
    assert run_json("service", "status") == {
        "supervisor": "systemd", "file": str(linux.unit), "installed": False, "enabled": False, "running": False,
        "pid": 0, "detail": "inactive (dead)", "trouble": "",
    }  # fmt: skip
    run("service", "install")
    linux.set_state(ACTIVE)
    assert run("service", "status").out.splitlines() == [
        f"installed  yes, {linux.unit}",
        "at login   yes",
        "running    yes, pid 4242",
        "systemd    active (running)",
    ]


def test_a_secret_is_not_written_but_mentioned(linux: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRUBJAY_KEY", "very-secret")
    answer = run("service", "install")
    assert "warning: SCRUBJAY_KEY is set here" in answer.out
    assert "very-secret" not in answer.out + linux.unit.read_text()


def test_launchd_loads_and_unloads_it(mac: Machine, home: Path) -> None:
    mac.set_failing("print")
    answer = run("service", "install")
    assert answer.code == 0, answer.err
    assert answer.out.splitlines()[0] == f"the service is installed: {mac.plist}"
    target = [call for call in mac.calls() if call.startswith(("enable", "bootstrap", "bootout"))]
    assert [call.split()[0] for call in target] == ["enable", "bootstrap"]
    assert target[1].endswith(str(mac.plist))
    read = plistlib.loads(mac.plist.read_bytes())
    assert read["ProgramArguments"][-2:] == ["serve", f"--data={home}"]
    assert home.exists()
    assert run_json("service", "install")["action"] == "unchanged"
    assert not any(call.startswith(("bootstrap", "bootout")) for call in mac.calls())
    status = run_json("service", "status")
    assert (status["enabled"], status["running"], status["pid"], status["detail"]) == (True, True, 4242, "running")
    mac.calls()
    assert run_json("service", "uninstall")["action"] == "removed"
    assert [call.split()[0] for call in mac.calls()] == ["print", "bootout"]
    assert not mac.plist.exists()
    assert run_json("service", "status")["running"] is False


def test_launchd_waits_until_the_old_process_has_exited(mac: Machine) -> None:
    run("service", "install")
    mac.calls()
    service = ServiceCommand(
        command=("/bin/scrubjay", "serve", "--space=new"), environment={}, log=mac.home / "data" / "daemon.log"
    )
    (mac.bin / "draining").write_text("bootstrap 3\n")
    done = install_service(Launchd(pause=0.0), service)
    assert done.action == "updated"
    verbs = [call.split()[0] for call in mac.calls()]
    assert [verb for verb in verbs if verb.startswith("boot")] == ["bootout", *["bootstrap"] * 4]


def test_launchd_can_wait_for_the_next_login(mac: Machine) -> None:
    run("service", "install", "--no-start")
    assert not any(call.startswith("boot") for call in mac.calls())
    assert mac.plist.exists()


def test_launchd_without_a_login_session_shows_the_command(mac: Machine) -> None:
    mac.set_failing("print", "bootstrap")
    assert_refused(
        run("service", "install"), DaemonUnavailable, "it cannot be done: bootstrap", "launchctl bootstrap gui/"
    )
    assert mac.plist.exists()


def test_an_unknown_toolset_is_refused_before_anything_is_written(linux: Machine) -> None:
    assert_refused(run("service", "install", "--tools", "cor"), InvalidInput, "core")
    assert not linux.unit.exists()


def test_other_platforms_have_no_service(linux: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    for command in ("install", "uninstall", "status"):
        assert_refused(run("service", command), InvalidInput, "systemd and launchd")
    assert linux.calls() == []
