"""The ledger: entries are found again in every way, and an unusable ledger is replaced by a new one."""

import logging
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from scrubjay.errors import VaultUnavailable
from scrubjay.notes.files.ledger import FileProblem, Ledger, LedgerEntry
from scrubjay.notes.files.tree import FileInfo
from scrubjay.notes.markdown.note import Link
from scrubjay.notes.markdown.wiki import key_of

NOW = datetime(2026, 5, 31, 12, 30, 0, 123456, tzinfo=UTC)
A = LedgerEntry(
    memory_id="id-a",
    branch="file-1",
    version=7,
    path="work/Plan B.md",
    size=12,
    mtime_ns=1_794_817_604_410_589_757,
    inode=2**64 - 1,
    digest=bytes(range(32)),
    links=(("id-b", "the other “one” 🐦"), ("id-c", "")),
    auto_named=False,
    title="Plan B",
    category="work",
    reviewed_at=NOW,
    created_at=NOW - timedelta(days=9),
)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "index" / "notes.db") as opened:
        yield opened


def test_an_entry_is_found_again_unchanged(ledger: Ledger) -> None:
    assert ledger.is_new
    ledger.put(A)
    assert ledger.get("id-a") == A
    assert ledger.at_path("work/Plan B.md") == A
    assert list(ledger.all()) == [A]
    assert A.file_info == FileInfo(path=A.path, size=12, mtime_ns=A.mtime_ns, inode=2**64 - 1)
    changed = replace(A, path="b.md", version=8, branch="main", links=(), reviewed_at=None, created_at=None)
    ledger.put(changed)
    assert (ledger.get("id-a"), ledger.at_path("work/Plan B.md"), ledger.count()) == (changed, None, 1)
    ledger.remove("id-a", "id-unknown")
    assert (ledger.get("id-a"), ledger.count()) == (None, 0)
    ledger.put()
    ledger.remove()


def test_a_path_has_one_note_and_two_notes_can_exchange_paths(ledger: Ledger) -> None:
    first, second, third = _note(1), _note(2), _note(3)
    ledger.put(first, second, third)
    ledger.put(replace(first, path=second.path), replace(second, path=first.path))
    assert ledger.at_path(first.path) == replace(second, path=first.path)
    ledger.put(replace(third, path=first.path))
    assert ledger.get(second.memory_id) is None
    assert ledger.get_many([first.memory_id, second.memory_id, "none"]).keys() == {first.memory_id}
    assert ledger.at_paths([first.path, second.path, "none"]).keys() == {first.path, second.path}


def test_files_below_a_folder_are_found(ledger: Ledger) -> None:
    paths = ["a.md", "a/b.md", "a/c/d.md", "a-b.md", "a0.md", "ab/c.md", "A/b.md", "a%/x.md", "a/é.md"]
    ledger.put(*(replace(_note(number), path=path) for number, path in enumerate(paths)))
    assert [entry.path for entry in ledger.in_folder("a")] == ["a/b.md", "a/c/d.md", "a/é.md"]
    assert [entry.path for entry in ledger.in_folder("a%")] == ["a%/x.md"]
    assert ledger.in_folder("none") == []


def test_files_are_found_by_the_names_that_links_use(ledger: Ledger) -> None:
    note, twin = replace(A, title="The  Plan"), replace(_note(1), path="old/PLAN B.md", title="the plan")
    ledger.put(note, twin)
    assert ledger.by_file_name([key_of("plan b"), key_of("none")]) == {key_of("plan b"): [twin, note]}
    assert ledger.by_file_name([key_of("Work/plan B")]) == {key_of("work/plan b"): [note]}
    assert ledger.by_title([key_of("The Plan")]) == {key_of("the plan"): [twin, note]}
    assert ledger.by_file_name([]) == {}


def test_files_are_found_by_their_aliases(ledger: Ledger) -> None:
    note, other = replace(A, aliases=("The  Big Plan", "B")), replace(_note(1), aliases=("b",))
    ledger.put(note, other)
    assert ledger.get("id-a") == note
    assert ledger.by_alias([key_of("the big plan"), key_of("none")]) == {key_of("the big plan"): [note]}
    assert ledger.by_alias([key_of("B")]) == {key_of("b"): [other, note]}
    ledger.put(replace(note, aliases=("C",)))
    assert ledger.by_alias(map(key_of, ("the big plan", "B"))) == {key_of("b"): [other]}
    ledger.remove(other.memory_id)
    assert ledger.by_alias([key_of("b")]) == {}
    assert ledger.changed_ids == {"id-a", other.memory_id}


