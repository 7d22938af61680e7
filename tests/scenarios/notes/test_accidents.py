"""Accidents lose nothing: crashes, lost ledgers, missing folders, fast edits."""

import shutil
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from scrubjay.errors import VaultUnavailable
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.model.requests import ConflictsRequest, RelateRequest, ResolveConflictRequest
from scrubjay.notes.markdown.format import parse
from tests.scenarios.notes.harness import AGENT, SPACE, VaultHarness, open_harness
from tests.scenarios.notes.interruptions import CrashPoint, SimulatedCrash
from tests.scenarios.wiring import open_wiring

Act = Callable[[VaultHarness], Awaitable[None]]


async def begin(harness: VaultHarness) -> tuple[str, str, str]:
    """Write three notes that link each other."""
    note_id = await harness.write("First.", title="One")
    await harness.sync()
    stem = (await harness.file(note_id)).stem
    two = await harness.write(f"See [[{stem}]].", title="Two")
    three = await harness.write("Third.", title="Three")
    await harness.engine.relate(RelateRequest(source=note_id, target=three), who=AGENT)
    await harness.sync()
    return note_id, two, three


async def check_in_sync(harness: VaultHarness, *, notes: int) -> None:
    """Check that each memory has one file with its content, and that every link leads to a file."""
    assert await harness.vault.drift() == ()
    assert await harness.vault.problems() == ()
    ids = await harness.engine.reader.list_ids(SPACE, Filter(), limit=99)
    assert (len(ids), len(harness.files())) == (notes, notes)
    stems = {Path(file).stem for file in harness.files()}
    for id_ in ids:
        memory = await harness.get(id_)
        note = parse((await harness.file(id_)).read_bytes()).note
        assert (note.id, note.title, note.content) == (id_, memory.label, memory.content)
        assert {link.target.rpartition("/")[2] for link in note.linked} <= stems
        assert set(note.links) == await harness.links(id_)
    assert await harness.engine.conflicts(ConflictsRequest(), who=AGENT) == ()
    done = await harness.sync()
    assert (done.taken, done.created, done.written, done.trashed, done.moved) == (0, 0, 0, 0, 0)


async def retitle(harness: VaultHarness) -> None:
    (note_id,) = await _titled(harness, "One")
    await harness.edit(note_id, title="Number one", category="math")


async def save_new(harness: VaultHarness) -> None:
    (note_id,) = await _titled(harness, "One")
    stem = (await harness.file(note_id)).stem
    harness.save("new.md", f"See [[{stem}]] and [[Missing]].\n")


async def move(harness: VaultHarness) -> None:
    (note_id,) = await _titled(harness, "One")
    (harness.root / "sub").mkdir()
    (await harness.file(note_id)).rename(harness.root / "sub" / "first.md")


async def edit_both(harness: VaultHarness) -> None:
    (note_id,) = await _titled(harness, "Three")
    path = await harness.file(note_id)
    harness.save(path, path.read_text().replace("Third.", "Third.\n\nFourth."))
    await harness.edit(note_id, title="Three and four")


async def forget(harness: VaultHarness) -> None:
    (note_id,) = await _titled(harness, "One")
    await harness.forget(note_id)


async def delete(harness: VaultHarness) -> None:
    (note_id,) = await _titled(harness, "One")
    (await harness.file(note_id)).unlink()


async def _titled(harness: VaultHarness, title: str) -> list[str]:
    return [handle.id for handle in await harness.engine.reader.find(SPACE, title, state=State.LIVE)]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("act", "notes"), [(retitle, 3), (save_new, 4), (move, 3), (edit_both, 3), (forget, 2), (delete, 2)]
)
async def test_a_crash_at_any_change_is_repaired(home: Path, act: Act, notes: int, after: bool) -> None:
    number = 0
    has_crashed = True
    while has_crashed:
        place = home / f"{number}"
        async with open_wiring(place, index=False) as wiring:
            async with open_harness(place, wiring=wiring) as harness:
                await begin(harness)
                await act(harness)
                crash = CrashPoint(number, after=after)
                crash.install(harness.vault)
                with suppress(SimulatedCrash):
                    await harness.sync()
                has_crashed = crash.reached
            async with open_harness(place, wiring=wiring) as harness:
                await harness.sync()
                await check_in_sync(harness, notes=notes)
        shutil.rmtree(place)
        # After one change and before the next but one: so there is a crash between any two.
        number += 2
    assert number > 3


