"""`scrubjay migrate` from the command line."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres import a_database, shared_server, stamp
from tests.surfaces.shell import remember, run, run_json
from tests.unit.storage.sqlite.damage import scribble, spoil_body

from scrubjay.app import hold_folder
from scrubjay.errors import CODES, Conflict, InvalidInput, NotFound, ScrubjayError, StoreInUse, StoreTooNew, WrongKey
from scrubjay.paths import database_file

pytestmark = [pytest.mark.usefixtures("home"), pytest.mark.embedded]


@pytest.fixture
def database() -> Iterator[str]:
    """The address of an empty database, with a password that must not be shown."""
    with asyncio.Runner() as runner:
        made = a_database()
        name = runner.run(made.__aenter__())
        runner.run(stamp(name))
        yield shared_server().url(name).replace("postgres@", "postgres:sesame@", 1)
        runner.run(made.__aexit__(None, None, None))


@pytest.fixture
def stored_id(home: Path) -> str:
    """Store a few memories with a history; return the id of one."""
    assert [file.stat().st_size for file in home.iterdir()] == [0]
    tea = remember("green tea", "--name", "tea")
    run("revise", "tea", "--text", "black tea")
    remember("a scrub jay", "--name", "jay")
    run("relate", "tea", "jay")
    remember("elsewhere", "--space", "work")
    return tea


def contents(*options: str) -> list[str]:
    return sorted(line for line in run("export", *options).out.splitlines() if not line.startswith('{"scrubjay"'))


@pytest.mark.usefixtures("stored_id")
def test_copy_to_a_database_and_back_into_another_folder(
    home: Path, tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = run("migrate", "--to", database)
    assert (there.code, there.err) == (0, "")
    lines = there.out.splitlines()
    assert lines[0].startswith(f"copied 3 memories from sqlite:{home} to postgresql://postgres@")
    assert lines[0].endswith(" a second); 0 existed already")
    # What was written today in each space.
    assert lines[1] == "  1 relations, 0 vectors, 0 tokens, 0 answers, 2 documents"
    assert lines[2].startswith("compared 3 memories with 4 versions in ")
    assert lines[3].endswith(" are the same")
    # Without an address, the store of the settings is used.
    before = contents()
    monkeypatch.setenv("SCRUBJAY_DATABASE_URL", database)
    other = tmp_path / "other"
    back = run_json("migrate", "--to", f"sqlite:{other}")
    monkeypatch.delenv("SCRUBJAY_DATABASE_URL")
    assert (back["ok"], back["target"]) == (True, f"sqlite:{other}")
    assert contents("--data", str(other)) == before
    assert len(run("history", "tea", "--data", str(other)).out.splitlines()[1:]) == 2
    assert "sesame" not in there.out + str(back)


@pytest.mark.usefixtures("stored_id")
def test_a_dry_run_shows_what_would_be_copied_and_changes_nothing(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    answer = run("migrate", "--to", f"sqlite:{other}", "--dry-run")
    assert answer.out.splitlines() == [
        f"would copy 3 memories from sqlite:{home} to sqlite:{other}; 0 exist already",
        "  default: 2 memories, 3 versions, 1 relations, no vectors",
        "  work: 1 memories, 1 versions, 0 relations, no vectors",
        "  0 tokens",
    ]
    assert not other.exists()
    run("migrate", "--to", f"sqlite:{other}")
    assert "would copy 0 memories" in run("migrate", "--to", f"sqlite:{other}", "--dry-run").out


def test_a_difference_is_reported_by_id_and_fails(tmp_path: Path, stored_id: str) -> None:
    other = f"sqlite:{tmp_path / 'other'}"
    run("migrate", "--to", other)
    assert run("migrate", "--to", other, "--verify").code == 0
    run("revise", "tea", "--title", "Tea")
    answer = run("migrate", "--to", other, "--verify")
    assert answer.code == CODES[ScrubjayError].exit
    assert f"  default: {stored_id} is not the same in the target" in answer.out
    assert answer.out.endswith("are not the same: 1 differences\n")
    results = run("migrate", "--to", other, "--verify", "--json").json()
    assert results["ok"] is False
    # Only the migration has written to the target, so changed memories are copied again.
    assert run_json("migrate", "--to", other)["ok"] is True


def test_a_target_with_memories_needs_an_option(tmp_path: Path, stored_id: str) -> None:
    other = tmp_path / "other"
    remember("another tea", "--name", "tea", "--data", str(other))
    answer = run("migrate", "--to", f"sqlite:{other}")
    assert answer.code == CODES[Conflict].exit
    assert "--into-existing" in answer.err
    merged = run("migrate", "--to", f"sqlite:{other}", "--into-existing")
    assert merged.code == 0
    assert f"  renamed default: tea -> tea-{stored_id[-6:]}" in merged.out


def test_damage_is_reported_and_the_rest_is_copied(home: Path, tmp_path: Path, stored_id: str) -> None:
    spoil_body(database_file(home), stored_id, 1)
    other = f"sqlite:{tmp_path / 'other'}"
    answer = run("migrate", "--to", other)
    assert answer.code == CODES[ScrubjayError].exit
    assert f"damaged in the source, not copied: default: memory {stored_id} (version 1)" in answer.out
    assert run("migrate", "--to", other, "--skip-damaged").code == 0


def test_a_folder_in_use_is_not_copied(home: Path, tmp_path: Path) -> None:
    remember("green tea")
    lock = hold_folder(home)
    answer = run("migrate", "--to", f"sqlite:{tmp_path / 'other'}", "--json")
    lock.release()
    assert answer.code == CODES[StoreInUse].exit
    assert answer.error()["hint"] == "Stop the daemon and all other programs that use it, and try again"


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ((), InvalidInput, "the same store"),
        (("--to", "sqlite:{home}"), InvalidInput, "the same store"),
        (("--to", "sqlite:{home}/memory.db"), InvalidInput, "the same store"),
        (("--to", "mysql://u:sesame@h/d"), InvalidInput, "postgresql://user"),
        (("--to", "sqlite:"), InvalidInput, "names no folder"),
        (("--to", "sqlite:{home}/store.lock"), InvalidInput, "is not a data folder"),
        (("--from", "sqlite:{home}/nowhere"), NotFound, "no store in"),
        (("--from", "postgresql://u:sesame@127.0.0.1:1x/d"), InvalidInput, "malformed"),
    ],
)
def test_a_wrong_address_is_reported_without_its_password(
    home: Path, options: tuple[str, ...], kind: type[ScrubjayError], message: str
) -> None:
    remember("green tea")
    answer = run("migrate", *(option.format(home=home) for option in options))
    assert (answer.code, answer.out) == (CODES[kind].exit, "")
    assert message in answer.err
    assert "sesame" not in answer.err
    assert not (home / "nowhere").exists()


def test_a_plain_copy_of_the_files_is_the_same_store(home: Path, tmp_path: Path) -> None:
    remember("green tea")
    copy = tmp_path / "copy"
    copy.mkdir()
    database_file(copy).write_bytes(database_file(home).read_bytes())
    answer = run("migrate", "--to", f"sqlite:{copy}")
    assert (answer.code, "same store" in answer.err) == (CODES[InvalidInput].exit, True)


def test_a_newer_target_and_a_wrong_key_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember("green tea")
    other = tmp_path / "other"
    other.mkdir()
    run("status", "--data", str(other))
    scribble(database_file(other), "PRAGMA user_version = 99")
    assert run("migrate", "--to", f"sqlite:{other}").code == CODES[StoreTooNew].exit
    monkeypatch.setenv("SCRUBJAY_KEY", "sesame")
    answer = run("migrate", "--to", f"sqlite:{tmp_path / 'third'}")
    assert (answer.code, "sesame" in answer.err) == (CODES[WrongKey].exit, False)


def test_an_encrypted_store_is_copied_to_a_database_and_to_another_folder(
    home: Path, tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRUBJAY_KEY", "open sesame")
    remember("a secret")
    assert run_json("migrate", "--to", database)["ok"] is True
    other = tmp_path / "other"
    assert run_json("migrate", "--to", f"sqlite:{other}")["ok"] is True
    for folder in (home, other):
        assert b"SQLite format" not in database_file(folder).read_bytes()[:100]
