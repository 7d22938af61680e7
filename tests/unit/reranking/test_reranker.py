"""A model in a thread: valid and invalid scores, timeouts, failures, and closing."""

import asyncio
import threading

import pytest
from numpy.typing import ArrayLike
from tests.patience import PATIENCE

from scrubjay.errors import RerankingUnavailable
from scrubjay.reranking.reranker import RerankLimits, Scorer, ThreadedReranker

NO_COOLDOWN = RerankLimits(cooldown=0)


def lengths(query: str, texts: list[str]) -> ArrayLike:
    return [len(text) - len(query) for text in texts]


async def test_a_model_is_opened_once_on_first_use() -> None:
    opened: list[str] = []

    def opener() -> Scorer:
        opened.append(threading.current_thread().name)
        return lengths

    reranker = ThreadedReranker(opener, model="lengths")
    assert await reranker.rerank("q", []) == []
    assert opened == []
    assert await reranker.rerank("q", ["abc", "a"]) == [2.0, 0.0]
    assert await reranker.rerank("", ["abc"]) == [3.0]
    assert len(opened) == 1
    assert opened[0].startswith("scrubjay-reranking")
    await reranker.close()
    await reranker.close()
    with pytest.raises(RerankingUnavailable, match="closed"):
        await reranker.rerank("q", ["a"])


async def test_long_texts_are_cut_and_lone_surrogates_replaced() -> None:
    seen: list[str] = []

    def scorer(query: str, texts: list[str]) -> ArrayLike:
        seen.extend([query, *texts])
        return [1.0] * len(texts)

    reranker = ThreadedReranker(lambda: scorer, model="m", limits=RerankLimits(query_characters=3, text_characters=4))
    await reranker.rerank("question", ["a long text", "\ud800"])
    assert seen == ["que", "a lo", "?"]
    await reranker.close()


@pytest.mark.parametrize(
    "answer",
    [[1.0], [1.0, float("nan")], [1.0, float("inf")], [[1.0, 2.0], [3.0, 4.0]], 1.0, ["much", "little"], [[1.0], []]],
)
async def test_an_answer_that_is_not_one_number_a_text_is_refused(answer: ArrayLike) -> None:
    reranker = ThreadedReranker(lambda: lambda _query, _texts: answer, model="odd", limits=NO_COOLDOWN)
    with pytest.raises(RerankingUnavailable, match="the cross-encoder odd"):
        await reranker.rerank("q", ["a", "b"])
    await reranker.close()


async def test_a_model_that_failed_is_not_tried_during_the_cooldown() -> None:
    attempts: list[int] = []

    def opener() -> Scorer:
        attempts.append(1)
        raise OSError("no such model")

    reranker = ThreadedReranker(opener, model="m", hint="download it")
    for _ in range(3):
        with pytest.raises(RerankingUnavailable, match="cannot be loaded: no such model") as caught:
            await reranker.rerank("q", ["a"])
        assert caught.value.hint == "download it"
    assert len(attempts) == 1
    await reranker.close()


async def test_a_model_that_failed_is_tried_again_after_the_cooldown() -> None:
    answers: list[ArrayLike] = [[2.0]]

    def scorer(query: str, texts: list[str]) -> ArrayLike:
        if len(answers) == 1:
            answers.append([0.0])
            raise RuntimeError("out of memory")
        return answers[0]

    reranker = ThreadedReranker(lambda: scorer, model="m", limits=NO_COOLDOWN)
    with pytest.raises(RerankingUnavailable, match="does not run: out of memory"):
        await reranker.rerank("q", ["a"])
    assert await reranker.rerank("q", ["a"]) == [2.0]
    await reranker.close()


async def test_a_slow_model_times_out() -> None:
    go_on = threading.Event()

    def scorer(query: str, texts: list[str]) -> ArrayLike:
        go_on.wait(PATIENCE)
        if query == "break":
            raise RuntimeError("late as well")
        return [1.0] * len(texts)

    reranker = ThreadedReranker(lambda: scorer, model="slow", limits=RerankLimits(seconds=0.01, cooldown=0))
    with pytest.raises(RerankingUnavailable, match=r"took more than 0\.01 s"):
        await reranker.rerank("break", ["a"])
    with pytest.raises(RerankingUnavailable, match="still busy"):
        await reranker.rerank("q", ["a"])
    go_on.set()
    patient = ThreadedReranker(lambda: scorer, model="slow")
    assert await patient.rerank("q", ["a"]) == [1.0]
    await patient.close()
    await reranker.close()
    await asyncio.sleep(0)
