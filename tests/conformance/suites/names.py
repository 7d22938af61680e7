"""A name is held by one live memory of a space at a time."""

from dataclasses import replace

import pytest
from tests.conformance.suites import hostile
from tests.fakes.build import a_commit, a_memory, a_rewrite, a_write, revised

from scrubjay.errors import NameTaken
from scrubjay.model.change import Action
from scrubjay.model.memory import State
from scrubjay.ports import RecordStore


class NamesSuite:
    """Names are unique among the live memories of a space. Needs the fixture `store`."""

    async def test_a_taken_name_is_refused_and_the_holder_reported(self, store: RecordStore) -> None:
        holder = a_memory(name="plan")
        await store.commit(a_commit(holder))
        with pytest.raises(NameTaken) as refused:
            await store.commit(a_commit(a_memory(name="plan")))
        assert (refused.value.fields["name"], refused.value.fields["id"]) == ("plan", holder.id)

    async def test_two_of_one_commit_cannot_share_a_name(self, store: RecordStore) -> None:
        with pytest.raises(NameTaken):
            await store.commit(a_commit(a_memory(name="plan"), a_memory(name="plan")))
        assert await store.find("default", "plan") == ()

    async def test_a_memory_keeps_its_own_name(self, store: RecordStore) -> None:
        memory = a_memory(name="plan")
        await store.commit(a_commit(memory))
        await store.commit(a_commit(a_rewrite(revised(memory, content="better"))))
        assert [handle.id for handle in await store.find("default", "plan")] == [memory.id]

    @pytest.mark.parametrize("state", [State.TRASHED, State.ARCHIVED, State.MERGED])
    async def test_a_memory_that_is_not_live_gives_its_name_up(self, store: RecordStore, state: State) -> None:
        gone, heir = a_memory(name="plan"), a_memory(name="plan")
        await store.commit(a_commit(gone))
        await store.commit(a_commit(a_rewrite(revised(gone, state=state))))
        await store.commit(a_commit(heir))
        assert [handle.id for handle in await store.find("default", "plan")] == [heir.id]

    async def test_many_inactive_memories_may_share_a_name(self, store: RecordStore) -> None:
        resting = [a_memory(name="plan", state=State.TRASHED) for _ in range(3)]
        await store.commit(a_commit(*resting))
        assert len(await store.get("default", [memory.id for memory in resting])) == 3

    async def test_restoring_a_memory_with_a_taken_name_is_refused(self, store: RecordStore) -> None:
        gone, heir = a_memory(name="plan", state=State.TRASHED), a_memory(name="plan")
        await store.commit(a_commit(gone, heir))
        back = revised(gone, state=State.LIVE)
        with pytest.raises(NameTaken) as refused:
            await store.commit(a_commit(a_rewrite(back, action=Action.RESTORED)))
        assert refused.value.fields["id"] == heir.id
        renamed = replace(back, name="plan-2")
        await store.commit(a_commit(a_rewrite(renamed, action=Action.RESTORED)))
        assert await store.get("default", [gone.id]) == {gone.id: renamed}

    async def test_renaming_frees_the_old_name_and_takes_the_new(self, store: RecordStore) -> None:
        memory = a_memory(name="old")
        await store.commit(a_commit(memory))
        await store.commit(a_commit(a_rewrite(revised(memory, name="new"))))
        assert await store.find("default", "old") == ()
        await store.commit(a_commit(a_memory(name="old")))
        with pytest.raises(NameTaken):
            await store.commit(a_commit(a_memory(name="new")))

    async def test_renaming_to_a_taken_name_is_refused(self, store: RecordStore) -> None:
        holder, other = a_memory(name="taken"), a_memory(name="other")
        await store.commit(a_commit(holder, other))
        with pytest.raises(NameTaken) as refused:
            await store.commit(a_commit(a_rewrite(revised(other, name="taken"))))
        assert refused.value.fields["id"] == holder.id
        assert [handle.id for handle in await store.find("default", "other")] == [other.id]

    async def test_a_name_freed_in_a_commit_can_be_taken_in_it(self, store: RecordStore) -> None:
        memory, heir = a_memory(name="plan"), a_memory(name="plan")
        await store.commit(a_commit(memory))
        await store.commit(a_commit(a_rewrite(revised(memory, name="old-plan")), a_write(heir)))
        assert [handle.id for handle in await store.find("default", "plan")] == [heir.id]

    async def test_names_may_be_of_any_script(self, store: RecordStore) -> None:
        memories = [a_memory(name=string) for string in hostile.STRINGS]
        await store.commit(a_commit(*memories))
        for memory in memories:
            assert [handle.id for handle in await store.find("default", memory.name)] == [memory.id]
            with pytest.raises(NameTaken):
                await store.commit(a_commit(a_memory(name=memory.name)))
