"""What goes wrong goes wrong without a loss: crashes, lost ledgers, folders that vanish, editors in a hurry."""

import shutil
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from scrubjay.errors import VaultUnavailable
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.notes.page.format import parse
from tests.notes.cutting import Cut, Shears
from tests.notes.vaults import AGENT, SPACE, Desk, open_desk
from tests.scenarios.house import open_house

Deed = Callable[[Desk], Awaitable[None]]


async def begin(desk: Desk) -> tuple[str, str, str]:
    """Three notes that link each other."""
    one = await desk.write("First.", title="One")
    await desk.sync()
    stem = (await desk.file(one)).stem
    two = await desk.write(f"See [[{stem}]].", title="Two")
    three = await desk.write("Third.", title="Three")
    await desk.engine.relate(one, three, who=AGENT)
    await desk.sync()
    return one, two, three


async def all_in_step(desk: Desk, *, notes: int) -> None:
    """Each memory has one file that says what it does, and every link leads to a file."""
    assert await desk.vault.drift() == ()
    assert await desk.vault.problems() == ()
    ids = await desk.engine.store.list_ids(SPACE, Filter(), limit=99)
    assert (len(ids), len(desk.files())) == (notes, notes)
    stems = {Path(one).stem for one in desk.files()}
    for one in ids:
        memory = await desk.get(one)
        note = parse((await desk.file(one)).read_bytes()).note
        assert (note.id, note.title, note.content) == (one, memory.label, memory.content)
        assert {link.target.rpartition("/")[2] for link in note.linked} <= stems
        assert set(note.links) == await desk.links(one)
    assert await desk.engine.conflicts(who=AGENT) == ()
    done = await desk.sync()
    assert (done.taken, done.created, done.written, done.trashed, done.moved) == (0, 0, 0, 0, 0)


async def retitle(desk: Desk) -> None:
    (one,) = await _titled(desk, "One")
    await desk.edit(one, title="Number one", category="math")


async def save_new(desk: Desk) -> None:
    (one,) = await _titled(desk, "One")
    stem = (await desk.file(one)).stem
    desk.save("new.md", f"See [[{stem}]] and [[Nobody]].\n")


async def move(desk: Desk) -> None:
    (one,) = await _titled(desk, "One")
    (desk.root / "sub").mkdir()
    (await desk.file(one)).rename(desk.root / "sub" / "first.md")


async def edit_both(desk: Desk) -> None:
    (one,) = await _titled(desk, "Three")
    path = await desk.file(one)
    desk.save(path, path.read_text().replace("Third.", "Third.\n\nFourth."))
    await desk.edit(one, title="Three and four")


async def forget(desk: Desk) -> None:
    (one,) = await _titled(desk, "One")
    await desk.forget(one)


async def delete(desk: Desk) -> None:
    (one,) = await _titled(desk, "One")
    (await desk.file(one)).unlink()


async def _titled(desk: Desk, title: str) -> list[str]:
    return [one.id for one in await desk.engine.store.find(SPACE, title, state=State.LIVE)]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("deed", "notes"), [(retitle, 3), (save_new, 4), (move, 3), (edit_both, 3), (forget, 2), (delete, 2)]
)
async def test_wherever_it_is_cut_off_it_finds_its_way(home: Path, deed: Deed, notes: int, after: bool) -> None:
    at = 0
    is_cut = True
    while is_cut:
        place = home / f"{at}"
        async with open_house(place, index=False) as house:
            async with open_desk(place, house=house) as desk:
                await begin(desk)
                await deed(desk)
                shears = Shears(at, after=after)
                shears.put_to(desk.vault)
                with suppress(Cut):
                    await desk.sync()
                is_cut = shears.reached
            async with open_desk(place, house=house) as desk:
                await desk.sync()
                await all_in_step(desk, notes=notes)
        shutil.rmtree(place)
        # After one step and before the next but one: so it is cut off once between any two.
        at += 2
    assert at > 3


