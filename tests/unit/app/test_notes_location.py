"""Where the notes lie: where somebody says, else where they were last; never in two places unasked."""

import json
import logging
import shutil
import stat
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from scrubjay.app import open_engine
from scrubjay.app.notes import open_notes
from scrubjay.app.notes_location import notes_location
from scrubjay.errors import VaultUnavailable
from scrubjay.model.draft import Caller
from scrubjay.notes.requests import NoteDraft
from scrubjay.notes.results import NoteWritten
from scrubjay.notes.service import Notes
from scrubjay.paths import notes_whereabouts
from scrubjay.settings import Settings

WORK = Caller(space="work")
TEA = NoteDraft(title="Tea", content="Green tea.")


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


async def written(data: Path, *, folder: Path | None = None, space: str = "default") -> Path:
    """Keep a note; tells its file."""
    async with notes_in(data, folder=folder, space=space) as notes:
        made = await notes.write_note(TEA, who=Caller(space=space))
        assert moves_in(made) == []
        return Path(made.file_path)


def moves_in(made: NoteWritten) -> list[str]:
    """What an answer says of a folder that the notes were in."""
    return [warning for warning in made.warnings if "until now" in warning]


async def problem_of(notes: Notes) -> str:
    """What the doctor, a sync and a write say alike of a folder that cannot be had."""
    with pytest.raises(VaultUnavailable) as caught:
        await notes.sync_notes(who=Caller())
    made = await notes.write_note(NoteDraft(title="Milk", content="Oat milk."), who=Caller())
    assert made.file_path == ""
    assert any(str(caught.value) in warning for warning in made.warnings)
    assert (await notes.status(who=Caller())).vault["problem"] == str(caught.value)
    (check,) = [check for check in (await notes.doctor(who=Caller())).checks if check.name == "notes"]
    assert (check.ok, check.detail) == (False, str(caught.value))
    return str(caught.value)


async def test_where_nobody_names_a_folder_the_one_that_was_used_last_is_used(data: Path, vault: Path) -> None:
    file = await written(data, folder=vault)
    async with notes_in(data) as notes:
        done = await notes.sync_notes(who=Caller())
        assert (done.folder, done.checked, done.written, done.problems) == (str(vault), 1, 0, ())
        other = await notes.write_note(NoteDraft(title="Milk", content="Oat milk."), who=Caller())
        assert Path(other.file_path).parent == vault
    assert file.exists()
    assert not (data / "notes").exists()
    assert stat.S_IMODE(notes_whereabouts(data).stat().st_mode) == 0o600


async def test_a_folder_that_was_used_last_is_known_to_who_only_looks(data: Path, vault: Path) -> None:
    await written(data, folder=vault)
    async with notes_in(data) as notes:
        assert (await notes.status(who=Caller())).vault["path"] == str(vault)


