"""Adopting memories with their history."""

from dataclasses import replace
from datetime import datetime

import pytest
from tests.conformance.suites.lookups import lexical_passages
from tests.fakes.build import MODEL, a_commit, a_memory, a_rewrite, an_origin, moment, revised

from scrubjay.errors import NameTaken
from scrubjay.model.change import Action
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.version import Version
from scrubjay.ports import MemoryHistory, RecordStore
from scrubjay.text.tokens import terms_of


class AdoptSuite:
    """`adopt`. Needs the fixture `store`."""

    async def test_a_memory_is_adopted_with_its_history(self, store: RecordStore) -> None:
        memory_history = _memory_history("zanzibar", name="plan", access_count=5, last_accessed=moment(3))
        assert await store.adopt("default", [memory_history], origin=an_origin()) == (memory_history.memory.id,)
        memory = memory_history.memory
        assert await store.get("default", [memory.id]) == {memory.id: memory}
        assert tuple(await store.versions("default", memory.id, limit=9)) == tuple(reversed(memory_history.versions))
        assert [handle.id for handle in await store.find("default", "plan")] == [memory.id]

    async def test_an_adopted_memory_is_found_and_awaits_its_vectors(self, store: RecordStore) -> None:
        memory_history = _memory_history("zanzibar", kind="fact")
        await store.adopt("default", [memory_history], origin=an_origin())
        memory = memory_history.memory
        for criteria in (Filter(), Filter(kind="fact")):
            passages = await lexical_passages(store, "default", terms_of("zanzibar"), criteria, limit=9)
            assert [passage.memory_id for passage in passages] == [memory.id]
        assert await store.list_ids("default", Filter(kind="fact"), limit=9) == [memory.id]
        assert await store.without_vectors(MODEL, limit=9) == [("default", memory.id)]
        assert await store.same_content("default", memory.content) == (memory.id,)

    async def test_existing_memories_stay_unchanged(self, store: RecordStore) -> None:
        here, fresh = _memory_history("here"), _memory_history("fresh")
        await store.adopt("default", [here], origin=an_origin())
        later = revised(here.memory, content="edited since")
        await store.commit(a_commit(a_rewrite(later)))
        start = await store.last_seq()
        assert await store.adopt("default", [here, fresh], origin=an_origin()) == (fresh.memory.id,)
        assert await store.get("default", [later.id]) == {later.id: later}
        assert len(await store.versions("default", later.id, limit=9)) == 3
        assert len(await store.changes(after=start, limit=9)) == 1
        assert await store.adopt("default", [here, fresh], origin=an_origin()) == ()

    async def test_each_adopted_memory_is_in_the_log(self, store: RecordStore) -> None:
        histories = [_memory_history("one"), _memory_history("two")]
        await store.adopt("default", histories, origin=an_origin(run="r", agent="ann", at=moment(4)))
        log = await store.changes(after=0, limit=9)
        assert [change.memory_id for change in log] == [history.memory.id for history in histories]
        assert {change.action for change in log} == {Action.IMPORTED}
        assert {(change.run, change.agent, change.at, change.version) for change in log} == {("r", "ann", moment(4), 2)}
        assert {change.passages_before for change in log} == {0}

    async def test_an_import_goes_on_where_it_left_off(self, store: RecordStore) -> None:
        memory_history = _memory_history("zanzibar")
        await store.adopt("default", [memory_history], origin=an_origin())
        third = revised(memory_history.memory, content="third")
        await store.commit(a_commit(a_rewrite(third)))
        assert [version.number for version in await store.versions("default", third.id, limit=9)] == [3, 2, 1]

    async def test_it_belongs_to_the_space_that_adopted_it(self, store: RecordStore) -> None:
        memory_history = _memory_history("zanzibar")
        await store.adopt("default", [memory_history], origin=an_origin())
        assert await store.adopt("there", [memory_history], origin=an_origin()) == (memory_history.memory.id,)
        moved = replace(memory_history.memory, space="there")
        assert await store.get("there", [moved.id]) == {moved.id: moved}
        assert {version.memory.space for version in await store.versions("there", moved.id, limit=9)} == {"there"}
        assert await store.get("default", [moved.id]) == {moved.id: memory_history.memory}

    async def test_a_taken_name_refuses_them_all(self, store: RecordStore) -> None:
        holder = a_memory(name="plan")
        await store.commit(a_commit(holder))
        start = await store.last_seq()
        histories = [_memory_history("fine"), _memory_history("usurper", name="plan")]
        with pytest.raises(NameTaken) as refused:
            await store.adopt("default", histories, origin=an_origin())
        assert (refused.value.fields["name"], refused.value.fields["id"]) == ("plan", holder.id)
        assert await store.get("default", [history.memory.id for history in histories]) == {}
        assert await store.last_seq() == start

    async def test_the_name_of_an_inactive_memory_is_free(self, store: RecordStore) -> None:
        await store.commit(a_commit(a_memory(name="plan")))
        memory_history = _memory_history("resting", name="plan", state=State.TRASHED)
        assert await store.adopt("default", [memory_history], origin=an_origin()) == (memory_history.memory.id,)
        assert await store.list_ids("default", Filter(state=State.TRASHED), limit=9) == [memory_history.memory.id]

    async def test_many_memories_are_adopted_at_once(self, store: RecordStore) -> None:
        histories = [_memory_history(f"number {number}") for number in range(300)]
        added = await store.adopt("default", histories, origin=an_origin())
        assert added == tuple(history.memory.id for history in histories)
        assert len(await store.get("default", list(added))) == 300
        assert await store.adopt("default", [], origin=an_origin()) == ()


def _memory_history(
    text: str,
    *,
    name: str = "",
    kind: str = "note",
    state: State = State.LIVE,
    access_count: int = 0,
    last_accessed: datetime | None = None,
) -> MemoryHistory:
    first = a_memory(f"{text} at first", kind=kind)
    first = replace(first, name=name or first.name)
    second = revised(first, content=text, state=state)
    counted = replace(second, access_count=access_count, last_accessed=last_accessed)
    return MemoryHistory(memory=counted, versions=(_version(first), _version(second)))


def _version(memory: Memory) -> Version:
    return Version(
        number=memory.version,
        memory=memory,
        parent=memory.version - 1 or None,
        action="created" if memory.version == 1 else "revised",
        created_at=memory.updated_at,
        agent="elsewhere",
        run="long-ago",
        message=f"version {memory.version}",
    )
