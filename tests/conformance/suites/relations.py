"""Relations: set, replaced and removed by their key, and told from either end."""

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

    async def test_a_relation_is_told_from_both_ends(self, store: RecordStore) -> None:
        one, two, three = await _three(store)
        edge = an_edge(one, two, type="depends_on", text="for logins", strength=0.25, metadata={"since": [2020, "x"]})
        await store.commit(a_commit(edge))
        assert await store.relations("default", [one.id]) == [edge.relation]
        assert await store.relations("default", [two.id]) == [edge.relation]
        assert await store.relations("default", [one.id, two.id]) == [edge.relation]
        assert await store.relations("default", [three.id, "nobody"]) == []
        assert await store.relations("default", []) == []

    async def test_type_and_direction_make_different_relations(self, store: RecordStore) -> None:
        one, two, three = await _three(store)
        edges = [
            an_edge(one, two),
            an_edge(two, one),
            an_edge(one, two, type="depends_on"),
            an_edge(one, three),
            an_edge(one, one, type="cites"),
        ]
        await store.commit(a_commit(*edges))
        assert _keys(await store.relations("default", [one.id])) == {edge.relation.key for edge in edges}
        assert _keys(await store.relations("default", [three.id])) == {edges[3].relation.key}

    async def test_setting_a_relation_again_replaces_it(self, store: RecordStore) -> None:
        one, two, _ = await _three(store)
        await store.commit(a_commit(an_edge(one, two, text="first", strength=0.1)))
        better = an_edge(one, two, text="second", strength=0.9, metadata={"n": 1})
        better = replace(better, relation=replace(better.relation, created_at=moment(60)))
        await store.commit(a_commit(better))
        assert await store.relations("default", [one.id]) == [better.relation]

    async def test_what_a_relation_was_can_be_read_from_the_log(self, store: RecordStore) -> None:
        one, two, _ = await _three(store)
        first, second = an_edge(one, two, text="first", metadata={"n": 1}), an_edge(one, two, text="second")
        await store.commit(a_commit(first))
        start = await store.last_seq()
        done = await store.commit(a_commit(second))
        removed, added = await store.changes(after=start, limit=9)
        assert (removed.action, removed.relation) == (Action.UNRELATED, first.relation)
        assert (added.action, added.relation, added.seq) == (Action.RELATED, second.relation, done.seq)

    async def test_a_relation_is_removed_by_its_key(self, store: RecordStore) -> None:
        one, two, _ = await _three(store)
        other = an_edge(one, two, type="cites")
        await store.commit(a_commit(an_edge(one, two, text="with a text"), other))
        await store.commit(a_commit(an_edge(one, two, present=False)))
        assert await store.relations("default", [one.id]) == [other.relation]

    async def test_removing_what_is_not_there_is_no_error(self, store: RecordStore) -> None:
        one, two, _ = await _three(store)
        await store.commit(a_commit(an_edge(one, two, present=False)))
        assert await store.relations("default", [one.id]) == []

    @pytest.mark.parametrize("present", [True, False])
    async def test_both_ends_must_exist(self, store: RecordStore, present: bool) -> None:
        one, _, _ = await _three(store)
        before = await store.last_seq()
        for edge in (an_edge(one, a_memory(), present=present), an_edge(a_memory(), one, present=present)):
            with pytest.raises(NotFound):
                await store.commit(a_commit(edge))
        assert await store.relations("default", [one.id]) == []
        assert await store.last_seq() == before

    async def test_an_end_in_another_space_does_not_exist(self, store: RecordStore) -> None:
        one, _, _ = await _three(store)
        elsewhere = a_memory(space="elsewhere")
        await store.commit(a_commit(elsewhere))
        for space in ("default", "elsewhere"):
            with pytest.raises(NotFound):
                await store.commit(a_commit(an_edge(one, elsewhere), space=space))

    async def test_memories_and_their_relation_come_in_one_commit(self, store: RecordStore) -> None:
        one, two = a_memory(), a_memory()
        edge = an_edge(one, two)
        await store.commit(a_commit(edge, one, two))
        assert await store.relations("default", [two.id]) == [edge.relation]

    async def test_relations_outlive_revisions_and_the_bin(self, store: RecordStore) -> None:
        one, two, _ = await _three(store)
        edge = an_edge(one, two)
        await store.commit(a_commit(edge))
        await store.commit(a_commit(a_rewrite(revised(one, content="better"))))
        await store.commit(a_commit(a_rewrite(revised(two, state=State.TRASHED), action=Action.TRASHED)))
        assert await store.relations("default", [one.id]) == [edge.relation]
        other = an_edge(one, two, type="cites")
        await store.commit(a_commit(other))
        assert _keys(await store.relations("default", [two.id])) == {edge.relation.key, other.relation.key}

    async def test_each_edge_is_one_change_that_carries_it(self, store: RecordStore) -> None:
        one, two, _ = await _three(store)
        edge = an_edge(one, two, text="why")
        start = await store.last_seq()
        done = await store.commit(a_commit(edge))
        await store.commit(a_commit(an_edge(one, two, present=False)))
        related, unrelated = await store.changes(after=start, limit=9)
        assert (related.action, related.relation, related.memory_id) == (Action.RELATED, edge.relation, one.id)
        assert related.seq == done.seq
        assert (unrelated.action, unrelated.memory_id) == (Action.UNRELATED, one.id)
        assert _relation(unrelated).key == edge.relation.key

    async def test_a_removed_relation_can_be_read_from_the_log(self, store: RecordStore) -> None:
        one, two, _ = await _three(store)
        edge = an_edge(one, two, text="precious", strength=0.75, metadata={"a": 1})
        await store.commit(a_commit(edge))
        start = await store.last_seq()
        await store.commit(a_commit(an_edge(one, two, present=False)))
        (change,) = await store.changes(after=start, limit=9)
        assert _relation(change) == edge.relation

    async def test_many_relations_of_many_memories(self, store: RecordStore) -> None:
        hub = a_memory("hub")
        spokes = [a_memory(f"spoke {number}") for number in range(300)]
        await store.commit(a_commit(hub, *spokes, *(an_edge(hub, spoke) for spoke in spokes)))
        assert len(await store.relations("default", [hub.id])) == 300
        assert len(await store.relations("default", [one.id for one in (hub, *spokes)])) == 300


async def _three(store: RecordStore) -> tuple[Memory, Memory, Memory]:
    one, two, three = a_memory("one"), a_memory("two"), a_memory("three")
    await store.commit(a_commit(one, two, three))
    return one, two, three


def _keys(relations: Sequence[Relation]) -> set[tuple[str, str, str]]:
    keys = {relation.key for relation in relations}
    assert len(keys) == len(relations), "a relation is told once"
    return keys


def _relation(change: Change) -> Relation:
    assert change.relation is not None
    return change.relation
