"""Versions are kept and can be compared and restored; `undo` reverts the calls of an agent."""

import pytest

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput, NotFound, StaleVersion
from tests.scenarios.wiring import Wiring


async def test_every_write_makes_a_version_and_says_who_why_and_what(memory: MemoryClient) -> None:
    done = await memory.remember("The office is in Oslo", title="Office")
    await memory.revise(done.id, text="The office is in Bergen", message="they moved")
    await memory.forget(done.id, reason="closed")
    await memory.restore(done.id)
    await memory.revert(done.id, to=1)
    versions = (await memory.history(done.id)).versions
    assert [version.number for version in versions] == [5, 4, 3, 2, 1]
    assert [version.action for version in versions] == ["reverted", "restored", "trashed", "revised", "created"]
    assert [version.message for version in versions] == ["back to version 1", "", "closed", "they moved", ""]
    assert [version.parent for version in versions] == [4, 3, 2, 1, None]
    assert {version.agent for version in versions} == {"tester"}
    assert len({version.run for version in versions}) == 5
    assert versions[0].memory.content == "The office is in Oslo"


async def test_a_long_history_is_read_page_by_page(memory: MemoryClient) -> None:
    done = await memory.remember("count 1", name="count")
    for number in range(2, 8):
        await memory.revise("count", text=f"count {number}")
    page = (await memory.history("count", limit=3)).versions
    rest = (await memory.history(done.id, limit=100, before=page[-1].number)).versions
    assert [version.number for version in (*page, *rest)] == [7, 6, 5, 4, 3, 2, 1]
    assert [version.memory.content for version in rest] == ["count 4", "count 3", "count 2", "count 1"]


async def test_a_diff_shows_what_changed_line_by_line(memory: MemoryClient) -> None:
    await memory.remember("one\ntwo\nthree", name="list", tags=["a"])
    await memory.revise("list", text="one\n2\nthree", tags=["a", "b"], title="A list")
    diff = {change.field: change for change in (await memory.history("list", diff=[1, 2])).diff}
    assert set(diff) == {"content", "tags", "title"}
    assert "-two" in diff["content"].lines
    assert "+2" in diff["content"].lines
    assert (diff["title"].before, diff["title"].after) == ("", "A list")
    backwards = {change.field: change for change in (await memory.history("list", diff=[2, 1])).diff}
    assert backwards["content"].before == diff["content"].after


async def test_missing_versions_are_named(memory: MemoryClient) -> None:
    await memory.remember("only once", name="once")
    with pytest.raises(NotFound, match="no version 7") as caught:
        await memory.revert("once", to=7)
    assert "1 to 1" in caught.value.hint
    with pytest.raises(NotFound):
        await memory.history("once", diff=[1, 2])
    with pytest.raises(InvalidInput):
        await memory.history("once", diff=[1])


async def test_an_older_version_can_be_read(memory: MemoryClient) -> None:
    done = await memory.remember("first words", name="note")
    await memory.revise("note", text="other words")
    (old,) = (await memory.read(done.id, version=1)).memories
    assert old.content == "first words"


async def test_a_stale_edit_is_refused_with_the_current_version(memory: MemoryClient) -> None:
    await memory.remember("shared", name="shared")
    await memory.revise("shared", text="mine", expected_version=1)
    with pytest.raises(StaleVersion) as caught:
        await memory.revise("shared", text="theirs", expected_version=1)
    assert (caught.value.fields["current"], caught.value.fields["expected"]) == (2, 1)
    assert (await memory.read("shared")).memories[0].content == "mine"


# ---- undo -----------------------------------------------------------------------------------------


async def test_undo_of_a_creation_puts_it_into_the_trash(memory: MemoryClient) -> None:
    done = await memory.remember("never mind", entities=["A", "B"])
    undone = await memory.undo()
    assert {change.id for change in undone.done} == set(done.ids)
    assert {record.state for record in (await memory.read(done.ids)).memories} == {"trashed"}
    assert not (await memory.recall("never mind")).hits


async def test_undo_of_each_verb_gives_back_what_was_there(memory: MemoryClient) -> None:
    done = await memory.remember("as it was", name="thing", tags=["old"])
    for verb in (
        memory.revise(done.id, text="as it is", tags=["new"]),
        memory.forget(done.id),
    ):
        await verb
        await memory.undo()
        (back,) = (await memory.read(done.id)).memories
        assert (back.content, back.tags, back.state) == ("as it was", ("old",), "live")
        assert [hit.id for hit in (await memory.recall("as it was")).hits] == [done.id]
    await memory.forget(done.id)
    await memory.restore(done.id)
    await memory.undo()
    assert (await memory.read(done.id)).memories[0].state == "trashed"
    await memory.restore(done.id)
    await memory.revise(done.id, text="third")
    await memory.revert(done.id, to=1)
    await memory.undo()
    assert (await memory.read(done.id)).memories[0].content == "third"


