"""The threshold of a model that knows how alike two texts are: as the texts say it themselves."""

from collections.abc import Sequence

import numpy as np
import pytest

from scrubjay.calibration.labels import Pair
from scrubjay.calibration.same import SameRow, calibrate_same
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile

DIGITS = "bcdfghjklm"
# What two texts without a word in common lose of their cosine.
WORDS = 1.1


def spelled(similarity: float) -> str:
    """A figure as a word, which no guard takes for a figure."""
    return "q" + "".join(DIGITS[int(digit)] for digit in f"{similarity:.4f}"[2:])


class Angles:
    """Texts are cosines with the text `top`."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    async def profile(self) -> Profile:
        return Profile(model="angles", dimension=2, same=0.5)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.batches.append(len(texts))
        return [await self.embed_query(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        word = text.split(maxsplit=1)[0]
        digits = "".join(str(DIGITS.find(letter)) for letter in word[1:])
        cosine = 1.0 if word == "top" else WORDS * float(f"0.{digits}")
        return np.array([cosine, (1 - cosine**2) ** 0.5], dtype=np.float64).astype(np.float32)

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        return [None for _ in items]

    async def close(self) -> None:
        """There is nothing to let go of."""


def pairs(*, same: Sequence[float], different: Sequence[float]) -> list[Pair]:
    """Alike in both halves."""
    made = [Pair(first="top it is", second=spelled(item), same=True) for item in same for _ in range(2)]
    return made + [Pair(first=spelled(item), second="top it is", same=False) for item in different for _ in range(2)]


async def test_the_lowest_threshold_with_few_enough_wrong_ones_is_chosen() -> None:
    inputs = pairs(same=[0.9, 0.85, 0.8, 0.65], different=[0.83, 0.7505, *[0.1] * 98])
    reported: list[tuple[int, int | None]] = []
    embedder = Angles()
    curve = await calibrate_same(
        inputs, embedder=embedder, wrong=0.01, progress=lambda done, total: reported.append((done, total))
    )
    assert curve.chosen == SameRow(threshold=0.751, found=0.75, wrong=0.01)
    assert curve.halves == (curve.chosen, curve.chosen)
    assert (curve.model, curve.before, curve.pairs, curve.same, curve.bound) == ("angles", 0.5, 208, 8, 0.01)
    assert reported[-1] == (208, 208)
    assert sum(embedder.batches) == 2 * 208
    results = [row.found for row in curve.rows]
    assert results == sorted(results, reverse=True)


@pytest.mark.parametrize(("wrong", "threshold", "found"), [(0.0, 0.831, 0.5), (0.34, 0.7, 1.0), (0.99, 0.7, 1.0)])
async def test_how_much_may_be_wrong_decides(wrong: float, threshold: float, found: float) -> None:
    inputs = pairs(same=[0.9, 0.7005], different=[0.8305, 0.3005, 0.2])
    chosen = (await calibrate_same(inputs, embedder=Angles(), wrong=wrong)).chosen
    assert (chosen.threshold, chosen.found) == (pytest.approx(threshold), found)
    assert chosen.wrong <= wrong


async def test_two_different_texts_with_one_vector_leave_only_the_top() -> None:
    inputs = [Pair(first="top", second="top", same=same) for same in (True, False) for _ in range(2)]
    chosen = (await calibrate_same(inputs, embedder=Angles(), wrong=0.0)).chosen
    assert chosen.threshold == 1.0


async def test_what_the_guards_keep_apart_does_not_raise_the_threshold_nor_let_it_fall() -> None:
    swapped = [Pair(first="top 2", second="top 3", same=False) for _ in range(4)]
    chosen = (await calibrate_same([*pairs(same=[0.8], different=[]), *swapped], embedder=Angles(), wrong=0.0)).chosen
    assert (chosen.threshold, chosen.found, chosen.wrong) == (pytest.approx(0.8, abs=0.002), 1.0, 0.0)
