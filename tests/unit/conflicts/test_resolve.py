"""`resolve` applies the requested strategy in one commit, which can be undone."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.fakes import FakeEmbedder
from tests.fakes.build import a_commit, an_edge, moment
from tests.new_files import NewStores
from tests.unit.conflicts.conflict_world import LATER, dispute, fact, settle, take_back, thing
from tests.unit.harness import SPACE, Harness, OvertakenStore

from scrubjay.conflicts.repository import list_conflicts
from scrubjay.errors import InvalidInput, KeyReused, NameTaken, NotFound, TooLarge, WrongState
from scrubjay.model.conflict import PENDING_COLLECTION, SETTLED_COLLECTION, ConflictStatus, ConflictType, Strategy
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.memory import Memory, Observation, State
from scrubjay.model.query import Filter
from scrubjay.versions import branches
from scrubjay.versions.history import history

BERLIN, PARIS = "Ann lives in Berlin.", "Ann lives in Paris."


def texts_of(memory: Memory) -> tuple[str, tuple[str, ...]]:
    return memory.content, tuple(observation.text for observation in memory.observations)


def without_versions(memory: Memory) -> Memory:
    """Return a memory without the fields that every write and undo change."""
    return replace(memory, version=1, updated_at=memory.created_at)


async def waiting(harness: Harness) -> list[str]:
    return [conflict.id for conflict in await list_conflicts(PENDING_COLLECTION, space=SPACE, documents=harness.store)]


async def test_the_newer_one_supersedes_the_older_from_the_day_it_was_said(harness: Harness) -> None:
    older, newer = fact(BERLIN), fact(PARIS, at=moment(60))
    conflict = await dispute(harness, newer, older)
    done = await settle(harness, conflict, "supersede", notes="she moved")
    assert (done.action, done.strategy, done.kept) == ("superseded", Strategy.SUPERSEDE, newer.id)
    assert (await harness.get(older.id)).valid_until == newer.date
    assert (await harness.get(newer.id)).valid_until is None
    versions = await harness.store.versions(SPACE, older.id, limit=1)
    assert (versions[0].action, versions[0].agent, versions[0].run) == ("resolved", "tester", done.run)
    assert versions[0].message == f"conflict {conflict.id}: supersede, she moved"
    (settled,) = await list_conflicts(SETTLED_COLLECTION, space=SPACE, documents=harness.store)
    assert (settled.status, settled.strategy, settled.notes) == (ConflictStatus.RESOLVED, "supersede", "she moved")
    assert (settled.resolved_by, settled.run, settled.resolved_at) == ("tester", done.run, versions[0].created_at)
    assert await waiting(harness) == []


@pytest.mark.parametrize("strategy", ["merge", "update", "supersede", "branch", "ignore"])
async def test_every_strategy_can_be_undone(harness: Harness, strategy: str) -> None:
    older, newer, third = fact(BERLIN), fact(PARIS, at=moment(60)), fact("Somebody else")
    await harness.store.commit(a_commit(older, newer, third, an_edge(newer, third), an_edge(third, older)))
    edges = await harness.store.relations(SPACE, [third.id])
    conflict = await dispute(harness, newer, older)
    for _ in range(2):
        # Settled, undone, and settled again.
        harness.clock.advance(timedelta(minutes=1))
        done = await settle(harness, conflict, strategy)
        assert done.changed
        assert await waiting(harness) == []
        assert await take_back(harness) == ()
        assert [without_versions(await harness.get(memory.id)) for memory in (older, newer)] == [
            without_versions(older),
            without_versions(newer),
        ]
        assert sorted(await harness.store.relations(SPACE, [third.id]), key=lambda relation: relation.key) == sorted(
            edges, key=lambda relation: relation.key
        )
        assert await waiting(harness) == [conflict.id]
        assert await list_conflicts(SETTLED_COLLECTION, space=SPACE, documents=harness.store) == []


async def test_merging_keeps_the_older_id_and_all_that_both_said(harness: Harness) -> None:
    older = replace(
        fact("Ann likes tea.", name="tea"), observations=(Observation(text="green", recorded_at=moment(0)),)
    )
    newer = replace(fact("Ann is fond of tea.", at=moment(60), name="fond"), pinned=True)
    conflict = await dispute(harness, newer, older, type=ConflictType.DUPLICATE)
    done = await settle(harness, conflict, "merge")
    merged, away = await harness.get(older.id), await harness.get(newer.id)
    assert (done.action, done.kept, set(done.changed)) == ("merged", older.id, {older.id, newer.id})
    assert texts_of(merged) == ("Ann likes tea.\n\nAnn is fond of tea.", ("green",))
    assert (merged.resolution, merged.pinned, merged.state, merged.merged[0].id) == (
        "merge",
        True,
        State.LIVE,
        newer.id,
    )
    assert (away.resolution, away.state, away.merged_into) == ("merged_into", State.MERGED, older.id)
    assert texts_of(away) == texts_of(newer)
    assert {memory.id for memory in (await harness.read("fond", newer.id)).memories} == {newer.id}


@pytest.mark.parametrize(
    ("older_ends", "newer_ends", "kept_until"),
    [(9, 90, 90), (90, 9, 90), (9, None, None), (None, 9, None), (None, None, None)],
)
async def test_a_merged_memory_expires_when_neither_would_be_left(
    harness: Harness, older_ends: int | None, newer_ends: int | None, kept_until: int | None
) -> None:
    ends = [None if day is None else moment(86_400 * day) for day in (older_ends, newer_ends, kept_until)]
    older = replace(fact("Ann likes tea."), expires_at=ends[0])
    newer = replace(fact("Ann is fond of tea.", at=moment(60)), expires_at=ends[1])
    await settle(harness, await dispute(harness, newer, older, type=ConflictType.DUPLICATE), "merge")
    assert (await harness.get(older.id)).expires_at == ends[2]


async def test_a_memory_that_adds_nothing_is_merged_all_the_same(harness: Harness) -> None:
    older, newer = fact("Ann likes tea."), fact("Ann likes tea.", at=moment(60))
    await settle(harness, await dispute(harness, newer, older, type=ConflictType.DUPLICATE), "merge")
    merged = await harness.get(older.id)
    assert (merged.content, merged.merged[0].id) == ("Ann likes tea.", newer.id)
    assert (await harness.get(newer.id)).state is State.MERGED


async def test_relations_move_to_the_remaining_memory(harness: Harness) -> None:
    older, newer, third, fourth = fact(BERLIN), fact(PARIS, at=moment(60)), fact("Bob"), fact("Cid")
    await harness.store.commit(
        a_commit(
            older, newer, third, fourth,
            an_edge(newer, third, type="knows", strength=0.9, metadata={"since": 1}),
            an_edge(older, third, type="knows", text="well", strength=0.2),
            an_edge(fourth, newer), an_edge(newer, older, type="after"),
        )
    )  # fmt: skip
    await settle(harness, await dispute(harness, newer, older), "merge")
    edges = {relation.key: relation for relation in await harness.store.relations(SPACE, [older.id, newer.id])}
    knows = edges[older.id, "knows", third.id]
    assert (knows.text, knows.strength, knows.metadata) == ("well", 0.9, {"since": 1})
    assert set(edges) == {
        (older.id, "knows", third.id), (fourth.id, "related_to", older.id), (newer.id, "after", older.id),
    }  # fmt: skip


async def test_a_merge_that_would_be_too_large_is_refused(harness: Harness) -> None:
    harness.limits = Limits(text_bytes=40)
    conflict = await dispute(harness, fact(PARIS * 2, at=moment(60)), fact(BERLIN))
    with pytest.raises(TooLarge):
        await settle(harness, conflict, "merge")
    assert await waiting(harness) == [conflict.id]


async def test_an_update_has_the_older_one_count_less(harness: Harness) -> None:
    older, newer = fact(BERLIN), replace(fact(PARIS, at=moment(60)), relevance=0.4)
    done = await settle(harness, await dispute(harness, newer, older), "update")
    assert (done.action, done.kept) == ("updated_scores", newer.id)
    assert ((await harness.get(newer.id)).relevance, (await harness.get(older.id)).relevance) == (1.0, 0.7)


async def test_the_newer_one_goes_onto_a_branch_of_the_older(harness: Harness) -> None:
    older = fact(f"Ann is a judge. {BERLIN} She has a dog.")
    newer = fact(PARIS, at=moment(60))
    conflict = await dispute(harness, newer, older, statement=PARIS, against=BERLIN)
    done = await settle(harness, conflict, "branch", branch="paris")
    assert (done.action, done.branch, done.kept) == ("branched", "paris", older.id)
    record = next(memory for memory in [await harness.get(memory_id) for memory_id in done.changed] if memory.trunk)
    assert (record.state, record.trunk, record.forked, record.branch) == (State.BRANCHED, older.id, 1, "paris")
    assert record.content == f"Ann is a judge. {PARIS} She has a dog."
    assert (await harness.get(older.id)).content == older.content
    assert (await harness.get(newer.id)).state is State.ARCHIVED
    assert [version.action for version in await harness.store.versions(SPACE, record.id, limit=9)] == ["branched"]


async def test_a_branch_has_a_name_of_its_own(harness: Harness) -> None:
    older = fact(f"{BERLIN} {PARIS}")
    first = await dispute(harness, fact("Ann lives in Rome.", at=moment(60)), older, against=BERLIN)
    second = await dispute(harness, fact("Ann lives in Oslo.", at=moment(61)), older, against=BERLIN)
    await settle(harness, first, "branch", branch="elsewhere")
    with pytest.raises(NameTaken):
        await settle(harness, second, "branch", branch="elsewhere")
    assert (await settle(harness, second, "branch")).branch == f"conflict-{second.id[2:]}"
    for odd in ("main", "a b", "-x", "42", "x" * 101, "a\n"):
        with pytest.raises(InvalidInput):
            await settle(harness, second, "branch", branch=odd)


async def test_observations_of_one_memory(harness: Harness) -> None:
    memory = thing("lives in Berlin", "has a dog", "lives in Paris")
    conflict = await dispute(harness, memory, memory, statement="lives in Paris", against="lives in Berlin")
    await settle(harness, conflict, "supersede")
    after = await harness.get(memory.id)
    assert [observation.valid_until for observation in after.observations] == [moment(120), None, None]
    assert (after.valid_until, after.resolution) == (None, "superseded")
    assert await take_back(harness) == ()
    done = await settle(harness, conflict, "update")
    assert (done.changed, "no relevance was changed" in done.warnings[0]) == ((memory.id,), True)
    await take_back(harness)
    done = await settle(harness, conflict, "merge")
    assert "both statements stay" in done.warnings[0]
    await take_back(harness)
    done = await settle(harness, conflict, "branch")
    record = next(memory for memory in [await harness.get(memory_id) for memory_id in done.changed] if memory.trunk)
    assert texts_of(record) == ("", ("has a dog", "lives in Paris"))
    assert texts_of(await harness.get(memory.id)) == ("", ("lives in Berlin", "has a dog"))


async def test_a_duplicate_within_one_memory_is_removed(harness: Harness) -> None:
    memory = thing("likes tea", "is fond of tea")
    conflict = await dispute(
        harness, memory, memory, type=ConflictType.DUPLICATE, statement="is fond of tea", against="likes tea"
    )
    await settle(harness, conflict)
    assert texts_of(await harness.get(memory.id)) == ("", ("likes tea",))
    assert len((await harness.store.versions(SPACE, memory.id, limit=9))[-1].memory.observations) == 2


async def test_all_filedof_a_text_are_superseded_together_and_undone_together(harness: Harness) -> None:
    filed = [
        replace(fact("Ann lives in Berlin.", name=name), group="g", entity=name) for name in ("ann", "berlin", "home")
    ]
    edited = replace(filed[2], content="Ann lives nowhere.")
    await harness.store.commit(a_commit(*filed[:2], edited))
    newer = fact("Ann lives in Paris.", at=LATER)
    conflict = await dispute(harness, newer, filed[0], statement=newer.content, against=filed[0].content)
    done = await settle(harness, conflict, "supersede")
    assert set(done.changed) == {newer.id, filed[0].id, filed[1].id}
    records = await harness.store.get(SPACE, [memory.id for memory in filed])
    assert [record.valid_until for record in records.values()] == [LATER, LATER, None]
    assert await take_back(harness, done.run) == ()
    records = await harness.store.get(SPACE, [memory.id for memory in filed])
    assert [record.valid_until for record in records.values()] == [None] * 3


async def test_a_superseded_sentence_becomes_a_former_observation(harness: Harness) -> None:
    older = fact(f"Ann is a judge. {BERLIN}\n\n- a dog\n- a cat")
    newer = fact(PARIS, at=moment(60))
    await settle(harness, await dispute(harness, newer, older, statement=PARIS, against=BERLIN), "supersede")
    after = await harness.get(older.id)
    assert after.content == "Ann is a judge.\n\n- a dog\n- a cat"
    assert after.observations == (Observation(text=BERLIN, recorded_at=older.date, valid_until=newer.date),)
    assert after.valid_until is None


async def test_a_settled_conflict_is_not_settled_again(harness: Harness) -> None:
    conflict = await dispute(harness, fact(PARIS, at=moment(60)), fact(BERLIN))
    done = await settle(harness, conflict, "update")
    with pytest.raises(WrongState, match="resolved by `update` by tester") as caught:
        await settle(harness, conflict, "merge")
    assert (caught.value.fields["strategy"], caught.value.fields["run"]) == ("update", done.run)
    assert done.run in caught.value.hint


async def test_an_error_about_bad_input_names_the_valid_values(harness: Harness) -> None:
    conflict = await dispute(harness, fact(PARIS, at=moment(60)), fact(BERLIN))
    with pytest.raises(NotFound) as caught:
        await settle(harness, conflict.id[:-1] + "x", "merge")
    assert caught.value.fields["suggestions"] == (conflict.id,)
    with pytest.raises(InvalidInput, match="merge, update, branch, supersede, ignore, auto"):
        await settle(harness, conflict, "delete")
    with pytest.raises(TooLarge):
        await settle(harness, conflict, "merge", notes="x" * 2000)
    assert await waiting(harness) == [conflict.id]


async def test_the_same_request_gets_the_same_answer(harness: Harness) -> None:
    conflict = await dispute(harness, fact(PARIS, at=moment(60)), fact(BERLIN))
    first = await settle(harness, conflict, "branch", key="once")
    assert await settle(harness, conflict, "branch", key="once") == first
    with pytest.raises(KeyReused):
        await settle(harness, conflict, "merge", key="once")


@pytest.mark.parametrize("key", ["", "once"])
async def test_of_many_concurrent_decisions_one_is_applied(harness: Harness, key: str) -> None:
    conflict = await dispute(harness, fact(PARIS, at=moment(60)), fact(BERLIN))
    others = ("supersede", "ignore", "merge", "update") if not key else ("supersede",) * 4
    answers = await asyncio.gather(
        *(settle(harness, conflict, other, key=key) for other in others), return_exceptions=True
    )
    done = [answer for answer in answers if not isinstance(answer, BaseException)]
    if key:
        assert len(done) == 4
        assert len({resolution.run for resolution in done}) == 1
        return
    assert len(done) == 1
    assert all(isinstance(answer, WrongState) for answer in answers if isinstance(answer, BaseException))


async def test_a_memory_that_changes_meanwhile_is_read_again(harness: Harness) -> None:
    memory = thing("lives in Berlin", "lives in Paris")
    conflict = await dispute(harness, memory, memory, statement="lives in Paris", against="lives in Berlin")
    await asyncio.gather(
        settle(harness, conflict, "supersede"), *(harness.revise(memory.id, tags=[f"t{number}"]) for number in range(3))
    )
    after = await harness.get(memory.id)
    assert (len(after.observations), after.observations[0].valid_until) == (2, moment(60))
    assert after.version == 5


async def test_a_conflict_of_a_trashed_or_purged_memory_cannot_be_settled(harness: Harness) -> None:
    older, newer = fact(BERLIN), fact(PARIS, at=moment(60))
    conflict = await dispute(harness, newer, older)
    await harness.forget(older.id)
    with pytest.raises(WrongState, match="is no longer in force"):
        await settle(harness, conflict, "merge")
    await harness.purge(older.id)
    with pytest.raises(NotFound, match="there is no conflict"):
        await settle(harness, conflict, "merge")
    assert await waiting(harness) == []


async def test_notes_keep_no_secret(harness: Harness) -> None:
    conflict = await dispute(harness, fact(PARIS, at=moment(60)), fact(BERLIN))
    await settle(harness, conflict, "ignore", notes="key AKIAIOSFODNN7EXAMPLE")
    (settled,) = await list_conflicts(SETTLED_COLLECTION, space=SPACE, documents=harness.store)
    assert settled.notes == "key [redacted: aws access key]"


async def test_a_conflict_follows_its_memory_into_a_merge(harness: Harness) -> None:
    older, newer, third = fact(BERLIN), fact(PARIS, at=moment(60)), fact("Ann has a cat.", at=moment(30))
    first = await dispute(harness, newer, older, statement=PARIS, against=BERLIN)
    await settle(harness, await dispute(harness, third, older, type=ConflictType.DUPLICATE), "merge")
    second = await dispute(harness, newer, third, statement=PARIS, against="Ann has a cat.", at=LATER)
    await settle(harness, second, "supersede")
    memory = await harness.get(older.id)
    assert texts_of(memory) == (BERLIN, ("Ann has a cat.",))
    await settle(harness, first, "supersede")
    assert [observation.text for observation in (await harness.get(older.id)).observations] == [
        "Ann has a cat.",
        BERLIN,
    ]


async def test_without_a_model_a_conflict_is_settled_all_the_same(harness: Harness) -> None:
    harness.embedder = FakeEmbedder(failing=True)
    conflict = await dispute(harness, fact(PARIS, at=moment(60)), fact(f"{BERLIN} And more."), against=BERLIN)
    done = await settle(harness, conflict, "supersede")
    assert "stored without vectors" in done.warnings[0]


@pytest.mark.parametrize("strategy", ["branch", "supersede"])
async def test_a_conflict_whose_memory_is_purged_meanwhile_is_not_settled(strategy: str, new_store: NewStores) -> None:
    store = new_store(OvertakenStore)
    harness = Harness(store=store)
    older, newer = fact(BERLIN, name="older"), fact(PARIS, at=moment(60), name="newer")
    conflict = await dispute(harness, newer, older)
    gone = older if strategy == "branch" else newer

    async def purge() -> None:
        await harness.forget(gone.name)
        await harness.purge(gone.name)

    store.first = [purge]
    with pytest.raises(NotFound):
        await settle(harness, conflict, strategy)
    assert await store.list_ids(SPACE, Filter(state=State.BRANCHED), limit=9) == []
    (left,) = (await store.get(SPACE, [older.id, newer.id])).values()
    assert (left.version, left.valid_until) == (1, None)


async def test_a_branch_that_a_conflict_makes_begins_where_it_is_made(harness: Harness) -> None:
    ann = await harness.store_draft(Draft(text=BERLIN, name="ann"))
    context, origin = harness.context, harness.origin()
    await branches.branch(
        "ann", "paris", description="", at=None, switch=False, space=SPACE, origin=origin, context=context
    )
    await branches.drop("ann", "paris", space=SPACE, origin=harness.origin(), store=harness.store)
    conflict = await dispute(harness, fact(PARIS, at=moment(60)), ann)
    done = await settle(harness, conflict, "branch", branch="paris")
    past = await history("ann", limit=9, before=None, branch="paris", space=SPACE, store=harness.store)
    assert (done.branch, [version.number for version in past.versions]) == ("paris", [4, 1])
