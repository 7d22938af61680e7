"""The texts of several writes are embedded together, and stored with one commit."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.fakes import FakeEmbedder
from tests.fakes.build import MODEL
from tests.patience import PATIENCE
from tests.unit.harness import SPACE, Harness

from scrubjay.embedding.batching import BatchingEmbedder, BatchRefused
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.graph import records
from scrubjay.model.draft import Draft, DraftBatch
from scrubjay.model.memory import Json
from scrubjay.model.passage import Vector
from scrubjay.model.rules import Rules
from scrubjay.ports import Profile
from scrubjay.writing.context import WriteContext, WriteOutcome
from scrubjay.writing.many import CHUNK, remember_many

# Of the length of a real key, but invalid.
SECRET = "ghp_" + "a1B2" * 9


class _Encoder:
    """Records its batches, rejects a text with `poison` in it, and waits until it may begin."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.may_begin = asyncio.Event()
        self.may_begin.set()
        self._inner = FakeEmbedder()

    async def profile(self) -> Profile:
        return await self._inner.profile()

    async def encode(self, texts: Sequence[str], *, query: bool) -> Sequence[Vector]:
        assert not query
        await self.may_begin.wait()
        if any("poison" in text for text in texts):
            raise BatchRefused(EmbeddingUnavailable("this is not taken"))
        self.batches.append(list(texts))
        return await self._inner.embed(texts)

    async def close(self) -> None:
        """There is nothing to close."""


@pytest.fixture
async def encoder() -> _Encoder:
    return _Encoder()


@pytest.fixture
async def context(encoder: _Encoder, harness: Harness) -> AsyncIterator[WriteContext]:
    embedder = BatchingEmbedder(encoder)
    yield replace(harness.context, embedder=embedder)
    await embedder.close()


def _entity(name: str, *observations: str) -> dict[str, Json]:
    return {"name": name, "entityType": "person", "observations": list[Json](observations)}


async def _create(harness: Harness, entities: Sequence[dict[str, Json]], *, context: WriteContext | None = None) -> Any:
    return await records.create_entities(
        entities, space=SPACE, origin=harness.origin(), context=context or harness.context
    )


async def test_entities_that_come_together_share_their_batches(
    harness: Harness, encoder: _Encoder, context: WriteContext
) -> None:  # fmt: skip
    answer = await _create(
        harness, [_entity(f"friend {n}", f"likes tea {n}", f"has dog {n}") for n in range(8)], context=context
    )
    assert [result["action"] for result in answer["results"]] == ["created"] * 8
    assert [len(batch) for batch in encoder.batches] == [16]
    assert await harness.store.without_vectors(MODEL, limit=10) == []


async def test_the_batches_of_the_model_are_full(
    harness: Harness, encoder: _Encoder, context: WriteContext
) -> None:  # fmt: skip
    await _create(harness, [_entity(f"friend {n}", f"likes tea {n}") for n in range(40)], context=context)
    assert [len(batch) for batch in encoder.batches] == [16, 16, 8]
    assert len({text for batch in encoder.batches for text in batch}) == 40


async def test_each_text_is_embedded_once_and_none_that_is_known(harness: Harness) -> None:
    await _create(harness, [_entity("Ada", "likes tea")])
    harness.embedder.embedded.clear()
    ada, bo = _entity("Ada", "likes tea", "has a dog"), _entity("Bo", "likes tea", "likes jam")
    answer = await _create(harness, [ada, bo, _entity("Cy", "likes jam")])
    assert [result["action"] for result in answer["results"]] == ["updated", "created", "created"]
    assert sorted(harness.embedder.embedded) == ["has a dog", "likes jam"]
    assert await harness.store.without_vectors(MODEL, limit=10) == []


async def test_secrets_and_denied_texts_never_reach_the_model(harness: Harness) -> None:
    answer = await _create(
        harness,
        [
            _entity("Ada", f"the token is {SECRET}"),
            _entity("Bo", "Do not remember this: likes jam"),
            _entity("Cy", "likes tea"),
        ],
    )
    assert [result["name"] for result in answer["results"]] == ["Ada", "Cy"]
    assert len(answer["errors"]) == 1
    assert not any(SECRET in text or "jam" in text for text in harness.embedder.embedded)
    assert len(harness.embedder.embedded) == 2


async def test_one_that_the_model_does_not_take_leaves_the_others_their_vectors(
    harness: Harness, context: WriteContext
) -> None:
    answer = await _create(
        harness, [_entity("Ada", "likes tea"), _entity("Bo", "likes poison"), _entity("Cy", "x")], context=context
    )
    assert [("warnings" in result) for result in answer["results"]] == [False, True, False]
    ((_, lacking),) = await harness.store.without_vectors(MODEL, limit=10)
    assert lacking == answer["results"][1]["id"]


async def test_without_a_model_each_is_stored_and_says_so(harness: Harness) -> None:
    harness.embedder.failing = True
    answer = await _create(harness, [_entity("Ada", "likes tea"), _entity("Bo", "likes jam")])
    assert ["words only" in result["warnings"][0] for result in answer["results"]] == [True, True]


async def test_an_error_in_one_write_does_not_affect_the_others(harness: Harness) -> None:
    wrong: dict[str, Json] = {"name": "Bo", "entityType": "person", "observations": 3}
    answer = await _create(harness, [_entity("Ada", "likes tea"), wrong, _entity("Cy", "likes jam")])
    assert [result["name"] for result in answer["results"]] == ["Ada", "Cy"]
    assert answer["errors"][0].startswith("Bo: ")
    assert sorted(harness.embedder.embedded) == ["likes jam", "likes tea"]


async def test_one_is_compared_with_those_before_it_in_the_same_call(harness: Harness) -> None:
    harness = replace(harness, rules=Rules(gate="off", density="off", tags="off"))
    same = ("has a grey dog in Oslo", "plays the cello on Mondays")
    answer = await _create(harness, [_entity("Ada", *same), _entity("Bo", *same)])
    assert "conflicts" not in answer["results"][0]
    (conflict,) = answer["results"][1]["conflicts"]
    assert conflict["conflict_type"] == "duplicate"


async def test_a_cancelled_batch_leaves_no_task_and_nothing_stored(
    harness: Harness, encoder: _Encoder, context: WriteContext
) -> None:
    encoder.may_begin.clear()
    before = asyncio.all_tasks()
    batch = DraftBatch(drafts=[Draft(text=f"likes tea {number}") for number in range(CHUNK + 1)])
    writing = asyncio.create_task(
        remember_many(batch, space=SPACE, origin=harness.origin(), context=context, hand_on=_take)
    )
    await asyncio.sleep(0.01)
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    encoder.may_begin.set()
    async with asyncio.timeout(PATIENCE):
        while asyncio.all_tasks() != before:  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0.001)
    assert await harness.store.last_seq() == 0


async def test_the_next_chunk_is_embedded_while_one_is_stored(
    harness: Harness, encoder: _Encoder, context: WriteContext
) -> None:
    batch = DraftBatch(drafts=[Draft(text=f"likes tea {number}") for number in range(2 * CHUNK)])
    embedded: list[int] = []

    def note(done: int, total: int) -> None:
        assert done <= total
        embedded.append(sum(map(len, encoder.batches)))

    await remember_many(
        batch, space=SPACE, origin=harness.origin(), context=context, hand_on=_take, progress=note
    )  # fmt: skip
    assert embedded[0] > CHUNK
    assert embedded[-1] == 2 * CHUNK


async def _take(outcome: WriteOutcome) -> None:
    assert outcome.jobs == ()
