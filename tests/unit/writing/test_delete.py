"""`forget`, `restore` and `purge`: one by one, by filter, with siblings, and under names taken meanwhile."""

from datetime import timedelta

import pytest
from tests.fakes import FakeStore
from tests.fakes.build import START, a_commit, a_memory, a_rewrite, an_origin, revised
from tests.unit.write_world import SPACE, Workshop

from scrubjay.errors import Ambiguous, InvalidInput, NotFound, StaleVersion, WrongState
from scrubjay.model.draft import Draft, Selection
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.ports import Commit, Committed
from scrubjay.writing import delete


async def states(shop: Workshop, *ids: str) -> list[str]:
    return [memory.state.value for memory in (await shop.store.get(SPACE, ids)).values()]


async def test_forgetting_is_a_version_that_restoring_takes_back(shop: Workshop) -> None:
    before = await shop.kept("tea")
    gone = await shop.forget(wanted=Selection(refs=(before.name,), reason="cold"))
    assert [(one.action, one.id, one.version) for one in gone.done] == [("trashed", before.id, 2)]
    assert await states(shop, before.id) == ["trashed"]
    back = await shop.restore(before.name)
    assert [(one.action, one.version) for one in back.done] == [("restored", 3)]
    after = await shop.get(before.id)
    assert (after.content, after.state, after.name) == (before.content, State.LIVE, before.name)
    versions = await shop.store.versions(SPACE, before.id, limit=9)
    assert [(version.action, version.message) for version in versions] == [
        ("restored", ""),
        ("trashed", "cold"),
        ("created", ""),
    ]


async def test_what_is_there_already_is_unchanged(shop: Workshop) -> None:
    memory = await shop.kept("tea")
    assert [one.action for one in (await shop.restore(memory.id)).done] == ["unchanged"]
    await shop.forget(memory.id)
    assert [(one.action, one.version) for one in (await shop.forget(memory.id)).done] == [("unchanged", 2)]


async def test_an_archived_memory_can_be_restored_too(shop: Workshop) -> None:
    memory = a_memory("tea", state=State.ARCHIVED)
    await shop.store.commit(a_commit(memory))
    await shop.restore(memory.id)
    assert await states(shop, memory.id) == ["live"]


async def test_several_at_once_each_once_and_the_missing_named(shop: Workshop) -> None:
    tea, milk = await shop.kept(Draft(text="a", name="green-tea")), await shop.kept(Draft(text="b", name="cold-milk"))
    done = await shop.forget("green-tea", tea.id, "green-teas", milk.id)
    assert [one.id for one in done.done] == [tea.id, milk.id]
    assert [one.ref for one in done.missing] == ["green-teas"]


async def test_the_missing_come_with_suggestions(shop: Workshop) -> None:
    await shop.remember(Draft(text="a", name="green-tea"))
    done = await shop.forget("green-tee")
    assert done.missing[0].suggestions == ("green-tea",)


async def test_two_that_answer_to_one_title_are_not_guessed_between(shop: Workshop) -> None:
    one = await shop.kept(Draft(text="a", title="Tea", name="x"))
    other = await shop.kept(Draft(text="b", title="Tea", name="y"))
    with pytest.raises(Ambiguous) as caught:
        await shop.forget("tea")
    assert set(caught.value.fields["matches"] or ()) == {one.id, other.id}  # pyright: ignore[reportArgumentType]
    assert await states(shop, one.id, other.id) == ["live", "live"]


