"""While a vault runs, whatever changes on one side is soon on the other."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from scrubjay.model.memory import State
from scrubjay.model.query import Filter, Question
from scrubjay.notes.vault import open_vault
from tests.notes.vaults import AGENT, SPACE, Desk, open_desk


@asynccontextmanager
async def running(desk: Desk) -> AsyncGenerator[None]:
    """The vault at work, from when it has compared both sides."""
    task = asyncio.create_task(desk.vault.run())
    one = await desk.write("It is awake.", title="Awake")
    desk.vault.nudge()
    try:
        await until(lambda: any(name.startswith("awake") for name in desk.files()))
        # Whatever it finds next it has found by watching.
        desk.save("watched.md", "Seen.\n")
        await until(lambda: "id: " in (desk.root / "watched.md").read_text())
        await desk.forget(one)
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(holds: Callable[[], bool], *, seconds: float = 20) -> None:
    """Wait for something that comes by itself."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def changed(desk: Desk, memory_id: str, holds: Callable[[str], bool], *, seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not holds((await desk.get(memory_id)).content):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def test_an_edit_is_soon_found_and_a_memory_soon_a_file(desk: Desk) -> None:
    one = await desk.write("Oak and ash.", title="Trees")
    async with running(desk):
        await until(lambda: any(name.startswith("trees") for name in desk.files()))
        path = await desk.file(one)
        desk.save(path, path.read_text().replace("ash", "rowan"))
        await changed(desk, one, lambda text: "rowan" in text)
        found = await desk.engine.recall(Question(query="rowan"), who=AGENT)
        assert [hit.id for hit in found.hits][:1] == [one]
        await desk.edit(one, content="Oak and beech.")
        desk.vault.nudge()
        await until(lambda: "beech" in path.read_text())


async def test_an_editor_that_saves_by_deleting_and_making_anew_deletes_nothing(desk: Desk) -> None:
    one, other = await desk.write("Here.", title="One"), await desk.write("There.", title="Two")
    await desk.sync()
    path, gone = await desk.file(one), await desk.file(other)
    async with running(desk):
        text = path.read_text()
        gone.unlink()
        path.unlink()
        await asyncio.sleep(0.3)
        path.write_text(text.replace("Here.", "Here again."))
        await changed(desk, one, lambda text: text == "Here again.")
        async with asyncio.timeout(20):
            while (await desk.get(other)).state is not State.TRASHED:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)
    assert (await desk.get(one)).state is State.LIVE
    actions = [version.action for version in await desk.engine.store.versions(SPACE, one, limit=9)]
    assert actions == ["revised", "created"]


async def test_a_thousand_saves_in_a_second_are_a_few_versions(desk: Desk) -> None:
    one = await desk.write("Draft 0.", title="Draft")
    await desk.sync()
    path = await desk.file(one)
    text = path.read_text()
    async with running(desk):
        for number in range(1, 1001):
            data = text.replace("Draft 0.", f"Draft {number}.").encode()
            if number % 2:
                path.write_bytes(data)
            else:
                beside = path.with_name(".beside")
                beside.write_bytes(data)
                beside.replace(path)
            await asyncio.sleep(0.0005)
        await changed(desk, one, lambda content: content == "Draft 1000.")
    assert (await desk.get(one)).version < 100
    assert "Draft 1000." in path.read_text()
    assert await desk.engine.conflicts(who=AGENT) == ()
    assert len(await desk.engine.store.list_ids(SPACE, Filter(), limit=9)) == 2


async def test_a_folder_that_goes_and_comes_back_is_followed_again(desk: Desk) -> None:
    one = await desk.write("Still here.", title="One")
    await desk.sync()
    path = await desk.file(one)
    async with running(desk):
        away = desk.root.with_name("unmounted")
        desk.root.rename(away)
        await desk.edit(one, content="Changed meanwhile.")
        desk.vault.nudge()
        desk.root.mkdir()
        await asyncio.sleep(0.5)
        desk.root.rmdir()
        away.rename(desk.root)
        await until(lambda: "Changed meanwhile." in path.read_text(), seconds=30)
    assert (await desk.get(one)).state is State.LIVE


async def test_only_one_process_keeps_a_folder_in_step(home: Path) -> None:
    async with open_desk(home) as desk:
        one = await desk.write("Mine.", title="One")
        await desk.sync()
        async with open_vault(desk.engine, folder=desk.root, ledger=home / "index" / "notes.db", space=SPACE) as second:
            assert (desk.vault.follows, second.follows) == (True, False)
            assert (await second.paths_of([one]))[one] == await desk.file(one)
            await desk.edit(one, content="Yours.")
            await second.settle([one])
            await second.sync()
            assert "Mine." in (await desk.file(one)).read_text()
            await desk.vault.settle([one])
            assert "Yours." in (await desk.file(one)).read_text()


async def test_a_file_that_is_moved_while_an_agent_edits_it_stays_one(desk: Desk) -> None:
    one = await desk.write("Here.", title="One")
    await desk.sync()
    path = await desk.file(one)
    async with running(desk):
        for number in range(5):
            path = path.rename(desk.root / f"moved {number}.md")
            await desk.edit(one, content=f"Here {number}.")
            desk.vault.nudge()
            await desk.vault.settle([one])
            await until(lambda: f"Here {number}." in path.read_text())  # noqa: B023 - it is waited for
    assert len(await desk.engine.store.list_ids(SPACE, Filter(), limit=9)) == 2
    assert desk.files() == ["moved 4.md", "watched.md"]


async def test_a_file_that_a_program_keeps_open_is_written_once_that_has_closed_it(desk: Desk) -> None:
    one, two = await desk.write("First.", title="One"), await desk.write("Second.", title="Two")
    await desk.sync()
    path, other = await desk.file(one), await desk.file(two)
    with path.open("r+"), other.open("r+"):
        await desk.edit(one, content="First, by an agent.")
        await desk.edit(two, content="Second, by an agent.")
        await desk.vault.settle([one])
        await desk.vault.follow()
        assert all("open in a program" in problem for problem in await desk.vault.problems())
        assert (path.read_text().count("agent"), other.read_text().count("agent")) == (0, 0)
    # Who follows comes back to it, and whoever compares everything does.
    await desk.sync()
    assert (path.read_text().count("agent"), other.read_text().count("agent")) == (1, 1)
    async with running(desk):
        with path.open("r+"):
            await desk.edit(one, content="First, once more.")
            await desk.vault.settle([one])
        await until(lambda: "once more" in path.read_text())
        # Two names of one file are two notes, like a copy.
        (desk.root / "linked.md").hardlink_to(path)
        await until(lambda: (desk.root / "linked.md").stat().st_ino != path.stat().st_ino)
    await desk.sync()
    assert (await desk.vault.problems(), await desk.vault.drift(), len(desk.files())) == ((), (), 4)
    assert await desk.file(one) == path


async def test_what_was_moved_is_never_in_the_trash_also_where_nobody_tells_where_to(desk: Desk) -> None:
    names = [f"m{number}" for number in range(3)]
    for name in names:
        desk.save(f"many/{name}.md", f"Text of {name}.\n")
    await desk.sync()
    ids = [await desk.vault.at(f"many/{name}.md") for name in names]
    async with running(desk):
        # A folder that is called so is taken for one of an editor, until its notes are missed.
        (desk.root / "many").rename(desk.root / "many.tmp")
        async with asyncio.timeout(20):
            while not all([await desk.vault.at(f"many.tmp/{name}.md") for name in names]):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)
    for one in ids:
        assert [version.action for version in await desk.engine.store.versions(SPACE, one, limit=9)] == ["created"]
