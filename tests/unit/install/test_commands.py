"""The commands that start this installation."""

import os
import sys
from pathlib import Path

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.install.commands import bridge_entry, daemon_command, is_own_entry, own_command, own_options
from scrubjay.model.memory import Json
from scrubjay.paths import data_folder
from scrubjay.settings import Settings


@pytest.fixture
def jay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return tmp_path


def test_the_command_has_the_settings_but_no_secrets(tmp_path: Path) -> None:
    settings = Settings(
        home=str(tmp_path), embedder="none", key="a secret", embedding_key="another", allow_download=True,
        http="127.0.0.1:3000", space="work", tools="core,kg", index_path=str(tmp_path / "fast"), agent="cli",
    )  # fmt: skip
    service = daemon_command(settings)
    start = service.command.index("serve")
    assert service.command[start:] == (
        "serve", f"--data={tmp_path}", "--space=work", "--http=127.0.0.1:3000", "--tools=core,kg",
        f"--index_path={tmp_path / 'fast'}",
    )  # fmt: skip
    assert service.environment == {"SCRUBJAY_EMBEDDER": "none", "SCRUBJAY_ALLOW_DOWNLOAD": "true"}
    assert set(service.secrets) == {"SCRUBJAY_KEY", "SCRUBJAY_EMBEDDING_KEY"}
    assert "a secret" not in repr(service)


def test_default_settings_are_omitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = daemon_command(Settings(home=str(tmp_path)))
    assert service.command[-2:] == ("serve", f"--data={tmp_path}")
    assert (service.environment, service.secrets) == ({}, ())
    monkeypatch.chdir(tmp_path)
    assert daemon_command(Settings(home=str(tmp_path), key_file="key")).environment == {
        "SCRUBJAY_KEY_FILE": str(tmp_path / "key")
    }


def test_a_folder_that_no_file_can_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="UTF-8"):
        daemon_command(Settings(home=os.fsdecode(os.fsencode(tmp_path) + b"/\xff")))
    with pytest.raises(InvalidInput, match="NUL character"):
        daemon_command(Settings(home=str(tmp_path), embedding_model="a\0b"))


def test_the_entry_starts_this_installation(jay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(jay))
    here = str(Path(sys.executable).with_name("scrubjay"))
    default = data_folder(environment={})
    assert bridge_entry(data=default) == {"command": here, "args": ["mcp"]}
    assert bridge_entry(data=default, shared=True) == {"command": "scrubjay", "args": ["mcp"]}
    assert bridge_entry(data=jay / "my data", tools="core,kg", space="work", agent="me") == {
        "command": here,
        "args": ["mcp", "--tools", "core,kg", "--space", "work", "--agent", "me", "--data", str(jay / "my data")],
    }


def test_options_of_a_former_entry_are_kept(jay: Path) -> None:
    entry: dict[str, Json] = {
        "command": "scrubjay",
        "args": ["mcp", "--tools=core,kg", "--space", "work", "--data", str(jay / "x"), "--notestore-path", "/srv/n"],
    }
    former = own_options(entry)
    assert former == {
        "--tools": "core,kg", "--space": "work", "--data": str(jay / "x"), "--notestore_path": "/srv/n",
    }  # fmt: skip
    assert bridge_entry(space="home", former=former)["args"] == [
        "mcp", "--tools", "core,kg", "--space", "home", "--data", str(jay / "x"), "--notestore_path", "/srv/n",
    ]  # fmt: skip
    # A shared file names no folder of this machine; one below the home folder means the same to everyone.
    shared = bridge_entry(former=former, shared=True)
    assert shared == {"command": "scrubjay", "args": ["mcp", "--tools", "core,kg", "--space", "work", "--data", "~/x"]}
    assert own_options({"command": "npx", "args": ["mcp", "--tools", "x"]}) == {}
    assert own_options({"command": "scrubjay", "args": ["mcp", "--tools"]}) == {"--tools": ""}


def test_a_link_to_this_installation_is_preferred(jay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (jay / "bin").mkdir()
    (jay / "bin" / "scrubjay").symlink_to(Path(sys.executable).with_name("scrubjay"))
    monkeypatch.setenv("PATH", str(jay / "bin"))
    assert own_command() == (str(jay / "bin" / "scrubjay"),)


def test_another_installation_on_the_path_is_not_used(jay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = jay / "scrubjay"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(jay))
    assert own_command() == (str(Path(sys.executable).with_name("scrubjay")),)
    monkeypatch.setattr(sys, "executable", str(jay / "elsewhere" / "python"))
    assert own_command() == (str(other),)
    other.unlink()
    assert own_command() == (str(jay / "elsewhere" / "python"), "-m", "scrubjay")


@pytest.mark.parametrize(
    ("entry", "own"),
    [
        ({"command": "scrubjay", "args": ["mcp"]}, True),
        ({"command": "/home/jay/.venv/bin/scrubjay", "args": ["mcp", "--space", "x"]}, True),
        ({"command": "uvx", "args": ["scrubjay", "mcp"]}, True),
        ({"command": "python", "args": ["-m", "scrubjay", "mcp"]}, True),
        ({"command": "npx", "args": ["mcp"]}, False),
        ({"command": 7, "args": "mcp"}, False),
        ({}, False),
    ],
)
def test_an_own_entry_is_recognized_by_its_command(entry: dict[str, Json], own: bool) -> None:
    assert is_own_entry(entry) is own
