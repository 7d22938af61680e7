"""Conflicts are told in the words of now, the newest first; what is over is told no more."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.unit.resolving.disputes import LATER, dispute, fact, settle, take_back, thing
from tests.unit.workshop import SPACE, Workshop

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model.conflict import (
    PENDING_DRAWER,
    SETTLED_DRAWER,
    Conflict,
    ConflictStatus,
    ConflictType,
    Strategy,
    ToldConflict,
)
from scrubjay.resolving.docket import all_in
from scrubjay.resolving.telling import conflicts
from scrubjay.testing.build import moment

BERLIN, PARIS, ROME = "Ann lives in Berlin.", "Ann lives in Paris.", "Ann lives in Rome."


async def listed(shop: Workshop, status: str = "pending", *, ref: str = "", limit: int = 50) -> list[ToldConflict]:
    return list(await conflicts(status=status, ref=ref, limit=limit, space=SPACE, store=shop.store))


async def kept(shop: Workshop, drawer: str = PENDING_DRAWER) -> list[Conflict]:
    return await all_in(drawer, space=SPACE, papers=shop.store)


async def three(shop: Workshop) -> list[Conflict]:
    """Three statements, each against the other two."""
    memories = [fact(text, at=moment(60 * place), name=text[13:-1]) for place, text in enumerate((BERLIN, PARIS, ROME))]
    pairs = [(1, 0), (2, 0), (2, 1)]
    return [
        await dispute(
            shop, memories[newer], memories[older], statement=memories[newer].content,
            against=memories[older].content, at=LATER + timedelta(minutes=place),
        )
        for place, (newer, older) in enumerate(pairs)
    ]  # fmt: skip


async def test_the_newest_come_first_with_both_sides_in_words(shop: Workshop) -> None:
    first, second, third = await three(shop)
    found = await listed(shop)
    assert [one.id for one in found] == [third.id, second.id, first.id]
    told = found[-1]
    assert (told.memory.statement, told.other.statement, told.memory.trust) == (PARIS, BERLIN, "user")
    assert (told.memory.date, told.status, told.suggested_action) == (moment(60), "pending", "supersede")
    assert any("Berlin" in one and "Paris" in one for one in told.differs)
    assert [one.id for one in await listed(shop, limit=2)] == [third.id, second.id]


async def test_those_of_one_memory_and_one_by_its_id(shop: Workshop) -> None:
    first, second, third = await three(shop)
    assert [one.id for one in await listed(shop, ref="Paris")] == [third.id, first.id]
    assert [one.id for one in await listed(shop, ref=second.id)] == [second.id]
    assert await listed(shop, "resolved", ref=second.id) == []
    await settle(shop, second, "ignore")
    (told,) = await listed(shop, "all", ref=second.id)
    assert (told.status, told.strategy) == (ConflictStatus.IGNORED, Strategy.IGNORE)
    for unknown in ("c-0123456789abcdef", "nobody"):
        with pytest.raises(NotFound):
            await listed(shop, ref=unknown)


async def test_what_was_decided_is_told_with_who_when_and_how(shop: Workshop) -> None:
    first, second, third = await three(shop)
    done = await settle(shop, first, "supersede", notes="she moved")
    await settle(shop, third, "ignore")
    (resolved,) = await listed(shop, "resolved")
    assert (resolved.id, resolved.strategy, resolved.notes) == (first.id, Strategy.SUPERSEDE, "she moved")
    assert (resolved.resolved_by, resolved.run) == ("tester", done.run)
    assert [one.id for one in await listed(shop, "ignored")] == [third.id]
    # What Berlin is against is not asked any more, but is kept: it may come back.
    assert await listed(shop) == []
    assert [one.id for one in await kept(shop)] == [second.id]
    assert [one.id for one in await listed(shop, "all")] == [third.id, first.id]


async def test_what_is_undone_waits_again(shop: Workshop) -> None:
    first, _, third = await three(shop)
    await settle(shop, first, "supersede", run="tidying")
    await settle(shop, third, "ignore", run="tidying")
    assert await take_back(shop, "tidying") == ()
    assert {one.id for one in await listed(shop)} >= {first.id, third.id}
    assert [(one.run, one.resolved_at, one.strategy) for one in await listed(shop)] == [("", None, None)] * 3
    assert await listed(shop, "resolved") == []


async def test_what_cannot_go_back_stays_decided(shop: Workshop) -> None:
    first, *_ = await three(shop)
    done = await settle(shop, first, "supersede")
    await shop.revise("Paris", tags=["city"])
    await shop.revise("Berlin", tags=["city"])
    assert await take_back(shop, done.run)
    (told,) = await listed(shop, "resolved")
    assert (told.id, told.run) == (first.id, done.run)


async def test_what_was_said_twice_and_is_said_once_is_still_told(shop: Workshop) -> None:
    memory = thing("likes tea", "is fond of tea")
    conflict = await dispute(
        shop, memory, memory, type=ConflictType.DUPLICATE, statement="is fond of tea", against="likes tea"
    )
    await settle(shop, conflict, "merge")
    await shop.revise(memory.id, tags=["drinks"])
    (told,) = await listed(shop, "resolved")
    assert (told.memory.statement, told.other.statement) == ("is fond of tea", "likes tea")


async def test_the_trash_hides_a_conflict_and_a_purge_ends_it(shop: Workshop) -> None:
    first, _, third = await three(shop)
    await shop.forget("Berlin")
    assert [one.id for one in await listed(shop)] == [third.id]
    await shop.restore("Berlin")
    assert len(await listed(shop)) == 3
    await settle(shop, first, "ignore")
    await shop.forget("Berlin")
    await shop.purge("Berlin")
    assert [one.id for one in await listed(shop, "all")] == [third.id]
    assert [one.id for one in await kept(shop)] == [third.id]
    assert await kept(shop, SETTLED_DRAWER) == []


async def test_what_is_said_no_more_is_forgotten(shop: Workshop) -> None:
    first, second, third = await three(shop)
    await shop.revise("Paris", content="Ann lives nowhere.")
    assert [one.id for one in await listed(shop)] == [second.id]
    assert {first.id, third.id}.isdisjoint({one.id for one in await kept(shop)})


@pytest.mark.parametrize("cut", ["settling", "undoing"])
async def test_who_is_cut_off_leaves_nothing_that_is_not_put_right(quick: Workshop, cut: str) -> None:
    first, *_ = await three(quick)
    (waiting,) = [one for one in await kept(quick) if one.id == first.id]
    await settle(quick, first, "ignore")
    (settled,) = await kept(quick, SETTLED_DRAWER)
    if cut == "settling":
        await quick.store.file_paper(waiting.paper(at=LATER), base=None)
        assert first.id not in {one.id for one in await listed(quick)}
        assert [one.id for one in await kept(quick, SETTLED_DRAWER)] == [first.id]
    else:
        await take_back(quick)
        await quick.store.file_paper(settled.paper(at=LATER), base=None)
        assert first.id in {one.id for one in await listed(quick)}
        assert await kept(quick, SETTLED_DRAWER) == []
    assert (first.id in {one.id for one in await kept(quick)}) == (cut == "undoing")


async def test_what_is_found_again_after_it_was_resolved_waits(quick: Workshop) -> None:
    first, *_ = await three(quick)
    await settle(quick, first, "update")
    again = replace(first, detected_at=LATER + timedelta(days=1))
    await quick.store.file_paper(again.paper(at=again.detected_at), base=None)
    assert (await listed(quick))[0].id == first.id
    assert await listed(quick, "resolved") == []


async def test_papers_that_cannot_be_read_are_left_out(quick: Workshop) -> None:
    first, *_ = await three(quick)
    paper = first.paper(at=LATER)
    await quick.store.file_paper(replace(paper, key="c-bad", value={**paper.value, "type": "quarrel"}), base=None)
    assert len(await listed(quick)) == 3


async def test_bad_input_is_told_what_is_right(quick: Workshop) -> None:
    with pytest.raises(InvalidInput, match="pending, resolved, ignored, all"):
        await listed(quick, "open")
    with pytest.raises(InvalidInput):
        await listed(quick, limit=0)
