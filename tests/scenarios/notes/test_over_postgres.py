"""A folder of notes over a PostgreSQL: the same stories, and what other servers of the database write."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from scrubjay.app import SystemClock
from scrubjay.engine import Engine
from scrubjay.errors import NotFound, VaultUnavailable
from scrubjay.model.draft import Draft, Edit
from scrubjay.model.memory import State
from scrubjay.notes.requests import NoteDraft, NoteEdit, NoteSearch
from scrubjay.notes.service import Notes
from scrubjay.notes.vault import open_vault
from scrubjay.notes.vault_provider import VaultProvider
from tests.postgres import a_database, stamp
from tests.postgres_engines import engine_over
from tests.scenarios.notes.test_following import changed, running, until
from tests.scenarios.notes.vaults import AGENT, PLAIN, Desk, open_desk
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
async def context(engine: Engine, home: Path) -> AsyncIterator[Desk]:
    async with open_desk(home, engine=engine) as opened:
        yield opened


async def an_engine(name: str, home: Path) -> Engine:
    return replace(await engine_over(name, home, clock=SystemClock()), default_rules=PLAIN)


async def test_the_life_of_a_note(context: Desk) -> None:
    item = await context.write("The goals are three.", title="Q4 goals", category="work", tags=("goals",))
    other = await context.write("See [[Q4 goals]].", title="Plan")
    await context.sync()
    path = await context.file(item)
    assert path.name == f"work-q4-goals-{item}.md"
    assert await context.links(other) == {item}
    # Somebody edits the file: that is a version.
    context.save(path, path.read_text().replace("three", "four"))
    assert (await context.sync()).taken == 1
    memory = await context.get(item)
    assert (memory.content, memory.version, memory.source.method) == ("The goals are four.", 2, "file")
    # It is called otherwise: the file moves, and what links it says so.
    await context.edit(item, title="Aims")
    await context.sync()
    assert not path.exists()
    path = await context.file(item)
    assert path.name == f"work-aims-{item}.md"
    assert (await context.get(other)).content == "See [[Aims]]."
    assert f"[[{path.stem}|Aims]]" in (await context.file(other)).read_text()
    # It is forgotten, and comes back.
    await context.forget(item)
    await context.sync()
    assert not path.exists()
    assert path.stem not in (await context.file(other)).read_text()
    await context.restore(item)
    await context.sync()
    assert "The goals are four." in path.read_text()
    assert path.stem in (await context.file(other)).read_text()
    # Its file is deleted, and so is it; a file that nobody knows is a new one.
    path.unlink()
    context.save("ideas/New.md", "---\naliases: [Fresh]\n---\nSee [[Plan]].\n")
    done = await context.sync()
    assert (done.trashed, done.created) == (1, 1)
    assert (await context.get(item)).state is State.TRASHED
    new = await context.vault.at("ideas/New.md")
    assert await context.links(new) == {other}
    assert await context.vault.drift() == ()
    assert (await context.sync()).written == 0


@pytest.mark.parametrize("strategy", ["merge", "supersede"])
async def test_a_clash_is_told_decided_and_written(context: Desk, strategy: str) -> None:
    for order in ("AES", "EASAESV", "AESRVSFSTS"):
        item = await Round.begin(context, strategy=strategy)
        for op in order:
            await item.play(op)
        await item.finish()
        await context.forget(item.id)
        await context.sync()


async def test_what_another_server_writes_is_soon_a_file(context: Desk, name: str, home: Path) -> None:
    other = await an_engine(name, home)
    try:
        async with running(context):
            # Nobody nudges: the database tells whoever listens.
            item = (await other.remember(Draft(text="Oak and ash.", title="Trees", intent="new"), who=AGENT)).id
            await until(lambda: any(file.startswith("trees") for file in context.files()))
            path = await context.file(item)
            context.save(path, path.read_text().replace("ash", "rowan"))
            await changed(context, item, lambda text: "rowan" in text)
            await other.revise(item, Edit(fields={"content": "Oak and beech."}), who=AGENT)
            await until(lambda: "beech" in path.read_text())
        assert "Oak and rowan." in await context.texts(item)
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
        written = await notes.write_note(NoteDraft(title="Trees", content="Oak and ash."), who=AGENT)
        path = Path(written.file_path)
        assert "Oak and ash." in path.read_text()
        other = await notes.write_note(NoteDraft(title="Birds", content="They sing.", category="a/b"), who=AGENT)
        linked = await notes.link_notes(written.id, other.id, who=AGENT, link_text="who live there")
        assert linked.markdown_link in path.read_text()
        await notes.edit_note("Trees", NoteEdit(content="Oak and beech."), who=AGENT)
        assert "beech" in path.read_text()
        results = await notes.search_notes(NoteSearch(query="beech"), who=AGENT)
        assert [(result.id, result.file_path) for result in results.results] == [(written.id, str(path))]
        reported = json.loads((await notes.read_note("birds", who=AGENT, format="json")).content)
        assert reported["links"] == [written.id]
        await notes.unlink_notes(written.id, other.id, who=AGENT)
        assert "[[" not in path.read_text() + Path(other.file_path).read_text()
        with pytest.raises(NotFound):
            await notes.read_note("Nobody", who=AGENT)
        check = next(check for check in (await notes.doctor(who=AGENT)).checks if check.name == "notes")
        assert check.ok, check.detail
    finally:
        await vaults.close()


async def test_edits_while_nobody_ran_are_found_and_another_database_is_refused(
    engine: Engine, home: Path, name: str
) -> None:
    async with open_desk(home, engine=engine) as context:
        item, gone = await context.write("First.", title="One"), await context.write("Second.", title="Two")
        await context.sync()
        path, lost = await context.file(item), await context.file(gone)
    path.write_text(path.read_text().replace("First.", "First of all."))
    lost.unlink()
    again = await an_engine(name, home)
    try:
        async with open_desk(home, engine=again) as context:
            done = await context.sync()
            assert (done.taken, done.trashed, done.problems) == (1, 1, ())
            assert (await context.get(item)).content == "First of all."
    finally:
        await again.close()
    async with a_database() as foreign:
        await stamp(foreign)
        stranger = await an_engine(foreign, home)
        try:
            with pytest.raises(VaultUnavailable):
                async with open_desk(home / "elsewhere", engine=stranger, root=home / "notes"):
                    pass
        finally:
            await stranger.close()
