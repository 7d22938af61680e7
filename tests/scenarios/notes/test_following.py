"""While a vault runs, whatever changes on one side is soon on the other."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from scrubjay.model.memory import State
from scrubjay.model.query import Filter, Question
from scrubjay.notes.vault import open_vault
from tests.scenarios.notes.vaults import AGENT, SPACE, Desk, open_desk


@asynccontextmanager
async def running(context: Desk) -> AsyncGenerator[None]:
    """The vault at work, from when it has compared both sides."""
    task = asyncio.create_task(context.vault.run())
    item = await context.write("It is awake.", title="Awake")
    context.vault.nudge()
    try:
        await until(lambda: any(name.startswith("awake") for name in context.files()))
        # Whatever it finds next it has found by watching.
        context.save("watched.md", "Seen.\n")
        await until(lambda: "id: " in (context.root / "watched.md").read_text())
        await context.forget(item)
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(holds: Callable[[], bool], *, seconds: float = 20) -> None:
    """Wait for something that comes by itself."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def changed(context: Desk, memory_id: str, holds: Callable[[str], bool], *, seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not holds((await context.get(memory_id)).content):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def test_an_edit_is_soon_found_and_a_memory_soon_a_file(context: Desk) -> None:
    item = await context.write("Oak and ash.", title="Trees")
    async with running(context):
        await until(lambda: any(name.startswith("trees") for name in context.files()))
        path = await context.file(item)
        context.save(path, path.read_text().replace("ash", "rowan"))
        await changed(context, item, lambda text: "rowan" in text)
        results = await context.engine.recall(Question(query="rowan"), who=AGENT)
        assert [hit.id for hit in results.hits][:1] == [item]
        await context.edit(item, content="Oak and beech.")
        context.vault.nudge()
        await until(lambda: "beech" in path.read_text())


async def test_an_editor_that_saves_by_deleting_and_making_anew_deletes_nothing(context: Desk) -> None:
    item, other = await context.write("Here.", title="One"), await context.write("There.", title="Two")
    await context.sync()
    path, gone = await context.file(item), await context.file(other)
    async with running(context):
        text = path.read_text()
        gone.unlink()
        path.unlink()
        await asyncio.sleep(0.3)
        path.write_text(text.replace("Here.", "Here again."))
        await changed(context, item, lambda text: text == "Here again.")
        async with asyncio.timeout(20):
            while (await context.get(other)).state is not State.TRASHED:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)
    assert (await context.get(item)).state is State.LIVE
    actions = [version.action for version in await context.engine.store.versions(SPACE, item, limit=9)]
    assert actions == ["revised", "created"]


async def test_a_thousand_saves_in_a_second_are_a_few_versions(context: Desk) -> None:
    item = await context.write("Draft 0.", title="Draft")
    await context.sync()
    path = await context.file(item)
    text = path.read_text()
    async with running(context):
        for number in range(1, 1001):
            data = text.replace("Draft 0.", f"Draft {number}.").encode()
            if number % 2:
                path.write_bytes(data)
            else:
                beside = path.with_name(".beside")
                beside.write_bytes(data)
                beside.replace(path)
            await asyncio.sleep(0.0005)
        await changed(context, item, lambda content: content == "Draft 1000.")
    assert (await context.get(item)).version < 100
    assert "Draft 1000." in path.read_text()
    assert await context.engine.conflicts(who=AGENT) == ()
    assert len(await context.engine.store.list_ids(SPACE, Filter(), limit=9)) == 2


async def test_a_folder_that_goes_and_comes_back_is_followed_again(context: Desk) -> None:
    item = await context.write("Still here.", title="One")
    await context.sync()
    path = await context.file(item)
    async with running(context):
        away = context.root.with_name("unmounted")
        context.root.rename(away)
        await context.edit(item, content="Changed meanwhile.")
        context.vault.nudge()
        context.root.mkdir()
        await asyncio.sleep(0.5)
        context.root.rmdir()
        away.rename(context.root)
        await until(lambda: "Changed meanwhile." in path.read_text(), seconds=30)
    assert (await context.get(item)).state is State.LIVE


async def test_only_one_process_keeps_a_folder_in_step(home: Path) -> None:
    async with open_desk(home) as context:
        item = await context.write("Mine.", title="One")
        await context.sync()
        async with open_vault(
            context.engine, folder=context.root, ledger=home / "index" / "notes.db", space=SPACE
        ) as second:
            assert (context.vault.follows, second.follows) == (True, False)
            assert (await second.paths_of([item]))[item] == await context.file(item)
            await context.edit(item, content="Yours.")
            await second.settle([item])
            await second.sync()
            assert "Mine." in (await context.file(item)).read_text()
            await context.vault.settle([item])
            assert "Yours." in (await context.file(item)).read_text()


async def test_a_file_that_is_moved_while_an_agent_edits_it_stays_one(context: Desk) -> None:
    item = await context.write("Here.", title="One")
    await context.sync()
    path = await context.file(item)
    async with running(context):
        for number in range(5):
            path = path.rename(context.root / f"moved {number}.md")
            await context.edit(item, content=f"Here {number}.")
            context.vault.nudge()
            await context.vault.settle([item])
            await until(lambda: f"Here {number}." in path.read_text())  # noqa: B023 - it is waited for
    assert len(await context.engine.store.list_ids(SPACE, Filter(), limit=9)) == 2
    assert context.files() == ["moved 4.md", "watched.md"]


async def test_a_file_that_a_program_keeps_open_is_written_once_that_has_closed_it(context: Desk) -> None:
    item, two = await context.write("First.", title="One"), await context.write("Second.", title="Two")
    await context.sync()
    path, other = await context.file(item), await context.file(two)
    with path.open("r+"), other.open("r+"):
        await context.edit(item, content="First, by an agent.")
        await context.edit(two, content="Second, by an agent.")
        await context.vault.settle([item])
        await context.vault.follow()
        assert all("open in a program" in problem for problem in await context.vault.problems())
        assert (path.read_text().count("agent"), other.read_text().count("agent")) == (0, 0)
    # Who follows comes back to it, and whoever compares everything does.
    await context.sync()
    assert (path.read_text().count("agent"), other.read_text().count("agent")) == (1, 1)
    async with running(context):
        with path.open("r+"):
            await context.edit(item, content="First, once more.")
            await context.vault.settle([item])
        await until(lambda: "once more" in path.read_text())
        # Two names of one file are two notes, like a copy.
        (context.root / "linked.md").hardlink_to(path)
        await until(lambda: (context.root / "linked.md").stat().st_ino != path.stat().st_ino)
    await context.sync()
    assert (await context.vault.problems(), await context.vault.drift(), len(context.files())) == ((), (), 4)
    assert await context.file(item) == path


async def test_what_was_moved_is_never_in_the_trash_also_where_nobody_tells_where_to(context: Desk) -> None:
    names = [f"m{number}" for number in range(3)]
    for name in names:
        context.save(f"many/{name}.md", f"Text of {name}.\n")
    await context.sync()
    ids = [await context.vault.at(f"many/{name}.md") for name in names]
    async with running(context):
        # A folder that is called so is taken for one of an editor, until its notes are missed.
        (context.root / "many").rename(context.root / "many.tmp")
        async with asyncio.timeout(20):
            while not all([await context.vault.at(f"many.tmp/{name}.md") for name in names]):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)
    for id_ in ids:
        assert [version.action for version in await context.engine.store.versions(SPACE, id_, limit=9)] == ["created"]
