"""`doctor` of an encrypted store finds each kind of plain file beside it, and nothing that is its own."""

import tempfile
from pathlib import Path

import pytest

from scrubjay.app import open_engine
from scrubjay.app.notes import open_notes
from scrubjay.app.plain_files import find_plain_files
from scrubjay.model.caller import Caller
from scrubjay.model.requests import DoctorRequest, SyncNotesRequest, WriteNoteRequest
from scrubjay.settings import Settings

WHO = Caller(space="default")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return Settings(home=str(tmp_path / "data"), embedder="none", key="secret")


async def test_what_an_encrypted_store_writes_is_no_plain_file(settings: Settings) -> None:
    async with open_engine(settings) as engine, open_notes(settings, engine) as notes:
        written = await notes.write_note(WriteNoteRequest(title="Tea", content="green"), who=WHO)
        assert (written.file_path, notes.vaults) == ("", None)
        assert "file" not in " ".join(written.warnings)
        checks = {check.name: check for check in (await notes.doctor(DoctorRequest(), who=WHO)).checks}
        with pytest.raises(Exception, match="has no folder of notes") as caught:
            await notes.sync_notes(SyncNotesRequest(), who=WHO)
        assert "SCRUBJAY_NOTESTORE_PATH" in str(getattr(caught.value, "hint", ""))
    assert checks["encryption"].ok
    assert find_plain_files(settings) == []


async def test_a_store_without_a_key_has_no_such_check(settings: Settings) -> None:
    async with open_engine(settings.with_overrides(key="")) as engine:
        assert not engine.is_encrypted
        assert "encryption" not in {check.name for check in (await engine.doctor(DoctorRequest(), who=WHO)).checks}


@pytest.mark.parametrize(
    "name",
    ["notes/a.md", "notes/attachments/a.png", "index/notes.db", "index/notes.db.set-aside", "index/gen-0001/shard/x",
     "memory.db.before-20260101", "backup.db", "export.jsonl", "export.jsonl.partial",
     "../tmp/scrubjay-a1b2c3d4/notes.json", "../tmp/scrubjay-a1b2c3d4/memory.db"],
)  # fmt: skip
def test_each_kind_of_plain_file_is_reported(settings: Settings, name: str) -> None:
    file = settings.data / name
    file.parent.mkdir(parents=True)
    file.write_bytes(b"SQLite format 3\x00 and more")
    (plain,) = find_plain_files(settings)
    assert file.resolve().is_relative_to(plain.path.resolve())
    assert plain.advice
    file.write_bytes(b"encrypted noise")
    is_database = name.endswith((".db", ".set-aside")) or "before" in name
    assert (find_plain_files(settings) == []) is is_database


def test_a_named_folder_of_notes_is_meant_to_be_plain(settings: Settings) -> None:
    note = settings.data / "notes" / "a.md"
    note.parent.mkdir(parents=True)
    note.touch()
    assert find_plain_files(settings)
    assert not find_plain_files(settings.with_overrides(notestore_path=str(note.parent)))


def test_a_key_file_in_the_data_folder_is_reported(settings: Settings) -> None:
    settings.data.mkdir()
    inside = settings.data / "key"
    (plain,) = find_plain_files(settings.with_overrides(key="", key_file=str(inside)))
    assert (plain.path, plain.what) == (inside, "the key itself")
    assert find_plain_files(settings.with_overrides(key="", key_file=str(settings.data.parent / "key"))) == []
