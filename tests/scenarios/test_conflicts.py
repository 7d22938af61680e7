"""The life of a conflict: a fact, a contradiction, its resolution, and the undo of the resolution."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from scrubjay.app.indexes import make_index
from scrubjay.app.stores import open_store
from scrubjay.client import MemoryClient
from scrubjay.curation import run_jobs
from scrubjay.engine import Engine
from scrubjay.errors import WrongState
from scrubjay.jobs.queue import Queue
from scrubjay.model.caller import Caller
from scrubjay.model.job import JobState
from scrubjay.model.memory import State
from scrubjay.model.rules import Rules
from scrubjay.recalling.access_log import AccessLog
from scrubjay.settings import Settings
from tests.backends import backend
from tests.fakes import FakeClock, FakeEmbedder

BERLIN, PARIS = "Ann lives in Berlin near the old harbour.", "Ann lives in Paris near the old harbour."
OSLO = "Ann lives in Oslo near the old harbour."
USER, DOCUMENT = {"trust": "user"}, {"trust": "document"}
QUESTION = "Where does Ann live?"


@pytest.fixture(params=["sqlite", "pgvector"])
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Engine]:
    """An engine on a real store, with a clock that can be set."""
    with backend(request.param) as choice:
        settings = Settings(home=str(tmp_path), readers=1, **choice)
        store, embedder = await open_store(settings), FakeEmbedder()
        opened = Engine(
            _store=store, embedder=embedder, index=make_index(settings, store, embedder), clock=FakeClock(),
            limits=settings.limits, access_log=AccessLog(store, clock=FakeClock()), data=settings.data,
        )  # fmt: skip
        yield opened
        await opened.close()


def later(engine: Engine, *, days: int) -> None:
    assert isinstance(engine.clock, FakeClock)
    engine.clock.advance(timedelta(days=days))


async def passages(memory: MemoryClient) -> set[str]:
    return {hit.passage for hit in (await memory.recall(QUESTION)).hits}


async def test_from_the_first_fact_to_contradiction_resolution_and_undo(engine: Engine) -> None:
    memory = MemoryClient.over(engine, Caller(agent="scribe"))
    first = await memory.remember(BERLIN, source=USER, intent="new")
    assert first.conflicts == ()
    await memory.remember("The harbour cranes are oiled in spring.", source=USER, intent="new")
    later(engine, days=90)
    day = engine.clock.now()
    second = await memory.remember(PARIS, source=USER, intent="new")
    (conflict,) = second.conflicts
    assert (conflict.type, conflict.suggested_action, conflict.other.id) == ("contradiction", "supersede", first.id)
    (waiting,) = await memory.conflicts()
    assert (waiting.id, waiting.memory.statement, waiting.other.statement) == (conflict.id, PARIS, BERLIN)
    assert await passages(memory) >= {BERLIN, PARIS}

    later(engine, days=1)
    done = await memory.resolve_conflict(conflict.id, notes="she told me that she moved")
    assert (done.action, done.strategy, done.kept) == ("superseded", "supersede", second.id)
    assert PARIS in await passages(memory)
    assert BERLIN not in await passages(memory)
    then = await memory.recall(QUESTION, as_of=day)
    assert BERLIN in {hit.passage for hit in then.hits}
    (settled,) = await memory.conflicts(status="resolved")
    assert (settled.resolved_by, settled.notes) == ("scribe", "she told me that she moved")
    with pytest.raises(WrongState, match="supersede"):
        await memory.resolve_conflict(conflict.id, strategy="merge")

    undone = await memory.undo(run=done.run)
    assert {change.id for change in undone.done} == {first.id, second.id}
    assert [conflict.id for conflict in await memory.conflicts()] == [conflict.id]
    assert await passages(memory) >= {BERLIN, PARIS}


async def test_a_document_does_not_overrule_a_person(engine: Engine) -> None:
    memory = MemoryClient.over(engine, Caller(agent="scribe"))
    first = await memory.remember(BERLIN, source=USER, intent="new")
    later(engine, days=1)
    second = await memory.remember(OSLO, source=DOCUMENT, intent="new")
    (conflict,) = second.conflicts
    done = await memory.resolve_conflict(conflict.id)
    assert (done.action, done.changed) == ("left_pending", ())
    assert "the user" in done.why
    assert [conflict.id for conflict in await memory.conflicts(id=first.id)] == [conflict.id]
    # A person may overrule it, and a branch leaves both statements valid.
    branched = await memory.resolve_conflict(conflict.id, strategy="branch", branch="as-printed")
    assert [branch.name for branch in (await memory.branches(first.id)).branches] == ["main", "as-printed"]
    (on_main,) = (await memory.read([first.id])).memories
    (on_branch,) = (await memory.read([first.id], branch="as-printed")).memories
    assert (on_main.content, on_branch.content) == (BERLIN, OSLO)
    assert OSLO not in await passages(memory)
    (away,) = (await memory.read([second.id])).memories
    assert away.state is State.ARCHIVED
    await memory.undo(run=branched.run)
    assert OSLO in await passages(memory)


async def test_a_merged_memory_is_reachable_by_its_old_name_and_can_be_restored(engine: Engine) -> None:
    memory = MemoryClient.over(engine, Caller(agent="scribe"))
    first = await memory.remember(BERLIN, name="berlin", source=USER, intent="new")
    third = await memory.remember("Bob keeps ferns.", name="bob", source=USER, intent="new")
    second = await memory.remember(PARIS, name="paris", source=USER, intent="new")
    await memory.relate("bob", "paris", relation="visits")
    (conflict,) = await memory.conflicts()
    await memory.resolve_conflict(conflict.id, strategy="merge")
    (part,) = (await memory.read(["paris"])).memories
    assert (part.id, part.state, part.merged_into) == (second.id, State.MERGED, first.id)
    (whole,) = (await memory.read(["berlin"])).memories
    assert whole.content == f"{BERLIN}\n\n{PARIS}"
    edges = (await memory.read(["berlin"])).relations
    assert [(edge.source, edge.type, edge.target) for edge in edges] == [(third.id, "visits", first.id)]
    await memory.undo()
    assert [record.content for record in (await memory.read(["berlin", "paris"])).memories] == [BERLIN, PARIS]
    edges = (await memory.read(["paris"])).relations
    assert [(edge.source, edge.target) for edge in edges] == [(third.id, second.id)]


async def test_a_purge_leaves_nothing_of_a_conflict(engine: Engine) -> None:
    memory = MemoryClient.over(engine, Caller(agent="scribe"))
    first = await memory.remember(BERLIN, source=USER, intent="new")
    await memory.remember(PARIS, source=USER, intent="new")
    (conflict,) = await memory.conflicts()
    await memory.resolve_conflict(conflict.id, strategy="ignore")
    await memory.forget(first.id)
    await memory.purge(first.id)
    assert await memory.conflicts(status="all") == ()
    assert await engine.documents.all_documents("default", limit=9) == []
    assert (await memory.scan_conflicts()).count == 0


async def test_a_job_scans_uncompared_memories(engine: Engine) -> None:
    memory = MemoryClient.over(engine, Caller(agent="scribe"))
    uncompared = MemoryClient.over(replace(engine, default_rules=Rules(conflicts="off")), Caller(agent="scribe"))
    for text in (BERLIN, PARIS):
        await uncompared.remember(text, intent="new")
    await Queue(documents=engine.documents, clock=engine.clock).enqueue("conflicts", {}, space="default")
    assert await run_jobs(engine) == 1
    (job,) = await memory.jobs()
    assert (job.state, job.outcome) == (JobState.DONE, "compared 2 memories, new conflicts: 1")
    assert [conflict.other.statement for conflict in await memory.conflicts()] == [BERLIN]


@pytest.mark.parametrize("about", ["the space", "a memory"])
async def test_an_answer_given_before_a_scan_is_not_repeated_without_what_it_found(engine: Engine, about: str) -> None:
    memory = MemoryClient.over(engine, Caller(agent="scribe"))
    uncompared = MemoryClient.over(replace(engine, default_rules=Rules(conflicts="off")), Caller(agent="scribe"))
    (_, second) = [await uncompared.remember(text, intent="new") for text in (BERLIN, PARIS)]
    assert {hit.disputed for hit in (await memory.recall("Where does Ann live?")).hits} == {""}
    if about == "the space":
        await memory.scan_conflicts()
    else:
        assert await engine.scan_memory(second.id, who=Caller(agent="scribe")) == 1
    (conflict,) = await memory.conflicts()
    assert [conflict.id in hit.disputed for hit in (await memory.recall("Where does Ann live?")).hits] == [True, True]
