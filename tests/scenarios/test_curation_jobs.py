"""Duplicates, pruning, consolidation and tags, from the plan to the undo, on both stores; no statement is lost."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from scrubjay.client import MemoryClient
from scrubjay.curation.apply import DONE, apply_changes
from scrubjay.curation.plan import CurationContext
from scrubjay.curation.registry import JOBS
from scrubjay.curation.shared_statements import find_shared
from scrubjay.curation.stored_runs import StoredRuns
from scrubjay.errors import BodyDamaged, DiskFull, EmbeddingUnavailable, NotFound, WrongState
from scrubjay.model.curation import PlannedChange, RunState
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Memory, Source, State, Tier, Trust
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.model.relation import SOURCE, Relation
from scrubjay.model.requests import (
    ForgetRequest,
    PruneRequest,
    PurgeRequest,
    RecallRequest,
    RelatedRequest,
    RelateRequest,
    SearchTextRequest,
    SetRulesRequest,
)
from scrubjay.model.rules import Rules
from scrubjay.ports import Commit, Edge
from scrubjay.text.claims.statements import statements_of
from scrubjay.text.passages import passages_of
from scrubjay.writing.embed import embed_new
from tests.curated import OWNER, STORES, CuratedMemory, open_curated
from tests.fakes import FakeEmbedder, KnowingReader
from tests.fakes.build import a_commit, a_memory, a_rewrite, an_origin

DAY = timedelta(days=1)
USER = Source(trust=Trust.USER)
SHARED = "The deploy of the shop fails when the cache of the proxy is cold."
STEPS = "1. Drain the queue\n2. Restart the worker\n3. Watch the error rate"


@pytest.fixture(params=STORES)
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[CuratedMemory]:
    async with open_curated(tmp_path, request.param) as opened:
        yield opened


async def add(
    memory: CuratedMemory, text: str, *, days: float = 0, tier: Tier = Tier.WORKING, tags: tuple[str, ...] = ()
) -> Memory:
    """Store a memory that is so many days old, with its vectors."""
    made = memory.clock.now() - timedelta(days=days)
    added = a_memory(text, created_at=made, updated_at=made, tier=tier, tags=tags)
    embedded, _ = await embed_new(
        [(added, passages_of(added))], space="default", vector_store=memory.store, embedder=memory.engine.embedder
    )
    await memory.store.commit(a_commit(added, embedded=embedded))
    return added


async def states(memory: CuratedMemory, *memories: Memory) -> list[State]:
    return [(await memory.now(each)).state for each in memories]


async def link(memory: CuratedMemory, source: Memory, target: Memory) -> None:
    relation = Relation(source=source.id, target=target.id, created_at=memory.clock.now())
    edge = Edge(relation=relation, present=True)
    await memory.store.commit(Commit(space="default", origin=an_origin(at=memory.clock.now()), edges=(edge,)))


async def hits(memory: CuratedMemory, query: str) -> list[str]:
    recalled = await memory.engine.recall(RecallRequest.of(query=query, limit=50), who=OWNER)
    return [hit.passage for hit in recalled.hits]


async def test_memories_that_say_the_same_become_one(memory: CuratedMemory) -> None:
    first, second, third = [await add(memory, SHARED, days=number) for number in (3, 2, 1)]
    other = await add(memory, "Nobody waters the ferns in the hall.")
    planned = await memory.curate("duplicates", dry_run=True)
    assert (planned.planned, planned.changes[0].ids) == (1, (first.id, second.id, third.id))
    report = await memory.curate("duplicates")
    assert report.counts == {"duplicates": {"merge": 1}}
    assert await states(memory, first, second, third, other) == [State.LIVE, State.MERGED, State.MERGED, State.LIVE]
    assert (await hits(memory, SHARED)).count(SHARED) == 1
    assert (await memory.curate("duplicates")).planned == 0
    await memory.undo(report.run)
    assert await states(memory, first, second, third) == [State.LIVE] * 3
    assert (await memory.curate("duplicates")).planned == 0, "what was taken back is not done again"


async def test_a_model_that_reads_both_keeps_apart_what_the_rules_would_merge(memory: CuratedMemory) -> None:
    other = "The deploy of the shop fails when the proxy's cache is cold."
    for text in (SHARED, other, "Nobody waters the ferns in the hall.", "Nobody waters the ferns in the hall."):
        await add(memory, text, days=1)
    planned: dict[str, int] = {}
    readers = {
        "none": None,
        "agrees": KnowingReader(same=0.4, more=0.4),
        "refuses": KnowingReader(same=0.3, unrelated=0.7),
        "fails": KnowingReader(error=EmbeddingUnavailable("broken", hint="mend it")),
    }
    for name, reader in readers.items():
        engine = replace(memory.engine, pairs=reader)
        context = CurationContext(store=memory.store, engine=engine, space="default", run="", rules=Rules())
        planned[name] = len([change async for change in JOBS["duplicates"].plan(context)])
    # Of the same words no model is asked, and without a model the rules decide alone.
    assert planned == {"none": 2, "agrees": 2, "refuses": 1, "fails": 2}
    assert [[len(batch) for batch in reader.batches] for reader in readers.values() if reader] == [[1]] * 3


async def test_a_job_sees_what_the_jobs_before_it_in_the_run_have_changed(memory: CuratedMemory) -> None:
    first, second = [await add(memory, SHARED, days=days, tags=("deploy-script",)) for days in (3, 2)]
    variant = await add(memory, "Nobody waters the ferns in the hall.", days=1, tags=("Deploy_Scripts",))
    await memory.keep("another note", tags=("deploy-script",))
    await link(memory, variant, second)
    report = await memory.curate("duplicates", "tags")
    assert report.counts == {"duplicates": {"merge": 1}, "tags": {"retag": 1}}
    assert [each.target for each in await memory.store.relations("default", [variant.id])] == [first.id]
    assert (await memory.now(variant)).tags == ("deploy-script",), "its relation was moved in the same run"


async def test_a_vector_is_replaced_only_when_there_is_a_new_one(
    memory: CuratedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = await add(memory, SHARED)
    (digest,) = [passage.hash for passage in passages_of(stored)]
    change = PlannedChange(
        job="vectors", action="embed", ids=(stored.id,), versions=(1,), why="its vector is not that of its text",
        details={"model": "fake-64", "damaged": [digest.hex()]},
    )  # fmt: skip
    context = CurationContext(store=memory.store, engine=memory.engine, space="default", run="a-run", rules=Rules())

    async def fail(_: FakeEmbedder, texts: Sequence[str]) -> list[Vector]:
        raise EmbeddingUnavailable(f"no answer for {len(texts)} texts")

    with monkeypatch.context() as patch:
        patch.setattr(FakeEmbedder, "embed", fail)
        assert await apply_changes(JOBS["vectors"], [change], context) == ["no answer for 1 texts"]
    assert await memory.store.embedded("default", "fake-64", [digest]) == {digest}
    assert await apply_changes(JOBS["vectors"], [change], context) == [DONE]
    assert await memory.store.embedded("default", "fake-64", [digest]) == {digest}


async def test_pruning_spares_what_matters_and_empties_the_trash_only_by_rule(memory: CuratedMemory) -> None:
    now = memory.clock.now()
    expired = await memory.keep("a parking ticket", expires_at=now - DAY, source=USER)
    idle = await memory.keep("an old scrap", days=100)
    spared = [
        await memory.keep("pinned", days=100, pinned=True),
        await memory.keep("said by the user", days=100, source=USER),
        await memory.keep("read lately", days=100, access_count=1, last_accessed=now - DAY),
    ]
    linked = await memory.keep("linked to", days=100)
    await link(memory, spared[0], linked)

    assert (await memory.curate("prune", dry_run=True)).planned == 1, "by default only what has expired goes"
    planned = await memory.runner.prune(PruneRequest(days=30, dry_run=True), who=OWNER)
    assert {change.ids for change in planned.changes} == {(expired.id,), (idle.id,)}
    report = await memory.runner.prune(PruneRequest(days=30), who=OWNER)
    assert (report.done, report.counts) == (2, {"prune": {"trash": 2}})
    assert await states(memory, expired, idle, linked, *spared) == [State.TRASHED] * 2 + [State.LIVE] * 4
    assert (await memory.runner.prune(PruneRequest(days=30), who=OWNER)).planned == 0
    included = await memory.runner.prune(PruneRequest(days=30, include=("linked", "stated"), dry_run=True), who=OWNER)
    assert {change.ids for change in included.changes} == {(linked.id,), (spared[1].id,)}

    memory.clock.advance(10 * DAY)
    assert (await memory.curate("prune")).planned == 0, "without a rule nothing is destroyed"
    await memory.engine.set_rules(SetRulesRequest(purge_days=7), who=OWNER)
    assert (await memory.curate("prune")).planned == 0, "nor by the clock of one day"
    memory.clock.advance(DAY)
    assert (await memory.curate("prune")).counts == {"prune": {"purge": 2}}
    assert await memory.store.get("default", [expired.id, idle.id]) == {}
    await memory.undo(report.run)
    assert await memory.store.get("default", [idle.id]) == {}


async def test_a_clock_that_is_ahead_for_hours_destroys_nothing_and_keeps_nothing_in_use(memory: CuratedMemory) -> None:
    trashed = await memory.keep("just thrown away", state=State.TRASHED)
    await memory.engine.set_rules(SetRulesRequest(purge_days=30), who=OWNER)
    await memory.curate("prune")
    memory.clock.advance(400 * DAY)
    read = await memory.keep("read by the wrong clock", days=500, access_count=1, last_accessed=memory.clock.now())
    for _ in range(2):
        assert (await memory.curate("prune")).planned == 0
        memory.clock.advance(timedelta(hours=3))
    memory.clock.advance(-400 * DAY)
    assert (await memory.curate("prune")).planned == 0
    assert await states(memory, trashed) == [State.TRASHED]
    pruned = await memory.runner.prune(PruneRequest(days=60, dry_run=True), who=OWNER)
    assert [change.ids for change in pruned.changes] == [(read.id,)]
    assert [change.ids for change in (await memory.curate("tiers")).changes] == [(read.id,)]
    memory.clock.advance(31 * DAY)
    assert (await memory.curate("prune")).planned == 0
    memory.clock.advance(DAY)
    assert (await memory.curate("prune")).counts == {"prune": {"purge": 1}}


async def test_what_was_taken_back_is_kept_up_and_expires(memory: CuratedMemory) -> None:
    ends = memory.clock.now() + DAY
    expiring = await memory.keep("a ticket without a vector", days=40, expires_at=ends)
    await memory.undo((await memory.curate("tiers")).run)
    assert (await memory.curate("vectors")).counts == {"vectors": {"embed": 1}}
    memory.clock.advance(2 * DAY)
    report = await memory.curate("prune")
    assert await states(memory, expiring) == [State.TRASHED]
    await memory.undo(report.run)
    assert (await memory.curate("prune")).planned == 0, "it was its end that was taken back"


async def test_a_budget_keeps_what_lasts_and_spares_the_profile(memory: CuratedMemory) -> None:
    note, fact, profile, rule = [
        await memory.keep(f"written as {kind}", days=days, kind=kind)
        for kind, days in (("note", 100), ("fact", 300), ("User-Profile", 900), ("standing_instruction", 900))
    ]
    report = await memory.runner.prune(PruneRequest(keep=3), who=OWNER)
    assert [change.ids for change in report.changes] == [(note.id,)], "a fact of 300 days is worth more than a note"
    await memory.runner.prune(PruneRequest(days=30, keep=0), who=OWNER)
    assert await states(memory, fact, profile, rule) == [State.TRASHED, State.LIVE, State.LIVE]


async def test_a_budget_keeps_the_best_and_refuses_no_write(memory: CuratedMemory) -> None:
    best = await memory.keep("read often", days=50, access_count=9, last_accessed=memory.clock.now())
    rest = [await memory.keep(f"scrap of paper {number}", days=number) for number in (40, 30, 20)]
    mine = await memory.keep("the user's own", days=90, source=USER)
    await memory.engine.set_rules(SetRulesRequest(most_memories=3), who=OWNER)
    new = await add(memory, "a write over the budget")
    report = await memory.curate("prune")
    assert report.counts == {"prune": {"trash": 3}}
    assert await states(memory, best, mine, *rest, new) == [State.LIVE, State.LIVE, *[State.TRASHED] * 3, State.LIVE]
    assert (await memory.curate("prune")).planned == 0
    await memory.undo(report.run)
    assert await states(memory, *rest) == [State.LIVE] * 3
    # A budget below what is spared trashes all else, and no more.
    sized = await memory.runner.prune(PruneRequest(keep_bytes=1, dry_run=True), who=OWNER)
    assert mine.id not in {change.ids[0] for change in sized.changes}
    with pytest.raises(Exception, match="purge"):
        await memory.engine.purge(PurgeRequest(ids=(best.id,)), who=OWNER)


async def test_what_is_spared_is_told_and_an_end_holds_in_the_archive_and_for_what_was_made_of_it(
    memory: CuratedMemory,
) -> None:
    ends = memory.clock.now() + 5 * DAY
    episodes = [await add(memory, SHARED, days=60 + number, tier=Tier.EPISODIC) for number in range(3)]
    for number, episode in enumerate(episodes):
        expiring = replace(episode, expires_at=ends - number * DAY, version=2)
        await memory.store.commit(a_commit(a_rewrite(expiring)))
    await memory.curate("consolidate")
    (made_id,) = await memory.store.list_ids("default", Filter(tier="semantic"), limit=9)
    made = (await memory.store.get("default", [made_id]))[made_id]
    assert (made.expires_at, await states(memory, *episodes)) == (ends, [State.ARCHIVED] * 3)
    mine = [await memory.keep(f"said by the user {number}", days=100, source=USER) for number in range(2)]
    pin = await memory.keep("pinned", days=100, pinned=True)
    spared = "prune: over the limits, but spared: 1 pinned, 2 stated (`include` takes these sorts too)"
    for request, count in ((PruneRequest(keep=1, dry_run=True), 1), (PruneRequest(days=30, dry_run=True), 0)):
        planned = await memory.runner.prune(request, who=OWNER)
        assert (planned.planned, planned.notes) == (count, (spared,))
    memory.clock.advance(5 * DAY)
    report = await memory.curate("prune")
    assert (report.counts, report.notes) == ({"prune": {"trash": 4}}, ())
    assert await states(memory, made, *episodes, *mine, pin) == [State.TRASHED] * 4 + [State.LIVE] * 3
    await memory.undo(report.run)
    assert await states(memory, made, *episodes) == [State.LIVE, *[State.ARCHIVED] * 3]
    nothing = await memory.curate("prune")
    with pytest.raises(NotFound, match="has changed nothing: there is nothing to take back"):
        await memory.undo(nothing.run)


async def test_what_three_episodes_share_becomes_one_memory_linked_to_them(memory: CuratedMemory) -> None:
    details = ("Ann restarted the proxy.", "Bob warmed the cache by hand.", "")
    texts = [f"{SHARED} {detail}".strip() for detail in details]
    episodes = [
        await add(memory, text, days=60 + number, tier=Tier.EPISODIC, tags=("shop", f"t{number}"))
        for number, text in enumerate(texts)
    ]
    await add(memory, "Nobody waters the ferns in the hall.", days=60, tier=Tier.EPISODIC)
    report = await memory.curate("consolidate")
    assert report.counts == {"consolidate": {"create": 1}}, report
    relations = await memory.store.relations("default", [episodes[0].id])
    (made,) = (await memory.store.get("default", [relations[0].source])).values()
    assert (made.tier, made.content, made.tags, made.kind) == (Tier.SEMANTIC, SHARED, ("shop",), "fact")
    (traced,) = cast("dict[str, list[str]]", made.metadata["sources"]).values()
    assert set(traced) == {each.id for each in episodes}
    # The one that says no more is archived; what only the others say is still found.
    assert await states(memory, *episodes) == [State.LIVE, State.LIVE, State.ARCHIVED]
    assert any(details[0] in hit for hit in await hits(memory, details[0]))
    assert (await memory.curate("consolidate")).planned == 0
    await memory.undo(report.run)
    assert await states(memory, made, *episodes) == [State.TRASHED, *[State.LIVE] * 3]
    assert (await memory.curate("consolidate")).planned == 0, "what was taken back is not done again"


async def test_a_purge_names_what_was_made_of_an_episode_and_takes_it_along_if_told_so(memory: CuratedMemory) -> None:
    texts = (f"{SHARED} Ann restarted the proxy.", f"{SHARED} Bob warmed the cache by hand.", SHARED)
    first, second, third = [
        await add(memory, text, days=60 + number, tier=Tier.EPISODIC) for number, text in enumerate(texts)
    ]
    note = await add(memory, "A page about the shop", days=60)
    await memory.curate("consolidate")
    (made_id,) = await memory.store.list_ids("default", Filter(tier="semantic"), limit=9)
    # Only what curation made counts, not what a person relates so.
    await memory.engine.relate(RelateRequest(source=note.id, target=first.id, relation=SOURCE), who=OWNER)
    await memory.engine.forget(ForgetRequest(ids=(first.id, second.id)), who=OWNER)
    for dry_run in (True, False):
        outcome = await memory.engine.purge(PurgeRequest(ids=(first.id,), dry_run=dry_run), who=OWNER)
        (warning,) = outcome.done[0].warnings
        assert (made_id in warning, "`derived` purges both" in warning, note.id in warning) == (True, True, False)
    assert (await memory.store.get("default", [made_id]))[made_id].content == SHARED
    with pytest.raises(WrongState):
        await memory.engine.purge(PurgeRequest(ids=(second.id, made_id)), who=OWNER)
    request = PurgeRequest(ids=(second.id,), derived=True)
    planned = await memory.engine.purge(replace(request, dry_run=True), who=OWNER)
    assert [written.id for written in planned.done] == [second.id, made_id]
    # The ids of the plan may be given, as the command does after its question.
    done = await memory.engine.purge(replace(request, ids=tuple(each.id for each in planned.done)), who=OWNER)
    assert [(written.id, written.warnings) for written in done.done] == [(second.id, ()), (made_id, ())]
    assert set(await memory.store.get("default", [first.id, second.id, made_id, third.id, note.id])) == {
        third.id, note.id,
    }  # fmt: skip
    assert await states(memory, third) == [State.LIVE], "what was archived for it is found again"


async def test_a_damaged_body_is_a_problem_of_a_job_and_hinders_neither_jobs_nor_spaces(
    memory: CuratedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurt, *sound = [await add(memory, SHARED, days=60 + number, tier=Tier.EPISODIC) for number in range(4)]
    expired = await memory.keep("a parking ticket", expires_at=memory.clock.now() - DAY)
    # A space that cannot be curated comes before the one that can.
    await memory.store.commit(replace(a_commit(replace(a_memory("elsewhere"), space="alone")), space="alone"))
    await memory.runner.run_due()
    get, ids = memory.store.get, memory.store.ids

    async def get_damaged(space: str, ids_read: Sequence[str]) -> dict[str, Memory]:
        if hurt.id in ids_read:
            raise BodyDamaged("its checksum is wrong", memory_id=hurt.id)
        return await get(space, ids_read)

    async def fail_alone(space: str, **options: Any) -> list[str]:
        if space == "alone":
            raise DiskFull("the disk is full")
        return await ids(space, **options)

    monkeypatch.setattr(memory.store, "get", get_damaged)
    monkeypatch.setattr(memory.store, "ids", fail_alone)
    planned = await memory.curate("consolidate", dry_run=True)
    assert (planned.planned, planned.problems) == (1, (f"consolidate: damaged and left out: {hurt.id}",))
    same = await memory.curate("duplicates", dry_run=True)
    assert (same.planned, same.problems) == (1, (f"duplicates: damaged and left out: {hurt.id}",))
    related = await memory.engine.related(RelatedRequest(id=sound[0].id, suggest=9), who=OWNER)
    assert {each.id for each in related.suggested} == {each.id for each in sound[1:]}
    memory.clock.advance(40 * DAY)
    assert await memory.runner.run_due() == 1
    (report,) = await memory.reports()
    assert (report.state, report.jobs) == (RunState.DONE, tuple(JOBS))
    assert report.problems == (f"tiers: damaged and left out: {hurt.id}",)
    assert {*report.counts} >= {"duplicates", "prune"}, report
    assert await states(memory, expired) == [State.TRASHED]


def test_a_statement_that_is_made_in_passing_is_not_what_memories_share() -> None:
    stories = [f"{SHARED} {name} spent the afternoon with the new team in Lyon, and they planned the whole summer fair."
               for name in ("Ann", "Bob", "Eve")]  # fmt: skip
    assert find_shared([a_memory(text) for text in stories]).statements == {}
    mostly = [a_memory(f"{SHARED} Seen on day {number}.") for number in (1, 2, 3)]
    shared = find_shared([*mostly, a_memory(stories[0])])
    assert shared.statements == {SHARED: tuple(memory.id for memory in mostly)}
    # What is too short for a memory is still shared.
    short, long = "The coffee machine is broken again.", "The vendor sends a technician on Monday."
    details = ("Ann wrote two angry letters to him.", "Bob was cross with everybody all day.", "Eve drank cold milk.")
    notes = [a_memory(f"{short} {long} {detail}") for detail in details]
    assert [*find_shared(notes).statements] == [long]


async def test_steps_that_three_episodes_repeat_become_a_procedure(memory: CuratedMemory) -> None:
    shuffled = "1. Watch the error rate\n2. Drain the queue"
    for number, text in enumerate((STEPS, f"0. Tell the team\n{STEPS}", STEPS.replace("3.", "3. Wait\n4."), shuffled)):
        await add(memory, text, days=60 + number, tier=Tier.EPISODIC)
    report = await memory.curate("consolidate")
    assert report.changes[0].why == "3 episodes share 3 steps"
    (made_id,) = await memory.store.list_ids("default", Filter(tier="procedural"), limit=9)
    made = (await memory.store.get("default", [made_id]))[made_id]
    assert made.content == STEPS

    # It is no skill until someone accepts it; then it runs, and still says what it was made of.
    client = MemoryClient.over(memory.engine, OWNER)
    assert await client.list_skills() == ()
    accepted = await client.save_skill("restart_worker", from_memory=made.name)
    assert (accepted.id, accepted.action, accepted.draft) == (made_id, "updated", False)
    assert (await client.run_skill("restart_worker")).result == STEPS.splitlines()
    skill = await memory.now(made)
    assert (skill.kind, skill.tier, skill.metadata["sources"]) == ("skill", Tier.PROCEDURAL, made.metadata["sources"])
    assert (await memory.curate()).done == 0, "curation leaves it alone"
    await client.undo()
    assert (await memory.now(made)).content == STEPS
    assert await client.list_skills() == ()


@pytest.mark.parametrize("heading", ["How to restart a worker:", "How to restart a worker"])
async def test_a_procedure_begins_with_the_line_above_its_steps(memory: CuratedMemory, heading: str) -> None:
    episodes = [
        await add(memory, f"{heading}\n{STEPS}{more}", days=60 + number, tier=Tier.EPISODIC)
        for number, more in enumerate(("", "", "", "\n4. Call the provider, who had broken it"))
    ]
    await memory.curate("consolidate")
    (made_id,) = await memory.store.list_ids("default", Filter(tier="procedural"), limit=9)
    made = (await memory.store.get("default", [made_id]))[made_id]
    assert made.content == f"{heading}\n{STEPS}"
    assert made.name.startswith("restart-")
    # One that says more stays.
    assert await states(memory, *episodes) == [State.ARCHIVED] * 3 + [State.LIVE]
    unlike = [a_memory(f"Restarted worker {name}\n{STEPS}") for name in ("A", "B", "C")]
    assert find_shared(unlike).heading == {}


async def test_variants_of_a_tag_become_the_tag_in_use(memory: CuratedMemory) -> None:
    tagged = [await memory.keep(f"note {number}", tags=("deploy-script", "shop")) for number in range(3)]
    other = await memory.keep("another", tags=("Deploy_Scripts", "shop", "deploy-script"))
    planned = await memory.curate("tags", dry_run=True)
    summary = "tags: 3 tags become 2 in 1 clusters, entropy 1.39 to 0.99 bits"
    assert planned.notes == (summary, "tags: Deploy_Scripts (1) to deploy-script (4)")
    report = await memory.curate("tags")
    assert (report.done, report.changes[0].after) == (1, "deploy-script, shop")
    assert report.changes[0].why == "Deploy_Scripts is deploy-script"
    assert (report.notes, (await memory.reports())[0].notes) == ((summary,), (summary,)), "a purge finds no tag in it"
    assert (await memory.now(other)).tags == ("deploy-script", "shop")
    assert [(await memory.now(each)).version for each in tagged] == [1] * 3
    assert (await memory.curate("tags")).planned == 0
    await memory.undo(report.run)
    assert (await memory.now(other)).tags == other.tags


SENTENCES = [
    f"The {thing} of the {place} {verb}."
    for thing in ("pump", "lamp")
    for place in ("mill", "quay")
    for verb in ("leaks at night", "was painted green")
]
any_memory = st.fixed_dictionaries(
    {
        "sentences": st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3, unique=True),
        "days": st.integers(0, 120),
        "tier": st.sampled_from([Tier.WORKING, Tier.EPISODIC]),
        "tags": st.sampled_from([("mill",), ("mills",), ("quay", "mill"), ()]),
        "pinned": st.sampled_from([False, False, False, True]),
        "ends": st.sampled_from([None, None, None, -1, 5]),
        "reads": st.integers(0, 4),
        "source": st.sampled_from([Source(), Source(), USER]),
    }
)


@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
@pytest.mark.parametrize("name", STORES)
@given(
    drawn=st.lists(any_memory, min_size=6, max_size=24),
    prune_days=st.sampled_from([0, 45]),
    most_memories=st.sampled_from([0, 8]),
)
async def test_a_plan_applied_twice_changes_nothing_no_statement_disappears_and_an_undo_brings_all_back(
    name: str, tmp_path: Path, drawn: list[dict[str, Any]], prune_days: int, most_memories: int
) -> None:
    async with open_curated(tmp_path / new_id(), name) as memory:
        request = SetRulesRequest(prune_days=prune_days, most_memories=most_memories)
        await memory.engine.set_rules(request, who=OWNER)
        stored = [await _draw(memory, values) for values in drawn]
        before = [_shown(each) for each in await _all(memory)]
        runs: list[str] = []
        for days in (0, 0, 6, 0, 0):
            memory.clock.advance(days * DAY)
            runs += await _night(memory)
        assert not await _night(memory), "in the end there is nothing to do"
        await _require_statements(memory, stored, is_pruned=any(run.startswith("prune") for run in runs))
        for run in reversed(runs):
            assert not (await memory.undo(run)).skipped, run
        after = {each.id: _shown(each) for each in await _all(memory)}
        assert [after[each.id] for each in stored] == before
        made = after.keys() - {each.id for each in stored}
        assert {after[each][1] for each in made} <= {State.TRASHED}


async def _draw(memory: CuratedMemory, values: dict[str, Any]) -> Memory:
    """Store a drawn memory with its vectors."""
    now = memory.clock.now()
    made = now - values["days"] * DAY
    drawn = a_memory(
        " ".join(values["sentences"]), created_at=made, updated_at=made, tier=values["tier"], tags=values["tags"],
        pinned=values["pinned"], source=values["source"],
        expires_at=None if values["ends"] is None else now + values["ends"] * DAY,
    )  # fmt: skip
    embedded, _ = await embed_new(
        [(drawn, passages_of(drawn))], space="default", vector_store=memory.store, embedder=memory.engine.embedder
    )
    await memory.store.commit(a_commit(drawn, embedded=embedded))
    await memory.read(drawn, times=values["reads"])
    return drawn


async def _all(memory: CuratedMemory) -> list[Memory]:
    return list((await memory.store.get("default", await memory.store.ids("default", limit=1_000))).values())


def _shown(memory: Memory) -> tuple[object, ...]:
    return memory.content, memory.state, memory.tier, memory.tags, memory.expires_at, memory.pinned


async def _night(memory: CuratedMemory) -> list[str]:
    """Plan each job and apply its plan twice; return the runs that have changed something."""
    runs: list[str] = []
    for job in JOBS.values():
        run = f"{job.name}-{new_id()}"
        context = await memory.runner._context("default", run, pause=memory.runner._give_way)
        changes = [change async for change in job.plan(context)]
        changes = await memory.runner._without_taken_back(job, changes, context)
        outcomes = await apply_changes(job, changes, context)
        assert {*outcomes} <= {DONE}, (job.name, outcomes)
        versions = {each.id: each.version for each in await _all(memory)}
        again = await apply_changes(job, changes, context)
        assert versions == {each.id: each.version for each in await _all(memory)}, job.name
        assert DONE not in again, job.name
        runs += [run] if changes else []
        assert [change async for change in job.plan(context)] == [] or job.name in ("duplicates", "consolidate")
    return runs


async def _require_statements(memory: CuratedMemory, stored: Sequence[Memory], *, is_pruned: bool) -> None:
    """Check that search finds every statement, in the trash only after pruning, and that history has every text."""
    places = (State.LIVE, State.ARCHIVED, State.TRASHED) if is_pruned else (State.LIVE,)
    # What has expired is read by name, and no search finds it.
    for sentence in {text for each in stored if each.expires_at is None for text in statements_of(each.content)}:
        results = [
            await memory.engine.search_text(SearchTextRequest.of(query=f'"{sentence}"', state=state), who=OWNER)
            for state in places
        ]
        assert any(result.hits for result in results), sentence
    for each in stored:
        versions = await memory.store.versions("default", each.id, limit=50)
        assert versions[-1].memory.content == each.content


async def test_one_giant_cluster_becomes_few_memories_in_few_nights_and_nothing_is_lost(
    memory: CuratedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = [await add(memory, SHARED, days=90) for _ in range(120)]
    similar = [
        await add(memory, f"The lamp of the mill leaks at night. Case {number}.", days=90, tier=Tier.EPISODIC)
        for number in range(60)
    ]
    embedder, get_page = cast("FakeEmbedder", memory.engine.embedder), StoredRuns.get_page

    async def lose_model(*arguments: Any) -> object:
        embedder.failing = True
        return await get_page(*arguments)

    with monkeypatch.context() as patch:
        # The model disappears between the plan and its application: what it should embed is embedded later.
        patch.setattr(StoredRuns, "get_page", lose_model)
        first = await memory.curate("consolidate")
        embedder.failing = False
    assert (first.problems, first.skipped) == ((), 0)
    assert await memory.store.without_vectors("fake-64", limit=1) != []
    for _ in range(6):
        report = await memory.curate()
        assert max((len(change.ids) for change in report.changes), default=0) <= 50
        if not report.planned:
            break
    else:
        pytest.fail("curation never ends")
    assert (await hits(memory, SHARED)).count(SHARED) == 1
    owners = dict[str, Memory]()
    for each in same:
        owner = await memory.now(each)
        while owner.state is State.MERGED:
            owner = await memory.now(replace(owner, id=owner.merged_into))
        owners[owner.id] = owner
    # Each is part of a few, which are sources of the one that remains.
    assert (len(owners), {owner.state for owner in owners.values()}) == (3, {State.ARCHIVED})
    relations = await memory.store.relations("default", list(owners))
    assert {relation.target for relation in relations} == set(owners)
    assert len({relation.source for relation in relations}) == 1
    assert {State.LIVE} == {(await memory.now(each)).state for each in similar}, "each has a case of its own"
    assert len(await hits(memory, "lamp of the mill")) >= 3
    assert await memory.store.without_vectors("fake-64", limit=1) == []
