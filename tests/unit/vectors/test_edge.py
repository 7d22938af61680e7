"""The embedded index on disk: durability, damage, and error messages."""

import asyncio
import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.fakes.build import a_memory, a_point, vector_of

from scrubjay.errors import IndexUnavailable
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter
from scrubjay.vectors.edge import EdgeIndex, EdgeTuning
from scrubjay.vectors.edge_codec import edge_errors

DIMENSION = 64
QUERY = vector_of(b"a question")
# So small that a few hundred points have a graph.
SMALL = EdgeTuning(links_from=50, exact_up_to=20, ef=64)


def create(folder: Path, *, tuning: EdgeTuning | None = None, cursor: int = 0) -> EdgeIndex:
    return EdgeIndex.create(
        folder, store_id="s", model="m", dimension=DIMENSION, cursor=cursor, tuning=tuning or EdgeTuning()
    )


def load(folder: Path, *, tuning: EdgeTuning | None = None) -> EdgeIndex:
    return EdgeIndex.load(folder, store_id="s", model="m", dimension=DIMENSION, tuning=tuning or EdgeTuning())


def make_points(count: int, *, first: int = 1) -> list[Point]:
    return [
        a_point(number, a_memory(kind="odd" if number % 2 else "even"), vector=vector_of(number.to_bytes(8, "big")))
        for number in range(first, first + count)
    ]


async def numbers(index: EdgeIndex, *, filter: Filter | None = None, vector: Vector = QUERY) -> set[int]:
    return {number for number, _ in await index.search("default", vector, filter or Filter(), limit=10_000)}


async def fill(folder: Path, *, count: int = 300) -> None:
    """Create an index with an optimised part and later points, and close it."""
    index = create(folder, tuning=SMALL)
    await index.apply(make_points(count), [], cursor=5)
    index.optimise()
    await index.apply(make_points(40, first=count - 20), [1, 2], cursor=9)
    await index.close()


class TestOnDisk:
    async def test_a_closed_index_can_be_loaded(self, tmp_path: Path) -> None:
        index = create(tmp_path / "i", cursor=3)
        assert (index.cursor, index.points, index.added) == (3, 0, 0)
        await index.apply(make_points(20), [], cursor=7)
        await index.apply([], [4], cursor=8)
        await index.close()
        again = load(tmp_path / "i")
        assert (again.cursor, again.points, again.added, again.was_interrupted) == (8, 19, 20, False)
        assert await numbers(again) == {*range(1, 21)} - {4}
        await again.close()

    async def test_the_folder_may_be_moved(self, tmp_path: Path) -> None:
        await fill(tmp_path / "i")
        (tmp_path / "i").rename(tmp_path / "j")
        index = load(tmp_path / "j")
        assert len(await numbers(index)) == index.points == 317
        await index.close()

    async def test_optimising_is_recorded(self, tmp_path: Path) -> None:
        index = create(tmp_path / "i", tuning=SMALL)
        await index.apply(make_points(300), [], cursor=1)
        assert index.added == 300
        index.optimise()
        assert index.added == 0
        assert await numbers(index) == set(range(1, 301))
        await index.close()
        again = load(tmp_path / "i", tuning=SMALL)
        assert (again.added, again.points) == (0, 300)
        assert await numbers(again, filter=Filter(kind="odd")) == set(range(1, 301, 2))
        await again.close()

    async def test_nothing_is_on_disk_before_the_first_flush(self, tmp_path: Path) -> None:
        index = create(tmp_path / "i", tuning=EdgeTuning(flush_every=1))
        await index.apply(make_points(20), [], cursor=7)
        index.abandon()
        with pytest.raises(IndexUnavailable):
            load(tmp_path / "i")

    async def test_the_cursor_is_stored_only_with_what_it_covers(self, tmp_path: Path) -> None:
        await fill(tmp_path / "i")
        index = load(tmp_path / "i", tuning=EdgeTuning(flush_every=10))
        await index.apply(make_points(4, first=1000), [], cursor=20)
        await index.apply(make_points(4, first=1010), [], cursor=21)
        assert json.loads((tmp_path / "i" / "scrubjay.json").read_text())["cursor"] == 9
        await index.apply(make_points(4, first=1020), [], cursor=22)
        assert json.loads((tmp_path / "i" / "scrubjay.json").read_text())["cursor"] == 22
        index.abandon()

    async def test_an_interrupted_index_says_so_until_it_is_flushed(self, tmp_path: Path) -> None:
        await fill(tmp_path / "i")
        index = load(tmp_path / "i")
        await index.apply(make_points(4, first=1000), [], cursor=20)
        index.abandon()
        again = load(tmp_path / "i")
        assert again.was_interrupted
        assert again.cursor == 9
        again.flush()
        again.abandon()
        assert not load(tmp_path / "i").was_interrupted

    async def test_a_taken_folder_is_refused(self, tmp_path: Path) -> None:
        create(tmp_path / "i").abandon()
        with pytest.raises(IndexUnavailable):
            create(tmp_path / "i")

    async def test_an_abandoned_index_cannot_be_used(self, tmp_path: Path) -> None:
        index = create(tmp_path / "i")
        index.abandon()
        index.abandon()
        for use in (index.search("default", QUERY, Filter(), limit=3), index.apply(make_points(1), [], cursor=1)):
            with pytest.raises(IndexUnavailable):
                await use
        with pytest.raises(IndexUnavailable):
            await index.close()


