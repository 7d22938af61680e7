"""Two engines on one database with clocks that are days apart: the writes of one hold for the other at once."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from scrubjay.engine import Engine
from scrubjay.errors import StaleVersion
from scrubjay.graph.entity import Entity
from scrubjay.idempotency import stored_key
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft, replace
from scrubjay.model.requests import (
    CreateTokenRequest,
    Edit,
    ForgetRequest,
    HistoryRequest,
    PurgeRequest,
    ReadRequest,
    RecallRequest,
    RevokeTokenRequest,
    StatusRequest,
    TokensRequest,
    UndoRequest,
)
from scrubjay.model.results import Remembered
from scrubjay.model.token import TokenState
from scrubjay.storage.postgres import PostgresStore
from scrubjay.storage.postgres.rows import digest_of
from scrubjay.surfaces.changes import ChangeBroadcaster
from scrubjay.surfaces.daemon.upkeep import run_upkeep
from scrubjay.vectors.scan import ScanIndex
from tests.fakes import FakeClock, FakeEmbedder
from tests.patience import PATIENCE
from tests.postgres import a_database, address_of, shared_server
from tests.postgres_engines import engine_over

WHO = Caller(space="default", agent="tester")
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
APART = timedelta(days=3)


@pytest.fixture
async def name() -> AsyncIterator[str]:
    async with a_database() as made:
        yield made


@pytest.fixture
async def ahead_store(name: str) -> PostgresStore:
    return await PostgresStore.open(address_of(name))


@pytest.fixture
async def ahead(ahead_store: PostgresStore, tmp_path: Path) -> AsyncIterator[Engine]:
    opened = engine_over(ahead_store, tmp_path, clock=FakeClock(NOON + APART))
    yield opened
    await opened.close()


@pytest.fixture
async def behind_store(name: str) -> PostgresStore:
    return await PostgresStore.open(address_of(name))


@pytest.fixture
async def behind(behind_store: PostgresStore, tmp_path: Path) -> AsyncIterator[Engine]:
    opened = engine_over(behind_store, tmp_path, clock=FakeClock(NOON - APART))
    yield opened
    await opened.close()


async def find(engine: Engine, query: str) -> set[str]:
    return {hit.id for hit in (await engine.recall(RecallRequest(query=query), who=WHO)).hits}


async def test_versions_and_the_log_go_by_order_and_not_by_clocks(ahead: Engine, behind: Engine) -> None:
    memory = (await ahead.remember(Draft(text="version 1", name="shared"), who=WHO)).id
    for version, engine in enumerate([behind, ahead] * 3, start=2):
        edit = Edit(fields={"content": f"version {version}"}, expected_version=version - 1)
        assert (await engine.apply_edit("shared", edit, who=WHO)).version == version
    with pytest.raises(StaleVersion):
        await behind.apply_edit("shared", Edit(fields={"content": "late"}, expected_version=6), who=WHO)
    for engine in (ahead, behind):
        history = await engine.history(HistoryRequest(id=memory), who=WHO)
        assert [version.number for version in history.versions] == [7, 6, 5, 4, 3, 2, 1]
        log = await engine.change_log.changes_in("default", after=0, limit=99)
        assert [change.version for change in log if change.version] == sorted(change.version for change in log)
        assert [change.place for change in log] == list(range(1, len(log) + 1))
    # The newest run is that of the slower clock.
    assert (await ahead.undo(UndoRequest(), who=WHO)).done[0].version == 8
    assert (await behind.read(ReadRequest(ids=(memory,)), who=WHO)).memories[0].content == "version 6"


async def test_a_key_holds_for_both_also_at_the_same_moment(ahead: Engine, behind: Engine) -> None:
    draft = Draft(text="once and for all", intent="new", idempotency_key="a-key")
    first = await ahead.remember(draft, who=WHO)
    assert (await behind.remember(draft, who=WHO)).id == first.id
    for number in range(10):
        same = Draft(text=f"at once {number}", intent="new", idempotency_key=f"key-{number}")
        done = await asyncio.gather(*(engine.remember(same, who=WHO) for engine in (ahead, behind)))
        assert len({outcome.id for outcome in done}) == 1
    assert (await ahead.status(StatusRequest(), who=WHO)).memories == {"live": 11}


async def test_tokens_end_at_once_by_whichever_clock(ahead: Engine, behind: Engine) -> None:
    made = await ahead.create_token(CreateTokenRequest(name="laptop", spaces=("*",)), who=Caller())
    (token,) = await behind.tokens(TokensRequest(), who=Caller())
    assert (token.id, token.state(behind.clock.now())) == (made.token.id, TokenState.LIVE)
    await ahead.revoke_token(RevokeTokenRequest(ref="laptop"), who=Caller())
    (token,) = await behind.tokens(TokensRequest(), who=Caller())
    # By this clock it was revoked in the future.
    assert token.state(behind.clock.now()) is TokenState.REVOKED


async def test_a_write_by_one_is_found_by_the_other_despite_its_cached_answer(ahead: Engine, behind: Engine) -> None:
    old = (await ahead.remember(Draft(text="jays hide acorns in autumn", intent="new"), who=WHO)).id
    for engine in (ahead, behind):
        assert await find(engine, "acorns") == {old}
    new = (await behind.remember(Draft(text="jays dig up acorns in winter", intent="new"), who=WHO)).id
    for engine in (ahead, behind):
        assert await find(engine, "acorns") == {old, new}
    await ahead.forget(ForgetRequest(ids=(old,)), who=WHO)
    assert await find(behind, "acorns") == {new}


async def test_cached_texts_follow_the_writes_of_others(ahead: Engine, behind: Engine) -> None:
    graphs = [engine.knowledge_graph(who=WHO) for engine in (ahead, behind)]
    for number, graph in enumerate(graphs * 2, start=1):
        await graph.create_entities([Entity(name=f"jay-{number}", type="bird", observations=("hides acorns",))])
        for walker in graphs:
            walk, _ = await walker.walk_matching("acorns")
            assert len(walk.ids) == number


async def test_pages_of_an_answer_may_come_from_different_servers(ahead: Engine, behind: Engine) -> None:
    for number in range(7):
        await ahead.remember(Draft(text=f"acorn number {number}", intent="new"), who=WHO)
    question, seen, cursor = RecallRequest(query="acorn", limit=2), list[str](), ""
    for engine in (ahead, behind, ahead, behind):
        page = await engine.recall(replace(question, cursor=cursor), who=WHO)
        seen += [hit.id for hit in page.hits]
        cursor = page.cursor
    assert (len(seen), len(set(seen)), cursor) == (7, 7, "")


async def test_a_purge_is_forgotten_everywhere(ahead: Engine, behind: Engine, behind_store: PostgresStore) -> None:
    text = "the code word is periwinkle"
    purged = asyncio.Event()

    def forget() -> None:
        behind.answers.clear()
        purged.set()

    async with asyncio.timeout(PATIENCE), ChangeBroadcaster(behind_store, purged=forget):
        # It listens from its first message on.
        await purged.wait()
        purged.clear()
        secret = (await ahead.remember(Draft(text=text, intent="new"), who=WHO)).id
        assert await find(behind, "code word") == {secret}
        await ahead.forget(ForgetRequest(ids=(secret,)), who=WHO)
        await ahead.purge(PurgeRequest(ids=(secret,)), who=WHO)
        await purged.wait()
        assert not behind.answers._answers
        assert behind_store._bodies._cache._read_small.cache_info().currsize == 0
        # The vector was purged with the memory, so the same text is embedded again.
        await behind.remember(Draft(text=text, intent="new"), who=WHO)
        model = (await behind.embedder.profile()).model
        assert await behind_store.without_vectors(model, limit=9) == []


@asynccontextmanager
async def under_way(engine: Engine, name: str) -> AsyncGenerator[asyncio.Task[Remembered]]:
    """Hold a commit open that has taken its numbers, while another one overtakes it."""
    who = Caller(space="slow", agent="tester")
    await engine.remember(Draft(text="the first of its space", intent="new"), who=who)
    before = await engine.change_log.last_seq()
    async with await psycopg.AsyncConnection.connect(shared_server().url(name)) as holder:
        await holder.execute(
            """INSERT INTO scrubjay.idempotency_keys(space_no, key_digest, run_no, at, request_digest, answer)
               SELECT no, %s, 1, 0, '', '' FROM scrubjay.spaces WHERE name = 'slow'""",
            (digest_of(stored_key("held")),),
        )
        draft = Draft(text="slow but sure", intent="new", idempotency_key="held")
        task = asyncio.create_task(engine.remember(draft, who=who))
        taken = before
        while taken == before:
            cursor = await holder.execute("SELECT last_value FROM scrubjay.change_numbers")
            taken = (await cursor.fetchall())[0][0]
        await engine.remember(Draft(text="overtakes it", intent="new"), who=WHO)
        yield task
        await holder.rollback()


async def test_a_listener_gets_a_commit_that_was_under_way_when_it_started(
    ahead: Engine, behind_store: PostgresStore, name: str
) -> None:
    received: asyncio.Queue[frozenset[str]] = asyncio.Queue()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(asyncio.timeout(PATIENCE))
        changes = await stack.enter_async_context(ChangeBroadcaster(behind_store, seconds=3600))
        async with under_way(ahead, name) as slow:
            assert await behind_store.settled_seq() < await behind_store.last_seq()
            listening = changes.subscribe("slow", lambda changed: received.put_nowait(changed.ids))
            await stack.enter_async_context(listening)
        assert (await slow).id in await received.get()


async def test_a_scan_finds_commits_that_were_under_way_when_it_started(
    ahead: Engine, behind: Engine, behind_store: PostgresStore, name: str
) -> None:
    profile, everything = await behind.embedder.profile(), RecallRequest(query="").filter
    scan = ScanIndex(behind_store, profile.model, dimension=profile.dimension)
    vector = await behind.embedder.embed_query("slow but sure")
    async with asyncio.timeout(PATIENCE):
        async with under_way(ahead, name) as slow:
            assert len(await scan.search("slow", vector, everything, limit=9)) == 1
        await slow
        assert len(await scan.search("slow", vector, everything, limit=9)) == 2


async def test_the_leader_finishes_the_work_of_others(
    ahead: Engine, ahead_store: PostgresStore, name: str, tmp_path: Path
) -> None:
    other = await PostgresStore.open(address_of(name))
    dumb = engine_over(other, tmp_path, clock=FakeClock(NOON), embedder=FakeEmbedder(failing=True))
    await dumb.remember(Draft(text="stored without a vector", intent="new"), who=WHO)
    await dumb.close()
    model = (await ahead.embedder.profile()).model
    assert len(await ahead_store.without_vectors(model, limit=9)) == 1
    upkeep = asyncio.create_task(run_upkeep(ahead, ahead_store, seconds=3600))
    async with asyncio.timeout(PATIENCE), ChangeBroadcaster(ahead_store, seconds=0.02) as changes:
        while await ahead_store.without_vectors(model, limit=9):
            changes.nudge()
            await asyncio.sleep(0.01)
    upkeep.cancel()
    await asyncio.gather(upkeep, return_exceptions=True)
