"""Long jobs that are killed half-way: the next opening repairs their remains, or the next run of the job does."""

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import pytest

from scrubjay.app.restore import restore_backup
from scrubjay.model.draft import Draft
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.settings import Settings
from scrubjay.writing.many import CHUNK, _split
from tests.anomaly.child_tasks import FILLER
from tests.anomaly.process_pool import ProcessPool
from tests.patience import PATIENCE
from tests.scenarios.wiring import Wiring, files_with, filled_folder, open_wiring

WORD = "qzvorplax"
SECRET = [WORD.encode()[:8]]
MANY = 205
KILLED = -signal.SIGKILL


async def fill(wiring: Wiring, *, many: int = MANY, secret_every: int = 2) -> list[str]:
    """Remember memories, some of them secret; return the names of the secret ones."""
    secrets: list[str] = []
    for number in range(many):
        is_secret = number % secret_every == 0
        name = f"{'secret' if is_secret else 'plain'}-{number}"
        words = f"{WORD} it is, {WORD} it was, {WORD} for ever" if is_secret else "nothing of note"
        tags = [WORD] if is_secret else []
        await wiring.client().remember(f"{words} {FILLER} {number}", name=name, tags=tags, intent="new")
        secrets += [name] if is_secret else []
    await wiring.client().recall("anything")
    await asyncio.gather(*wiring.store.upkeep.training)
    return secrets


@pytest.mark.slow
@pytest.mark.parametrize("trained", [False, True])
async def test_a_purge_cut_off_after_any_step_is_finished_at_the_next_opening(
    home: Path, process_pool: ProcessPool, trained: bool
) -> None:
    """With and without a dictionary of the space, whose replacement takes additional steps.

    The first step forgets the questions that found them; cut off there, the purge has not
    begun, and all are in the trash.
    """
    async with open_wiring(home) as wiring:
        secrets = await fill(wiring, many=MANY if trained else 40)
        await wiring.client().forget(secrets)
        assert any(WORD in word for word in words_of_dictionaries(wiring)) is trained
    ends: list[int] = []
    while 0 not in ends:
        place = home.parent / f"after-{len(ends) + 1}"
        shutil.copytree(home, place)
        ends.append(process_pool.run("purge", place, names=secrets, steps=len(ends) + 1))
        async with open_wiring(place) as wiring:
            memory = wiring.client()
            await memory.recall("anything")
            await wiring.index.settle()
            if trashed := await wiring.store.list_ids("default", Filter(state=State.TRASHED), limit=1_000):
                assert (len(trashed), len(ends)) == (len(secrets), 1)
                continue
            assert files_with(place, SECRET) == []
            assert not (await memory.read(secrets)).memories
            assert "nothing of note" in (await memory.read("plain-1")).memories[0].content
            assert await wiring.store.check(deep=True) == []
    assert ends[:-1] == [KILLED] * (len(ends) - 1)
    assert len(ends) > 4


async def test_many_writes_cut_off_are_whole_chunks_and_the_same_call_writes_the_rest(
    home: Path, process_pool: ProcessPool
) -> None:
    count = 2 * CHUNK + 10
    # A draft under the key of its batch is two commits.
    assert process_pool.run("remember_many", home, count=count, commits=3 * CHUNK) == KILLED
    ends = set(accumulate(map(len, _split([Draft(text="a text")] * count))))
    assert await _count_texts(home) in ends - {count}
    assert process_pool.run("remember_many", home, count=count, commits=0) == 0
    assert await _count_texts(home) == count


async def _count_texts(home: Path) -> int:
    async with open_wiring(home) as wiring:
        assert await wiring.store.check(deep=True) == []
        return len(await wiring.store.list_ids("default", Filter(), limit=1_000))


async def test_a_backup_cut_off_is_no_backup_and_the_next_one_is(home: Path, process_pool: ProcessPool) -> None:
    async with open_wiring(home, index=False) as wiring:
        for number in range(40):
            await wiring.client().remember(os.urandom(30_000).hex(), name=f"m{number}", intent="new")
    target = home.parent / "backup.db"
    for step in (1, 2):
        assert process_pool.run("back_up", home, target=str(target), steps=step) == KILLED
        assert not target.exists()
    async with open_wiring(home, index=False) as wiring:
        assert (await wiring.client().doctor(deep=True)).checks[0].ok
        await wiring.client().backup(target)
    assert [path.name for path in home.parent.iterdir() if "partial" in path.name] == []
    assert restore_backup(Settings(home=str(home.parent / "other")), target).memories == 40


