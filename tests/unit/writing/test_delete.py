"""`forget`, `restore` and `purge`: one by one, by filter, with siblings, and under names taken meanwhile."""

from datetime import timedelta

import pytest
from tests.fakes.build import START, a_commit, a_memory, a_rewrite, an_origin, revised
from tests.new_files import NewStores
from tests.unit.harness import SPACE, Harness

from scrubjay.errors import Ambiguous, InvalidInput, NotFound, StaleVersion, WrongState
from scrubjay.model.draft import Draft
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.model.requests import Selection
from scrubjay.ports import Commit, Committed
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.writing import delete


async def states(harness: Harness, *ids: str) -> list[str]:
    return [memory.state.value for memory in (await harness.store.get(SPACE, ids)).values()]


async def test_forgetting_is_a_version_that_restoring_takes_back(harness: Harness) -> None:
    before = await harness.store_draft("tea")
    gone = await harness.forget(selection=Selection(ids=(before.name,), reason="cold"))
    assert [(change.action, change.id, change.version) for change in gone.done] == [("trashed", before.id, 2)]
    assert await states(harness, before.id) == ["trashed"]
    back = await harness.restore(before.name)
    assert [(change.action, change.version) for change in back.done] == [("restored", 3)]
    after = await harness.get(before.id)
    assert (after.content, after.state, after.name) == (before.content, State.LIVE, before.name)
    versions = await harness.store.versions(SPACE, before.id, limit=9)
    assert [(version.action, version.message) for version in versions] == [
        ("restored", ""),
        ("trashed", "cold"),
        ("created", ""),
    ]


async def test_a_memory_in_the_target_state_is_unchanged(harness: Harness) -> None:
    memory = await harness.store_draft("tea")
    assert [change.action for change in (await harness.restore(memory.id)).done] == ["unchanged"]
    await harness.forget(memory.id)
    assert [(change.action, change.version) for change in (await harness.forget(memory.id)).done] == [("unchanged", 2)]


async def test_an_archived_memory_can_be_restored_too(harness: Harness) -> None:
    memory = a_memory("tea", state=State.ARCHIVED)
    await harness.store.commit(a_commit(memory))
    await harness.restore(memory.id)
    assert await states(harness, memory.id) == ["live"]


async def test_several_at_once_each_once_and_the_missing_named(harness: Harness) -> None:
    tea, milk = (
        await harness.store_draft(Draft(text="a", name="green-tea")),
        await harness.store_draft(Draft(text="b", name="cold-milk")),
    )
    done = await harness.forget("green-tea", tea.id, "green-teas", milk.id)
    assert [change.id for change in done.done] == [tea.id, milk.id]
    assert [missing_ref.ref for missing_ref in done.missing] == ["green-teas"]


async def test_the_missing_come_with_suggestions(harness: Harness) -> None:
    await harness.remember(Draft(text="a", name="green-tea"))
    done = await harness.forget("green-tee")
    assert done.missing[0].suggestions == ("green-tea",)


async def test_two_that_answer_to_one_title_are_not_guessed_between(harness: Harness) -> None:
    first = await harness.store_draft(Draft(text="a", title="Tea", name="x"))
    second = await harness.store_draft(Draft(text="b", title="Tea", name="y"))
    with pytest.raises(Ambiguous) as caught:
        await harness.forget("tea")
    assert set(caught.value.fields["matches"] or ()) == {first.id, second.id}  # pyright: ignore[reportArgumentType]
    assert await states(harness, first.id, second.id) == ["live", "live"]


