"""What goes wrong goes wrong without a loss: crashes, lost ledgers, folders that vanish, editors in a hurry."""

import shutil
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from scrubjay.errors import VaultUnavailable
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.notes.markdown.format import parse
from tests.scenarios.notes.cutting import Cut, Shears
from tests.scenarios.notes.vaults import AGENT, SPACE, Desk, open_desk
from tests.scenarios.wiring import open_wiring

Deed = Callable[[Desk], Awaitable[None]]


async def begin(context: Desk) -> tuple[str, str, str]:
    """Three notes that link each other."""
    item = await context.write("First.", title="One")
    await context.sync()
    stem = (await context.file(item)).stem
    two = await context.write(f"See [[{stem}]].", title="Two")
    three = await context.write("Third.", title="Three")
    await context.engine.relate(item, three, who=AGENT)
    await context.sync()
    return item, two, three


async def all_in_step(context: Desk, *, notes: int) -> None:
    """Each memory has one file that says what it does, and every link leads to a file."""
    assert await context.vault.drift() == ()
    assert await context.vault.problems() == ()
    ids = await context.engine.store.list_ids(SPACE, Filter(), limit=99)
    assert (len(ids), len(context.files())) == (notes, notes)
    stems = {Path(file).stem for file in context.files()}
    for id_ in ids:
        memory = await context.get(id_)
        note = parse((await context.file(id_)).read_bytes()).note
        assert (note.id, note.title, note.content) == (id_, memory.label, memory.content)
        assert {link.target.rpartition("/")[2] for link in note.linked} <= stems
        assert set(note.links) == await context.links(id_)
    assert await context.engine.conflicts(who=AGENT) == ()
    done = await context.sync()
    assert (done.taken, done.created, done.written, done.trashed, done.moved) == (0, 0, 0, 0, 0)


async def retitle(context: Desk) -> None:
    (item,) = await _titled(context, "One")
    await context.edit(item, title="Number one", category="math")


async def save_new(context: Desk) -> None:
    (item,) = await _titled(context, "One")
    stem = (await context.file(item)).stem
    context.save("new.md", f"See [[{stem}]] and [[Nobody]].\n")


async def move(context: Desk) -> None:
    (item,) = await _titled(context, "One")
    (context.root / "sub").mkdir()
    (await context.file(item)).rename(context.root / "sub" / "first.md")


async def edit_both(context: Desk) -> None:
    (item,) = await _titled(context, "Three")
    path = await context.file(item)
    context.save(path, path.read_text().replace("Third.", "Third.\n\nFourth."))
    await context.edit(item, title="Three and four")


async def forget(context: Desk) -> None:
    (item,) = await _titled(context, "One")
    await context.forget(item)


async def delete(context: Desk) -> None:
    (item,) = await _titled(context, "One")
    (await context.file(item)).unlink()


async def _titled(context: Desk, title: str) -> list[str]:
    return [item.id for item in await context.engine.store.find(SPACE, title, state=State.LIVE)]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("deed", "notes"), [(retitle, 3), (save_new, 4), (move, 3), (edit_both, 3), (forget, 2), (delete, 2)]
)
async def test_wherever_it_is_cut_off_it_finds_its_way(home: Path, deed: Deed, notes: int, after: bool) -> None:
    at = 0
    is_cut = True
    while is_cut:
        place = home / f"{at}"
        async with open_wiring(place, index=False) as wiring:
            async with open_desk(place, wiring=wiring) as context:
                await begin(context)
                await deed(context)
                shears = Shears(at, after=after)
                shears.put_to(context.vault)
                with suppress(Cut):
                    await context.sync()
                is_cut = shears.reached
            async with open_desk(place, wiring=wiring) as context:
                await context.sync()
                await all_in_step(context, notes=notes)
        shutil.rmtree(place)
        # After one step and before the next but one: so it is cut off once between any two.
        at += 2
    assert at > 3