async def test_another_folder_that_is_named_gets_the_notes_and_it_is_said_once(
    data: Path, vault: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, other = await written(data, folder=vault), tmp_path / "other"
    before = file.read_bytes()
    async with notes_in(data, folder=vault) as notes:
        attached = await notes.attach_file("Tea", "leaf.txt", b"a leaf", who=Caller())
    kept = {path: path.read_bytes() for path in vault.rglob("*.*") if path.is_file()}
    with caplog.at_level(logging.WARNING, logger="scrubjay.app.notes"):
        async with notes_in(data, folder=other) as notes:
            done = await notes.sync_notes(who=Caller())
            assert (done.folder, done.written) == (str(other), 1)
            (told,) = done.problems
            assert told.startswith(f"{vault}: ")
            assert str(other) in told
            assert (await notes.sync_notes(who=Caller())).problems == ()
            (found,) = (await notes.note_attachments("Tea", who=Caller())).attachments
            assert (found.id, found.path) == (attached.attachment.id, None)
            # As it says, what else lies there goes along when it is copied.
            shutil.copytree(vault / "attachments", other / "attachments")
            (found,) = (await notes.note_attachments("Tea", who=Caller())).attachments
            assert found.path == other / found.file
    assert [record.getMessage() for record in caplog.records] == ["the notes are kept in another folder from now on"]
    assert {path: path.read_bytes() for path in vault.rglob("*.*") if path.is_file()} == kept
    assert file.read_bytes() != before
    async with notes_in(data) as notes:
        done = await notes.sync_notes(who=Caller())
        assert (done.folder, done.problems) == (str(other), ())


async def test_whoever_writes_first_is_told_that_the_folder_is_another(data: Path, vault: Path) -> None:
    await written(data)
    async with notes_in(data, folder=vault) as notes:
        made = await notes.write_note(NoteDraft(title="Milk", content="Oat milk."), who=Caller())
        (told,) = moves_in(made)
        assert told.startswith(f"{data / 'notes'}: ")
        again = await notes.write_note(NoteDraft(title="Rice", content="Brown rice."), who=Caller())
        assert moves_in(again) == []


async def test_one_folder_by_two_names_is_one(data: Path, vault: Path, tmp_path: Path) -> None:
    await written(data, folder=vault)
    (tmp_path / "link").symlink_to(vault)
    async with notes_in(data, folder=tmp_path / "link") as notes:
        assert (await notes.sync_notes(who=Caller())).problems == ()


async def test_a_folder_that_is_gone_is_told_of_and_never_made_again_elsewhere(data: Path, vault: Path) -> None:
    await written(data, folder=vault)
    away = vault.rename(vault.with_name("away"))
    async with notes_in(data) as notes:
        problem = await problem_of(notes)
        assert str(vault) in problem
        assert "Bring that folder back" in problem
        assert "--notestore_path" in problem
        # The empty place where a disk is not mounted is not the folder.
        vault.mkdir()
        assert await problem_of(notes) == problem
        assert not list(vault.iterdir())
        vault.rmdir()
        away.rename(vault)
        done = await notes.sync_notes(who=Caller())
        assert (done.folder, done.written, done.problems) == (str(vault), 2, ())
    assert not (data / "notes").exists()


async def test_a_folder_that_is_gone_is_made_anew_where_it_is_named(data: Path, vault: Path) -> None:
    file = await written(data, folder=vault)
    shutil.rmtree(vault)
    async with notes_in(data, folder=vault) as notes:
        assert (await notes.sync_notes(who=Caller())).written == 1
    assert file.exists()


async def test_each_space_has_the_folder_that_it_used_last(data: Path, vault: Path, tmp_path: Path) -> None:
    await written(data, folder=vault)
    await written(data, folder=tmp_path / "work", space="work")
    assert notes_location(settings_in(data)).folder == vault
    assert notes_location(settings_in(data, space="work")).folder == tmp_path / "work"
    assert notes_location(settings_in(data, space="home")).folder == data / "notes"


async def test_what_was_left_in_the_usual_place_is_not_taken_up_for_another_space(data: Path, vault: Path) -> None:
    await written(data)
    async with notes_in(data, folder=vault) as notes:
        await notes.sync_notes(who=Caller())
    found = notes_location(settings_in(data, space="work"))
    assert (found.folder, found.space) == (vault, "default")


async def test_a_folder_within_the_data_folder_goes_along_with_it(data: Path, tmp_path: Path) -> None:
    await written(data, folder=data / "vault")
    moved = data.rename(tmp_path / "moved")
    async with notes_in(moved) as notes:
        done = await notes.sync_notes(who=Caller())
        assert (done.folder, done.checked, done.problems) == (str(moved / "vault"), 1, ())


async def test_a_copy_of_a_data_folder_leaves_the_notes_of_the_first_alone(
    data: Path, vault: Path, tmp_path: Path
) -> None:
    await written(data, folder=vault)
    copy = Path(shutil.copytree(data, tmp_path / "copy"))
    async with notes_in(copy) as notes:
        problem = await problem_of(notes)
        assert str(vault) in problem
        assert "moved or copied" in problem
        assert "--notestore_path" in problem
    assert not (copy / "notes").exists()
    async with notes_in(data) as notes:
        assert (await notes.sync_notes(who=Caller())).checked == 1
    # Whoever has moved the data folder says so by naming the folder, once.
    async with notes_in(copy, folder=vault) as notes:
        await notes.sync_notes(who=Caller())
    async with notes_in(copy) as notes:
        assert (await notes.sync_notes(who=Caller())).folder == str(vault)


@pytest.mark.parametrize(
    "text",
    [
        "", "{nonsense", "[]", '{"format": 2, "folders": {}}', '{"format": 1, "folders": ["/notes"]}',
        '{"format": 1, "folders": {"default": 1}}', '{"format": 1, "folders": {"default": "a\\u0000b"}}', "[" * 100_000,
    ],
)  # fmt: skip
async def test_where_it_cannot_be_read_nothing_is_guessed(data: Path, vault: Path, text: str) -> None:
    await written(data, folder=vault)
    notes_whereabouts(data).write_text(text)
    async with notes_in(data) as notes:
        problem = await problem_of(notes)
        assert str(notes_whereabouts(data)) in problem
        assert "--notestore_path" in problem
    assert not (data / "notes").exists()
    async with notes_in(data, folder=vault) as notes:
        await notes.sync_notes(who=Caller())
    assert json.loads(notes_whereabouts(data).read_text())["folders"] == {"default": str(vault)}


async def test_notes_are_kept_also_where_their_folder_cannot_be_remembered(
    data: Path, vault: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notes_whereabouts(data).mkdir(parents=True)
    assert (await written(data, folder=vault)).exists()
    assert "where the notes lie cannot be remembered" in [record.getMessage() for record in caplog.records]
    assert not list(data.glob("*.partial"))


async def test_a_folder_of_another_space_is_remembered_as_that_ones(data: Path, vault: Path) -> None:
    await written(data, folder=vault)
    async with notes_in(data, folder=vault, space="work") as notes:
        assert (await notes.write_note(TEA, who=WORK)).file_path == ""
        await notes.sync_notes(who=Caller())
    assert json.loads(notes_whereabouts(data).read_text())["folders"] == {"default": str(vault)}
