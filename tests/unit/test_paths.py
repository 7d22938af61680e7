"""Paths of files and folders on each platform."""

import json
import sys
from pathlib import Path

import pytest

from scrubjay.paths import (
    daemon_file,
    data_folder,
    database_file,
    index_folder,
    known_socket,
    lock_file,
    socket_file,
)


@pytest.mark.parametrize(
    ("platform", "environment", "folder"),
    [
        ("linux", {"HOME": "/home/jay"}, "/home/jay/.local/share/scrubjay"),
        ("linux", {"HOME": "/home/jay", "XDG_DATA_HOME": "/data"}, "/data/scrubjay"),
        ("linux", {"HOME": "/home/jay", "XDG_DATA_HOME": ""}, "/home/jay/.local/share/scrubjay"),
        ("darwin", {"HOME": "/Users/jay"}, "/Users/jay/Library/Application Support/scrubjay"),
        ("win32", {"HOME": "/Users/jay", "LOCALAPPDATA": "/Local"}, "/Local/scrubjay"),
        ("win32", {"HOME": "/Users/jay"}, "/Users/jay/AppData/Local/scrubjay"),
        ("linux", {"HOME": "/home/jay", "SCRUBJAY_HOME": "/jay"}, "/jay"),
        ("linux", {"HOME": "/home/jay", "MEMORY_DIR": "/mem"}, "/mem"),
    ],
)
def test_the_data_folder_is_where_the_platform_keeps_user_data(
    monkeypatch: pytest.MonkeyPatch, platform: str, environment: dict[str, str], folder: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert data_folder(environment=environment) == Path(folder)


def test_an_argument_overrides_the_environment_and_the_tilde_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/jay")
    monkeypatch.setenv("SCRUBJAY_HOME", "/elsewhere")
    assert data_folder("~/memory") == Path("/home/jay/memory")
    assert data_folder() == Path("/elsewhere")


def test_without_the_variable_home_the_home_of_the_user_is_used() -> None:
    assert data_folder(environment={}).is_relative_to(Path.home())


def test_files_are_in_the_data_folder() -> None:
    data = Path("/jay")
    assert {database_file(data).parent, lock_file(data).parent, index_folder(data).parent} == {data}
    assert database_file(data) != lock_file(data)
    assert index_folder(data, "/fast/index") == Path("/fast/index")


@pytest.fixture
def long_folder(tmp_path: Path) -> Path:
    """A data folder whose path is too long for a socket."""
    folder = tmp_path / ("long" * 25)
    folder.mkdir()
    return folder


def test_a_socket_is_in_the_data_folder_if_its_path_is_short_enough(long_folder: Path) -> None:
    assert socket_file(Path("/jay")) == Path("/jay/run/daemon.sock")
    elsewhere = socket_file(long_folder, environment={"XDG_RUNTIME_DIR": "/run/user/7"})
    assert elsewhere.parent == Path("/run/user/7/scrubjay")
    assert len(str(elsewhere)) < 100


@pytest.mark.parametrize("runtime", [{}, {"XDG_RUNTIME_DIR": ""}, {"XDG_RUNTIME_DIR": "here"}])
def test_a_socket_never_depends_on_the_working_folder(long_folder: Path, runtime: dict[str, str]) -> None:
    socket = socket_file(long_folder, environment=runtime)
    assert socket.is_absolute()
    assert socket.parent.name.startswith("scrubjay-")


def test_all_names_of_a_folder_lead_to_one_socket(long_folder: Path, tmp_path: Path) -> None:
    for real in (long_folder, tmp_path / "short"):
        real.mkdir(exist_ok=True)
        other = tmp_path / f"other-{len(real.name)}"
        other.symlink_to(real)
        assert socket_file(other) == socket_file(real)


def record_socket(data: Path, socket: Path) -> Path:
    """Create a socket file, and record it in the data folder."""
    socket.parent.mkdir(parents=True, exist_ok=True)
    socket.touch()
    daemon_file(data).write_text(json.dumps({"pid": 1, "socket": str(socket)}))
    return socket


def test_a_daemon_with_another_environment_is_found_by_its_record(long_folder: Path, tmp_path: Path) -> None:
    theirs = socket_file(long_folder, environment={"XDG_RUNTIME_DIR": str(tmp_path / "theirs")})
    assert known_socket(long_folder) == socket_file(long_folder) != theirs
    record_socket(long_folder, theirs)
    assert known_socket(long_folder) == theirs
    theirs.unlink()
    assert known_socket(long_folder) == socket_file(long_folder)


def test_the_record_in_a_copied_folder_does_not_lead_to_the_original(long_folder: Path, tmp_path: Path) -> None:
    for copy in (tmp_path / ("copy" * 25), tmp_path / "copy"):
        copy.mkdir()
        record_socket(copy, socket_file(long_folder, environment={"XDG_RUNTIME_DIR": str(tmp_path)}))
        assert known_socket(copy) == socket_file(copy)


@pytest.mark.parametrize("record", ["", "{", "[]", "{}", "7", '{"socket": 7}', '{"socket": "\\u0000"}', "[" * 100_000])
def test_an_invalid_record_is_ignored(long_folder: Path, record: str) -> None:
    daemon_file(long_folder).write_text(record)
    assert known_socket(long_folder) == socket_file(long_folder)
