"""A follower brings an index to the state of the store, after any history."""

import asyncio
import random
from collections.abc import Sequence

import pytest
from tests.fakes.build import MODEL, a_commit, a_memory, a_rewrite, an_edge, an_origin, revised, vectors_for
from tests.new_files import NewStores

from scrubjay.errors import IndexUnavailable, InvalidInput
from scrubjay.indexing.follower import Follower
from scrubjay.model.change import Action
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter
from scrubjay.storage.sqlite import SqliteStore


class RecordingIndex:
    """An index that records the applied changes, and the points after them."""

    def __init__(self) -> None:
        self.applied: list[tuple[list[int], list[int], int]] = []
        self.points: dict[int, Point] = {}
        self.cursor = 0

    async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
        self.applied.append(([point.id for point in points], list(stale), cursor))
        await asyncio.sleep(0)
        for number in stale:
            self.points.pop(number, None)
        self.points.update({point.id: point for point in points})
        self.cursor = cursor

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        raise AssertionError("a follower does not search")

    async def close(self) -> None:
        """Do nothing."""


async def check_same(index: RecordingIndex, store: SqliteStore) -> None:
    points = {point.id: point for point in await store.points(MODEL, after=-1, limit=10**6)}
    assert {number: (point.facets, point.at) for number, point in index.points.items()} == {
        number: (point.facets, point.at) for number, point in points.items()
    }
    assert all((index.points[number].vector == point.vector).all() for number, point in points.items())
    assert index.cursor == await store.last_seq()


async def remember(store: SqliteStore, *memories: Memory) -> None:
    await store.commit(a_commit(*memories, embedded=vectors_for(memories)))


async def test_an_empty_store_applies_nothing(store: SqliteStore) -> None:
    index = RecordingIndex()
    await Follower(store, index, MODEL).catch_up()
    assert index.applied == []


@pytest.mark.parametrize("seed", range(8))
async def test_any_history_ends_in_the_same_points(seed: int, store: SqliteStore) -> None:
    dice, index = random.Random(seed), RecordingIndex()
    follower = Follower(store, index, MODEL)
    alive: dict[str, Memory] = {}
    for _ in range(60):
        await _random_change(store, alive, dice)
        if dice.random() < 0.5:
            await follower.follow()
        if dice.random() < 0.3:
            await follower.catch_up()
            await check_same(index, store)
    await follower.catch_up()
    await check_same(index, store)


async def test_only_deleted_passages_are_stale(store: SqliteStore) -> None:
    index = RecordingIndex()
    memory = a_memory("word " * 900)
    await remember(store, memory)
    await Follower(store, index, MODEL).catch_up()
    ((whole, stale, _),) = index.applied
    assert len(whole) > 2
    assert stale == []
    short = revised(memory, content="short")
    await store.commit(a_commit(a_rewrite(short), embedded=vectors_for([short])))
    await Follower(store, index, MODEL).catch_up()
    assert index.applied[-1] == (whole[:1], whole[1:], await store.last_seq())


async def test_relations_move_the_cursor_and_nothing_else(store: SqliteStore) -> None:
    index = RecordingIndex()
    first, second = a_memory("one"), a_memory("two")
    await remember(store, first, second)
    await Follower(store, index, MODEL).catch_up()
    await store.commit(a_commit(an_edge(first, second), space="default"))
    await Follower(store, index, MODEL).catch_up()
    assert index.applied[-1] == ([], [], await store.last_seq())


async def test_a_long_log_is_read_in_pages(store: SqliteStore) -> None:
    index = RecordingIndex()
    await remember(store, *(a_memory(f"{number}") for number in range(1200)))
    await Follower(store, index, MODEL).catch_up()
    assert [cursor for _, _, cursor in index.applied] == [500, 1000, 1200]
    await check_same(index, store)


async def test_callers_at_the_same_time_share_the_work(store: SqliteStore) -> None:
    index = RecordingIndex()
    await remember(store, *(a_memory(f"{number}") for number in range(1200)))
    follower = Follower(store, index, MODEL)
    await asyncio.gather(*(follower.catch_up() for _ in range(10)))
    assert [cursor for _, _, cursor in index.applied] == [500, 1000, 1200]