async def test_a_lost_ledger_is_rebuilt(home: Path) -> None:
    async with open_wiring(home, index=False) as wiring:
        async with open_harness(home, wiring=wiring) as harness:
            note_id, two, three = await begin(harness)
            (harness.root / "sub").mkdir()
            (await harness.file(three)).rename(harness.root / "sub" / "my own.md")
            await harness.sync()
            files = {name: (harness.root / name).read_bytes() for name in harness.files()}
        for path in (home / "index").glob("notes.db*"):
            path.unlink()
        async with open_harness(home, wiring=wiring) as harness:
            done = await harness.sync()
            assert (done.taken, done.created, done.trashed, done.conflicts, done.problems) == (0, 0, 0, 0, ())
            assert {name: (harness.root / name).read_bytes() for name in harness.files()} == files
            await check_in_sync(harness, notes=3)
            # The versions show which side has changed meanwhile.
            path = await harness.file(note_id)
            harness.save(path, path.read_text().replace("First.", "First of all."))
            await harness.edit(two, content="Nothing to see.")
        for path in (home / "index").glob("notes.db*"):
            path.unlink()
        async with open_harness(home, wiring=wiring) as harness:
            await harness.sync()
            assert (await harness.get(note_id)).content == "First of all."
            assert "Nothing to see." in (await harness.file(two)).read_text()
            await check_in_sync(harness, notes=3)


async def test_a_lost_ledger_does_not_lose_a_conflict(home: Path) -> None:
    async with open_wiring(home, index=False) as wiring:
        async with open_harness(home, wiring=wiring) as harness:
            note_id = await harness.write("A word.", title="One")
            await harness.sync()
            path = await harness.file(note_id)
            harness.save(path, path.read_text().replace("A word.", "My word."))
            await harness.edit(note_id, content="Your word.")
            assert (await harness.sync()).conflicts == 1
        for left in (home / "index").glob("notes.db*"):
            left.unlink()
        async with open_harness(home, wiring=wiring) as harness:
            assert (await harness.sync()).conflicts == 0
            (waiting,) = await harness.engine.conflicts(ConflictsRequest(), who=AGENT)
            assert (waiting.memory.statement, waiting.other.statement) == ("Your word.", "My word.")
            assert "My word." in path.read_text()
            await harness.engine.resolve_conflict(ResolveConflictRequest(id=waiting.id, strategy="merge"), who=AGENT)
            await harness.sync()
            assert (await harness.get(note_id)).content == "Your word.\nMy word."
            await check_in_sync(harness, notes=1)


async def test_a_missing_folder_deletes_no_memory(harness: VaultHarness) -> None:
    note_id, _, _ = await begin(harness)
    away = harness.root.with_name("unmounted")
    harness.root.rename(away)
    with pytest.raises(VaultUnavailable):
        await harness.sync()
    # The empty mount point of an unmounted disk.
    harness.root.mkdir()
    with pytest.raises(VaultUnavailable):
        await harness.sync()
    await harness.edit(note_id, content="Meanwhile.")
    harness.root.rmdir()
    away.rename(harness.root)
    assert (await harness.sync()).trashed == 0
    assert "Meanwhile." in (await harness.file(note_id)).read_text()
    await check_in_sync(harness, notes=3)


async def test_a_mass_deletion_needs_a_confirmation(harness: VaultHarness) -> None:
    ids = [await harness.write(f"Text {number}.", title=f"Note {number}") for number in range(30)]
    await harness.sync()
    for id_ in ids[:25]:
        (await harness.file(id_)).unlink()
    done = await harness.sync()
    assert done.trashed == 0
    assert "25 of 30 files are missing" in done.problems[0]
    # The confirmation trashes them.
    assert (await harness.sync(deletions=True)).trashed == 25
    assert await harness.vault.problems() == ()
    await check_in_sync(harness, notes=5)


async def test_two_files_that_exchange_names_stay_the_same_notes(harness: VaultHarness) -> None:
    note_id, two, _ = await begin(harness)
    first, second = await harness.file(note_id), await harness.file(two)
    temporary = first.rename(harness.root / "temporary.txt")
    second.rename(first)
    temporary.rename(second)
    done = await harness.sync()
    assert (done.created, done.trashed) == (0, 0)
    assert await harness.file(note_id) == second
    await check_in_sync(harness, notes=3)
    # One is moved over another, which is gone then.
    (await harness.file(two)).rename(await harness.file(note_id))
    await harness.sync()
    assert (await harness.get(note_id)).state is State.TRASHED
    await check_in_sync(harness, notes=2)