class TestForeign:
    @pytest.mark.parametrize(("field", "value"), [("store_id", "t"), ("model", "n"), ("dimension", 32), ("format", 1)])
    async def test_an_index_of_something_else_is_refused(self, tmp_path: Path, field: str, value: str | int) -> None:
        await fill(tmp_path / "i")
        path = tmp_path / "i" / "scrubjay.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
        with pytest.raises(IndexUnavailable, match="belongs to another"):
            load(tmp_path / "i")

    @pytest.mark.parametrize(
        "text", ["", "[]", "{}", "null", "\x00\x01", '{"store_id": 1}', '{"format": true, "store_id": "s"}']
    )
    async def test_an_invalid_metadata_file_is_refused(self, tmp_path: Path, text: str) -> None:
        await fill(tmp_path / "i")
        (tmp_path / "i" / "scrubjay.json").write_text(text)
        with pytest.raises(IndexUnavailable):
            load(tmp_path / "i")

    def test_a_missing_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(IndexUnavailable):
            load(tmp_path / "nowhere")


class TestDamage:
    @pytest.mark.parametrize("harm", ["empty", "half", "garbled", "gone"])
    async def test_no_damaged_file_does_worse_than_make_it_unavailable(self, tmp_path: Path, harm: str) -> None:
        refused = 0
        await fill(tmp_path / "intact")
        # Every ninth file, with another offset for each kind of damage, covers all kinds of files.
        for number in range(len(harm), 70, 9):
            folder = shutil.copytree(tmp_path / "intact", tmp_path / str(number))
            files = _files(folder)
            assert len(files) >= 70
            _damage(files[number], harm)
            refused += await _use(folder)
        assert refused

    async def test_points_that_are_missing_are_noticed(self, tmp_path: Path) -> None:
        await fill(tmp_path / "i")
        path = tmp_path / "i" / "scrubjay.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "points": 400}))
        with pytest.raises(IndexUnavailable, match="damaged"):
            load(tmp_path / "i")

    def test_a_panic_is_an_unavailable_index(self) -> None:
        panic = type("PanicException", (BaseException,), {})
        with pytest.raises(IndexUnavailable), edge_errors("search"):
            raise panic("index out of bounds")

    @pytest.mark.parametrize("kind", [KeyboardInterrupt, asyncio.CancelledError, SystemExit])
    def test_other_exceptions_pass_through(self, kind: type[BaseException]) -> None:
        with pytest.raises(kind), edge_errors("search"):
            raise kind


