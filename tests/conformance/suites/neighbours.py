"""The neighbours of passages and of memories in their session, in order."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from tests.fakes.build import START, a_commit, a_memory, a_rewrite, an_origin, moment, revised

from scrubjay.model.memory import Memory, Observation, Source, State, Tier
from scrubjay.model.passage import StoredPassage
from scrubjay.model.query import Filter
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import Neighbours, RecordStore


class NeighboursSuite:
    """`stored_passages` with neighbours, and `passage_numbers`. Needs the fixture `store`."""

    async def test_the_passages_of_a_session_are_ordered_by_date(self, store: RecordStore) -> None:
        memories = _session(5)
        # They are stored in another order.
        await store.commit(a_commit(*(memories[place] for place in (3, 0, 4, 1, 2))))
        numbers = await _numbers(store, memories)
        assert numbers != sorted(numbers)
        (passage, *others) = await store.stored_passages("default", [numbers[2]], around=2)
        assert (passage.memory_id, passage.before, passage.after) == (
            memories[2].id,
            (numbers[1], numbers[0]),
            (numbers[3], numbers[4]),
        )
        assert {other.id for other in others} == {numbers[0], numbers[1], numbers[3], numbers[4]}

    async def test_passages_of_the_same_moment_are_ordered_by_number(self, store: RecordStore) -> None:
        memories = [replace(memory, source=Source(session="s", at=START)) for memory in _session(5)]
        await store.commit(a_commit(*memories))
        numbers = await _numbers(store, memories)
        assert numbers == sorted(numbers)
        assert await _around(store, numbers[1], 2) == ((numbers[0],), (numbers[2], numbers[3]))

    async def test_the_number_of_neighbours_is_limited(self, store: RecordStore) -> None:
        memories = _session(7)
        await store.commit(a_commit(*memories))
        numbers = await _numbers(store, memories)
        assert await _around(store, numbers[3], 1) == ((numbers[2],), (numbers[4],))
        assert await _around(store, numbers[0], 2) == ((), (numbers[1], numbers[2]))
        assert await _around(store, numbers[6], 99) == (tuple(numbers[5::-1]), ())

    async def test_of_every_neighbour_there_is_what_ranking_uses(self, store: RecordStore) -> None:
        memories = _session(7)
        await store.commit(a_commit(*memories))
        numbers = await _numbers(store, memories)
        whole = {passage.id: _neighbour_fields(passage) for passage in await store.stored_passages("default", numbers)}
        assert [whole[number][0] for number in numbers] == [memory.id for memory in memories]
        (_, *others) = await store.stored_passages("default", [numbers.pop(3)], around=3)
        assert {other.id: _neighbour_fields(other) for other in others} == {number: whole[number] for number in numbers}

    async def test_without_neighbours_there_are_none(self, store: RecordStore) -> None:
        memories = _session(3)
        await store.commit(a_commit(*memories))
        numbers = await _numbers(store, memories)
        for passages in (
            await store.stored_passages("default", [numbers[1]]),
            await store.stored_passages("default", [numbers[1]], around=0),
        ):
            assert [(passage.id, passage.before, passage.after) for passage in passages] == [(numbers[1], (), ())]

    async def test_requested_passages_come_first_and_once(self, store: RecordStore) -> None:
        memories = _session(6)
        await store.commit(a_commit(*memories))
        numbers = await _numbers(store, memories)
        requested = [numbers[1], numbers[2], numbers[4], numbers[1], 10**15]
        passages = await store.stored_passages("default", requested, around=1)
        assert {memory.id for memory in passages[:3]} == set(requested) - {10**15}
        assert {passage.id: (passage.before, passage.after) for passage in passages} == {
            numbers[1]: ((numbers[0],), (numbers[2],)),
            numbers[2]: ((numbers[1],), (numbers[3],)),
            numbers[4]: ((numbers[3],), (numbers[5],)),
            numbers[0]: ((), ()),
            numbers[3]: ((), ()),
            numbers[5]: ((), ()),
        }
        assert len(passages) == 6
        assert await store.stored_passages("default", [10**15], around=3) == []
        assert await store.stored_passages("default", [], around=3) == []

    async def test_slices_and_observations_are_neighbours(self, store: RecordStore) -> None:
        facts = (Observation(text="a fact", recorded_at=START), Observation(text="another", recorded_at=START))
        before, after = _session(2, minutes=60)
        long = a_memory("word " * 500, observations=facts, source=Source(session="s", at=before.date + _MINUTE))
        await store.commit(a_commit(before, after, long))
        ((first,), own, (last,)) = [
            await store.passage_numbers("default", [memory.id]) for memory in (before, long, after)
        ]
        assert len(own) > 4
        assert await _around(store, own[0], 2) == ((first,), (own[1], own[2]))
        assert await _around(store, own[-1], 2) == ((own[-2], own[-3]), (last,))

    async def test_a_memory_without_a_session_has_only_its_own_passages_as_neighbours(self, store: RecordStore) -> None:
        alone, other = a_memory("word " * 500), a_memory("word")
        await store.commit(a_commit(other, alone, a_memory("word")))
        own = await store.passage_numbers("default", [alone.id])
        assert len(own) > 2
        assert await _around(store, own[0], 9) == ((), tuple(own[1:]))
        ((number,),) = [await store.passage_numbers("default", [other.id])]
        assert await _around(store, number, 9) == ((), ())

    async def test_sessions_states_and_spaces_are_apart(self, store: RecordStore) -> None:
        mine = _session(3)
        others = [
            *_session(3, session="t"),
            *(replace(memory, state=State.TRASHED) for memory in _session(3)),
            *(replace(memory, state=State.ARCHIVED) for memory in _session(3)),
        ]
        there = [replace(memory, space="there") for memory in _session(3)]
        await store.commit(a_commit(*(item for pair in zip(mine, others, strict=False) for item in pair), *others[3:]))
        await store.commit(a_commit(*there))
        numbers = await _numbers(store, mine)
        assert await _around(store, numbers[1], 9) == ((numbers[0],), (numbers[2],))
        trashed = await _numbers(store, others[3:6])
        assert await _around(store, trashed[1], 9) == ((trashed[0],), (trashed[2],))
        assert await store.stored_passages("there", numbers, around=9) == []
        assert await store.passage_numbers("there", [memory.id for memory in mine]) == []

    async def test_neighbours_follow_every_change(self, store: RecordStore) -> None:
        memories = _session(4)
        await store.commit(a_commit(*memories))
        numbers = await _numbers(store, memories)
        trashed = revised(memories[1], state=State.TRASHED)
        await store.commit(a_commit(a_rewrite(trashed)))
        assert await _around(store, numbers[2], 2) == ((numbers[0],), (numbers[3],))
        assert await _around(store, numbers[1], 2) == ((), ())
        await store.commit(a_commit(a_rewrite(revised(trashed, state=State.LIVE))))
        assert await _around(store, numbers[2], 2) == ((numbers[1], numbers[0]), (numbers[3],))
        later = revised(memories[0], source=Source(session="s", at=memories[3].date + _MINUTE))
        await store.commit(a_commit(a_rewrite(later)))
        assert await _around(store, numbers[2], 2) == ((numbers[1],), (numbers[3], numbers[0]))
        await store.commit(a_commit(a_rewrite(revised(later, source=Source(session="elsewhere")))))
        assert await _around(store, numbers[2], 2) == ((numbers[1],), (numbers[3],))
        await store.purge("default", [memories[3].id], origin=an_origin())
        assert await _around(store, numbers[2], 2) == ((numbers[1],), ())
        assert await store.stored_passages("default", [numbers[3]], around=2) == []

    async def test_a_passage_has_the_fields_to_rank_it(self, store: RecordStore) -> None:
        memory = a_memory(
            "Is Sarah there?",
            entity="Sarah",
            tier=Tier.SEMANTIC,
            relevance=0.25,
            last_confirmed=moment(77),
            source=Source(session="s", at=moment(55)),
        )
        plain = a_memory("yes", source=Source(session="s", at=moment(56)))
        await store.commit(a_commit(memory, plain))
        await store.touch("default", [memory.id], at=moment(99))
        numbers = await _numbers(store, [memory, plain])
        first, second = await store.stored_passages("default", numbers[:1], around=1)
        assert _ranking_fields(first) == (to_micros(moment(55)), "sarah", 6, 2, 0.25, to_micros(moment(77)), 1)
        # A neighbour has the same fields as a requested passage.
        assert _ranking_fields(second) == (to_micros(moment(56)), "", 0, 0, 1.0, None, 0)
        later = revised(memory, tier=Tier.PROCEDURAL, relevance=0.5, last_confirmed=moment(88))
        await store.commit(a_commit(a_rewrite(later)))
        (passage,) = await store.stored_passages("default", numbers[:1])
        assert _ranking_fields(passage) == (to_micros(moment(55)), "sarah", 6, 3, 0.5, to_micros(moment(88)), 1)

    async def test_the_passages_of_memories_are_numbered(self, store: RecordStore) -> None:
        long, short = a_memory("word " * 900), a_memory("word", state=State.ARCHIVED)
        await store.commit(a_commit(long, short))
        numbers = await store.passage_numbers("default", [short.id, long.id, long.id, "nobody", a_memory().id])
        everything = [
            *await store.matching_passages("default", Filter()),
            *await store.matching_passages("default", Filter(state=State.ARCHIVED)),
        ]
        assert numbers == sorted(everything)
        assert len(numbers) > 2
        assert await store.passage_numbers("default", [short.id]) == numbers[-1:]
        assert await store.passage_numbers("default", []) == []
        assert await store.passage_numbers("nowhere", [long.id]) == []


class SessionNeighboursSuite:
    """`session_neighbours`. Needs the fixture `store`."""

    async def test_the_memories_of_a_session_are_neighbours(self, store: RecordStore) -> None:
        memories = _session(6)
        await store.commit(a_commit(*reversed(memories)))
        ids = [memory.id for memory in memories]
        neighbours = await store.session_neighbours("default", [ids[2], ids[0], "nobody"], each=2)
        assert neighbours == {
            ids[2]: Neighbours(before=(ids[1], ids[0]), after=(ids[3], ids[4])),
            ids[0]: Neighbours(after=(ids[1], ids[2])),
        }
        assert await store.session_neighbours("default", [ids[2]], each=0) == {ids[2]: Neighbours()}
        assert await store.session_neighbours("default", [], each=2) == {}
        assert await store.session_neighbours("there", ids, each=2) == {}

    async def test_a_long_memory_is_listed_once(self, store: RecordStore) -> None:
        memories = [replace(memory, content="word " * 900) for memory in _session(5)]
        await store.commit(a_commit(*memories))
        ids = [memory.id for memory in memories]
        assert await store.session_neighbours("default", [ids[2]], each=2) == {
            ids[2]: Neighbours(before=(ids[1], ids[0]), after=(ids[3], ids[4]))
        }

    async def test_without_a_session_there_are_no_neighbours(self, store: RecordStore) -> None:
        alone = a_memory("word " * 900)
        await store.commit(a_commit(a_memory("before"), alone, a_memory("after")))
        assert await store.session_neighbours("default", [alone.id], each=3) == {alone.id: Neighbours()}

    async def test_only_memories_of_the_same_state_and_space_are_neighbours(self, store: RecordStore) -> None:
        memories = _session(4)
        await store.commit(a_commit(*memories))
        await store.commit(a_commit(*(replace(memory, space="there") for memory in _session(4))))
        trashed = revised(memories[1], state=State.TRASHED)
        await store.commit(a_commit(a_rewrite(trashed)))
        ids = [memory.id for memory in memories]
        assert await store.session_neighbours("default", ids[:2], each=1) == {
            ids[0]: Neighbours(after=(ids[2],)),
            ids[1]: Neighbours(),
        }
        await store.commit(a_commit(a_rewrite(revised(trashed, state=State.LIVE))))
        assert await store.session_neighbours("default", ids[:1], each=1) == {ids[0]: Neighbours(after=(ids[1],))}
        await store.purge("default", [ids[1]], origin=an_origin())
        assert await store.session_neighbours("default", ids[:1], each=1) == {ids[0]: Neighbours(after=(ids[2],))}


_MINUTE = timedelta(minutes=1)


def _session(count: int, *, session: str = "s", minutes: int = 1) -> list[Memory]:
    """Return memories of one session, in order."""
    return [
        a_memory(f"turn {place}", source=Source(session=session, at=START + place * minutes * _MINUTE))
        for place in range(count)
    ]


async def _numbers(store: RecordStore, memories: Sequence[Memory]) -> list[int]:
    """Return the number of the first passage of each memory."""
    return [(await store.passage_numbers("default", [memory.id]))[0] for memory in memories]


async def _around(store: RecordStore, number: int, around: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    (passage, *others) = await store.stored_passages("default", [number], around=around)
    assert passage.id == number
    assert {other.id for other in others} == {*passage.before, *passage.after}
    return passage.before, passage.after


def _neighbour_fields(passage: StoredPassage) -> tuple[str, bytes, str, str, int]:
    """Return what ranking uses of a neighbour, however far away."""
    return passage.memory_id, passage.hash, passage.terms, passage.who, passage.asks


def _ranking_fields(passage: StoredPassage) -> tuple[int, str, int, int, float, int | None, int]:
    return (
        passage.date, passage.who, passage.asks, passage.tier, passage.relevance, passage.confirmed,
        passage.accesses,
    )  # fmt: skip