@pytest.mark.parametrize("verb", ["forget", "restore", "purge"])
@pytest.mark.parametrize(
    ("selection", "field"),
    [
        (Selection(), "ids"),
        (Selection(filter=Filter()), "filter"),
        (Selection(filter=Filter(state=State.TRASHED)), "filter"),
        (Selection(ids=("a",), filter=Filter(kind="fact")), "ids"),
    ],
)
async def test_which_memories_must_be_clear(harness: Harness, verb: str, selection: Selection, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await getattr(harness, verb)(selection=selection)
    assert caught.value.fields["field"] == field


@pytest.mark.parametrize(
    ("field", "value"), [("dry_run", 1), ("group", "no"), ("reason", 5), ("filter", 3), ("ids", 7)]
)  # fmt: skip
def test_a_value_of_the_wrong_type_is_named(field: str, value: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        Selection.of(**{field: value})
    assert caught.value.fields["field"] == field


async def test_a_filter_takes_all_that_pass_over_many_pages(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delete, "_PAGE", 10)
    memories = [a_memory(f"cup {number}", kind="cup") for number in range(25)]
    await harness.store.commit(a_commit(*memories, a_memory("pot", kind="pot")))
    gone = await harness.forget(selection=Selection(filter=Filter(kind="cup")))
    assert {change.id for change in gone.done} == {memory.id for memory in memories}
    assert await harness.store.list_ids(SPACE, Filter(kind="cup"), limit=5) == []
    assert len(await harness.store.list_ids(SPACE, Filter(), limit=5)) == 1
    assert (await harness.forget(selection=Selection(filter=Filter(kind="cup")))).done == ()
    back = await harness.restore(selection=Selection(filter=Filter(kind="cup")))
    assert len(back.done) == 25


async def test_a_filter_by_time(harness: Harness) -> None:
    old, new = a_memory("old", created_at=START - timedelta(days=9)), a_memory("new", created_at=START)
    await harness.store.commit(a_commit(old, new))
    gone = await harness.forget(selection=Selection(filter=Filter(until=START - timedelta(days=1))))
    assert [change.id for change in gone.done] == [old.id]


async def test_a_group_goes_and_comes_together_when_asked(harness: Harness) -> None:
    done = await harness.remember(Draft(text="tea", entities=("Sarah", "Acme", "Jay")))
    await harness.forget(done.ids[0])
    assert await states(harness, *done.ids) == ["trashed", "live", "live"]
    gone = await harness.forget(selection=Selection(ids=(done.ids[1],), group=True))
    assert {change.id: change.action for change in gone.done} == {
        done.ids[0]: "unchanged", done.ids[1]: "trashed", done.ids[2]: "trashed",
    }  # fmt: skip
    await harness.restore(selection=Selection(ids=(done.ids[0],), group=True))
    assert await states(harness, *done.ids) == ["live"] * 3


async def test_a_group_of_one_is_itself(harness: Harness) -> None:
    memory, _ = await harness.store_draft("tea"), await harness.store_draft("coffee")
    gone = await harness.forget(selection=Selection(ids=(memory.id,), group=True))
    assert [change.id for change in gone.done] == [memory.id]


async def test_a_dry_run_reports_the_changes_it_would_make(harness: Harness) -> None:
    memory = await harness.store_draft("tea")
    for verb, action in ((harness.forget, "trashed"), (harness.restore, "unchanged")):
        would = await verb(selection=Selection(ids=(memory.id,), dry_run=True))
        assert (would.dry_run, [change.action for change in would.done]) == (True, [action])
    assert await harness.get(memory.id) == memory
    await harness.forget(memory.id)
    would = await harness.purge(selection=Selection(ids=(memory.id,), dry_run=True))
    assert [change.action for change in would.done] == ["purged"]
    assert await states(harness, memory.id) == ["trashed"]


async def test_a_memory_whose_name_was_taken_comes_back_under_another(harness: Harness) -> None:
    first = await harness.store_draft(Draft(text="one", name="tea"))
    await harness.forget(first.id)
    second = await harness.store_draft(Draft(text="two", name="tea"))
    back = await harness.restore(first.id)
    assert back.done[0].name == f"tea-{first.id[-6:]}"
    assert (await harness.get(first.id)).name == back.done[0].name
    assert (await harness.get(second.id)).name == "tea"


async def test_only_the_trash_is_ever_purged(harness: Harness) -> None:
    live, trashed = await harness.store_draft("tea"), await harness.store_draft("coffee")
    await harness.forget(trashed.id)
    with pytest.raises(WrongState) as caught:
        await harness.purge(trashed.id, live.id)
    assert caught.value.fields["memory_id"] == live.id
    assert f"forget {live.name}" in caught.value.hint
    assert len(await states(harness, live.id, trashed.id)) == 2
    done = await harness.purge(trashed.id, "nobody")
    assert [(change.action, change.id) for change in done.done] == [("purged", trashed.id)]
    assert [missing_ref.ref for missing_ref in done.missing] == ["nobody"]
    assert await states(harness, live.id, trashed.id) == ["live"]


async def test_a_purge_by_filter_takes_the_trashed_alone(harness: Harness) -> None:
    gone, live = (
        await harness.store_draft(Draft(text="a", kind="cup")),
        await harness.store_draft(Draft(text="b", kind="cup")),
    )
    await harness.forget(gone.id)
    done = await harness.purge(selection=Selection(filter=Filter(kind="cup")))
    assert [change.id for change in done.done] == [gone.id]
    assert await states(harness, gone.id, live.id) == ["live"]


async def test_purging_nothing_is_no_change(harness: Harness) -> None:
    before = await harness.store.last_seq()
    done = await harness.purge("nobody")
    assert (done.done, len(done.missing)) == ((), 1)
    assert await harness.store.last_seq() == before


class OvertakenStore(SqliteStore):
    """A store in which another client writes, or purges, just before a memory is moved."""

    times = 0
    is_purging = False

    async def commit(self, commit: Commit) -> Committed:
        write = commit.writes[0]
        if self.times and write.base is not None:
            self.times -= 1
            memory = (await self.get(SPACE, [write.memory.id]))[write.memory.id]
            if self.is_purging:
                await self.purge(SPACE, [memory.id], origin=an_origin())
            else:
                await super().commit(a_commit(a_rewrite(revised(memory, content=f"overtaken {self.times}"))))
        return await super().commit(commit)


async def test_a_memory_changed_meanwhile_is_moved_in_its_latest_version(new_store: NewStores) -> None:
    store = new_store(OvertakenStore)
    store.times = 2
    harness = Harness(store=store)
    memory = await harness.store_draft("tea")
    done = await harness.forget(memory.id)
    after = await harness.get(memory.id)
    assert (after.state, after.content, after.version) == (State.TRASHED, "overtaken 0", 4)
    assert done.done[0].version == 4


async def test_a_memory_that_changes_all_the_time_is_given_up(new_store: NewStores) -> None:
    store = new_store(OvertakenStore)
    store.times = 99
    harness = Harness(store=store)
    memory = await harness.store_draft("tea")
    with pytest.raises(StaleVersion, match="keeps changing"):
        await harness.forget(memory.id)


async def test_a_memory_purged_meanwhile_is_gone(new_store: NewStores) -> None:
    store = new_store(OvertakenStore)
    store.times, store.is_purging = 1, True
    harness = Harness(store=store)
    memory = await harness.store_draft("tea")
    with pytest.raises(NotFound):
        await harness.forget(memory.id)