class TestDiskSpace:
    async def test_a_full_disk_is_refused_before_the_engine_writes(self, tmp_path: Path) -> None:
        greedy = EdgeTuning(spare_bytes=1 << 60)
        with pytest.raises(IndexUnavailable, match="space"):
            create(tmp_path / "i", tuning=greedy)
        await fill(tmp_path / "j")
        index = load(tmp_path / "j", tuning=greedy)
        with pytest.raises(IndexUnavailable, match="space"):
            await index.apply(make_points(1), [], cursor=99)
        assert index.cursor == 9
        assert await numbers(index, filter=Filter(kind="odd"))
        await index.close()


class TestSearching:
    async def test_no_limit_no_hits(self, tmp_path: Path) -> None:
        index = create(tmp_path / "i")
        await index.apply(make_points(3), [], cursor=1)
        assert await index.search("default", QUERY, Filter(), limit=0) == []
        await index.close()

    async def test_a_text_that_is_not_unicode_works_like_others(self, tmp_path: Path) -> None:
        index = create(tmp_path / "i")
        await index.apply([a_point(1, a_memory(space="\ud800x", tags=("\udfff",), entity="é"))], [], cursor=1)
        assert [number for number, _ in await index.search("\ud800x", QUERY, Filter(entity="É"), limit=3)] == [1]
        assert await index.search("default", QUERY, Filter(entity="É"), limit=3) == []
        await index.close()

    async def test_vectors_need_not_be_of_unit_length(self, tmp_path: Path) -> None:
        index = create(tmp_path / "i")
        await index.apply([a_point(1, a_memory(), vector=np.float32(3) * QUERY)], [], cursor=1)
        ((number, cosine),) = await index.search("default", np.float32(7) * QUERY, Filter(), limit=3)
        assert number == 1
        assert cosine == pytest.approx(1.0, abs=0.01)
        await index.close()

    async def test_the_graph_finds_what_a_scan_finds(self, tmp_path: Path) -> None:
        index = create(tmp_path / "i", tuning=SMALL)
        points = make_points(1500)
        await index.apply(points, [], cursor=1)
        index.optimise()
        matrix = np.array([point.vector for point in points])
        shares: list[float] = []
        for seed in range(20):
            query = vector_of(bytes([seed, 1]))
            best = {int(row) + 1 for row in np.argsort(-(matrix @ query))[:50]}
            results = await index.search("default", query, Filter(), limit=50)
            shares.append(len(best & {number for number, _ in results}) / 50)
        assert np.mean(shares) > 0.9
        await index.close()

    async def test_other_tasks_run_while_many_points_are_added(self, tmp_path: Path) -> None:
        index = create(tmp_path / "i")
        turns = 0

        async def take_turns() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(take_turns())
        await index.apply(make_points(1000), list(range(2000, 2500)), cursor=1)
        other.cancel()
        assert turns > 10
        assert index.points == 1000
        await index.close()


async def _use(folder: Path) -> bool:
    """Open and use an index in every way; returns whether it raised IndexUnavailable."""
    try:
        index = load(folder, tuning=SMALL)
    except IndexUnavailable:
        return True
    try:
        for filter_ in (Filter(), Filter(kind="odd"), Filter(since=a_memory().created_at)):
            await index.search("default", QUERY, filter_, limit=50)
        await index.apply(make_points(5, first=100), [7, 8], cursor=30)
        await index.close()
    except IndexUnavailable:
        index.abandon()
        return True
    return False


def _files(folder: Path) -> list[Path]:
    """Return all files of an index, in an order that does not depend on the names that the engine chooses."""

    def key(path: Path) -> tuple[bool, str]:
        parts = path.relative_to(folder).parts
        segment = folder.joinpath(*parts[:3])
        return (segment / "vector_index").exists(), "/".join(parts[3:] or parts)

    return sorted((path for path in folder.rglob("*") if path.is_file()), key=key)


def _damage(path: Path, harm: str) -> None:
    size = path.stat().st_size
    if harm == "gone":
        path.unlink()
    elif harm == "garbled":
        with path.open("r+b") as file:
            file.write(_noise(min(size, 4096)))
    else:
        with path.open("r+b") as file:
            file.truncate(size // 2 if harm == "half" else 0)


def _noise(size: int) -> bytes:
    return random.Random(1).randbytes(size)
