"""The folder of the notes: the named one, else the one used last; never two folders by accident."""

import json
import logging
import shutil
import stat
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.scenarios.notes.obsidian import make_vault, snapshot

from scrubjay.app import open_engine
from scrubjay.app.notes import open_notes
from scrubjay.app.notes_location import notes_location
from scrubjay.errors import InvalidInput, VaultUnavailable
from scrubjay.model.caller import Caller
from scrubjay.model.notes import NoteWritten
from scrubjay.model.requests import (
    AdoptNotesRequest,
    AttachFileRequest,
    DoctorRequest,
    NoteAttachmentsRequest,
    StatusRequest,
    SyncNotesRequest,
    UndoRequest,
    WriteNoteRequest,
)
from scrubjay.notes.service import Notes
from scrubjay.paths import notes_location_file
from scrubjay.settings import Settings

WORK = Caller(space="work")
TEA = WriteNoteRequest(title="Tea", content="Green tea.")
PAIRS = 40


def settings_in(data: Path, *, folder: Path | None = None, space: str = "default") -> Settings:
    return Settings(
        home=str(data), notestore_path=str(folder or ""), space=space, embedder="none", vector_index="scan", readers=1
    )  # fmt: skip


@asynccontextmanager
async def notes_in(data: Path, *, folder: Path | None = None, space: str = "default") -> AsyncGenerator[Notes]:
    settings = settings_in(data, folder=folder, space=space)
    async with open_engine(settings) as engine, open_notes(settings, engine) as notes:
        yield notes


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "vault"


async def write_tea(data: Path, *, folder: Path | None = None, space: str = "default") -> Path:
    """Write a note and return its file."""
    async with notes_in(data, folder=folder, space=space) as notes:
        made = await notes.write_note(TEA, who=Caller(space=space))
        assert moves_in(made) == []
        return Path(made.file_path)


def moves_in(made: NoteWritten) -> list[str]:
    """Return the warnings about a move of the notes."""
    return [warning for warning in made.warnings if "have moved" in warning]


async def problem_of(notes: Notes) -> str:
    """Return the problem that a sync, a write, the status and the doctor all report."""
    with pytest.raises(VaultUnavailable) as caught:
        await notes.sync_notes(SyncNotesRequest(), who=Caller())
    made = await notes.write_note(WriteNoteRequest(title="Milk", content="Oat milk."), who=Caller())
    assert made.file_path == ""
    assert any(str(caught.value) in warning for warning in made.warnings)
    assert (await notes.status(StatusRequest(), who=Caller())).vault["problem"] == str(caught.value)
    (check,) = [check for check in (await notes.doctor(DoctorRequest(), who=Caller())).checks if check.name == "notes"]
    assert (check.ok, check.detail) == (False, str(caught.value))
    return str(caught.value)


async def test_without_a_named_folder_the_one_used_last_is_used(data: Path, vault: Path) -> None:
    file = await write_tea(data, folder=vault)
    async with notes_in(data) as notes:
        done = await notes.sync_notes(SyncNotesRequest(), who=Caller())
        assert (done.folder, done.checked, done.written, done.problems) == (str(vault), 1, 0, ())
        other = await notes.write_note(WriteNoteRequest(title="Milk", content="Oat milk."), who=Caller())
        assert Path(other.file_path).parent == vault
    assert file.exists()
    assert not (data / "notes").exists()
    assert stat.S_IMODE(notes_location_file(data).stat().st_mode) == 0o600


async def test_status_names_the_folder_used_last(data: Path, vault: Path) -> None:
    await write_tea(data, folder=vault)
    async with notes_in(data) as notes:
        assert (await notes.status(StatusRequest(), who=Caller())).vault["path"] == str(vault)


