"""Where things lie, on each platform."""

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


def test_a_given_folder_wins_and_the_tilde_is_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/jay")
    monkeypatch.setenv("SCRUBJAY_HOME", "/elsewhere")
    assert data_folder("~/memory") == Path("/home/jay/memory")
    assert data_folder() == Path("/elsewhere")


def test_without_a_home_the_users_is_found() -> None:
    assert data_folder(environment={}).is_relative_to(Path.home())


def test_the_files_have_their_places() -> None:
    data = Path("/jay")
    assert {database_file(data).parent, lock_file(data).parent, index_folder(data).parent} == {data}
    assert database_file(data) != lock_file(data)
    assert index_folder(data, "/fast/index") == Path("/fast/index")


@pytest.fixture
def far(tmp_path: Path) -> Path:
    """A data folder whose name is too long for a socket in it."""
    folder = tmp_path / ("long" * 25)
    folder.mkdir()
    return folder


def test_a_socket_lies_in_the_folder_while_its_name_is_short_enough(far: Path) -> None:
    assert socket_file(Path("/jay")) == Path("/jay/run/daemon.sock")
    elsewhere = socket_file(far, environment={"XDG_RUNTIME_DIR": "/run/user/7"})
    assert elsewhere.parent == Path("/run/user/7/scrubjay")
    assert len(str(elsewhere)) < 100


@pytest.mark.parametrize("runtime", [{}, {"XDG_RUNTIME_DIR": ""}, {"XDG_RUNTIME_DIR": "here"}])
def test_a_socket_never_depends_on_the_working_folder(far: Path, runtime: dict[str, str]) -> None:
    place = socket_file(far, environment=runtime)
    assert place.is_absolute()
    assert place.parent.name.startswith("scrubjay-")


def test_a_folder_has_one_socket_by_all_of_its_names(far: Path, tmp_path: Path) -> None:
    for real in (far, tmp_path / "short"):
        real.mkdir(exist_ok=True)
        other = tmp_path / f"other-{len(real.name)}"
        other.symlink_to(real)
        assert socket_file(other) == socket_file(real)


def listening(data: Path, place: Path) -> Path:
    """A socket's file, and a note of it in the data folder."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.touch()
    daemon_file(data).write_text(json.dumps({"pid": 1, "socket": str(place)}))
    return place


def test_a_daemon_with_another_environment_is_found_by_its_note(far: Path, tmp_path: Path) -> None:
    there = socket_file(far, environment={"XDG_RUNTIME_DIR": str(tmp_path / "theirs")})
    assert known_socket(far) == socket_file(far) != there
    listening(far, there)
    assert known_socket(far) == there
    there.unlink()
    assert known_socket(far) == socket_file(far)


def test_the_note_in_a_copied_folder_leads_nobody_to_the_original(far: Path, tmp_path: Path) -> None:
    for copy in (tmp_path / ("copy" * 25), tmp_path / "copy"):
        copy.mkdir()
        listening(copy, socket_file(far, environment={"XDG_RUNTIME_DIR": str(tmp_path)}))
        assert known_socket(copy) == socket_file(copy)


@pytest.mark.parametrize("note", ["", "{", "[]", "{}", "7", '{"socket": 7}', '{"socket": "\\u0000"}', "[" * 100_000])
def test_a_note_that_makes_no_sense_is_passed_over(far: Path, note: str) -> None:
    daemon_file(far).write_text(note)
    assert known_socket(far) == socket_file(far)
