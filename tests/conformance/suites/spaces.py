"""Isolation of spaces: no space can see, change or block the content of another."""

from dataclasses import replace

import pytest
from tests.conformance.suites import hostile
from tests.conformance.suites.lookups import lexical_passages
from tests.fakes.build import (
    MODEL,
    a_commit,
    a_document,
    a_memory,
    a_rewrite,
    an_edge,
    an_origin,
    moment,
    revised,
    vectors_for,
)

from scrubjay.errors import NotFound, StaleVersion
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.ports import IdempotencyRecord, RecordStore
from scrubjay.text.passages import passages_of
from scrubjay.text.tokens import terms_of

TEXT = "zanzibar"


class SpacesSuite:
    """Isolation, port by port. Needs the fixture `store`."""

    async def test_another_space_sees_nothing(self, store: RecordStore) -> None:
        memory, friend = a_memory(TEXT, name=TEXT, title=TEXT, group="g", pinned=True), a_memory()
        await store.commit(
            a_commit(memory, friend, an_edge(memory, friend), embedded=vectors_for([memory]), origin=an_origin(run="r"))
        )
        there = "there"
        numbers = list(await store.matching_passages("default", Filter()))
        hashes = [passage.hash for passage in passages_of(memory)]
        for ref in (memory.id, TEXT):
            assert await store.find(there, ref) == ()
        seen = (
            await store.get(there, [memory.id]),
            await store.nearest(there, TEXT, limit=9),
            await store.same_content(there, TEXT),
            await store.versions(there, memory.id, limit=9),
            await store.version(there, memory.id, 1),
            await store.relations(there, [memory.id]),
            await store.list_ids(there, Filter(), limit=9),
            await store.pinned(there),
            await store.members(there, "g"),
            await lexical_passages(store, there, terms_of(TEXT), Filter(), limit=9),
            await store.stored_passages(there, numbers, around=9),
            await store.passage_numbers(there, [memory.id]),
            await store.session_neighbours(there, [memory.id], each=9),
            await store.similar_terms(there, TEXT, state=State.LIVE, limit=9),
            await store.known_facets(there, ["group=g"], state=State.LIVE),
            await store.vectors(there, MODEL, hashes),
            list(await store.matching_passages(there, Filter())),
            await store.changes_in(there, after=0, limit=9),
            await store.run(there, "r"),
            await store.last_run(there, agent="tester"),
        )
        assert not any(seen)

    async def test_another_space_can_change_nothing(self, store: RecordStore) -> None:
        memory = a_memory()
        await store.commit(a_commit(memory))
        before = await store.last_seq()
        with pytest.raises((StaleVersion, NotFound)):
            await store.commit(a_commit(a_rewrite(replace(revised(memory), space="there"))))
        assert await store.purge("there", [memory.id], origin=an_origin()) == 0
        await store.touch("there", [memory.id], at=moment(1))
        await store.store_vectors("there", vectors_for([memory]), memory_ids=[memory.id], origin=an_origin())
        assert await store.get("default", [memory.id]) == {memory.id: memory}
        assert await store.last_seq() == before
        assert await store.without_vectors(MODEL, limit=9) == [("default", memory.id)]

    async def test_the_same_id_and_name_live_in_two_spaces(self, store: RecordStore) -> None:
        here = a_memory("here", name="plan")
        there = replace(here, space="there", content="there")
        await store.commit(a_commit(here))
        await store.commit(a_commit(there))
        later = revised(there, content="there again")
        await store.commit(a_commit(a_rewrite(later)))
        assert await store.get("default", [here.id]) == {here.id: here}
        assert await store.get("there", [here.id]) == {here.id: later}
        assert [handle.id for handle in await store.find("there", "plan")] == [here.id]
        assert len(await store.versions("default", here.id, limit=9)) == 1
        assert len(await store.versions("there", here.id, limit=9)) == 2
        assert await store.purge("there", [here.id], origin=an_origin()) == 1
        assert await store.get("default", [here.id]) == {here.id: here}
        assert len(await store.versions("default", here.id, limit=9)) == 1

    async def test_the_same_relation_lives_in_two_spaces(self, store: RecordStore) -> None:
        first, second = a_memory(), a_memory()
        for space in ("default", "there"):
            pair = [replace(memory, space=space) for memory in (first, second)]
            await store.commit(a_commit(*pair, an_edge(first, second, text=space)))
        await store.commit(a_commit(an_edge(first, second, present=False), space="there"))
        assert [edge.text for edge in await store.relations("default", [first.id])] == ["default"]
        assert await store.relations("there", [first.id]) == []

    async def test_documents_belong_to_one_space(self, store: RecordStore) -> None:
        memory = a_memory(TEXT)
        document = a_document(value={"about": {"memory_id": memory.id}, "text": TEXT}, due=moment(2))
        await store.commit(a_commit(memory, documents=[document]))
        assert await store.document("there", "rules", "writing") is None
        assert await store.documents("there", "rules", limit=9) == []
        assert await store.all_documents("there", limit=9) == []
        assert await store.delete_document("there", "rules", "writing") is False
        assert await store.spaces() == ["default"]
        other = await store.put_document(a_document(space="there", value={"n": 1}, due=moment(1)), base=None)
        assert await store.spaces() == ["default", "there"]
        await store.purge("there", [memory.id], origin=an_origin())
        assert await store.documents("default", "rules", limit=9) == [document]
        assert await store.documents("there", "rules", limit=9) == [other]
        # Due documents come from all spaces.
        assert await store.due_documents("rules", now=moment(2), limit=9) == [other, document]

    async def test_keys_are_of_one_space(self, store: RecordStore) -> None:
        for space in ("default", "there"):
            memory = a_memory(space=space)
            done = await store.commit(
                a_commit(memory, once=IdempotencyRecord(key="k", digest=space.encode(), answer=space))
            )
            assert done.answer is None
        again = await store.commit(
            a_commit(a_memory(), once=IdempotencyRecord(key="k", digest=b"default", answer="new"))
        )
        assert again.answer == "default"

    async def test_runs_are_of_one_space(self, store: RecordStore) -> None:
        origin = an_origin(run="shared", agent="ann")
        here, there = a_memory(), a_memory(space="there")
        await store.commit(a_commit(here, origin=origin))
        await store.commit(a_commit(there, origin=origin))
        for space, memory in (("default", here), ("there", there)):
            for run in (await store.run(space, "shared"), await store.last_run(space, agent="ann")):
                assert run is not None
                assert [change.memory_id for change in run.changes] == [memory.id]

    async def test_vectors_of_a_text_are_of_one_space(self, store: RecordStore) -> None:
        here, there = a_memory(TEXT), a_memory(TEXT, space="there")
        await store.commit(a_commit(here, embedded=vectors_for([here])))
        await store.commit(a_commit(there))
        assert await store.without_vectors(MODEL, limit=9) == [("there", there.id)]
        assert await store.point_count(MODEL) == 1

    async def test_counts_are_of_one_space(self, store: RecordStore) -> None:
        here, friend, there = a_memory(), a_memory(), a_memory(space="there")
        await store.commit(a_commit(here, friend, an_edge(here, friend), embedded=vectors_for([here])))
        await store.commit(a_commit(there))
        statistics = await store.statistics("there")
        assert {state: count for state, count in statistics.memories.items() if count} == {"live": 1}
        assert (statistics.versions, statistics.relations) == (1, 0)
        assert not any(statistics.vectors.values())
        empty = await store.statistics("nobody")
        assert not any((*empty.memories.values(), empty.versions, empty.relations, *empty.vectors.values()))

    async def test_a_space_is_not_searched_through_anothers_words(self, store: RecordStore) -> None:
        # The name of a space may be a common word in the texts of another.
        here = [a_memory("there default apple", space="default") for _ in range(5)]
        there = [a_memory("default apple", space="there")]
        await store.commit(a_commit(*here))
        await store.commit(a_commit(*there))
        passages = await lexical_passages(store, "there", terms_of("there default apple"), Filter(), limit=99)
        assert {passage.memory_id for passage in passages} == {there[0].id}
        statistics = await store.term_statistics("there", terms_of("default"), state=State.LIVE)
        assert (statistics.passages, statistics.frequencies["default"]) == (1, 1)

    async def test_spaces_may_be_called_anything(self, store: RecordStore) -> None:
        names = ("a", "A", "a ", "ä", "a\u0308", *hostile.STRINGS)
        memories = {name: a_memory(f"{TEXT} {number}", space=name) for number, name in enumerate(names)}
        for memory in memories.values():
            await store.commit(a_commit(memory))
        for name, memory in memories.items():
            assert await store.list_ids(name, Filter(), limit=9) == [memory.id]
            passages = await lexical_passages(store, name, terms_of(TEXT), Filter(), limit=9)
            assert [passage.memory_id for passage in passages] == [memory.id]
            assert [change.memory_id for change in await store.changes_in(name, after=0, limit=9)] == [memory.id]

    async def test_many_spaces_stay_apart(self, store: RecordStore) -> None:
        spaces = [f"space-{number}" for number in range(60)]
        for space in spaces:
            memories = [a_memory(f"{TEXT} {number}", space=space, name=f"n{number}") for number in range(3)]
            await store.commit(a_commit(*memories, embedded=vectors_for(memories)))
        for space in spaces:
            passages = await lexical_passages(store, space, terms_of(TEXT), Filter(), limit=99)
            assert len(passages) == 3
            statistics = await store.term_statistics(space, terms_of(TEXT), state=State.LIVE)
            assert (statistics.passages, statistics.frequencies[TEXT]) == (3, 3)
            assert len(await store.matching_passages(space, Filter())) == 3
        assert await store.point_count(MODEL) == 180
