"""A hundred processes are killed while they write: all acknowledged writes are there, and the store is sound."""

import json
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrubjay.model.query import Filter
from scrubjay.vectors.scan import ScanIndex
from tests.anomaly.process_pool import ProcessPool
from tests.patience import PATIENCE
from tests.scenarios.wiring import Wiring, open_wiring

KILLS = 100
LANES = 2
MODEL = "fake-64"

Acknowledged = dict[tuple[str, int], str]


@pytest.mark.slow
async def test_every_acknowledged_write_outlives_a_hundred_kills(home: Path) -> None:
    with tempfile.TemporaryDirectory() as notes:
        lanes = [threading.Thread(target=kill_many, args=(home, Path(notes), lane)) for lane in range(LANES)]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
        killed = sorted(Path(notes).glob("killed-*"))
        assert len(killed) == KILLS
        acknowledged = {key: text for file in Path(notes).glob("notes-*") for key, text in read_notes(file)}
    assert len(acknowledged) > KILLS
    async with open_wiring(home) as wiring:
        await every_write_is_there(wiring, acknowledged)
        assert await wiring.store.check(deep=True) == []
        await the_index_agrees(wiring)
        assert (await wiring.client().doctor(deep=True)).ok


def kill_many(home: Path, notes: Path, lane: int) -> None:
    """Start a writer, let it write a little or nothing, kill it, and repeat."""
    chance = random.Random(lane)
    with ProcessPool() as process_pool:
        for number in range(lane, KILLS, LANES):
            file = notes / f"notes-{number}"
            child = process_pool.start("write", home, acknowledgements=str(file), seed=number)
            wait_for(file, lines=chance.randrange(12))
            time.sleep(chance.random() * 0.03)
            process_pool.kill(child)
            (notes / f"killed-{number}").touch()


def wait_for(file: Path, *, lines: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while lines and time.monotonic() < deadline:
        if file.exists() and file.read_bytes().count(b"\n") >= lines:
            return
        time.sleep(0.002)


def read_notes(file: Path) -> Iterator[tuple[tuple[str, int], str]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        memory_id, version, text = json.loads(line)
        yield (memory_id, version), text


async def every_write_is_there(wiring: Wiring, acknowledged: Acknowledged) -> None:
    memories = await wiring.store.get("default", [memory_id for memory_id, _ in acknowledged])
    for (memory_id, number), text in acknowledged.items():
        assert memories[memory_id].version >= number
        version = await wiring.store.version("default", memory_id, number)
        assert version is not None
        assert version.memory.content == text


async def the_index_agrees(wiring: Wiring) -> None:
    """Require that the index matches the store after so many kills."""
    points = await wiring.store.points(MODEL, after=-1, limit=1_000_000)
    scan = ScanIndex(wiring.store, MODEL, dimension=64)
    everything = len(points) + 10
    for point in points[:: max(1, len(points) // 20)]:
        exact = await scan.search("default", point.vector, Filter(), limit=everything)
        indexed = await wiring.index.search("default", point.vector, Filter(), limit=everything)
        assert {number for number, _ in indexed} == {number for number, _ in exact}
        cosines = dict(exact)
        assert all(cosine == pytest.approx(cosines[number], abs=0.02) for number, cosine in indexed)
    index = await wiring.index.describe()
    assert (index["kind"], index["points"], index["lag"], index["problem"]) == ("edge", len(points), 0, "")