def test_ten_thousand_rows_are_put_at_once_and_read_while_others_are_written(ledger: Ledger) -> None:
    ledger.put(*map(_note, range(10_000)))
    seen = 0
    for entry in ledger.all():
        seen += 1
        if seen % 2_000 == 0:
            ledger.put(replace(entry, version=2))
    assert (seen, ledger.count()) == (10_000, 10_000)
    assert len(ledger.get_many(f"id-{number}" for number in range(10_000))) == 10_000


def test_a_batch_is_all_or_nothing(ledger: Ledger) -> None:
    def fails() -> None:
        with ledger.transaction():
            ledger.put(A)
            with ledger.transaction():
                ledger.set_cursor(5)
                ledger.set_missing_links("id-a", [Link(target="x")])
            raise OSError("from the caller")

    with pytest.raises(OSError, match="from the caller"):
        fails()
    assert (ledger.cursor, ledger.count(), ledger.missing_links()) == (0, 0, [])
    with ledger.transaction():
        ledger.put(A)
        ledger.set_cursor(2**40)
    with Ledger.open(ledger.path) as again:
        assert (again.cursor, again.count(), again.is_new) == (2**40, 1, False)


def test_missing_links_are_found_by_the_keys_of_a_new_note(ledger: Ledger) -> None:
    ledger.put(A)
    ledger.set_missing_links(
        "id-a", [Link(target="Some Day.md", text="later"), Link(target="some day"), Link(target="other")]
    )
    ledger.set_missing_links("id-b", [Link(target="SOME  day")])
    links = ledger.missing_links_to([key_of("Some day")])
    assert links == [
        ("id-a", Link(target="Some Day.md", text="later")),
        ("id-a", Link(target="some day")),
        ("id-b", Link(target="SOME  day")),
    ]
    assert ledger.missing_links_of("id-b") == [Link(target="SOME  day")]
    ledger.set_missing_links("id-a", [Link(target="other")])
    assert ledger.missing_links() == [("id-a", Link(target="other")), ("id-b", Link(target="SOME  day"))]
    ledger.remove("id-a")
    ledger.set_missing_links("id-b", [])
    assert ledger.missing_links() == []


def test_a_file_has_one_problem(ledger: Ledger) -> None:
    ledger.record_problem("b.md", "broken", at=NOW)
    ledger.record_problem("a.md", "too large", at=NOW)
    ledger.record_problem("b.md", "still broken", at=NOW + timedelta(hours=1))
    assert ledger.problems() == [
        FileProblem(path="a.md", message="too large", found_at=NOW),
        FileProblem(path="b.md", message="still broken", found_at=NOW + timedelta(hours=1)),
    ]
    ledger.clear_problems("a.md", "b.md", "c.md")
    assert ledger.problems() == []


def test_the_notes_reviewed_longest_ago_are_due_first(ledger: Ledger) -> None:
    days = [(3, None), (9, 1), (5, None), (None, None), (1, None), (8, 4)]
    ledger.put(*(
        replace(_note(number), created_at=_ago(created), reviewed_at=_ago(reviewed))
        for number, (created, reviewed) in enumerate(days)
    ))  # fmt: skip
    assert [entry.memory_id for entry in ledger.due(before=NOW - timedelta(days=2), limit=9)] == [
        "id-2",
        "id-5",
        "id-0",
    ]
    assert [entry.memory_id for entry in ledger.due(before=NOW, limit=2)] == ["id-2", "id-5"]


def test_a_ledger_is_private_to_its_owner(ledger: Ledger) -> None:
    ledger.put(A)
    assert ledger.path.parent.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in ledger.path.parent.iterdir()} == {0o600}


