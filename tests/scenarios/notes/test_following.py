"""While a vault runs, a change on one side soon appears on the other."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.model.requests import ConflictsRequest, RecallRequest
from scrubjay.notes.vault import open_vault
from tests.patience import PATIENCE
from tests.scenarios.notes.harness import AGENT, SPACE, VaultHarness, open_harness


@asynccontextmanager
async def running(harness: VaultHarness) -> AsyncGenerator[None]:
    """Run the vault, and wait until it has compared both sides."""
    task = asyncio.create_task(harness.vault.run())
    note_id = await harness.write("It is awake.", title="Awake")
    harness.vault.wake()
    try:
        await until(lambda: any(name.startswith("awake") for name in harness.files()))
        # From now on, it finds files by watching the folder.
        harness.save("watched.md", "Seen.\n")
        await until(lambda: "id: " in (harness.root / "watched.md").read_text())
        await harness.forget(note_id)
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0.01)


async def changed(harness: VaultHarness, memory_id: str, holds: Callable[[str], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds((await harness.get(memory_id)).content):  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0.01)


async def test_an_edit_soon_becomes_a_version_and_a_memory_soon_a_file(harness: VaultHarness) -> None:
    note_id = await harness.write("Oak and ash.", title="Trees")
    async with running(harness):
        await until(lambda: any(name.startswith("trees") for name in harness.files()))
        path = await harness.file(note_id)
        harness.save(path, path.read_text().replace("ash", "rowan"))
        await changed(harness, note_id, lambda text: "rowan" in text)
        recalled = await harness.engine.recall(RecallRequest(query="rowan"), who=AGENT)
        assert [hit.id for hit in recalled.hits][:1] == [note_id]
        await harness.edit(note_id, content="Oak and beech.")
        harness.vault.wake()
        await until(lambda: "beech" in path.read_text())


async def test_a_save_by_deleting_and_creating_deletes_no_memory(harness: VaultHarness) -> None:
    note_id, other = await harness.write("Here.", title="One"), await harness.write("There.", title="Two")
    await harness.sync()
    path, gone = await harness.file(note_id), await harness.file(other)
    async with running(harness):
        text = path.read_text()
        gone.unlink()
        path.unlink()
        await asyncio.sleep(0.3)
        path.write_text(text.replace("Here.", "Here again."))
        await changed(harness, note_id, lambda text: text == "Here again.")
        async with asyncio.timeout(PATIENCE):
            while (await harness.get(other)).state is not State.TRASHED:  # noqa: ASYNC110 - no event reports it
                await asyncio.sleep(0.01)
    assert (await harness.get(note_id)).state is State.LIVE
    actions = [version.action for version in await harness.engine.reader.versions(SPACE, note_id, limit=9)]
    assert actions == ["revised", "created"]


async def test_a_thousand_saves_in_a_second_are_a_few_versions(harness: VaultHarness) -> None:
    note_id = await harness.write("Draft 0.", title="Draft")
    await harness.sync()
    path = await harness.file(note_id)
    text = path.read_text()
    async with running(harness):
        for number in range(1, 1001):
            data = text.replace("Draft 0.", f"Draft {number}.").encode()
            if number % 2:
                path.write_bytes(data)
            else:
                temporary = path.with_name(".temporary")
                temporary.write_bytes(data)
                temporary.replace(path)
            await asyncio.sleep(0.0005)
        await changed(harness, note_id, lambda content: content == "Draft 1000.")
    assert (await harness.get(note_id)).version < 100
    assert "Draft 1000." in path.read_text()
    assert await harness.engine.conflicts(ConflictsRequest(), who=AGENT) == ()
    assert len(await harness.engine.reader.list_ids(SPACE, Filter(), limit=9)) == 2


async def test_a_folder_that_disappears_and_comes_back_is_followed_again(harness: VaultHarness) -> None:
    note_id = await harness.write("Still here.", title="One")
    await harness.sync()
    path = await harness.file(note_id)
    async with running(harness):
        away = harness.root.with_name("unmounted")
        harness.root.rename(away)
        await harness.edit(note_id, content="Changed meanwhile.")
        harness.vault.wake()
        harness.root.mkdir()
        await asyncio.sleep(0.5)
        harness.root.rmdir()
        away.rename(harness.root)
        await until(lambda: "Changed meanwhile." in path.read_text())
    assert (await harness.get(note_id)).state is State.LIVE


async def test_only_one_process_synchronizes_a_folder(home: Path) -> None:
    async with open_harness(home) as harness:
        note_id = await harness.write("Mine.", title="One")
        await harness.sync()
        async with open_vault(
            harness.engine, folder=harness.root, ledger=home / "index" / "notes.db", space=SPACE
        ) as second:
            assert (harness.vault.is_active, second.is_active) == (True, False)
            assert (await second.paths_of([note_id]))[note_id] == await harness.file(note_id)
            await harness.edit(note_id, content="Yours.")
            await second.sync_notes([note_id])
            await second.sync()
            assert "Mine." in (await harness.file(note_id)).read_text()
            await harness.vault.sync_notes([note_id])
            assert "Yours." in (await harness.file(note_id)).read_text()


async def test_a_file_that_is_moved_while_an_agent_edits_it_stays_one(harness: VaultHarness) -> None:
    note_id = await harness.write("Here.", title="One")
    await harness.sync()
    path = await harness.file(note_id)
    async with running(harness):
        for number in range(5):
            path = path.rename(harness.root / f"moved {number}.md")
            await harness.edit(note_id, content=f"Here {number}.")
            harness.vault.wake()
            await harness.vault.sync_notes([note_id])
            await until(lambda: f"Here {number}." in path.read_text())  # noqa: B023 - awaited in this iteration
    assert len(await harness.engine.reader.list_ids(SPACE, Filter(), limit=9)) == 2
    assert harness.files() == ["moved 4.md", "watched.md"]


async def test_a_file_that_a_program_keeps_open_is_written_after_it_is_closed(harness: VaultHarness) -> None:
    note_id, two = await harness.write("First.", title="One"), await harness.write("Second.", title="Two")
    await harness.sync()
    path, other = await harness.file(note_id), await harness.file(two)
    with path.open("r+"), other.open("r+"):
        await harness.edit(note_id, content="First, by an agent.")
        await harness.edit(two, content="Second, by an agent.")
        await harness.vault.sync_notes([note_id])
        await harness.vault.sync_changes()
        assert all("open in a program" in problem for problem in await harness.vault.problems())
        assert (path.read_text().count("agent"), other.read_text().count("agent")) == (0, 0)
    # A running vault tries it again, and so does a complete sync.
    await harness.sync()
    assert (path.read_text().count("agent"), other.read_text().count("agent")) == (1, 1)
    async with running(harness):
        with path.open("r+"):
            await harness.edit(note_id, content="First, once more.")
            await harness.vault.sync_notes([note_id])
        await until(lambda: "once more" in path.read_text())
        # Two names of one file are two notes, like a copy.
        (harness.root / "linked.md").hardlink_to(path)
        await until(lambda: (harness.root / "linked.md").stat().st_ino != path.stat().st_ino)
    await harness.sync()
    assert (await harness.vault.problems(), await harness.vault.drift(), len(harness.files())) == ((), (), 4)
    assert await harness.file(note_id) == path


async def test_a_moved_note_is_never_trashed_even_without_a_notification(harness: VaultHarness) -> None:
    names = [f"m{number}" for number in range(3)]
    for name in names:
        harness.save(f"many/{name}.md", f"Text of {name}.\n")
    await harness.sync()
    ids = [await harness.vault.find_id(f"many/{name}.md") for name in names]
    async with running(harness):
        # The watcher ignores a folder of that name as temporary, until its notes are missing.
        (harness.root / "many").rename(harness.root / "many.tmp")
        async with asyncio.timeout(PATIENCE):
            while not all([await harness.vault.find_id(f"many.tmp/{name}.md") for name in names]):  # noqa: ASYNC110 - no event reports it
                await asyncio.sleep(0.01)
    for id_ in ids:
        assert [version.action for version in await harness.engine.reader.versions(SPACE, id_, limit=9)] == ["created"]