async def test_an_import_cut_off_is_completed_by_importing_again(home: Path, process_pool: ProcessPool) -> None:
    async with open_wiring(home.parent / "source", index=False) as source:
        memory = source.client()
        for number in range(450):
            await memory.remember(f"bird number {number}", name=f"b{number}", intent="new")
        for number in range(1, 20):
            await memory.relate(f"b{number}", f"b{number - 1}")
        lines = [line async for line in memory.export()]
    file = home.parent / "memories.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    for step in (1, 2):
        place = home.parent / f"after-{step}"
        assert process_pool.run("take_in", place, file=str(file), steps=step) == KILLED
        async with open_wiring(place) as wiring:
            memory = wiring.client()
            assert await wiring.store.check(deep=True) == []
            before = sum((await memory.status()).memories.values())
            assert before == 200 * step
            done = await memory.import_lines(file)
            assert (done.imported, done.known, done.relations) == (450 - before, before, 19)
            assert sorted([line async for line in memory.export()][1:]) == sorted(lines[1:])
            assert (await memory.doctor(repair=True, deep=True)).ok


@pytest.mark.parametrize("delay", [0.0, 0.01])
async def test_a_training_cut_off_is_done_later(home: Path, process_pool: ProcessPool, delay: float) -> None:
    assert process_pool.run("train", home, delay=delay) == KILLED
    async with open_wiring(home, index=False) as wiring:
        assert await wiring.store.check(deep=True) == []
        await wiring.client().remember("one more to set it off")
        while wiring.store.upkeep.training:
            await next(iter(wiring.store.upkeep.training))
        assert words_of_dictionaries(wiring)
        assert await wiring.store.check(deep=True) == []


async def settle_birds(wiring: Wiring) -> None:
    for number in range(300):
        await wiring.client().remember(f"bird number {number}", name=f"b{number}", intent="new")


@pytest.fixture(scope="module")
def birds() -> Iterator[Path]:
    with filled_folder(settle_birds) as place:
        yield place


@pytest.mark.slow
@pytest.mark.parametrize("inline", [True, False])
async def test_a_build_of_the_index_cut_off_at_any_point_is_restarted(
    home: Path, process_pool: ProcessPool, birds: Path, inline: bool
) -> None:
    shutil.copytree(birds, home)
    shutil.rmtree(home / "index", ignore_errors=True)
    for delay in (0.0, 0.02, 0.05, 0.1, 0.2):
        assert process_pool.run("build", home, delay=delay, inline=inline) == KILLED
    async with open_wiring(home) as wiring:
        memory = wiring.client()
        assert len((await memory.recall("bird", limit=100, max_tokens=100_000)).hits) == 100
        await wiring.index.settle()
        index = (await memory.status()).index
        assert (index["kind"], index["points"], index["problem"]) == ("edge", 300, "")
        assert len([path for path in (home / "index").iterdir() if path.is_dir()]) == 1


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finding a child's children needs /proc")
async def test_no_builder_outlives_the_process_that_started_it(home: Path, process_pool: ProcessPool) -> None:
    async with open_wiring(home, index=False) as wiring:
        for number in range(20):
            await wiring.client().remember(f"bird number {number}")
    note = home.parent / "builder"
    assert process_pool.run("build", home, delay=0.0, inline=False, builder=str(note)) == KILLED
    builder = Path("/proc") / note.read_text(encoding="ascii")
    await asyncio.to_thread(wait_for_end, builder)
    assert not is_running(builder)


def wait_for_end(process: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while is_running(process) and time.monotonic() < deadline:
        time.sleep(0.05)


def is_running(process: Path) -> bool:
    try:
        return "builder" in (process / "cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def words_of_dictionaries(wiring: Wiring) -> set[str]:
    rows = wiring.store._connection.execute("SELECT data FROM dictionaries").fetchall()
    return {word for (data,) in rows for word in data.decode("latin-1").split()}