@pytest.mark.parametrize("damage", ["noise", "cut", "torn", "older", "foreign", "newer"])
def test_an_unusable_ledger_is_set_aside_and_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    path = tmp_path / "notes.db"
    with Ledger.open(path) as ledger:
        ledger.put(*map(_note, range(500)))
    _damage(path, damage)
    damaged = path.read_bytes()
    with Ledger.open(path, writable=False) as reader:
        assert (reader.is_new, reader.count()) == (True, 0)
    assert path.read_bytes() == damaged
    with caplog.at_level(logging.WARNING), Ledger.open(path) as ledger:
        assert (ledger.is_new, ledger.count(), ledger.cursor) == (True, 0, 0)
        ledger.put(A)
    assert "replaced by a new one" in caplog.text
    assert path.with_name("notes.db.set-aside").read_bytes() == damaged
    with Ledger.open(path) as ledger:
        assert (ledger.is_new, ledger.get("id-a")) == (False, A)


def test_a_ledger_with_a_key_is_encrypted_and_leaves_no_plain_one(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with Ledger.open(path) as plain:
        plain.put(A)
    with Ledger.open(path, key="secret", writable=False) as reader:
        assert reader.is_new
    with Ledger.open(path, key="secret") as ledger:
        assert (ledger.is_new, ledger.get("id-a")) == (True, None)
        ledger.put(A)
        with Ledger.open(path, key="secret", writable=False) as reader:
            assert (reader.is_new, reader.get("id-a")) == (False, A)
        assert _files_with(tmp_path, b"Plan B") == []
    assert [file.name for file in tmp_path.iterdir()] == ["notes.db"]
    with Ledger.open(path, key="secret") as ledger:
        assert (ledger.is_new, ledger.get("id-a")) == (False, A)


def test_what_was_removed_can_be_erased(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes(b"Plan B" * 1000)
    with Ledger.open(path) as ledger:
        ledger.put(A, *map(_note, range(500)))
        ledger.remove("id-a")
        assert set(_files_with(tmp_path, b"Plan B")) > {"notes.db.set-aside"}
        ledger.erase_removed()
        assert _files_with(tmp_path, b"Plan B") == []
        assert ledger.count() == 500


def test_a_reader_changes_nothing_and_needs_no_file(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with Ledger.open(path, writable=False) as empty:
        assert (empty.is_new, empty.cursor, empty.get("id-a")) == (True, 0, None)
    assert not path.exists()
    with Ledger.open(path) as ledger, Ledger.open(path, writable=False) as reader:
        ledger.put(A)
        assert (reader.is_new, reader.get("id-a")) == (False, A)
        with pytest.raises(VaultUnavailable):
            reader.put(A)


def test_a_ledger_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "notes.db").mkdir()
    for path in (tmp_path / "file" / "notes.db", tmp_path / "notes.db"):
        with pytest.raises(VaultUnavailable, match="--index_path"):
            Ledger.open(path)


def test_later_damage_is_reported_with_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with Ledger.open(path) as ledger:
        ledger.put(*map(_note, range(500)))
    with Ledger.open(path) as ledger:
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(os.urandom(path.stat().st_size - 4096))
        ledger._connection.execute("PRAGMA shrink_memory")
        with pytest.raises(VaultUnavailable, match="rebuilt from the notes"):
            list(ledger.all())


def _damage(path: Path, damage: str) -> None:
    if damage == "noise":
        path.write_bytes(os.urandom(9000))
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:300])
    elif damage == "torn":
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2] + os.urandom(len(data) - len(data) // 2))
    elif damage == "foreign":
        path.unlink()
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE theirs(x)")
        other.close()
    else:
        connection = apsw.Connection(str(path))
        connection.pragma("user_version", 0 if damage == "older" else 99)
        connection.close()


def _note(number: int) -> LedgerEntry:
    return LedgerEntry(
        memory_id=f"id-{number}",
        version=1,
        path=f"note-{number}.md",
        size=number,
        mtime_ns=number,
        inode=number,
        digest=bytes(32),
        links=((f"id-{number + 1}", f"Note {number + 1}"),),
        title=f"Note {number}",
        category="test",
        created_at=NOW,
    )


def _ago(days: int | None) -> datetime | None:
    return None if days is None else NOW - timedelta(days=days)


def _files_with(folder: Path, text: bytes) -> list[str]:
    return [file.name for file in folder.iterdir() if text in file.read_bytes()]