async def test_a_lost_ledger_is_made_again(home: Path) -> None:
    async with open_wiring(home, index=False) as wiring:
        async with open_desk(home, wiring=wiring) as context:
            item, two, three = await begin(context)
            (context.root / "sub").mkdir()
            (await context.file(three)).rename(context.root / "sub" / "my own.md")
            await context.sync()
            files = {name: (context.root / name).read_bytes() for name in context.files()}
        for path in (home / "index").glob("notes.db*"):
            path.unlink()
        async with open_desk(home, wiring=wiring) as context:
            done = await context.sync()
            assert (done.taken, done.created, done.trashed, done.conflicts, done.problems) == (0, 0, 0, 0, ())
            assert {name: (context.root / name).read_bytes() for name in context.files()} == files
            await all_in_step(context, notes=3)
            # What was changed meanwhile on either side is told from the past by the versions.
            path = await context.file(item)
            context.save(path, path.read_text().replace("First.", "First of all."))
            await context.edit(two, content="Nothing to see.")
        for path in (home / "index").glob("notes.db*"):
            path.unlink()
        async with open_desk(home, wiring=wiring) as context:
            await context.sync()
            assert (await context.get(item)).content == "First of all."
            assert "Nothing to see." in (await context.file(two)).read_text()
            await all_in_step(context, notes=3)


async def test_a_lost_ledger_does_not_lose_a_conflict(home: Path) -> None:
    async with open_wiring(home, index=False) as wiring:
        async with open_desk(home, wiring=wiring) as context:
            item = await context.write("A word.", title="One")
            await context.sync()
            path = await context.file(item)
            context.save(path, path.read_text().replace("A word.", "My word."))
            await context.edit(item, content="Your word.")
            assert (await context.sync()).conflicts == 1
        for left in (home / "index").glob("notes.db*"):
            left.unlink()
        async with open_desk(home, wiring=wiring) as context:
            assert (await context.sync()).conflicts == 0
            (waiting,) = await context.engine.conflicts(who=AGENT)
            assert (waiting.memory.statement, waiting.other.statement) == ("Your word.", "My word.")
            assert "My word." in path.read_text()
            await context.engine.resolve_conflict(waiting.id, who=AGENT, strategy="merge")
            await context.sync()
            assert (await context.get(item)).content == "Your word.\nMy word."
            await all_in_step(context, notes=1)


async def test_a_folder_that_vanishes_takes_nothing_with_it(context: Desk) -> None:
    item, _, _ = await begin(context)
    away = context.root.with_name("unmounted")
    context.root.rename(away)
    with pytest.raises(VaultUnavailable):
        await context.sync()
    # An empty place where a disk is not mounted.
    context.root.mkdir()
    with pytest.raises(VaultUnavailable):
        await context.sync()
    await context.edit(item, content="Meanwhile.")
    context.root.rmdir()
    away.rename(context.root)
    assert (await context.sync()).trashed == 0
    assert "Meanwhile." in (await context.file(item)).read_text()
    await all_in_step(context, notes=3)


async def test_when_most_files_vanish_nobody_means_it(context: Desk) -> None:
    ids = [await context.write(f"Text {number}.", title=f"Note {number}") for number in range(30)]
    await context.sync()
    for id_ in ids[:25]:
        (await context.file(id_)).unlink()
    done = await context.sync()
    assert done.trashed == 0
    assert "25 of 30 files have vanished" in done.problems[0]
    # A few that come back make it believable.
    assert (await context.sync(deletions=True)).trashed == 25
    assert await context.vault.problems() == ()
    await all_in_step(context, notes=5)


async def test_two_files_that_change_names_stay_what_they_are(context: Desk) -> None:
    item, two, _ = await begin(context)
    first, second = await context.file(item), await context.file(two)
    aside = first.rename(context.root / "aside.txt")
    second.rename(first)
    aside.rename(second)
    done = await context.sync()
    assert (done.created, done.trashed) == (0, 0)
    assert await context.file(item) == second
    await all_in_step(context, notes=3)
    # One is moved over another: that one is gone.
    (await context.file(two)).rename(await context.file(item))
    await context.sync()
    assert (await context.get(item)).state is State.TRASHED
    await all_in_step(context, notes=2)
