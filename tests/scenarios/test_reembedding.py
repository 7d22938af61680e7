"""Another embedding model takes over while the memory is in use, and a killed or failed change goes on where it was."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import numpy as np
import psycopg
import pytest
from qdrant_client import AsyncQdrantClient

from scrubjay.app import open_engine_and_store
from scrubjay.client import MemoryClient
from scrubjay.curation.runner import CurationRunner
from scrubjay.engine import Engine
from scrubjay.engine.model_switch import read_chosen_model
from scrubjay.errors import DiskFull, EmbeddingUnavailable, InvalidInput
from scrubjay.model.caller import Caller
from scrubjay.model.requests import CurateRequest, ReembedRequest
from scrubjay.paths import database_file
from scrubjay.ports import RecordStore
from scrubjay.service import LocalService
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.upkeep import follow_model
from scrubjay.text.passages import passages_of
from scrubjay.vectors import qdrant
from scrubjay.vectors.qdrant_address import LOCAL
from tests.backends import BACKENDS, backend
from tests.fakes import FakeClock
from tests.fakes.embedder import FakeEmbedder
from tests.patience import PATIENCE
from tests.scenarios.wiring import environment
from tests.unit.embedding.embedding_server import EmbeddingServer, ReceivedRequest, Reply

WHO = Caller(space="default", agent="tester")
COUNT = 150
DIMENSIONS = {"first": 64, "second": 48}
# Where a re-embedding is killed: the function, the call of it, and whether it has been carried out then.
STEPS = {
    "in the middle of the texts": ("scrubjay.indexing.reembed.embed_memories", 2, True),
    "before the index is built": ("scrubjay.engine.model_switch.build_beside", 1, False),
    "while the index is being built": ("scrubjay.indexing.reembed._wait_until_ready", 1, False),
    "before the change": ("scrubjay.engine.model_switch.write_chosen_model", 1, False),
    "after the change": ("scrubjay.engine.model_switch.write_chosen_model", 1, True),
}
CHILD = """
import asyncio, importlib, json, os, signal, sys
from scrubjay.app import open_engine
from scrubjay.model.caller import Caller
from scrubjay.model.requests import CurateRequest, ReembedRequest
from scrubjay.settings import Settings
if sys.argv[5]:
    from scrubjay.vectors import qdrant
    client = qdrant.AsyncQdrantClient
    qdrant.AsyncQdrantClient = lambda _: client(path=sys.argv[5])
settings, name, call, done = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4] == "True"
module, _, function = name.rpartition(".")
module = importlib.import_module(module)
original, calls = getattr(module, function), 0
async def killed(*arguments, **options):
    global calls
    calls += 1
    result = await original(*arguments, **options) if done or calls < call else None
    if calls == call:
        os.kill(os.getpid(), signal.SIGKILL)
    return result
setattr(module, function, killed)
async def main():
    async with open_engine(Settings(**settings)) as engine:
        await engine.reembed(ReembedRequest(model="openai:second"), who=Caller(space="default"))
