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
from scrubjay.notes.asked import NoteDraft, NoteEdit, NoteSearch
from scrubjay.notes.cabinet import Cabinet
from scrubjay.notes.desk import Notes
from scrubjay.notes.vault import open_vault
from tests.notes.test_following import changed, running, until
from tests.notes.vaults import AGENT, PLAIN, Desk, open_desk
from tests.notes.writers import Round
from tests.postgres import a_database, stamp
from tests.postgres_engines import engine_over


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
async def desk(engine: Engine, home: Path) -> AsyncIterator[Desk]:
    async with open_desk(home, engine=engine) as opened:
        yield opened


async def an_engine(name: str, home: Path) -> Engine:
    return replace(await engine_over(name, home, clock=SystemClock()), default_rules=PLAIN)


async def test_the_life_of_a_note(desk: Desk) -> None:
    one = await desk.write("The goals are three.", title="Q4 goals", category="work", tags=("goals",))
    other = await desk.write("See [[Q4 goals]].", title="Plan")
    await desk.sync()
    path = await desk.file(one)
    assert path.name == f"work-q4-goals-{one}.md"
    assert await desk.links(other) == {one}
    # Somebody edits the file: that is a version.
    desk.save(path, path.read_text().replace("three", "four"))
    assert (await desk.sync()).taken == 1
    memory = await desk.get(one)
    assert (memory.content, memory.version, memory.source.method) == ("The goals are four.", 2, "file")
    # It is called otherwise: the file moves, and what links it says so.
    await desk.edit(one, title="Aims")
    await desk.sync()
    assert not path.exists()
    path = await desk.file(one)
    assert path.name == f"work-aims-{one}.md"
    assert (await desk.get(other)).content == "See [[Aims]]."
    assert f"[[{path.stem}|Aims]]" in (await desk.file(other)).read_text()
    # It is forgotten, and comes back.
    await desk.forget(one)
    await desk.sync()
    assert not path.exists()
    assert path.stem not in (await desk.file(other)).read_text()
    await desk.restore(one)
    await desk.sync()
    assert "The goals are four." in path.read_text()
    assert path.stem in (await desk.file(other)).read_text()
    # Its file is deleted, and so is it; a file that nobody knows is a new one.
    path.unlink()
    desk.save("ideas/New.md", "---\naliases: [Fresh]\n---\nSee [[Plan]].\n")
    done = await desk.sync()
    assert (done.trashed, done.created) == (1, 1)
    assert (await desk.get(one)).state is State.TRASHED
    new = await desk.vault.at("ideas/New.md")
    assert await desk.links(new) == {other}
    assert await desk.vault.drift() == ()
    assert (await desk.sync()).written == 0


@pytest.mark.parametrize("strategy", ["merge", "supersede"])
async def test_a_clash_is_told_decided_and_written(desk: Desk, strategy: str) -> None:
    for order in ("AES", "EASAESV", "AESRVSFSTS"):
        one = await Round.begin(desk, strategy=strategy)
        for op in order:
            await one.play(op)
        await one.finish()
        await desk.forget(one.id)
        await desk.sync()


async def test_what_another_server_writes_is_soon_a_file(desk: Desk, name: str, home: Path) -> None:
    other = await an_engine(name, home)
    try:
        async with running(desk):
            # Nobody nudges: the database tells whoever listens.
            one = (await other.remember(Draft(text="Oak and ash.", title="Trees", intent="new"), who=AGENT)).id
            await until(lambda: any(file.startswith("trees") for file in desk.files()))
            path = await desk.file(one)
            desk.save(path, path.read_text().replace("ash", "rowan"))
            await changed(desk, one, lambda text: "rowan" in text)
            await other.revise(one, Edit(fields={"content": "Oak and beech."}), who=AGENT)
            await until(lambda: "beech" in path.read_text())
        assert "Oak and rowan." in await desk.texts(one)
    finally:
        await other.close()


async def test_the_verbs_of_notes(engine: Engine, home: Path) -> None:
    root = home / "notes"
    cabinet = Cabinet(
        root, space="default", expected=True,
        opens=lambda: open_vault(engine, folder=root, ledger=home / "notes.db", space="default"),
    )  # fmt: skip
    notes = Notes(engine=engine, cabinet=cabinet)
    try:
        written = await notes.write_note(NoteDraft(title="Trees", content="Oak and ash."), who=AGENT)
        path = Path(written.file_path)
        assert "Oak and ash." in path.read_text()
        other = await notes.write_note(NoteDraft(title="Birds", content="They sing.", category="a/b"), who=AGENT)
        linked = await notes.link_notes(written.id, other.id, who=AGENT, link_text="who live there")
        assert linked.markdown_link in path.read_text()
        await notes.edit_note("Trees", NoteEdit(content="Oak and beech."), who=AGENT)
        assert "beech" in path.read_text()
        found = await notes.search_notes(NoteSearch(query="beech"), who=AGENT)
        assert [(one.id, one.file_path) for one in found.results] == [(written.id, str(path))]
        told = json.loads((await notes.read_note("birds", who=AGENT, format="json")).content)
        assert told["links"] == [written.id]
        await notes.unlink_notes(written.id, other.id, who=AGENT)
        assert "[[" not in path.read_text() + Path(other.file_path).read_text()
        with pytest.raises(NotFound):
            await notes.read_note("Nobody", who=AGENT)
        check = next(one for one in (await notes.doctor(who=AGENT)).checks if one.name == "notes")
        assert check.ok, check.detail
    finally:
        await cabinet.close()


async def test_edits_while_nobody_ran_are_found_and_another_database_is_refused(
    engine: Engine, home: Path, name: str
) -> None:
    async with open_desk(home, engine=engine) as desk:
        one, gone = await desk.write("First.", title="One"), await desk.write("Second.", title="Two")
        await desk.sync()
        path, lost = await desk.file(one), await desk.file(gone)
    path.write_text(path.read_text().replace("First.", "First of all."))
    lost.unlink()
    again = await an_engine(name, home)
    try:
        async with open_desk(home, engine=again) as desk:
            done = await desk.sync()
            assert (done.taken, done.trashed, done.problems) == (1, 1, ())
            assert (await desk.get(one)).content == "First of all."
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
