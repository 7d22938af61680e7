"""A purge leaves only its entry in the log."""

from dataclasses import replace

from tests.conformance.suites.lookups import lexical_passages
from tests.fakes.build import MODEL, a_commit, a_memory, a_rewrite, an_edge, an_origin, moment, revised, vectors_for

from scrubjay.model.change import Action
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.ports import IdempotencyRecord, RecordStore
from scrubjay.text.passages import passages_of
from scrubjay.text.tokens import terms_of

SECRET = "zanzibar"


class PurgeSuite:
    """`purge`. Needs the fixture `store`."""

    async def test_nothing_is_left_of_a_purged_memory(self, store: RecordStore) -> None:
        first = a_memory(f"{SECRET} one", name=SECRET, title=SECRET, group=SECRET, pinned=True)
        second = revised(first, content=f"{SECRET} two")
        await store.commit(a_commit(first, embedded=vectors_for([first])))
        await store.commit(a_commit(a_rewrite(second), embedded=vectors_for([second])))
        assert await store.purge("default", [first.id], origin=an_origin()) == 1
        assert await store.get("default", [first.id]) == {}
        assert await store.versions("default", first.id, limit=9) == []
        assert await store.version("default", first.id, 1) is None
        for ref in (first.id, SECRET):
            assert await store.find("default", ref) == ()
        assert await store.nearest("default", SECRET, limit=5) == ()
        assert await store.same_content("default", second.content) == ()
        assert await store.list_ids("default", Filter(), limit=9) == []
        assert await store.pinned("default") == []
        assert await store.members("default", SECRET) == []
        assert await store.check(deep=True) == []

    async def test_nothing_is_left_to_search(self, store: RecordStore) -> None:
        memory, stored = a_memory(f"{SECRET} apples"), a_memory("pears and apples")
        await store.commit(a_commit(memory, stored, embedded=vectors_for([memory, stored])))
        numbers = await store.matching_passages("default", Filter())
        await store.purge("default", [memory.id], origin=an_origin())
        assert await lexical_passages(store, "default", terms_of(SECRET), Filter(), limit=9) == []
        statistics = await store.term_statistics("default", terms_of(f"{SECRET} apples"), state=State.LIVE)
        (passage,) = passages_of(stored)
        assert (statistics.passages, statistics.total_length) == (1, len(passage.terms))
        assert {term: count for term, count in statistics.frequencies.items() if count} == {"appl": 1}
        assert [passage.memory_id for passage in await store.stored_passages("default", list(numbers))] == [stored.id]
        assert SECRET not in dict(await store.similar_terms("default", SECRET, state=State.LIVE, limit=9))
        assert len(await store.matching_passages("default", Filter())) == 1
        assert await store.point_count(MODEL) == 1
        assert len(await store.points(MODEL, after=0, limit=9)) == 1
        assert await store.without_vectors(MODEL, limit=9) == []

    async def test_vectors_go_unless_another_memory_has_the_text(self, store: RecordStore) -> None:
        first = a_memory("an early text")
        second = revised(first, content="a later text")
        shared, sharer = a_memory("a shared text"), a_memory("a shared text")
        embedded = vectors_for([first, second, shared], model="one")
        other_model = vectors_for([first, second, shared], model="two")
        await store.commit(a_commit(first, shared, sharer, embedded=embedded))
        await store.commit(a_commit(a_rewrite(second), embedded=other_model))
        await store.purge("default", [first.id, shared.id], origin=an_origin())
        (stored,) = passages_of(sharer)
        for model in ("one", "two"):
            assert set(await store.vectors("default", model, list(embedded.vectors))) == {stored.hash}
        await store.purge("default", [sharer.id], origin=an_origin())
        for model in ("one", "two"):
            assert await store.vectors("default", model, list(embedded.vectors)) == {}

    async def test_vectors_of_another_space_stay(self, store: RecordStore) -> None:
        here, there = a_memory("a text"), a_memory("a text", space="there")
        embedded = vectors_for([here])
        await store.commit(a_commit(here, embedded=embedded))
        await store.commit(a_commit(there, embedded=embedded))
        await store.purge("default", [here.id], origin=an_origin())
        assert set(await store.vectors("there", MODEL, list(embedded.vectors))) == set(embedded.vectors)
        assert await store.vectors("default", MODEL, list(embedded.vectors)) == {}

    async def test_relations_go_with_either_end_also_from_the_log(self, store: RecordStore) -> None:
        first, second, third = a_memory(), a_memory(), a_memory()
        outgoing, incoming = an_edge(first, second, text=SECRET), an_edge(second, first, text=SECRET)
        removed = an_edge(third, first, text=SECRET)
        stored = an_edge(second, third, text="kept")
        await store.commit(a_commit(first, second, third, outgoing, incoming, removed, stored))
        await store.commit(a_commit(replace(removed, present=False)))
        await store.purge("default", [first.id], origin=an_origin())
        assert await store.relations("default", [first.id]) == []
        assert await store.relations("default", [second.id, third.id]) == [stored.relation]
        log = await store.changes(after=0, limit=99)
        assert [change.relation.text for change in log if change.relation and change.relation.text] == ["kept"]

    async def test_relations_of_another_space_stay_also_in_the_log(self, store: RecordStore) -> None:
        first, second = a_memory(), a_memory()
        for space in ("default", "there"):
            pair = [replace(memory, space=space) for memory in (first, second)]
            await store.commit(a_commit(*pair, an_edge(first, second, text=space)))
        await store.purge("default", [first.id, second.id], origin=an_origin())
        assert [edge.text for edge in await store.relations("there", [first.id])] == ["there"]
        log = await store.changes(after=0, limit=99)
        assert [change.relation.text for change in log if change.relation and change.relation.text] == ["there"]

    async def test_the_log_notes_a_purge_without_a_text(self, store: RecordStore) -> None:
        memory = a_memory(f"{SECRET} " * 900)
        await store.commit(a_commit(memory))
        start = await store.last_seq()
        (created,) = await store.changes(after=0, limit=9)
        await store.purge("default", [memory.id], origin=an_origin(at=moment(5), run="p", agent="ann"))
        (change,) = await store.changes(after=start, limit=9)
        assert change == replace(
            change, space="default", memory_id=memory.id, action=Action.PURGED, at=moment(5), agent="ann", run="p"
        )
        assert change.number == created.number
        assert change.passages_before == len(passages_of(memory)) > 1
        assert change.relation is None

    async def test_answers_of_the_runs_that_touched_it_go(self, store: RecordStore) -> None:
        memory, other = a_memory(), a_memory()
        await store.commit(a_commit(memory, once=IdempotencyRecord(key="made", digest=b"d", answer=SECRET)))
        await store.commit(
            a_commit(a_rewrite(revised(memory)), once=IdempotencyRecord(key="revised", digest=b"d", answer=SECRET))
        )
        await store.commit(a_commit(other, once=IdempotencyRecord(key="other", digest=b"d", answer="other")))
        await store.purge("default", [memory.id], origin=an_origin())
        for key in ("made", "revised"):
            assert await store.find_answer("default", key, b"d") is None
            done = await store.commit(a_commit(a_memory(), once=IdempotencyRecord(key=key, digest=b"d", answer="new")))
            assert done.answer is None
        again = await store.commit(a_commit(a_memory(), once=IdempotencyRecord(key="other", digest=b"d", answer="new")))
        assert again.answer == "other"

    async def test_only_memories_of_the_space_are_purged_and_counted(self, store: RecordStore) -> None:
        here, stored, there = a_memory(), a_memory(), a_memory(space="there")
        await store.commit(a_commit(here, stored))
        await store.commit(a_commit(there))
        start = await store.last_seq()
        assert await store.purge("default", [here.id, here.id, there.id, "nobody"], origin=an_origin()) == 1
        assert await store.purge("default", [here.id], origin=an_origin()) == 0
        assert await store.purge("default", [], origin=an_origin()) == 0
        assert len(await store.changes(after=start, limit=9)) == 1
        assert await store.get("there", [there.id]) == {there.id: there}
        assert await store.get("default", [stored.id]) == {stored.id: stored}

    async def test_a_purged_name_and_id_are_free_and_the_number_is_not_used_again(self, store: RecordStore) -> None:
        memory = a_memory(name="plan")
        await store.commit(a_commit(memory))
        await store.purge("default", [memory.id], origin=an_origin())
        again: Memory = replace(memory, content="anew")
        await store.commit(a_commit(again))
        assert await store.get("default", [memory.id]) == {memory.id: again}
        log = await store.changes(after=0, limit=9)
        assert [change.action for change in log] == [Action.CREATED, Action.PURGED, Action.CREATED]
        assert log[2].number > log[0].number

    async def test_a_purge_of_many(self, store: RecordStore) -> None:
        memories = [a_memory(f"{SECRET} {number}") for number in range(300)]
        stored = a_memory("kept")
        await store.commit(a_commit(*memories, stored, embedded=vectors_for(memories)))
        assert await store.purge("default", [memory.id for memory in memories], origin=an_origin()) == 300
        assert await store.list_ids("default", Filter(), limit=999) == [stored.id]
        assert await store.point_count(MODEL) == 0
