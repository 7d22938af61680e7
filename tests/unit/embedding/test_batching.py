"""Concurrent requests share batches, and a failure affects only its own request."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import numpy as np
import pytest
from tests.patience import PATIENCE

from scrubjay.embedding.batching import BatchingEmbedder, BatchLimits, BatchRefused
from scrubjay.embedding.threaded import ThreadedEncoder
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile
from scrubjay.workers import Admission, admission

PROFILE = Profile(model="toy", dimension=3, query_prefix="q: ", text_prefix="t: ")


class RecordingEncoder:
    """An encoder that can be blocked, fails on "bad", refuses "odd", and records its batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.started = asyncio.Event()
        self.closed = 0

    async def profile(self) -> Profile:
        return PROFILE

    async def encode(self, texts: Sequence[str], *, query: bool) -> list[Vector]:
        self.batches.append([f"?{text}" if query else text for text in texts])
        self.started.set()
        await self.gate.wait()
        if "bad" in texts:
            raise EmbeddingUnavailable("a bad text")
        if "odd" in texts:
            raise BatchRefused(EmbeddingUnavailable("an odd text"))
        return [vector_of(text) for text in texts if text != "lost"]

    async def close(self) -> None:
        self.closed += 1


def vector_of(text: str) -> Vector:
    vector = np.array([len(text), sum(map(ord, text)), 1], dtype=np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def equal(left: Sequence[Vector], right: Sequence[Vector]) -> bool:
    return len(left) == len(right) and all(map(np.array_equal, left, right))


@asynccontextmanager
async def blocked(toy: RecordingEncoder, embedder: BatchingEmbedder) -> AsyncGenerator[None]:
    """Let requests queue behind a running batch."""
    toy.gate.clear()
    toy.started.clear()
    first = asyncio.ensure_future(embedder.embed(["first"]))
    await toy.started.wait()
    toy.batches.clear()
    yield
    await asyncio.sleep(0)
    toy.gate.set()
    await first


async def test_concurrent_requests_share_a_batch() -> None:
    toy = RecordingEncoder()
    embedder = BatchingEmbedder(toy)
    answers = await asyncio.gather(embedder.embed(["a", "b"]), embedder.embed(["c"]), embedder.embed(["d", "e"]))
    assert toy.batches == [["a", "b", "c", "d", "e"]]
    assert all(map(equal, answers, [[vector_of(t) for t in part] for part in ("ab", "c", "de")]))


async def test_the_questions_of_a_batch_get_their_vectors_one_turn_after_the_other() -> None:
    toy = RecordingEncoder()
    embedder = BatchingEmbedder(toy)
    turn = 0

    async def ask(question: str) -> int:
        await embedder.embed_query(question)
        return turn

    questions = [asyncio.ensure_future(ask(f"question {number}")) for number in range(10)]
    abandoned = asyncio.ensure_future(ask("question 10"))
    await toy.started.wait()
    abandoned.cancel()
    while not all(question.done() for question in questions):
        turn += 1
        await asyncio.sleep(0)
    turns = [question.result() for question in questions]
    assert len(toy.batches) == 1
    assert turns == [turns[0] + number for number in range(10)]


class QuickEncoder(RecordingEncoder):
    """One that can embed a text at once, too, and records which."""

    def __init__(self) -> None:
        super().__init__()
        self.at_once: list[str] = []
        self.is_ready = True

    def encode_now(self, text: str, *, query: bool) -> Vector | None:
        if not self.is_ready:
            return None
        self.at_once.append(f"?{text}" if query else text)
        if text == "bad":
            raise EmbeddingUnavailable("a bad text")
        return vector_of(text)

    async def encode_alone(self, text: str, *, query: bool) -> Vector:
        (vector,) = await self.encode([f"alone {text}"], query=query)
        return vector


async def test_a_short_text_that_meets_no_other_is_embedded_at_once() -> None:
    toy = QuickEncoder()
    embedder = BatchingEmbedder(toy, limits=BatchLimits(at_once=5))
    assert equal(await embedder.embed(["short"]), [vector_of("short")])
    assert equal([await embedder.embed_query("who")], [vector_of("who")])
    assert (toy.at_once, toy.batches) == (["short", "?who"], [])
    assert equal(await embedder.embed(["longer"]), [vector_of("alone longer")])
    assert equal(await embedder.embed(["a", "b"]), [vector_of("a"), vector_of("b")])
    toy.is_ready = False
    assert equal(await embedder.embed(["c"]), [vector_of("alone c")])
    assert toy.batches == [["alone longer"], ["a", "b"], ["alone c"]]
    toy.is_ready = True
    with pytest.raises(EmbeddingUnavailable, match="a bad text"):
        await embedder.embed(["bad"])
    assert equal(await embedder.embed(["d"]), [vector_of("d")])
    assert toy.at_once == ["short", "?who", "bad", "d"]


async def test_texts_that_have_met_others_leave_the_event_loop_free_for_a_while() -> None:
    toy = QuickEncoder()
    embedder = BatchingEmbedder(toy, limits=BatchLimits(at_once=5))
    await asyncio.gather(embedder.embed(["a"]), embedder.embed_query("b"))
    await embedder.embed(["c"])
    assert not toy.at_once
    async with asyncio.timeout(PATIENCE):
        while not toy.at_once:
            await asyncio.sleep(0.05)
            await embedder.embed(["d"])


async def test_vectors_that_wait_are_delivered_at_the_end() -> None:
    embedder = BatchingEmbedder(RecordingEncoder())
    questions = [asyncio.ensure_future(embedder.embed_query(f"question {number}")) for number in range(10)]
    await asyncio.wait(questions, return_when=asyncio.FIRST_COMPLETED)
    await embedder.close()
    assert equal(await asyncio.gather(*questions), [vector_of(f"question {number}") for number in range(10)])


async def test_no_texts_need_no_model() -> None:
    toy = RecordingEncoder()
    assert await BatchingEmbedder(toy).embed([]) == []
    assert toy.batches == []


async def test_the_profile_is_the_models() -> None:
    assert await BatchingEmbedder(RecordingEncoder()).profile() is PROFILE


async def test_batches_have_similar_lengths_and_a_limited_size() -> None:
    toy = RecordingEncoder()
    embedder = BatchingEmbedder(toy, limits=BatchLimits(texts=4, characters=2000, text_characters=1000))
    texts = [letter * size for size in (10, 900, 40, 5000) for letter in "abcdef"]
    answer = await embedder.embed(texts)
    assert equal(answer, [vector_of(text) for text in texts])
    for batch in toy.batches:
        sizes = [min(len(text), 1000) for text in batch]
        assert len(batch) <= 4
        assert len(batch) * max(sizes) <= 2000
        assert max(sizes) <= 64 or max(sizes) <= 1.5 * min(sizes)
    assert max(map(len, toy.batches)) == 4


async def test_without_padding_a_batch_has_the_first_texts_whatever_their_lengths() -> None:
    toy = RecordingEncoder()
    limits = BatchLimits(texts=4, characters=1000, text_characters=1000, alone=500, pads=False)
    embedder = BatchingEmbedder(toy, limits=limits)
    sizes = {"a": 10, "b": 400, "c": 70, "d": 20, "e": 300, "f": 600, "g": 400, "h": 400, "i": 5}
    requests = [embedder.embed([letter * size]) for letter, size in sizes.items()]
    answers = await asyncio.gather(*requests)
    assert equal([vector for (vector,) in answers], [vector_of(letter * size) for letter, size in sizes.items()])
    # Four at most, a thousand characters at most, and a long one by itself.
    assert ["".join(text[0] for text in batch) for batch in toy.batches] == ["abcd", "eg", "f", "hi"]


async def test_questions_go_first() -> None:
    toy = RecordingEncoder()
    embedder = BatchingEmbedder(toy)
    async with blocked(toy, embedder):
        text = asyncio.ensure_future(embedder.embed(["text"]))
        questions = asyncio.gather(embedder.embed_query("one"), embedder.embed_query("two"))
        await asyncio.sleep(0)
    await asyncio.gather(text, questions)
    assert toy.batches == [["?one", "?two"], ["text"]]


async def test_a_short_request_does_not_wait_for_a_long_one() -> None:
    toy = RecordingEncoder()
    embedder = BatchingEmbedder(toy, limits=BatchLimits(texts=2))
    async with blocked(toy, embedder):
        long = asyncio.ensure_future(embedder.embed([f"long {n}" for n in range(8)]))
        await asyncio.sleep(0)
        short = asyncio.ensure_future(embedder.embed(["short"]))
    await asyncio.gather(long, short)
    assert toy.batches[0] == ["long 0", "long 1"]
    assert "short" in toy.batches[1]


async def test_short_texts_and_questions_run_beside_a_long_text() -> None:
    toy = RecordingEncoder()
    toy.gate.clear()
    embedder = BatchingEmbedder(toy, limits=BatchLimits(alone=100))
    long = [asyncio.ensure_future(embedder.embed([letter * 500])) for letter in "ab"]
    await toy.started.wait()
    short = asyncio.ensure_future(embedder.embed(["short"]))
    question = asyncio.ensure_future(embedder.embed_query("question"))
    await asyncio.sleep(0.01)
    # Of the short ones, too, only one batch runs at a time, and the second long text waits for the first.
    assert toy.batches == [["a" * 500], ["?question"]]
    toy.gate.set()
    await asyncio.gather(asyncio.gather(*long), short, question)
    assert sorted(toy.batches[2:]) == [["b" * 500], ["short"]]

    toy.batches.clear()
    toy.gate.clear()
    toy.started.clear()
    first = asyncio.ensure_future(embedder.embed(["first"]))
    await toy.started.wait()
    rest = asyncio.gather(embedder.embed(["second"]), embedder.embed(["c" * 500]))
    await asyncio.sleep(0.01)
    assert toy.batches == [["first"]], "beside short texts nothing else runs"
    toy.gate.set()
    await asyncio.gather(first, rest)


async def test_several_batches_run_at_once_where_allowed() -> None:
    toy = RecordingEncoder()
    toy.gate.clear()
    embedder = BatchingEmbedder(toy, limits=BatchLimits(texts=1, concurrent=2))
    task = asyncio.ensure_future(embedder.embed(["a", "b", "c"]))
    await toy.started.wait()
    await asyncio.sleep(0)
    assert toy.batches == [["a"], ["b"]]
    toy.gate.set()
    assert equal(await task, [vector_of(text) for text in "abc"])


async def test_an_error_reaches_only_its_batch() -> None:
    toy = RecordingEncoder()
    embedder = BatchingEmbedder(toy, limits=BatchLimits(texts=2))
    bad, same_batch, other = await asyncio.gather(
        embedder.embed(["bad"]), embedder.embed(["same batch"]), embedder.embed(["other"]), return_exceptions=True
    )
    assert isinstance(bad, EmbeddingUnavailable)
    assert isinstance(same_batch, EmbeddingUnavailable)
    assert isinstance(other, list)
    assert equal(await embedder.embed(["later"]), [vector_of("later")])


async def test_a_refused_text_fails_alone() -> None:
    toy = RecordingEncoder()
    embedder = BatchingEmbedder(toy)
    texts = ["a", "b", "odd", "d", "e"]
    answers = await asyncio.gather(*(embedder.embed([text]) for text in texts), return_exceptions=True)
    assert [isinstance(answer, EmbeddingUnavailable) for answer in answers] == [text == "odd" for text in texts]


async def test_a_failed_request_is_not_continued() -> None:
    toy = RecordingEncoder()
    with pytest.raises(EmbeddingUnavailable, match="an odd text"):
        await BatchingEmbedder(toy).embed(["odd", "b", "c", "d"])
    assert ["c", "d"] not in toy.batches


async def test_an_encoder_that_loses_a_text_is_an_error_and_not_a_hang() -> None:
    with pytest.raises(ValueError, match="zip"):
        await BatchingEmbedder(RecordingEncoder()).embed(["a", "lost"])


async def test_a_cancelled_request_does_not_affect_others() -> None:
    toy = RecordingEncoder()
    embedder = BatchingEmbedder(toy)
    async with blocked(toy, embedder):
        other = asyncio.ensure_future(embedder.embed(["other"]))
        cancelled = asyncio.ensure_future(embedder.embed(["cancelled", "cancelled too"]))
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.sleep(0)
    assert equal(await other, [vector_of("other")])
    assert cancelled.cancelled()
    assert toy.batches == [["other"]]


async def test_a_request_may_be_cancelled_while_its_batch_runs() -> None:
    toy = RecordingEncoder()
    toy.gate.clear()
    embedder = BatchingEmbedder(toy)
    cancelled = asyncio.ensure_future(embedder.embed(["cancelled"]))
    other = asyncio.ensure_future(embedder.embed(["other"]))
    await toy.started.wait()
    cancelled.cancel()
    toy.gate.set()
    assert equal(await other, [vector_of("other")])


async def test_closing_finishes_what_runs_and_refuses_what_waits() -> None:
    toy = RecordingEncoder()
    embedder = BatchingEmbedder(toy)
    toy.gate.clear()
    runs = asyncio.ensure_future(embedder.embed(["runs"]))
    await toy.started.wait()
    waits = asyncio.ensure_future(embedder.embed(["waits"]))
    await asyncio.sleep(0)
    closing = asyncio.ensure_future(embedder.close())
    with pytest.raises(EmbeddingUnavailable, match="closed"):
        await waits
    assert toy.closed == 0
    toy.gate.set()
    await closing
    assert equal(await runs, [vector_of("runs")])
    with pytest.raises(EmbeddingUnavailable, match="closed"):
        await embedder.embed_query("late")
    with pytest.raises(EmbeddingUnavailable, match="closed"):
        await embedder.profile()
    await embedder.close()
    assert toy.closed == 1


async def test_closing_has_a_time_limit() -> None:
    toy = RecordingEncoder()
    toy.gate.clear()
    embedder = BatchingEmbedder(toy, close_timeout=0.01)
    stuck = asyncio.ensure_future(embedder.embed(["stuck"]))
    await toy.started.wait()
    await embedder.close()
    with pytest.raises(EmbeddingUnavailable, match="closed"):
        await stuck


async def test_questions_are_cached() -> None:
    toy = RecordingEncoder()
    embedder = BatchingEmbedder(toy, query_cache_size=2)
    for question in ("a", "b", "a", "c", "a", "b"):
        assert np.array_equal(await embedder.embed_query(question), vector_of(question))
    assert toy.batches == [["?a"], ["?b"], ["?c"], ["?b"]]


@pytest.mark.parametrize(("size", "question"), [(0, "short"), (9, "long" * 1000)])
async def test_questions_are_not_cached_if_switched_off_or_too_long(size: int, question: str) -> None:
    toy = RecordingEncoder()
    embedder = BatchingEmbedder(toy, query_cache_size=size)
    await embedder.embed_query(question)
    await embedder.embed_query(question)
    assert len(toy.batches) == 2


class SlowModel:
    """A local model that waits for a signal from the event loop."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.threads: set[int] = set()
        self.texts: list[str] = []
        self.loaded = 0

    def load(self) -> Profile:
        self.threads.add(threading.get_ident())
        self.loaded += 1
        return PROFILE

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        self.threads.add(threading.get_ident())
        assert self.go_on.wait(timeout=60)
        self.texts += texts
        return [vector_of(text) for text in texts]

    def unload(self) -> None:
        self.loaded = 0


async def test_a_local_model_runs_in_one_thread_and_never_blocks_the_loop() -> None:
    model = SlowModel()
    embedder = BatchingEmbedder(ThreadedEncoder(model))
    tasks = [asyncio.ensure_future(embedder.embed([f"text {n}"])) for n in range(3)]
    question = asyncio.ensure_future(embedder.embed_query("question"))
    # Only a loop that is not blocked can signal the model.
    asyncio.get_running_loop().call_later(0.01, model.go_on.set)
    await asyncio.gather(question, *tasks)
    assert model.texts == ["q: question", "t: text 0", "t: text 1", "t: text 2"]
    assert model.loaded == 1
    assert len(model.threads) == 1
    assert threading.get_ident() not in model.threads
    await embedder.close()
    assert model.loaded == 0


async def test_requests_of_one_token_wait_for_each_other_and_not_others_for_them() -> None:
    toy = RecordingEncoder()
    embedder = BatchingEmbedder(toy, limits=BatchLimits(texts=2))
    async with blocked(toy, embedder):
        requests = [asyncio.ensure_future(_embed_as("busy", embedder, f"{place}a", f"{place}b")) for place in range(3)]
        await asyncio.sleep(0)
        requests.append(asyncio.ensure_future(_embed_as("other", embedder, "c")))
    await asyncio.gather(*requests)
    assert toy.batches == [["0a", "0b"], ["c", "1a"], ["1b", "2a"], ["2b"]]
    # None waits any more.
    async with blocked(toy, embedder):
        late = asyncio.gather(_embed_as("other", embedder, "d", "e", "f"), _embed_as("busy", embedder, "g"))
    await late
    assert toy.batches == [["d", "e"], ["g", "f"]]


async def test_a_long_request_lets_others_in_after_each_batch() -> None:
    toy = RecordingEncoder()
    embedder = BatchingEmbedder(toy, limits=BatchLimits(characters=200))
    long = [f"{number}" * 100 for number in range(6)]
    async with blocked(toy, embedder):
        requests = asyncio.gather(embedder.embed(long), embedder.embed(["x" * 100]))
    await requests
    assert [[text[0] for text in batch] for batch in toy.batches] == [["0", "1"], ["x", "2"], ["3", "4"], ["5"]]


async def test_a_text_over_a_length_is_a_batch_of_its_own() -> None:
    toy = RecordingEncoder()
    await BatchingEmbedder(toy, limits=BatchLimits(alone=99)).embed(["a" * 100, "b" * 100, "c" * 99, "d" * 99])
    assert [[text[0] for text in batch] for batch in toy.batches] == [["a"], ["b"], ["c", "d"]]


async def _embed_as(caller: str, embedder: BatchingEmbedder, *texts: str) -> None:
    admission.set(Admission(caller))
    await embedder.embed(texts)
