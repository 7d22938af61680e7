"""Conflicts are told in the words of now, the newest first; what is over is told no more."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests.fakes import FakeStore
from tests.fakes.build import moment
from tests.unit.conflicts.conflict_world import LATER, dispute, fact, settle, take_back, thing
from tests.unit.harness import SPACE, Harness

from scrubjay.conflicts.listing import conflicts
from scrubjay.conflicts.repository import delete_obsolete, list_conflicts
from scrubjay.errors import InvalidInput, NotFound, WrongState
from scrubjay.model.conflict import (
    PENDING_COLLECTION,
    SETTLED_COLLECTION,
    ConflictDetails,
    ConflictRecord,
    ConflictStatus,
    ConflictType,
    Strategy,
)
from scrubjay.model.document import Document
from scrubjay.model.timestamps import to_iso

BERLIN, PARIS, ROME = "Ann lives in Berlin.", "Ann lives in Paris.", "Ann lives in Rome."


async def listed(harness: Harness, status: str = "pending", *, ref: str = "", limit: int = 50) -> list[ConflictDetails]:
    return list(
        await conflicts(status=status, ref=ref, limit=limit, now=harness.clock.now(), space=SPACE, store=harness.store)
    )


async def kept(harness: Harness, collection: str = PENDING_COLLECTION) -> list[ConflictRecord]:
    return await list_conflicts(collection, space=SPACE, documents=harness.store)


async def papers_of(harness: Harness) -> list[Document]:
    return await harness.store.all_documents(SPACE, limit=1_000)


async def three(harness: Harness) -> list[ConflictRecord]:
    """Three statements, each against the other two."""
    memories = [fact(text, at=moment(60 * place), name=text[13:-1]) for place, text in enumerate((BERLIN, PARIS, ROME))]
    pairs = [(1, 0), (2, 0), (2, 1)]
    return [
        await dispute(
            harness, memories[newer], memories[older], statement=memories[newer].content,
            against=memories[older].content, at=LATER + timedelta(minutes=place),
        )
        for place, (newer, older) in enumerate(pairs)
    ]  # fmt: skip


async def test_the_newest_come_first_with_both_sides_in_words(harness: Harness) -> None:
    first, second, third = await three(harness)
    found = await listed(harness)
    assert [one.id for one in found] == [third.id, second.id, first.id]
    told = found[-1]
    assert (told.memory.statement, told.other.statement, told.memory.trust) == (PARIS, BERLIN, "user")
    assert (told.memory.date, told.status, told.suggested_action) == (moment(60), "pending", "supersede")
    assert any("Berlin" in differ and "Paris" in differ for differ in told.differs)
    assert [one.id for one in await listed(harness, limit=2)] == [third.id, second.id]


async def test_those_of_one_memory_and_one_by_its_id(harness: Harness) -> None:
    first, second, third = await three(harness)
    assert [one.id for one in await listed(harness, ref="Paris")] == [third.id, first.id]
    assert [one.id for one in await listed(harness, ref=second.id)] == [second.id]
    assert await listed(harness, "resolved", ref=second.id) == []
    await settle(harness, second, "ignore")
    (told,) = await listed(harness, "all", ref=second.id)
    assert (told.status, told.strategy) == (ConflictStatus.IGNORED, Strategy.IGNORE)
    for unknown in ("c-0123456789abcdef", "nobody"):
        with pytest.raises(NotFound):
            await listed(harness, ref=unknown)


async def test_what_was_decided_is_told_with_who_when_and_how(harness: Harness) -> None:
    first, second, third = await three(harness)
    done = await settle(harness, first, "supersede", notes="she moved")
    await settle(harness, third, "ignore")
    (resolved,) = await listed(harness, "resolved")
    assert (resolved.id, resolved.strategy, resolved.notes) == (first.id, Strategy.SUPERSEDE, "she moved")
    assert (resolved.resolved_by, resolved.run) == ("tester", done.run)
    assert [one.id for one in await listed(harness, "ignored")] == [third.id]
    # What Berlin is against is not asked any more, but is kept: it may come back.
    assert await listed(harness) == []
    assert [one.id for one in await kept(harness)] == [second.id]
    assert [one.id for one in await listed(harness, "all")] == [third.id, first.id]


async def test_what_is_undone_waits_again(harness: Harness) -> None:
    first, _, third = await three(harness)
    await settle(harness, first, "supersede", run="tidying")
    await settle(harness, third, "ignore", run="tidying")
    assert await take_back(harness, "tidying") == ()
    assert {one.id for one in await listed(harness)} >= {first.id, third.id}
    assert [(one.run, one.resolved_at, one.strategy) for one in await listed(harness)] == [("", None, None)] * 3
    assert await listed(harness, "resolved") == []


async def test_what_cannot_go_back_stays_decided(harness: Harness) -> None:
    first, *_ = await three(harness)
    done = await settle(harness, first, "supersede")
    await harness.revise("Paris", tags=["city"])
    await harness.revise("Berlin", tags=["city"])
    assert await take_back(harness, done.run)
    (told,) = await listed(harness, "resolved")
    assert (told.id, told.run) == (first.id, done.run)


async def test_what_was_said_twice_and_is_said_once_is_still_told(harness: Harness) -> None:
    memory = thing("likes tea", "is fond of tea")
    conflict = await dispute(
        harness, memory, memory, type=ConflictType.DUPLICATE, statement="is fond of tea", against="likes tea"
    )
    await settle(harness, conflict, "merge")
    await harness.revise(memory.id, tags=["drinks"])
    (told,) = await listed(harness, "resolved")
    assert (told.memory.statement, told.other.statement) == ("is fond of tea", "likes tea")


async def test_the_trash_hides_a_conflict_and_a_purge_ends_it(harness: Harness) -> None:
    first, _, third = await three(harness)
    await harness.forget("Berlin")
    assert [one.id for one in await listed(harness)] == [third.id]
    await harness.restore("Berlin")
    assert len(await listed(harness)) == 3
    await settle(harness, first, "ignore")
    await harness.forget("Berlin")
    await harness.purge("Berlin")
    assert [one.id for one in await listed(harness, "all")] == [third.id]
    assert [one.id for one in await kept(harness)] == [third.id]
    assert await kept(harness, SETTLED_COLLECTION) == []


async def test_what_is_said_no_more_is_not_told_and_forgotten_by_a_sweep(harness: Harness) -> None:
    first, second, third = await three(harness)
    await harness.revise("Paris", content="Ann lives nowhere.")
    before = await papers_of(harness)
    assert [one.id for one in await listed(harness)] == [second.id]
    # Who reads changes nothing.
    assert await papers_of(harness) == before
    assert await delete_obsolete(space=SPACE, store=harness.store) == 2
    assert {first.id, third.id}.isdisjoint({one.id for one in await kept(harness)})
    assert await delete_obsolete(space=SPACE, store=harness.store) == 0


@pytest.mark.parametrize("cut", ["settling", "undoing"])
async def test_who_is_cut_off_leaves_nothing_that_is_told_or_stays(quick: Harness, cut: str) -> None:
    first, *_ = await three(quick)
    (waiting,) = [one for one in await kept(quick) if one.id == first.id]
    await settle(quick, first, "ignore")
    (settled,) = await kept(quick, SETTLED_COLLECTION)
    if cut == "settling":
        await quick.store.put_document(waiting.document(at=LATER), base=None)
    else:
        await take_back(quick)
        await quick.store.put_document(settled.document(at=LATER), base=None)
    before = await papers_of(quick)
    assert (first.id in {one.id for one in await listed(quick)}) == (cut == "undoing")
    assert (first.id in {one.id for one in await listed(quick, "ignored")}) == (cut == "settling")
    assert (await listed(quick, "all", ref=first.id))[0].status == ("pending" if cut == "undoing" else "ignored")
    assert await papers_of(quick) == before
    assert await delete_obsolete(space=SPACE, store=quick.store) == 1
    assert len(await kept(quick, SETTLED_COLLECTION)) == (cut == "settling")
    assert (first.id in {one.id for one in await kept(quick)}) == (cut == "undoing")


async def test_what_is_found_again_after_it_was_resolved_waits(quick: Harness) -> None:
    first, *_ = await three(quick)
    await settle(quick, first, "update")
    again = replace(first, detected_at=LATER + timedelta(days=1))
    await quick.store.put_document(again.document(at=again.detected_at), base=None)
    assert (await listed(quick))[0].id == first.id
    assert await listed(quick, "resolved") == []


async def test_papers_that_cannot_be_read_are_left_out(quick: Harness) -> None:
    first, *_ = await three(quick)
    document = first.document(at=LATER)
    await quick.store.put_document(
        replace(document, key="c-bad", value={**document.value, "type": "quarrel"}), base=None
    )
    assert len(await listed(quick)) == 3


async def test_what_has_expired_is_no_conflict(quick: Harness) -> None:
    first, second, third = await three(quick)
    now = quick.clock.now()
    await quick.revise("Berlin", expires_at=to_iso(now + timedelta(hours=2)))
    assert len(await listed(quick)) == 3
    quick.clock.set(now + timedelta(hours=2))
    assert [one.id for one in await listed(quick)] == [third.id]
    with pytest.raises(WrongState, match="is no longer in force"):
        await settle(quick, second, "supersede")
    await quick.revise("Berlin", expires_at=None)
    assert {one.id for one in await listed(quick)} == {first.id, second.id, third.id}


async def test_words_of_what_was_forgotten_are_not_told_of_what_was_decided(quick: Harness) -> None:
    first, *_ = await three(quick)
    await settle(quick, first, "supersede")
    await quick.forget("Berlin")
    assert (await listed(quick, "resolved"), await listed(quick, "all", ref=first.id)) == ([], [])
    await quick.restore("Berlin")
    assert [one.id for one in await listed(quick, "resolved")] == [first.id]


async def test_a_long_list_is_read_as_far_as_it_is_asked_for(quick: Harness) -> None:
    class Counting(FakeStore):
        read = 0

        async def latest_documents(
            self, space: str, collection: str, *, before: tuple[datetime, str] | None = None, limit: int
        ) -> list[Document]:
            found = await super().latest_documents(space, collection, before=before, limit=limit)
            self.read += len(found)
            return found

    quick.store = store = Counting()
    first, *_ = await three(quick)
    fillers = [
        replace(first, statement=f"{n:016x}", against=f"{n:016x}", detected_at=LATER - timedelta(minutes=n // 2))
        for n in range(300)
    ]
    await store.import_documents(SPACE, [filler.document(at=filler.detected_at) for filler in fillers], renew=False)
    assert len(await listed(quick, limit=2)) == 2
    assert store.read <= 20
    # Of those that were found together the surest comes first.
    at = LATER + timedelta(days=1)
    memory = fact("Ann lives in Ghent.", at=at, name="Ghent")
    rows = [
        await dispute(
            quick, memory, fact(f"Ann lives in place {n}."), statement=memory.content,
            against=f"Ann lives in place {n}.", at=at, confidence=0.5 + n / 100,
        )
        for n in range(3)
    ]  # fmt: skip
    assert [one.id for one in await listed(quick, limit=3)] == [row.id for row in reversed(rows)]
    assert [one.id for one in await listed(quick, ref="Ghent")] == [row.id for row in reversed(rows)]
    # All are there, however many pages it takes.
    assert len(await listed(quick, limit=1_000)) == 6
    await settle(quick, rows[0], "ignore")
    assert [one.status for one in await listed(quick, "all", limit=4)] == ["ignored", *["pending"] * 3]


async def test_bad_input_is_told_what_is_right(quick: Harness) -> None:
    with pytest.raises(InvalidInput, match="pending, resolved, ignored, all"):
        await listed(quick, "open")
    with pytest.raises(InvalidInput):
        await listed(quick, limit=0)