asyncio.run(main())
"""


class WordServer(EmbeddingServer):
    """Embeds texts that share words close to each other; each model has a length of its own."""

    is_changed = False

    def reply_to(self, request: ReceivedRequest) -> Reply:
        self.requests.append(request)
        if self.script:
            return self.script.popleft()
        model = FakeEmbedder(dimension=DIMENSIONS[request.body["model"]])
        vectors = asyncio.run(model.embed(request.body["input"]))
        vectors = [vector[::-1] for vector in vectors] if self.is_changed else vectors
        data = [{"index": place, "embedding": vector.tolist()} for place, vector in enumerate(vectors)]
        return Reply(body={"data": data, "model": request.body["model"]})

    def embedded_by(self, model: str) -> list[str]:
        """Return the notes that a model was asked for."""
        texts = [text for request in self.requests if request.body["model"] == model for text in request.body["input"]]
        return [text for text in texts if text.startswith("note")]


@pytest.fixture
def server() -> Iterator[WordServer]:
    with WordServer() as running:
        yield running


@pytest.fixture(params=BACKENDS)
def settings(request: pytest.FixtureRequest, tmp_path: Path, server: WordServer) -> Iterator[Settings]:
    with backend(request.param) as choice:
        yield Settings(
            home=str(tmp_path / "data"), embedder="openai", embedding_model="first", embedding_url=server.url,
            write_rules="gate=off,conflicts=off", **choice,
        )  # fmt: skip


@asynccontextmanager
async def opened(settings: Settings) -> AsyncGenerator[tuple[Engine, RecordStore, MemoryClient]]:
    async with open_engine_and_store(settings) as (engine, store):
        client = MemoryClient(settings=settings)
        client._connection._service = LocalService.over(engine)  # pyright: ignore[reportAttributeAccessIssue]
        yield engine, store, client


async def fill(client: MemoryClient) -> None:
    words = ("harbour", "orchard", "library", "station", "kitchen")
    await client.remember_many(
        [{"text": f"note {number} on the {words[number % 5]} of house {number * 7}"} for number in range(COUNT)]
    )


async def wait_for(model: str, models: set[str], tasks: list[asyncio.Task[None]]) -> None:
    """Wait until a recall has used a model, or a task has failed."""
    while model not in models and not any(task.done() for task in tasks):  # noqa: ASYNC110 - several conditions
        await asyncio.sleep(0.01)


async def model_of(client: MemoryClient) -> str:
    return str((await client.status()).embedding["model"])


async def test_recall_goes_on_during_the_change_and_nothing_is_missing_afterwards(
    settings: Settings, server: WordServer
) -> None:
    async with opened(settings) as (engine, store, client):
        await fill(client)
        assert engine.models is not None
        engine.models._grace = 1.0
        models: set[str] = set()
        is_over = asyncio.Event()
        reports: list[tuple[int, int]] = []

        def report(done: int, total: int) -> None:
            reports.append((done, total))

        async def ask() -> None:
            number = 0
            while not is_over.is_set():
                number = (number + 1) % COUNT
                recalled = await client.recall(f"house {number * 7} note {number}", limit=3)
                assert recalled.degraded == ()
                assert any(f"note {number} " in hit.passage for hit in recalled.hits)
                models.add(await model_of(client))
                await asyncio.sleep(0)

        async def write() -> None:
            number = 0
            while not is_over.is_set():
                number += 1
                await client.remember(f"written meanwhile: cellar {number * 11}")
                await asyncio.sleep(0.02)

        tasks = [asyncio.create_task(ask()), asyncio.create_task(write())]
        await wait_for("first", models, tasks)
        done = await engine.reembed(ReembedRequest(model="openai:second"), who=WHO, progress=report)
        await wait_for("second", models, tasks)
        is_over.set()
        await asyncio.gather(*tasks)
        assert (done.model, done.previous) == ("second", "first")
        assert reports == sorted(reports)
        assert (await engine.embedder.profile()).dimension == DIMENSIONS["second"]
        await engine.backfill()
        assert await store.without_vectors("second", limit=9) == []
        await asyncio.gather(*engine.models._retiring.values())
        assert engine.models.former == []
        fresh = await client.recall("cellar 22 written meanwhile", limit=3)
        assert any("cellar 22" in hit.passage for hit in fresh.hits)
        purged = await client.remember("the secret of the lighthouse")
        await client.forget([purged.id])
        await client.purge([purged.id])
        index = (await client.status()).index
        assert index["problem"] == ""
        if index["kind"] == "edge":
            folders = [folder.parent.name for folder in (settings.data / "index").rglob("gen-*")]
            assert [name for name in folders if not name.startswith("model-")] == []

    async with opened(settings) as (_, _, client):
        assert await model_of(client) == "second"
        assert (await client.recall("note 3 on the station of house 21")).degraded == ()
    other = replace(settings, embedding_model="first", embedding_dimension=64)
    async with opened(other) as (_, _, client):
        assert await model_of(client) == "first@64"


async def test_the_way_back_embeds_nothing_and_the_settings_decide_again(
    settings: Settings, server: WordServer
) -> None:
    async with opened(settings) as (engine, store, client):
        await fill(client)
        await engine.reembed(ReembedRequest(model="second"), who=WHO)
        texts = len(server.embedded_by("first"))
        back = await engine.reembed(ReembedRequest(model="openai:first"), who=WHO)
        assert (back.model, back.vectors) == ("first", 0)
        assert len(server.embedded_by("first")) == texts
        chosen = await read_chosen_model(store)
        assert chosen is not None
        assert chosen.choice == chosen.replaces
        assert (await client.recall("note 3 on the station of house 21")).degraded == ()
        for model, url in (("none", ""), ("bundled", "http://127.0.0.1:1/v1")):
            with pytest.raises(InvalidInput):
                await engine.reembed(ReembedRequest(model=model, url=url), who=WHO)
        with pytest.raises(InvalidInput, match="there is no model 'nosuch'") as refused:
            await engine.reembed(ReembedRequest(model="bundled:nosuch"), who=WHO)
        assert "sentence-transformers:NAME" in refused.value.hint
        assert await read_chosen_model(store) == chosen
        same = await engine.reembed(ReembedRequest(model="first"), who=WHO)
        assert (same.previous, same.vectors) == ("first", 0)


async def test_a_model_that_disappears_halfway_or_a_full_disk_changes_nothing_and_no_text_is_sent_twice(
    settings: Settings, server: WordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(settings) as (engine, store, client):
        await fill(client)
        answered = server.reply_to

        def fail_later(request: ReceivedRequest) -> Reply:
            if request.body["model"] == "second" and len(server.embedded_by("second")) > COUNT // 2:
                return Reply(status=401, body={"error": {"message": "no such model"}})
            return answered(request)

        server.reply_to = fail_later
        with pytest.raises(EmbeddingUnavailable):
            await engine.reembed(ReembedRequest(model="openai:second"), who=WHO)
        assert await model_of(client) == "first"
        assert (await client.recall("note 3 on the station of house 21")).degraded == ()
        server.reply_to = answered
        with monkeypatch.context() as patch:
            patch.setattr(store, "store_vectors", full_disk)
            with pytest.raises(DiskFull):
                await engine.reembed(ReembedRequest(model="openai:second"), who=WHO)
        assert await model_of(client) == "first"
        done = await engine.reembed(ReembedRequest(model="openai:second"), who=WHO)
        # Of the first half nothing is embedded again.
        assert 0 < done.vectors < COUNT - 60
        assert await model_of(client) == "second"


async def full_disk(*_: object, **__: object) -> None:
    raise DiskFull("the disk is full")


@pytest.mark.parametrize("settings", ["pgvector"], indirect=True)
async def test_another_server_of_the_database_follows_and_old_vectors_go_after_a_month(
    settings: Settings, server: WordServer, tmp_path: Path
) -> None:
    async with (
        opened(settings) as (engine, store, client),
        opened(replace(settings, home=str(tmp_path / "other"))) as (other, _, reader),
    ):
        await fill(client)
        following = asyncio.create_task(follow_model(other, seconds=0.01))
        await engine.reembed(ReembedRequest(model="openai:second"), who=WHO)
        async with asyncio.timeout(PATIENCE):
            while await model_of(reader) != "second":
                assert not following.done()
                await asyncio.sleep(0.01)
        following.cancel()
        recalled = await reader.recall("station of house 21, note 3", limit=3)
        assert (recalled.degraded, "note 3 " in recalled.hits[0].passage) == ((), True)
        await reader.remember("written by the other server: cellar 5")
        assert await store.without_vectors("second", limit=9) == []

        assert (await client.curate(["vectors"])).planned == 0, "the way back is short for a month"
        later = replace(engine, clock=FakeClock(datetime.now(UTC) + timedelta(days=31)))
        request = CurateRequest.of(jobs=("vectors",))
        report = await CurationRunner(later, store).curate(request, who=WHO)
        assert (report.counts, report.problems) == ({"vectors": {"drop": 1}}, ())
        assert await store.stored_vectors("default", "first", limit=9) == {}
        assert len(await store.stored_vectors("default", "second", limit=COUNT + 9)) == COUNT + 1
        assert (await CurationRunner(later, store).curate(request, who=WHO)).planned == 0


async def test_a_killed_change_leaves_a_working_memory_and_goes_on(
    settings: Settings, server: WordServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tmp_path / "qdrant") if settings.qdrant_url == LOCAL else ""
    if folder:
        # Without a server, the client's local mode stores its collections on disk, where they survive a kill.
        def on_disk(_: str) -> AsyncQdrantClient:
            return AsyncQdrantClient(path=folder)

        monkeypatch.setattr(qdrant, "AsyncQdrantClient", on_disk)
    async with opened(settings) as (_, _, client):
        await fill(client)
    for step, (name, call, done) in STEPS.items():
        child = await asyncio.to_thread(run_child, settings, name, call, done, folder)
        assert child == -signal.SIGKILL, step
        async with opened(settings) as (_, _, client):
            assert await model_of(client) == ("second" if step == "after the change" else "first"), step
            recalled = await client.recall("station of house 21, note 3", limit=3)
            assert (recalled.degraded, "note 3 " in recalled.hits[0].passage) == ((), True), step
    async with opened(settings) as (_, store, _):
        assert await store.without_vectors("second", limit=9) == []
    assert len(server.embedded_by("second")) == COUNT


@pytest.mark.parametrize("settings", ["sqlite", "pgvector"], indirect=True)
async def test_the_job_embeds_texts_whose_vector_is_missing_damaged_or_of_another_text_and_no_others(
    settings: Settings, server: WordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrubjay.curation.upkeep._SAMPLE", 2 * COUNT)
    async with opened(settings) as (_, store, client):
        await fill(client)
        ids = await store.ids("default", limit=5)
        # What is in the trash can be searched too.
        await client.forget(ids[:1])
        memories = await store.get("default", ids)
        missing, *spoiled = [passages_of(memories[each], with_terms=False)[0].hash for each in ids]
        before = await store.vectors("default", "first", spoiled)
        long, foreign = np.full(64, 9, np.float16), before[spoiled[0]].astype(np.float16)
        if settings.database_url:
            with psycopg.connect(settings.database_url, autocommit=True) as database:
                # The database refuses numbers that are none.
                for vector, digest in zip((long, foreign, foreign[:40]), spoiled, strict=False):
                    statement = "UPDATE scrubjay.vectors SET vector = %s::halfvec WHERE hash = %s"
                    database.execute(statement, (f"[{','.join(map(str, vector))}]", digest))
                database.execute("DELETE FROM scrubjay.vectors WHERE hash = %s", (missing,))
        else:
            with closing(apsw.Connection(str(database_file(settings.data)))) as file:
                nothing = np.full(64, np.nan, np.float16)
                for vector, digest in zip((long, foreign, foreign[:40], nothing), spoiled, strict=True):
                    file.execute("UPDATE vectors SET vector = ? WHERE hash = ?", (vector.tobytes(), digest))
                file.execute("DELETE FROM vectors WHERE hash = ?", (missing,))
        report = await client.curate(["duplicates", "vectors"])
        count = 4 if settings.database_url else 5
        assert (report.counts["vectors"], report.problems) == ({"embed": count}, ())
        assert [change.why for change in report.changes][-1] == "its vector is not that of its text"
        after = await store.vectors("default", "first", [missing, *spoiled])
        assert len(after) == 5
        assert {digest: pytest.approx(vector, abs=0.01) for digest, vector in before.items()} == {
            digest: after[digest] for digest in spoiled
        }
        assert (await client.curate(["vectors"])).planned == 0
        assert (await client.recall("station of house 21, note 3", limit=3)).degraded == ()

        # A server gives its model other weights under the same name.
        server.is_changed = True
        report = await client.curate(["vectors"])
        assert (report.planned, len(report.notes)) == (0, 1), "two sorts of vectors are not mixed"
        assert report.notes[0] == (
            f"vectors: first gives other vectors than those stored, for {COUNT} of {COUNT} texts: "
            "give the changed model another name, and run `scrubjay reembed --model NAME`"
        )


def run_child(settings: Settings, name: str, call: int, done: bool, folder: str) -> int:
    """Re-embed in a process that is killed; return its exit status."""
    import json

    chosen = {
        field: getattr(settings, field)
        for field in (
            "home",
            "embedder",
            "embedding_model",
            "embedding_url",
            "write_rules",
            "database_url",
            "qdrant_url",
            "qdrant_collection",
        )
    }
    arguments = [sys.executable, "-c", CHILD, json.dumps(chosen), name, str(call), str(done), folder]
    return subprocess.run(arguments, env=environment(settings.data), timeout=120, check=False).returncode
