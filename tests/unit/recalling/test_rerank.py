"""The last word on the order: what a reranker says of the first hits, and what happens without its word."""

from collections.abc import Sequence

import pytest

from scrubjay.errors import RerankingUnavailable
from scrubjay.recalling.rerank import Reranked, rerank

FOUND = ("tea", "coffee", "a jay", "an acorn", "milk")


class Longest:
    """A reranker that likes long texts."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((query, list(texts)))
        return [float(len(text)) for text in texts]

    async def close(self) -> None:
        """There is nothing to let go of."""


class Broken(Longest):
    """A reranker without a model, or with a bad one."""

    def __init__(self, answer: list[float] | None = None) -> None:
        super().__init__()
        self.answer = answer

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        if self.answer is None:
            raise RerankingUnavailable("there is no model", hint="fetch it")
        return self.answer


async def ordered(reranker: Longest | None, *, query: str = "what?", top: int = 4) -> Reranked[str]:
    return await rerank(query, FOUND, text_of=str.upper, reranker=reranker, top=top)


async def test_the_first_are_ordered_anew_and_the_others_stay_behind_them() -> None:
    longest = Longest()
    done = await ordered(longest)
    assert done.found == ("an acorn", "coffee", "a jay", "tea", "milk")
    assert done.scores == (8.0, 6.0, 5.0, 3.0)
    assert done.degraded == ()
    assert longest.asked == [("what?", ["TEA", "COFFEE", "A JAY", "AN ACORN"])]


async def test_equals_keep_their_order() -> None:
    done = await rerank("what?", ["b", "c", "a"], text_of=str, reranker=Longest(), top=9)
    assert done.found == ("b", "c", "a")


@pytest.mark.parametrize(("query", "top"), [("", 4), ("what?", 1), ("what?", 0)])
async def test_nobody_is_asked_for_nothing(query: str, top: int) -> None:
    longest = Longest()
    done = await ordered(longest, query=query, top=top)
    assert (done.found, done.scores, done.degraded, longest.asked) == (FOUND, (), (), [])


async def test_without_a_reranker_all_stays_as_it_is() -> None:
    assert await ordered(None) == Reranked(found=FOUND)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, "not reranked: there is no model"),
        ([1.0], "not reranked: the reranker gave no score for each hit"),
        ([1.0, 2.0, 3.0, float("nan")], "not reranked: the reranker gave no score for each hit"),
    ],
)
async def test_a_reranker_that_fails_changes_nothing_and_is_told(answer: list[float] | None, told: str) -> None:
    done = await ordered(Broken(answer))
    assert (done.found, done.scores, done.degraded) == (FOUND, (), (told,))
