"""A folder of notes over PostgreSQL: the same scenarios, and changes by other servers of the database."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from scrubjay.app import SystemClock
from scrubjay.engine import Engine
from scrubjay.errors import NotFound, VaultUnavailable
from scrubjay.model.draft import Draft
from scrubjay.model.memory import State
from scrubjay.model.requests import (
    DoctorRequest,
    Edit,
    EditNoteRequest,
    LinkNotesRequest,
    ReadNoteRequest,
    SearchNotesRequest,
    UnlinkNotesRequest,
    WriteNoteRequest,
)
from scrubjay.notes.service import Notes
from scrubjay.notes.vault import open_vault
from scrubjay.notes.vault_provider import VaultProvider
from scrubjay.storage.postgres import PostgresStore
from tests.postgres import a_database, address_of, stamp
from tests.postgres_engines import engine_over
from tests.scenarios.notes.harness import AGENT, PLAIN, VaultHarness, open_harness
from tests.scenarios.notes.test_following import changed, running, until
from tests.scenarios.notes.writers import Round


@pytest.fixture
async def name() -> AsyncIterator[str]:
    async with a_database() as made:
        yield made


@pytest.fixture
async def engine(name: str, home: Path) -> AsyncIterator[Engine]:
    home.mkdir(parents=True)
    opened = await an_engine(name, home)
    yield opened
    await opened.close()


@pytest.fixture
async def harness(engine: Engine, home: Path) -> AsyncIterator[VaultHarness]:
    async with open_harness(home, engine=engine) as opened:
        yield opened


async def an_engine(name: str, home: Path) -> Engine:
    return replace(
        engine_over(await PostgresStore.open(address_of(name)), home, clock=SystemClock()), default_rules=PLAIN
    )


async def test_the_life_of_a_note(harness: VaultHarness) -> None:
    note_id = await harness.write("The goals are three.", title="Q4 goals", category="work", tags=("goals",))
    other = await harness.write("See [[Q4 goals]].", title="Plan")
    await harness.sync()
    path = await harness.file(note_id)
    assert path.name == f"work-q4-goals-{note_id}.md"
    assert await harness.links(other) == {note_id}
    # An edit of the file becomes a version.
    harness.save(path, path.read_text().replace("three", "four"))
    assert (await harness.sync()).taken == 1
    memory = await harness.get(note_id)
    assert (memory.content, memory.version, memory.source.method) == ("The goals are four.", 2, "file")
    # A new title renames the file, and the links to it.
    await harness.edit(note_id, title="Aims")
    await harness.sync()
    assert not path.exists()
    path = await harness.file(note_id)
    assert path.name == f"work-aims-{note_id}.md"
    assert (await harness.get(other)).content == "See [[Aims]]."
    assert f"[[{path.stem}|Aims]]" in (await harness.file(other)).read_text()
    # It is forgotten and restored.
    await harness.forget(note_id)
    await harness.sync()
    assert not path.exists()
    assert path.stem not in (await harness.file(other)).read_text()
    await harness.restore(note_id)
    await harness.sync()
    assert "The goals are four." in path.read_text()
    assert path.stem in (await harness.file(other)).read_text()
    # Deleting its file trashes it; an unknown file becomes a new memory.
    path.unlink()
    harness.save("ideas/New.md", "---\naliases: [Fresh]\n---\nSee [[Plan]].\n")
    done = await harness.sync()
    assert (done.trashed, done.created) == (1, 1)
    assert (await harness.get(note_id)).state is State.TRASHED
    new = await harness.vault.find_id("ideas/New.md")
    assert await harness.links(new) == {other}
    assert await harness.vault.drift() == ()
    assert (await harness.sync()).written == 0


@pytest.mark.parametrize("strategy", ["merge", "supersede"])
async def test_a_conflict_is_reported_resolved_and_written(harness: VaultHarness, strategy: str) -> None:
    for order in ("AES", "EASAESV", "AESRVSFSTS"):
        shared = await Round.begin(harness, strategy=strategy)
        for op in order:
            await shared.play(op)
        await shared.finish()
        await harness.forget(shared.id)
        await harness.sync()


async def test_a_memory_by_another_server_soon_becomes_a_file(harness: VaultHarness, name: str, home: Path) -> None:
    other = await an_engine(name, home)
    try:
        async with running(harness):
            # Without `wake`: the database notifies its listeners.
            note_id = (await other.remember(Draft(text="Oak and ash.", title="Trees", intent="new"), who=AGENT)).id
            await until(lambda: any(file.startswith("trees") for file in harness.files()))
            path = await harness.file(note_id)
            harness.save(path, path.read_text().replace("ash", "rowan"))
            await changed(harness, note_id, lambda text: "rowan" in text)
            await other.apply_edit(note_id, Edit(fields={"content": "Oak and beech."}), who=AGENT)
            await until(lambda: "beech" in path.read_text())
        assert "Oak and rowan." in await harness.texts(note_id)
    finally:
        await other.close()


async def test_the_verbs_of_notes(engine: Engine, home: Path) -> None:
    root = home / "notes"
    vaults = VaultProvider(
        root, space="default", expected=True,
        opens=lambda: open_vault(engine, folder=root, ledger=home / "notes.db", space="default"),
    )  # fmt: skip
    notes = Notes(engine=engine, vaults=vaults)
    try:
        written = await notes.write_note(WriteNoteRequest(title="Trees", content="Oak and ash."), who=AGENT)
        path = Path(written.file_path)
        assert "Oak and ash." in path.read_text()
        other = await notes.write_note(WriteNoteRequest(title="Birds", content="They sing.", category="a/b"), who=AGENT)
        linked = await notes.link_notes(
            LinkNotesRequest(source_id=written.id, target_id=other.id, link_text="who live there"), who=AGENT
        )
        assert linked.markdown_link in path.read_text()
        # Each end keeps the text that it wrote.
        back = await notes.link_notes(
            LinkNotesRequest(source_id=other.id, target_id=written.id, link_text="where they live"), who=AGENT
        )
        texts = path.read_text(), Path(other.file_path).read_text()
        assert (linked.markdown_link in texts[0], back.markdown_link in texts[1]) == (True, True)
        assert (back.source_id, "where they live" in texts[0], "who live there" in texts[1]) == (other.id, False, False)
        await notes.edit_note(EditNoteRequest(id="Trees", content="Oak and beech."), who=AGENT)
        assert "beech" in path.read_text()
        hits = await notes.search_notes(SearchNotesRequest(query="beech"), who=AGENT)
        assert [(result.id, result.file_path) for result in hits.results] == [(written.id, str(path))]
        content = json.loads(
            (await notes.read_note(ReadNoteRequest(identifier="birds", format="json"), who=AGENT)).content
        )
        assert content["links"] == [written.id]
        await notes.unlink_notes(UnlinkNotesRequest(source_id=written.id, target_id=other.id), who=AGENT)
        assert "[[" not in path.read_text() + Path(other.file_path).read_text()
        with pytest.raises(NotFound):
            await notes.read_note(ReadNoteRequest(identifier="Missing"), who=AGENT)
        check = next(
            check for check in (await notes.doctor(DoctorRequest(), who=AGENT)).checks if check.name == "notes"
        )
        assert check.ok, check.detail
    finally:
        await vaults.close()


async def test_edits_without_a_running_vault_are_found_and_another_database_is_refused(
    engine: Engine, home: Path, name: str
) -> None:
    async with open_harness(home, engine=engine) as harness:
        note_id, gone = await harness.write("First.", title="One"), await harness.write("Second.", title="Two")
        await harness.sync()
        path, lost = await harness.file(note_id), await harness.file(gone)
    path.write_text(path.read_text().replace("First.", "First of all."))
    lost.unlink()
    again = await an_engine(name, home)
    try:
        async with open_harness(home, engine=again) as harness:
            done = await harness.sync()
            assert (done.taken, done.trashed, done.problems) == (1, 1, ())
            assert (await harness.get(note_id)).content == "First of all."
    finally:
        await again.close()
    async with a_database() as foreign:
        await stamp(foreign)
        other_engine = await an_engine(foreign, home)
        try:
            with pytest.raises(VaultUnavailable):
                async with open_harness(home / "elsewhere", engine=other_engine, root=home / "notes"):
                    pass
        finally:
            await other_engine.close()
