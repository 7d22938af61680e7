"""Reranking of the first matches, and the order when it fails."""

from collections.abc import Sequence

import pytest

from scrubjay.errors import RerankingUnavailable
from scrubjay.recalling.rerank import Reranked, rerank

MATCHES = ("tea", "coffee", "a jay", "an acorn", "milk")


class LengthReranker:
    """A reranker that likes long texts."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, list[str]]] = []

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        self.requests.append((query, list(texts)))
        return [float(len(text)) for text in texts]

    async def close(self) -> None:
        """There is nothing to release."""


class BrokenReranker(LengthReranker):
    """A reranker without a model, or with a bad one."""

    def __init__(self, answer: list[float] | None = None) -> None:
        super().__init__()
        self.answer = answer

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        if self.answer is None:
            raise RerankingUnavailable("there is no model", hint="fetch it")
        return self.answer


async def ordered(reranker: LengthReranker | None, *, query: str = "what?", top: int = 4) -> Reranked[str]:
    return await rerank(query, MATCHES, text_of=str.upper, reranker=reranker, top=top)


async def test_the_first_are_reordered_and_the_others_stay_behind_them() -> None:
    longest = LengthReranker()
    done = await ordered(longest)
    assert done.matches == ("an acorn", "coffee", "a jay", "tea", "milk")
    assert done.scores == (8.0, 6.0, 5.0, 3.0)
    assert done.degraded == ()
    assert longest.requests == [("what?", ["TEA", "COFFEE", "A JAY", "AN ACORN"])]


async def test_equals_keep_their_order() -> None:
    done = await rerank("what?", ["b", "c", "a"], text_of=str, reranker=LengthReranker(), top=9)
    assert done.matches == ("b", "c", "a")


@pytest.mark.parametrize(("query", "top"), [("", 4), ("what?", 1), ("what?", 0)])
async def test_the_reranker_is_not_called_in_vain(query: str, top: int) -> None:
    longest = LengthReranker()
    done = await ordered(longest, query=query, top=top)
    assert (done.matches, done.scores, done.degraded, longest.requests) == (MATCHES, (), (), [])


async def test_without_a_reranker_all_stays_as_it_is() -> None:
    assert await ordered(None) == Reranked(matches=MATCHES)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "not reranked: there is no model"),
        ([1.0], "not reranked: the reranker did not return one score for each hit"),
        ([1.0, 2.0, 3.0, float("nan")], "not reranked: the reranker did not return one score for each hit"),
    ],
)
async def test_a_failing_reranker_changes_nothing_and_is_reported(answer: list[float] | None, reason: str) -> None:
    done = await ordered(BrokenReranker(answer))
    assert (done.matches, done.scores, done.degraded) == (MATCHES, (), (reason,))