async def test_a_lost_ledger_is_made_again(home: Path) -> None:
    async with open_house(home, index=False) as house:
        async with open_desk(home, house=house) as desk:
            one, two, three = await begin(desk)
            (desk.root / "sub").mkdir()
            (await desk.file(three)).rename(desk.root / "sub" / "my own.md")
            await desk.sync()
            files = {name: (desk.root / name).read_bytes() for name in desk.files()}
        for path in (home / "index").glob("notes.db*"):
            path.unlink()
        async with open_desk(home, house=house) as desk:
            done = await desk.sync()
            assert (done.taken, done.created, done.trashed, done.conflicts, done.problems) == (0, 0, 0, 0, ())
            assert {name: (desk.root / name).read_bytes() for name in desk.files()} == files
            await all_in_step(desk, notes=3)
            # What was changed meanwhile on either side is told from the past by the versions.
            path = await desk.file(one)
            desk.save(path, path.read_text().replace("First.", "First of all."))
            await desk.edit(two, content="Nothing to see.")
        for path in (home / "index").glob("notes.db*"):
            path.unlink()
        async with open_desk(home, house=house) as desk:
            await desk.sync()
            assert (await desk.get(one)).content == "First of all."
            assert "Nothing to see." in (await desk.file(two)).read_text()
            await all_in_step(desk, notes=3)


async def test_a_lost_ledger_does_not_lose_a_conflict(home: Path) -> None:
    async with open_house(home, index=False) as house:
        async with open_desk(home, house=house) as desk:
            one = await desk.write("A word.", title="One")
            await desk.sync()
            path = await desk.file(one)
            desk.save(path, path.read_text().replace("A word.", "My word."))
            await desk.edit(one, content="Your word.")
            assert (await desk.sync()).conflicts == 1
        for left in (home / "index").glob("notes.db*"):
            left.unlink()
        async with open_desk(home, house=house) as desk:
            assert (await desk.sync()).conflicts == 0
            (waiting,) = await desk.engine.conflicts(who=AGENT)
            assert (waiting.memory.statement, waiting.other.statement) == ("Your word.", "My word.")
            assert "My word." in path.read_text()
            await desk.engine.resolve_conflict(waiting.id, who=AGENT, strategy="merge")
            await desk.sync()
            assert (await desk.get(one)).content == "Your word.\nMy word."
            await all_in_step(desk, notes=1)


async def test_a_folder_that_vanishes_takes_nothing_with_it(desk: Desk) -> None:
    one, _, _ = await begin(desk)
    away = desk.root.with_name("unmounted")
    desk.root.rename(away)
    with pytest.raises(VaultUnavailable):
        await desk.sync()
    # An empty place where a disk is not mounted.
    desk.root.mkdir()
    with pytest.raises(VaultUnavailable):
        await desk.sync()
    await desk.edit(one, content="Meanwhile.")
    desk.root.rmdir()
    away.rename(desk.root)
    assert (await desk.sync()).trashed == 0
    assert "Meanwhile." in (await desk.file(one)).read_text()
    await all_in_step(desk, notes=3)


async def test_when_most_files_vanish_nobody_means_it(desk: Desk) -> None:
    ids = [await desk.write(f"Text {number}.", title=f"Note {number}") for number in range(30)]
    await desk.sync()
    for one in ids[:25]:
        (await desk.file(one)).unlink()
    done = await desk.sync()
    assert done.trashed == 0
    assert "25 of 30 files have vanished" in done.problems[0]
    # A few that come back make it believable.
    assert (await desk.sync(deletions=True)).trashed == 25
    assert await desk.vault.problems() == ()
    await all_in_step(desk, notes=5)


async def test_two_files_that_change_names_stay_what_they_are(desk: Desk) -> None:
    one, two, _ = await begin(desk)
    first, second = await desk.file(one), await desk.file(two)
    aside = first.rename(desk.root / "aside.txt")
    second.rename(first)
    aside.rename(second)
    done = await desk.sync()
    assert (done.created, done.trashed) == (0, 0)
    assert await desk.file(one) == second
    await all_in_step(desk, notes=3)
    # One is moved over another: that one is gone.
    (await desk.file(two)).rename(await desk.file(one))
    await desk.sync()
    assert (await desk.get(one)).state is State.TRASHED
    await all_in_step(desk, notes=2)
