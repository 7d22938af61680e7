"""Where things lie, on each platform."""

import sys
from pathlib import Path

import pytest

from scrubjay.paths import data_folder, database_file, index_folder, lock_file


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