async def test_another_named_folder_gets_the_notes_with_one_warning(
    data: Path, vault: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, other = await write_tea(data, folder=vault), tmp_path / "other"
    before = file.read_bytes()
    async with notes_in(data, folder=vault) as notes:
        attached = await notes.attach_file(AttachFileRequest(note="Tea", name="leaf.txt", data=b"a leaf"), who=Caller())
    files = {path: path.read_bytes() for path in vault.rglob("*.*") if path.is_file()}
    with caplog.at_level(logging.WARNING, logger="scrubjay.app.notes"):
        async with notes_in(data, folder=other) as notes:
            done = await notes.sync_notes(SyncNotesRequest(), who=Caller())
            assert (done.folder, done.written) == (str(other), 1)
            (problem,) = done.problems
            assert problem.startswith(f"{vault}: ")
            assert str(other) in problem
            assert (await notes.sync_notes(SyncNotesRequest(), who=Caller())).problems == ()
            (attachment,) = (await notes.note_attachments(NoteAttachmentsRequest(note="Tea"), who=Caller())).attachments
            assert (attachment.id, attachment.path) == (attached.attachment.id, None)
            # Attachments are found after they are copied, as the warning says.
            shutil.copytree(vault / "attachments", other / "attachments")
            (attachment,) = (await notes.note_attachments(NoteAttachmentsRequest(note="Tea"), who=Caller())).attachments
            assert attachment.path == other / attachment.file
    assert [record.getMessage() for record in caplog.records] == ["the notes have moved to another folder"]
    assert {path: path.read_bytes() for path in vault.rglob("*.*") if path.is_file()} == files
    assert file.read_bytes() != before
    async with notes_in(data) as notes:
        done = await notes.sync_notes(SyncNotesRequest(), who=Caller())
        assert (done.folder, done.problems) == (str(other), ())


async def test_the_first_write_warns_that_the_folder_is_another(data: Path, vault: Path) -> None:
    await write_tea(data)
    async with notes_in(data, folder=vault) as notes:
        made = await notes.write_note(WriteNoteRequest(title="Milk", content="Oat milk."), who=Caller())
        (warning,) = moves_in(made)
        assert warning.startswith(f"{data / 'notes'}: ")
        again = await notes.write_note(WriteNoteRequest(title="Rice", content="Brown rice."), who=Caller())
        assert moves_in(again) == []


async def test_one_folder_by_two_names_is_one(data: Path, vault: Path, tmp_path: Path) -> None:
    await write_tea(data, folder=vault)
    (tmp_path / "link").symlink_to(vault)
    async with notes_in(data, folder=tmp_path / "link") as notes:
        assert (await notes.sync_notes(SyncNotesRequest(), who=Caller())).problems == ()


async def test_a_missing_folder_is_reported_and_never_created_elsewhere(data: Path, vault: Path) -> None:
    await write_tea(data, folder=vault)
    away = vault.rename(vault.with_name("away"))
    async with notes_in(data) as notes:
        problem = await problem_of(notes)
        assert str(vault) in problem
        assert "Bring that folder back" in problem
        assert "--notestore_path" in problem
        # An empty mount point is not the folder.
        vault.mkdir()
        assert await problem_of(notes) == problem
        assert not list(vault.iterdir())
        vault.rmdir()
        away.rename(vault)
        done = await notes.sync_notes(SyncNotesRequest(), who=Caller())
        assert (done.folder, done.written, done.problems) == (str(vault), 2, ())
    assert not (data / "notes").exists()


async def test_a_missing_folder_is_created_again_when_it_is_named(data: Path, vault: Path) -> None:
    file = await write_tea(data, folder=vault)
    shutil.rmtree(vault)
    async with notes_in(data, folder=vault) as notes:
        assert (await notes.sync_notes(SyncNotesRequest(), who=Caller())).written == 1
    assert file.exists()


async def test_each_space_has_the_folder_that_it_used_last(data: Path, vault: Path, tmp_path: Path) -> None:
    await write_tea(data, folder=vault)
    await write_tea(data, folder=tmp_path / "work", space="work")
    assert notes_location(settings_in(data)).folder == vault
    assert notes_location(settings_in(data, space="work")).folder == tmp_path / "work"
    assert notes_location(settings_in(data, space="home")).folder == data / "notes"


async def test_notes_left_in_the_default_folder_are_not_used_for_another_space(data: Path, vault: Path) -> None:
    await write_tea(data)
    async with notes_in(data, folder=vault) as notes:
        await notes.sync_notes(SyncNotesRequest(), who=Caller())
    location = notes_location(settings_in(data, space="work"))
    assert (location.folder, location.space) == (vault, "default")


async def test_a_folder_inside_the_data_folder_moves_with_it(data: Path, tmp_path: Path) -> None:
    await write_tea(data, folder=data / "vault")
    moved = data.rename(tmp_path / "moved")
    async with notes_in(moved) as notes:
        done = await notes.sync_notes(SyncNotesRequest(), who=Caller())
        assert (done.folder, done.checked, done.problems) == (str(moved / "vault"), 1, ())


async def test_a_copy_of_a_data_folder_leaves_the_notes_of_the_first_alone(
    data: Path, vault: Path, tmp_path: Path
) -> None:
    await write_tea(data, folder=vault)
    copy = Path(shutil.copytree(data, tmp_path / "copy"))
    async with notes_in(copy) as notes:
        problem = await problem_of(notes)
        assert str(vault) in problem
        assert "moved or copied" in problem
        assert "--notestore_path" in problem
    assert not (copy / "notes").exists()
    async with notes_in(data) as notes:
        assert (await notes.sync_notes(SyncNotesRequest(), who=Caller())).checked == 1
    # After a move of the data folder, naming the folder once is enough.
    async with notes_in(copy, folder=vault) as notes:
        await notes.sync_notes(SyncNotesRequest(), who=Caller())
    async with notes_in(copy) as notes:
        assert (await notes.sync_notes(SyncNotesRequest(), who=Caller())).folder == str(vault)


@pytest.mark.parametrize(
    "text",
    [
        "", "{nonsense", "[]", '{"format": 2, "folders": {}}', '{"format": 1, "folders": ["/notes"]}',
        '{"format": 1, "folders": {"default": 1}}', '{"format": 1, "folders": {"default": "a\\u0000b"}}', "[" * 100_000,
    ],
)  # fmt: skip
async def test_an_unreadable_record_is_an_error(data: Path, vault: Path, text: str) -> None:
    await write_tea(data, folder=vault)
    notes_location_file(data).write_text(text)
    async with notes_in(data) as notes:
        problem = await problem_of(notes)
        assert str(notes_location_file(data)) in problem
        assert "--notestore_path" in problem
    assert not (data / "notes").exists()
    async with notes_in(data, folder=vault) as notes:
        await notes.sync_notes(SyncNotesRequest(), who=Caller())
    assert json.loads(notes_location_file(data).read_text())["folders"] == {"default": str(vault)}


async def test_notes_are_written_even_if_their_folder_cannot_be_recorded(
    data: Path, vault: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notes_location_file(data).mkdir(parents=True)
    assert (await write_tea(data, folder=vault)).exists()
    assert "the folder of the notes cannot be recorded" in [record.getMessage() for record in caplog.records]
    assert not list(data.glob("*.partial"))


async def test_a_folder_of_another_space_is_recorded_for_that_space(data: Path, vault: Path) -> None:
    await write_tea(data, folder=vault)
    async with notes_in(data, folder=vault, space="work") as notes:
        assert (await notes.write_note(TEA, who=WORK)).file_path == ""
        await notes.sync_notes(SyncNotesRequest(), who=Caller())
    assert json.loads(notes_location_file(data).read_text())["folders"] == {"default": str(vault)}


async def test_notes_that_name_each_other_have_one_relation(data: Path, vault: Path) -> None:
    vault.mkdir(parents=True, exist_ok=True)
    for number in range(PAIRS):
        (vault / f"Boat {number}, east.md").write_text(f"It lies beside [[Boat {number}, west]].")
        (vault / f"Boat {number}, west.md").write_text(f"It lies beside [[Boat {number}, east]].")
    async with notes_in(data) as notes:
        done = await notes.adopt_notes(AdoptNotesRequest(folder=vault), who=Caller())
    assert (done.adopted, done.linked) == (2 * PAIRS, PAIRS)


async def test_a_vault_is_adopted_after_a_plan_and_stays_the_folder(data: Path, vault: Path) -> None:
    before = make_vault(vault)
    who = Caller(space="default", run="adoption")
    async with notes_in(data) as notes:
        old = Path((await notes.write_note(TEA, who=who)).file_path)
        planned = await notes.adopt_notes(AdoptNotesRequest(folder=vault, dry_run=True), who=who)
        assert (planned.adopted, planned.new, planned.new_files, planned.copy) == (8, 1, ("Tea.md",), "")
        assert snapshot(vault) == before
        assert not (vault / ".scrubjay").exists()
        done = await notes.adopt_notes(AdoptNotesRequest(folder=vault), who=replace(who, run="adopting"))
        assert (done.found, done.adopted, done.linked, done.changed, done.new) == (9, 8, 7, (), 1)
        assert [(skipped.path, skipped.reason) for skipped in done.skipped] == [("Empty.md", "it is empty")]
        assert [link.target for link in done.broken_links] == ["Unwritten"]
        assert Path(done.copy).is_file()
        assert any(str(old.parent) in warning for warning in done.warnings)
        second = await notes.write_note(replace(TEA, title="tea", category="Projects"), who=who)
        third = await notes.write_note(replace(TEA, title="Heron?", category="Projects"), who=who)
        assert second.file_path == str(vault / "Projects/tea.md")
        # The name without the question mark is taken by a note of the vault.
        assert Path(third.file_path).name.startswith("Heron ")
        with pytest.raises(InvalidInput, match="already"):
            await notes.adopt_notes(AdoptNotesRequest(folder=vault), who=who)
        # One call takes the whole adoption back, and leaves the files alone.
        await notes.engine.undo(UndoRequest(run="adopting"), who=who)
        await notes.sync_notes(SyncNotesRequest(), who=who)
    assert {path: data for path, data in snapshot(vault).items() if path in before} == before
    assert notes_location(settings_in(data)).folder == vault
    other = data.parent / "other"
    other.mkdir()
    async with notes_in(data, folder=old.parent) as notes:
        with pytest.raises(InvalidInput, match="settings name another folder"):
            await notes.adopt_notes(AdoptNotesRequest(folder=other), who=who)


async def test_a_named_folder_with_notes_is_adopted_and_the_answer_says_so(data: Path, vault: Path) -> None:
    before = make_vault(vault)
    async with notes_in(data, folder=vault) as notes:
        synced = await notes.sync_notes(SyncNotesRequest(), who=Caller(space="default"))
    assert (synced.created, synced.written, len(synced.problems)) == (8, 0, 1)
    assert "are adopted" in synced.problems[0]
    assert snapshot(vault) == before