async def test_undo_of_relations(memory: MemoryClient) -> None:
    first_id, second_id = (await memory.remember("one")).id, (await memory.remember("two")).id
    await memory.relate(first_id, second_id, relation="knows", text="first", strength=0.25, metadata={"since": 1999})
    (first,) = (await memory.read(first_id)).relations
    await memory.relate(first_id, second_id, relation="knows", text="second", strength=0.75)
    await memory.undo()
    assert (await memory.read(first_id)).relations == (first,)
    await memory.unrelate(first_id, second_id, relation="knows")
    assert (await memory.read(first_id)).relations == ()
    await memory.undo()
    assert (await memory.read(first_id)).relations == (first,)
    await memory.undo()
    assert (await memory.read(first_id)).relations == ()


async def test_undo_twice_goes_further_back(memory: MemoryClient) -> None:
    done = await memory.remember("one")
    await memory.revise(done.id, text="two")
    await memory.revise(done.id, text="three")
    assert [(await memory.undo()).skipped, (await memory.read(done.id)).memories[0].content] == [(), "two"]
    assert [(await memory.undo()).skipped, (await memory.read(done.id)).memories[0].content] == [(), "one"]
    assert (await memory.undo()).skipped == ()
    (gone,) = (await memory.read(done.id)).memories
    assert (gone.state, gone.version) == ("trashed", 6)
    with pytest.raises(NotFound, match="nothing to undo"):
        await memory.undo()


async def test_undo_of_a_named_run_takes_back_several_calls_at_once(wiring: Wiring, memory: MemoryClient) -> None:
    stored = await memory.remember("kept as it is", name="kept")
    cleaning = wiring.client(agent="cleaner", run="spring cleaning")
    await cleaning.revise("kept", text="changed once")
    await cleaning.revise("kept", text="changed twice", name="renamed")
    made = await cleaning.remember("made on the way", name="kept")
    await cleaning.relate(made.id, stored.id)
    undone = await memory.undo(run="spring cleaning")
    assert undone.run == "spring cleaning"
    assert {change.id for change in undone.done} == {stored.id, made.id}
    (back,) = (await memory.read(stored.id)).memories
    assert (back.content, back.name, back.version) == ("kept as it is", "kept", 4)
    assert (await memory.read(made.id)).memories[0].state == "trashed"
    assert (await memory.read(stored.id)).relations == ()


async def test_undo_goes_by_agent(wiring: Wiring) -> None:
    alice, bob = wiring.client(agent="alice"), wiring.client(agent="bob")
    hers = await alice.remember("hers")
    his = await bob.remember("his")
    await alice.undo()
    assert (await bob.read(hers.id)).memories[0].state == "trashed"
    assert (await bob.read(his.id)).memories[0].state == "live"
    with pytest.raises(NotFound):
        await alice.undo()


async def test_undo_skips_memories_that_others_have_changed_since(wiring: Wiring) -> None:
    alice, bob = wiring.client(agent="alice", run="morning"), wiring.client(agent="bob")
    first_id, second_id = (await alice.remember("one", name="one")).id, (await alice.remember("two", name="two")).id
    await alice.relate(first_id, second_id, text="hers")
    await bob.revise(second_id, text="two, says Bob")
    await bob.relate(first_id, second_id, text="his")
    undone = await alice.undo(run="morning")
    assert [done.id for done in undone.done] == [first_id]
    assert len(undone.skipped) == 2
    assert "'two' was changed since" in undone.skipped[0]
    assert "relation" in undone.skipped[1]
    (left,) = (await bob.read(second_id)).memories
    assert (left.content, left.state) == ("two, says Bob", "live")
    assert [edge.text for edge in (await bob.read(second_id)).relations] == ["his"]


async def test_undo_comes_back_under_another_name_when_its_own_was_taken(wiring: Wiring) -> None:
    alice, bob = wiring.client(agent="alice"), wiring.client(agent="bob")
    first = await alice.remember("the first plan", name="plan")
    await alice.forget("plan")
    second = await bob.remember("the second plan", name="plan")
    (back,) = (await alice.undo()).done
    assert back.id == first.id
    assert back.name.startswith("plan-")
    assert [memory.id for memory in (await bob.read("plan")).memories] == [second.id]
    assert (await bob.read(first.id)).memories[0].state == "live"


async def test_undo_names_purged_memories(wiring: Wiring) -> None:
    alice, bob = wiring.client(agent="alice", run="r"), wiring.client(agent="bob")
    gone, stays = (await alice.remember("gone")).id, (await alice.remember("stays")).id
    await alice.relate(stays, gone)
    await bob.forget(gone)
    await bob.purge(gone)
    undone = await alice.undo(run="r")
    assert [change.id for change in undone.done] == [stays]
    assert undone.skipped == (f"{gone} was purged",)


async def test_undo_of_an_unknown_run(memory: MemoryClient) -> None:
    with pytest.raises(NotFound, match="no run 'nobody did this'"):
        await memory.undo(run="nobody did this")