@pytest.mark.parametrize("verb", ["forget", "restore", "purge"])
@pytest.mark.parametrize(
    ("selection", "field"),
    [
        (Selection(), "ids"),
        (Selection(filter=Filter()), "filter"),
        (Selection(filter=Filter(state=State.TRASHED)), "filter"),
        (Selection(refs=("a",), filter=Filter(kind="fact")), "ids"),
        (Selection(refs=("a",), dry_run=1), "dry_run"),  # pyright: ignore[reportArgumentType]
        (Selection(refs=("a",), group="no"), "group"),  # pyright: ignore[reportArgumentType]
        (Selection(refs=("a",), reason=5), "reason"),  # pyright: ignore[reportArgumentType]
        (Selection(filter={"kind": "fact"}), "filter"),  # pyright: ignore[reportArgumentType]
    ],
)
async def test_which_memories_must_be_clear(quick: Workshop, verb: str, selection: Selection, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await getattr(quick, verb)(wanted=selection)
    assert caught.value.fields["field"] == field


async def test_a_filter_takes_all_that_pass_over_many_pages(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delete, "_PAGE", 10)
    memories = [a_memory(f"cup {number}", kind="cup") for number in range(25)]
    await shop.store.commit(a_commit(*memories, a_memory("pot", kind="pot")))
    gone = await shop.forget(wanted=Selection(filter=Filter(kind="cup")))
    assert {one.id for one in gone.done} == {memory.id for memory in memories}
    assert await shop.store.list_ids(SPACE, Filter(kind="cup"), limit=5) == []
    assert len(await shop.store.list_ids(SPACE, Filter(), limit=5)) == 1
    assert (await shop.forget(wanted=Selection(filter=Filter(kind="cup")))).done == ()
    back = await shop.restore(wanted=Selection(filter=Filter(kind="cup")))
    assert len(back.done) == 25


async def test_a_filter_by_time(quick: Workshop) -> None:
    old, new = a_memory("old", created_at=START - timedelta(days=9)), a_memory("new", created_at=START)
    await quick.store.commit(a_commit(old, new))
    gone = await quick.forget(wanted=Selection(filter=Filter(until=START - timedelta(days=1))))
    assert [one.id for one in gone.done] == [old.id]


async def test_a_group_goes_and_comes_together_when_asked(shop: Workshop) -> None:
    done = await shop.remember(Draft(text="tea", entities=("Sarah", "Acme", "Jay")))
    await shop.forget(done.ids[0])
    assert await states(shop, *done.ids) == ["trashed", "live", "live"]
    gone = await shop.forget(wanted=Selection(refs=(done.ids[1],), group=True))
    assert {one.id: one.action for one in gone.done} == {
        done.ids[0]: "unchanged", done.ids[1]: "trashed", done.ids[2]: "trashed",
    }  # fmt: skip
    await shop.restore(wanted=Selection(refs=(done.ids[0],), group=True))
    assert await states(shop, *done.ids) == ["live"] * 3


async def test_a_group_of_one_is_itself(quick: Workshop) -> None:
    memory, _ = await quick.kept("tea"), await quick.kept("coffee")
    gone = await quick.forget(wanted=Selection(refs=(memory.id,), group=True))
    assert [one.id for one in gone.done] == [memory.id]


async def test_a_dry_run_says_what_it_would_do(shop: Workshop) -> None:
    memory = await shop.kept("tea")
    for verb, action in ((shop.forget, "trashed"), (shop.restore, "unchanged")):
        would = await verb(wanted=Selection(refs=(memory.id,), dry_run=True))
        assert (would.dry_run, [one.action for one in would.done]) == (True, [action])
    assert await shop.get(memory.id) == memory
    await shop.forget(memory.id)
    would = await shop.purge(wanted=Selection(refs=(memory.id,), dry_run=True))
    assert [one.action for one in would.done] == ["purged"]
    assert await states(shop, memory.id) == ["trashed"]


async def test_a_memory_whose_name_was_taken_comes_back_under_another(shop: Workshop) -> None:
    first = await shop.kept(Draft(text="one", name="tea"))
    await shop.forget(first.id)
    second = await shop.kept(Draft(text="two", name="tea"))
    back = await shop.restore(first.id)
    assert back.done[0].name == f"tea-{first.id[-6:]}"
    assert (await shop.get(first.id)).name == back.done[0].name
    assert (await shop.get(second.id)).name == "tea"


async def test_only_the_trash_is_ever_purged(shop: Workshop) -> None:
    live, trashed = await shop.kept("tea"), await shop.kept("coffee")
    await shop.forget(trashed.id)
    with pytest.raises(WrongState) as caught:
        await shop.purge(trashed.id, live.id)
    assert caught.value.fields["memory_id"] == live.id
    assert f"forget {live.name}" in caught.value.hint
    assert len(await states(shop, live.id, trashed.id)) == 2
    done = await shop.purge(trashed.id, "nobody")
    assert [(one.action, one.id) for one in done.done] == [("purged", trashed.id)]
    assert [one.ref for one in done.missing] == ["nobody"]
    assert await states(shop, live.id, trashed.id) == ["live"]


async def test_a_purge_by_filter_takes_the_trashed_alone(shop: Workshop) -> None:
    gone, kept = await shop.kept(Draft(text="a", kind="cup")), await shop.kept(Draft(text="b", kind="cup"))
    await shop.forget(gone.id)
    done = await shop.purge(wanted=Selection(filter=Filter(kind="cup")))
    assert [one.id for one in done.done] == [gone.id]
    assert await states(shop, gone.id, kept.id) == ["live"]


async def test_purging_nothing_is_no_change(shop: Workshop) -> None:
    before = await shop.store.last_seq()
    done = await shop.purge("nobody")
    assert (done.done, len(done.missing)) == ((), 1)
    assert await shop.store.last_seq() == before


class Meddled(FakeStore):
    """A store in which somebody else writes, or purges, just before a memory is moved."""

    def __init__(self, *, times: int, purge: bool = False) -> None:
        super().__init__()
        self.times = times
        self.is_purging = purge

    async def commit(self, commit: Commit) -> Committed:
        write = commit.writes[0]
        if self.times and write.base is not None:
            self.times -= 1
            memory = (await self.get(SPACE, [write.memory.id]))[write.memory.id]
            if self.is_purging:
                await self.purge(SPACE, [memory.id], origin=an_origin())
            else:
                await super().commit(a_commit(a_rewrite(revised(memory, content=f"meddled {self.times}"))))
        return await super().commit(commit)


async def test_what_was_changed_meanwhile_is_moved_as_it_is_now() -> None:
    shop = Workshop(store=Meddled(times=2))
    memory = await shop.kept("tea")
    done = await shop.forget(memory.id)
    after = await shop.get(memory.id)
    assert (after.state, after.content, after.version) == (State.TRASHED, "meddled 0", 4)
    assert done.done[0].version == 4


async def test_what_never_rests_is_given_up() -> None:
    shop = Workshop(store=Meddled(times=99))
    memory = await shop.kept("tea")
    with pytest.raises(StaleVersion, match="keeps changing"):
        await shop.forget(memory.id)


async def test_what_was_purged_meanwhile_is_gone() -> None:
    shop = Workshop(store=Meddled(times=1, purge=True))
    memory = await shop.kept("tea")
    with pytest.raises(NotFound):
        await shop.forget(memory.id)