async def test_too_far_behind_or_ahead_is_an_error(store: SqliteStore) -> None:
    index = RecordingIndex()
    await remember(store, *(a_memory(f"{number}") for number in range(5)))
    follower = Follower(store, index, MODEL)
    assert await follower.lag() == 5
    with pytest.raises(IndexUnavailable) as caught:
        await follower.catch_up(at_most=4)
    assert caught.value.fields["lag"] == 5
    await follower.catch_up(at_most=5)
    await index.apply([], [], cursor=9)
    with pytest.raises(IndexUnavailable) as caught:
        await follower.catch_up(at_most=100)
    assert caught.value.fields["lag"] == -4


async def test_a_purge_is_announced_before_it_is_applied(store: SqliteStore) -> None:
    index = RecordingIndex()
    memory = a_memory("secret")
    await remember(store, memory)
    announced: list[int] = []
    follower = Follower(store, index, MODEL, on_purge=lambda: announced.append(index.cursor))
    await follower.catch_up()
    assert announced == []
    await store.commit(a_commit(a_rewrite(revised(memory, state=State.TRASHED), action=Action.TRASHED)))
    await store.purge("default", [memory.id], origin=an_origin())
    before = index.cursor
    await follower.catch_up()
    assert announced == [before]
    await check_same(index, store)


async def test_a_log_that_ends_early_is_read_to_its_end(new_store: NewStores) -> None:
    class PrunedStore(SqliteStore):
        async def last_seq(self) -> int:
            return await super().last_seq() + 3

    store, index = new_store(PrunedStore), RecordingIndex()
    await remember(store, a_memory("one"))
    await Follower(store, index, MODEL).catch_up()
    assert index.cursor == 1


async def test_a_rejected_vector_makes_the_index_unavailable(store: SqliteStore) -> None:
    class RefusingIndex(RecordingIndex):
        async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
            raise InvalidInput("no")

    await remember(store, a_memory("one"))
    with pytest.raises(IndexUnavailable):
        await Follower(store, RefusingIndex(), MODEL).catch_up()


async def test_closing_waits_for_the_page_that_is_being_applied(store: SqliteStore) -> None:
    begun = asyncio.Event()

    class SlowIndex(RecordingIndex):
        closed_at = -1

        async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
            begun.set()
            await super().apply(points, stale, cursor=cursor)

        async def close(self) -> None:
            self.closed_at = len(self.applied)

    index = SlowIndex()
    await remember(store, *(a_memory(f"{number}") for number in range(10)))
    follower = Follower(store, index, MODEL)
    catching_up = asyncio.create_task(follower.catch_up())
    await begun.wait()
    await follower.close()
    await catching_up
    assert index.closed_at == 1
    assert index.cursor == 10


async def _random_change(store: SqliteStore, alive: dict[str, Memory], dice: random.Random) -> None:
    action = dice.choice(["new", "new", "revise", "revise", "trash", "purge", "unembedded", "embed", "relate"])
    text = " ".join(
        dice.choice(("jay", "acorn", "oak")) + str(dice.randrange(99)) for _ in range(dice.choice((1, 500)))
    )
    if action == "new" or not alive:
        memory = a_memory(text, kind=dice.choice(("fact", "rumour")), space=dice.choice(("default", "there")))
        await remember(store, memory)
        alive[memory.id] = memory
        return
    memory = alive[dice.choice(sorted(alive))]
    if action == "purge":
        await store.purge(memory.space, [alive.pop(memory.id).id], origin=an_origin())
    elif action == "embed":
        await store.store_vectors(memory.space, vectors_for([memory]), memory_ids=[memory.id], origin=an_origin())
    elif action == "relate":
        await store.commit(a_commit(an_edge(memory, memory), space=memory.space))
    elif action == "trash":
        alive[memory.id] = revised(memory, state=State.TRASHED)
        await store.commit(a_commit(a_rewrite(alive[memory.id], action=Action.TRASHED)))
    else:
        alive[memory.id] = revised(memory, content=text, kind=dice.choice(("fact", "rumour")))
        embedded = None if action == "unembedded" else vectors_for([alive[memory.id]])
        await store.commit(a_commit(a_rewrite(alive[memory.id]), embedded=embedded))
