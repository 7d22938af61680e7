"""Relations: set, replaced and removed by their key, and returned for either end."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.fakes.build import a_commit, a_memory, a_rewrite, an_edge, moment, revised

from scrubjay.errors import NotFound
from scrubjay.model.change import Action, Change
from scrubjay.model.memory import Memory, State
from scrubjay.model.relation import Relation
from scrubjay.ports import RecordStore


class RelationsSuite:
    """`Commit.edges` and `relations`. Needs the fixture `store`."""

    async def test_a_relation_is_returned_for_both_ends(self, store: RecordStore) -> None:
        first, second, third = await _three(store)
        edge = an_edge(
            first, second, type="depends_on", text="for logins", strength=0.25, metadata={"since": [2020, "x"]}
        )
        await store.commit(a_commit(edge))
        assert await store.relations("default", [first.id]) == [edge.relation]
        assert await store.relations("default", [second.id]) == [edge.relation]
        assert await store.relations("default", [first.id, second.id]) == [edge.relation]
        assert await store.relations("default", [third.id, "nobody"]) == []
        assert await store.relations("default", []) == []

    async def test_type_and_direction_make_different_relations(self, store: RecordStore) -> None:
        first, second, third = await _three(store)
        edges = [
            an_edge(first, second),
            an_edge(second, first),
            an_edge(first, second, type="depends_on"),
            an_edge(first, third),
            an_edge(first, first, type="cites"),
        ]
        await store.commit(a_commit(*edges))
        assert _keys(await store.relations("default", [first.id])) == {edge.relation.key for edge in edges}
        assert _keys(await store.relations("default", [third.id])) == {edges[3].relation.key}

    async def test_setting_a_relation_again_replaces_it(self, store: RecordStore) -> None:
        first, second, _ = await _three(store)
        await store.commit(a_commit(an_edge(first, second, text="first", strength=0.1)))
        better = an_edge(first, second, text="second", strength=0.9, metadata={"n": 1})
        better = replace(better, relation=replace(better.relation, created_at=moment(60)))
        await store.commit(a_commit(better))
        assert await store.relations("default", [first.id]) == [better.relation]

    async def test_a_former_relation_can_be_read_from_the_log(self, store: RecordStore) -> None:
        source, target, _ = await _three(store)
        first, second = an_edge(source, target, text="first", metadata={"n": 1}), an_edge(source, target, text="second")
        await store.commit(a_commit(first))
        start = await store.last_seq()
        done = await store.commit(a_commit(second))
        removed, added = await store.changes(after=start, limit=9)
        assert (removed.action, removed.relation) == (Action.UNRELATED, first.relation)
        assert (added.action, added.relation, added.seq) == (Action.RELATED, second.relation, done.seq)

    async def test_a_relation_is_removed_by_its_key(self, store: RecordStore) -> None:
        first, second, _ = await _three(store)
        other = an_edge(first, second, type="cites")
        await store.commit(a_commit(an_edge(first, second, text="with a text"), other))
        await store.commit(a_commit(an_edge(first, second, present=False)))
        assert await store.relations("default", [first.id]) == [other.relation]

    async def test_removing_a_missing_relation_is_not_an_error(self, store: RecordStore) -> None:
        first, second, _ = await _three(store)
        await store.commit(a_commit(an_edge(first, second, present=False)))
        assert await store.relations("default", [first.id]) == []

    @pytest.mark.parametrize("present", [True, False])
    async def test_both_ends_must_exist(self, store: RecordStore, present: bool) -> None:
        first, _, _ = await _three(store)
        before = await store.last_seq()
        for edge in (an_edge(first, a_memory(), present=present), an_edge(a_memory(), first, present=present)):
            with pytest.raises(NotFound):
                await store.commit(a_commit(edge))
        assert await store.relations("default", [first.id]) == []
        assert await store.last_seq() == before

    async def test_an_end_in_another_space_does_not_exist(self, store: RecordStore) -> None:
        first, _, _ = await _three(store)
        elsewhere = a_memory(space="elsewhere")
        await store.commit(a_commit(elsewhere))
        for space in ("default", "elsewhere"):
            with pytest.raises(NotFound):
                await store.commit(a_commit(an_edge(first, elsewhere), space=space))

    async def test_memories_and_their_relation_come_in_one_commit(self, store: RecordStore) -> None:
        first, second = a_memory(), a_memory()
        edge = an_edge(first, second)
        await store.commit(a_commit(edge, first, second))
        assert await store.relations("default", [second.id]) == [edge.relation]

    async def test_relations_outlive_revisions_and_the_bin(self, store: RecordStore) -> None:
        first, second, _ = await _three(store)
        edge = an_edge(first, second)
        await store.commit(a_commit(edge))
        await store.commit(a_commit(a_rewrite(revised(first, content="better"))))
        await store.commit(a_commit(a_rewrite(revised(second, state=State.TRASHED), action=Action.TRASHED)))
        assert await store.relations("default", [first.id]) == [edge.relation]
        other = an_edge(first, second, type="cites")
        await store.commit(a_commit(other))
        assert _keys(await store.relations("default", [second.id])) == {edge.relation.key, other.relation.key}

    async def test_each_edge_is_one_change_that_carries_it(self, store: RecordStore) -> None:
        first, second, _ = await _three(store)
        edge = an_edge(first, second, text="why")
        start = await store.last_seq()
        done = await store.commit(a_commit(edge))
        await store.commit(a_commit(an_edge(first, second, present=False)))
        related, unrelated = await store.changes(after=start, limit=9)
        assert (related.action, related.relation, related.memory_id) == (Action.RELATED, edge.relation, first.id)
        assert related.seq == done.seq
        assert (unrelated.action, unrelated.memory_id) == (Action.UNRELATED, first.id)
        assert _relation(unrelated).key == edge.relation.key

    async def test_a_removed_relation_can_be_read_from_the_log(self, store: RecordStore) -> None:
        first, second, _ = await _three(store)
        edge = an_edge(first, second, text="precious", strength=0.75, metadata={"a": 1})
        await store.commit(a_commit(edge))
        start = await store.last_seq()
        await store.commit(a_commit(an_edge(first, second, present=False)))
        (change,) = await store.changes(after=start, limit=9)
        assert _relation(change) == edge.relation

    async def test_many_relations_of_many_memories(self, store: RecordStore) -> None:
        hub = a_memory("hub")
        spokes = [a_memory(f"spoke {number}") for number in range(300)]
        await store.commit(a_commit(hub, *spokes, *(an_edge(hub, spoke) for spoke in spokes)))
        assert len(await store.relations("default", [hub.id])) == 300
        assert len(await store.relations("default", [memory.id for memory in (hub, *spokes)])) == 300


async def _three(store: RecordStore) -> tuple[Memory, Memory, Memory]:
    first, second, third = a_memory("one"), a_memory("two"), a_memory("three")
    await store.commit(a_commit(first, second, third))
    return first, second, third


def _keys(relations: Sequence[Relation]) -> set[tuple[str, str, str]]:
    keys = {relation.key for relation in relations}
    assert len(keys) == len(relations), "a relation is returned once"
    return keys


def _relation(change: Change) -> Relation:
    assert change.relation is not None
    return change.relation
