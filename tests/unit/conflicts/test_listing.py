"""Conflicts are listed with their current texts, the newest first; obsolete ones are left out."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests.fakes.build import moment
from tests.new_files import NewStores
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
from scrubjay.storage.sqlite import SqliteStore

BERLIN, PARIS, ROME = "Ann lives in Berlin.", "Ann lives in Paris.", "Ann lives in Rome."


async def listed(harness: Harness, status: str = "pending", *, ref: str = "", limit: int = 50) -> list[ConflictDetails]:
    return list(
        await conflicts(status=status, ref=ref, limit=limit, now=harness.clock.now(), space=SPACE, store=harness.store)
    )


async def load_conflicts(harness: Harness, collection: str = PENDING_COLLECTION) -> list[ConflictRecord]:
    return await list_conflicts(collection, space=SPACE, documents=harness.store)


async def load_documents(harness: Harness) -> list[Document]:
    return await harness.store.all_documents(SPACE, limit=1_000)


async def three(harness: Harness) -> list[ConflictRecord]:
    """Store three statements, each of which contradicts the other two."""
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
    conflicts = await listed(harness)
    assert [conflict.id for conflict in conflicts] == [third.id, second.id, first.id]
    oldest = conflicts[-1]
    assert (oldest.memory.statement, oldest.other.statement, oldest.memory.trust) == (PARIS, BERLIN, "user")
    assert (oldest.memory.date, oldest.status, oldest.suggested_action) == (moment(60), "pending", "supersede")
    assert any("Berlin" in differ and "Paris" in differ for differ in oldest.differs)
    assert [conflict.id for conflict in await listed(harness, limit=2)] == [third.id, second.id]


async def test_those_of_one_memory_and_one_by_its_id(harness: Harness) -> None:
    first, second, third = await three(harness)
    assert [conflict.id for conflict in await listed(harness, ref="Paris")] == [third.id, first.id]
    assert [conflict.id for conflict in await listed(harness, ref=second.id)] == [second.id]
    assert await listed(harness, "resolved", ref=second.id) == []
    await settle(harness, second, "ignore")
    (conflict,) = await listed(harness, "all", ref=second.id)
    assert (conflict.status, conflict.strategy) == (ConflictStatus.IGNORED, Strategy.IGNORE)
    for unknown in ("c-0123456789abcdef", "nobody"):
        with pytest.raises(NotFound):
            await listed(harness, ref=unknown)


async def test_a_settled_conflict_is_listed_with_agent_time_and_strategy(harness: Harness) -> None:
    first, second, third = await three(harness)
    done = await settle(harness, first, "supersede", notes="she moved")
    await settle(harness, third, "ignore")
    (resolved,) = await listed(harness, "resolved")
    assert (resolved.id, resolved.strategy, resolved.notes) == (first.id, Strategy.SUPERSEDE, "she moved")
    assert (resolved.resolved_by, resolved.run) == ("tester", done.run)
    assert [conflict.id for conflict in await listed(harness, "ignored")] == [third.id]
    # The conflict of Berlin is not listed any more, but is stored: Berlin may be restored.
    assert await listed(harness) == []
    assert [conflict.id for conflict in await load_conflicts(harness)] == [second.id]
    assert [conflict.id for conflict in await listed(harness, "all")] == [third.id, first.id]


async def test_an_undone_conflict_is_pending_again(harness: Harness) -> None:
    first, _, third = await three(harness)
    await settle(harness, first, "supersede", run="tidying")
    await settle(harness, third, "ignore", run="tidying")
    assert await take_back(harness, "tidying") == ()
    assert {conflict.id for conflict in await listed(harness)} >= {first.id, third.id}
    assert [(conflict.run, conflict.resolved_at, conflict.strategy) for conflict in await listed(harness)] == [
        ("", None, None)
    ] * 3
    assert await listed(harness, "resolved") == []


async def test_a_conflict_that_cannot_be_reopened_stays_settled(harness: Harness) -> None:
    first, *_ = await three(harness)
    done = await settle(harness, first, "supersede")
    await harness.revise("Paris", tags=["city"])
    await harness.revise("Berlin", tags=["city"])
    assert await take_back(harness, done.run)
    (conflict,) = await listed(harness, "resolved")
    assert (conflict.id, conflict.run) == (first.id, done.run)


async def test_a_merged_duplicate_is_still_listed(harness: Harness) -> None:
    memory = thing("likes tea", "is fond of tea")
    conflict = await dispute(
        harness, memory, memory, type=ConflictType.DUPLICATE, statement="is fond of tea", against="likes tea"
    )
    await settle(harness, conflict, "merge")
    await harness.revise(memory.id, tags=["drinks"])
    (details,) = await listed(harness, "resolved")
    assert (details.memory.statement, details.other.statement) == ("is fond of tea", "likes tea")


async def test_a_duplicate_of_a_superseded_statement_is_among_all(harness: Harness) -> None:
    first, *_ = await three(harness)
    berlin = (await harness.store.get(SPACE, [first.other]))[first.other]
    again = fact("Ann's home is Berlin.", at=moment(30), name="again")
    duplicate = await dispute(
        harness, again, berlin, type=ConflictType.DUPLICATE, statement=again.content, against=BERLIN, at=LATER
    )
    await settle(harness, first, "supersede")
    assert duplicate.id not in [conflict.id for conflict in await listed(harness)]
    for ref in ("", duplicate.id):
        shown = {conflict.id: conflict for conflict in await listed(harness, "all", ref=ref)}[duplicate.id]
        assert (shown.status, shown.memory.valid_until, shown.other.valid_until) == ("pending", None, moment(60))
    with pytest.raises(WrongState):
        await settle(harness, duplicate, "merge")
    await harness.forget("again")
    assert duplicate.id not in [conflict.id for conflict in await listed(harness, "all")]


async def test_the_trash_hides_a_conflict_and_a_purge_ends_it(harness: Harness) -> None:
    first, _, third = await three(harness)
    await harness.forget("Berlin")
    assert [conflict.id for conflict in await listed(harness)] == [third.id]
    await harness.restore("Berlin")
    assert len(await listed(harness)) == 3
    await settle(harness, first, "ignore")
    await harness.forget("Berlin")
    await harness.purge("Berlin")
    assert [conflict.id for conflict in await listed(harness, "all")] == [third.id]
    assert [conflict.id for conflict in await load_conflicts(harness)] == [third.id]
    assert await load_conflicts(harness, SETTLED_COLLECTION) == []


async def test_an_obsolete_conflict_is_not_listed_and_is_deleted_by_a_sweep(harness: Harness) -> None:
    first, second, third = await three(harness)
    await harness.revise("Paris", content="Ann lives nowhere.")
    before = await load_documents(harness)
    assert [conflict.id for conflict in await listed(harness)] == [second.id]
    # Listing changes nothing.
    assert await load_documents(harness) == before
    assert await delete_obsolete(space=SPACE, store=harness.store) == 2
    assert {first.id, third.id}.isdisjoint({conflict.id for conflict in await load_conflicts(harness)})
    assert await delete_obsolete(space=SPACE, store=harness.store) == 0


@pytest.mark.parametrize("cut", ["settling", "undoing"])
async def test_an_interrupted_change_leaves_no_conflict_listed_or_stored_twice(harness: Harness, cut: str) -> None:
    first, *_ = await three(harness)
    (waiting,) = [conflict for conflict in await load_conflicts(harness) if conflict.id == first.id]
    await settle(harness, first, "ignore")
    (settled,) = await load_conflicts(harness, SETTLED_COLLECTION)
    if cut == "settling":
        await harness.store.put_document(waiting.document(at=LATER), base=None)
    else:
        await take_back(harness)
        await harness.store.put_document(settled.document(at=LATER), base=None)
    before = await load_documents(harness)
    assert (first.id in {conflict.id for conflict in await listed(harness)}) == (cut == "undoing")
    assert (first.id in {conflict.id for conflict in await listed(harness, "ignored")}) == (cut == "settling")
    assert (await listed(harness, "all", ref=first.id))[0].status == ("pending" if cut == "undoing" else "ignored")
    assert await load_documents(harness) == before
    assert await delete_obsolete(space=SPACE, store=harness.store) == 1
    assert len(await load_conflicts(harness, SETTLED_COLLECTION)) == (cut == "settling")
    assert (first.id in {conflict.id for conflict in await load_conflicts(harness)}) == (cut == "undoing")


async def test_a_conflict_detected_again_after_its_resolution_is_pending(harness: Harness) -> None:
    first, *_ = await three(harness)
    await settle(harness, first, "update")
    again = replace(first, detected_at=LATER + timedelta(days=1))
    await harness.store.put_document(again.document(at=again.detected_at), base=None)
    assert (await listed(harness))[0].id == first.id
    assert await listed(harness, "resolved") == []


async def test_papers_that_cannot_be_read_are_left_out(harness: Harness) -> None:
    first, *_ = await three(harness)
    document = first.document(at=LATER)
    await harness.store.put_document(
        replace(document, key="c-bad", value={**document.value, "type": "quarrel"}), base=None
    )
    assert len(await listed(harness)) == 3


async def test_an_expired_memory_has_no_conflict(harness: Harness) -> None:
    first, second, third = await three(harness)
    now = harness.clock.now()
    await harness.revise("Berlin", expires_at=to_iso(now + timedelta(hours=2)))
    assert len(await listed(harness)) == 3
    harness.clock.set(now + timedelta(hours=2))
    assert [conflict.id for conflict in await listed(harness)] == [third.id]
    with pytest.raises(WrongState, match="is no longer in force"):
        await settle(harness, second, "supersede")
    await harness.revise("Berlin", expires_at=None)
    assert {conflict.id for conflict in await listed(harness)} == {first.id, second.id, third.id}


async def test_a_settled_conflict_does_not_show_the_text_of_a_forgotten_memory(harness: Harness) -> None:
    first, *_ = await three(harness)
    await settle(harness, first, "supersede")
    await harness.forget("Berlin")
    assert (await listed(harness, "resolved"), await listed(harness, "all", ref=first.id)) == ([], [])
    await harness.restore("Berlin")
    assert [conflict.id for conflict in await listed(harness, "resolved")] == [first.id]


async def test_a_long_list_is_read_up_to_the_limit(harness: Harness, new_store: NewStores) -> None:
    class CountingStore(SqliteStore):
        read = 0

        async def latest_documents(
            self, space: str, collection: str, *, before: tuple[datetime, str] | None = None, limit: int
        ) -> list[Document]:
            documents = await super().latest_documents(space, collection, before=before, limit=limit)
            self.read += len(documents)
            return documents

    harness.store = store = new_store(CountingStore)
    first, *_ = await three(harness)
    fillers = [
        replace(first, statement=f"{n:016x}", against=f"{n:016x}", detected_at=LATER - timedelta(minutes=n // 2))
        for n in range(300)
    ]
    await store.import_documents(SPACE, [filler.document(at=filler.detected_at) for filler in fillers], renew=False)
    assert len(await listed(harness, limit=2)) == 2
    assert store.read <= 20
    # Of conflicts detected together the surest comes first.
    at = LATER + timedelta(days=1)
    memory = fact("Ann lives in Ghent.", at=at, name="Ghent")
    rows = [
        await dispute(
            harness, memory, fact(f"Ann lives in place {n}."), statement=memory.content,
            against=f"Ann lives in place {n}.", at=at, confidence=0.5 + n / 100,
        )
        for n in range(3)
    ]  # fmt: skip
    assert [conflict.id for conflict in await listed(harness, limit=3)] == [row.id for row in reversed(rows)]
    assert [conflict.id for conflict in await listed(harness, ref="Ghent")] == [row.id for row in reversed(rows)]
    # All are listed, however many pages that takes.
    assert len(await listed(harness, limit=1_000)) == 6
    await settle(harness, rows[0], "ignore")
    assert [conflict.status for conflict in await listed(harness, "all", limit=4)] == ["ignored", *["pending"] * 3]


async def test_an_error_about_bad_input_names_the_valid_values(harness: Harness) -> None:
    with pytest.raises(InvalidInput, match="pending, resolved, ignored, all"):
        await listed(harness, "open")
    with pytest.raises(InvalidInput):
        await listed(harness, limit=0)
