"""Calibration of a weight through the real read path, and of a threshold with pairs of known similarity."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.fakes import FakeClock

from scrubjay.app.calibration.curves import SameRow, calibrate_recall, calibrate_same
from scrubjay.app.calibration.labels import LabelledCases, LabelledMemory, LabelledPair, LabelledQuestion
from scrubjay.app.indexes import make_index
from scrubjay.engine import Engine
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile
from scrubjay.recalling.access_log import AccessLog
from scrubjay.settings import Settings
from scrubjay.storage.sqlite import SqliteStore


class BirdEmbedder:
    """A model with two vectors: for texts about birds, and for texts about drinks."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.questions: list[str] = []

    async def profile(self) -> Profile:
        return Profile(model="birds", dimension=2, weight=4.0)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.texts.extend(texts)
        return [_bird_vector(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        self.questions.append(text)
        return _bird_vector(text)

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        return [None for _ in items]

    async def close(self) -> None:
        """Nothing to release."""


def _bird_vector(text: str) -> Vector:
    is_bird = any(word in text for word in ("feather", "wing", "jay"))
    return np.array([1.0, 0.0] if is_bird else [0.0, 1.0], dtype=np.float32)


@pytest.fixture
async def engine(tmp_path: Path, store: SqliteStore) -> AsyncIterator[Engine]:
    embedder, clock = BirdEmbedder(), FakeClock()
    settings = Settings(home=str(tmp_path), vector_index="scan")
    engine = Engine(
        _store=store,
        embedder=embedder,
        index=make_index(settings, store, embedder),
        clock=clock,
        limits=settings.limits,
        access_log=AccessLog(store, clock=clock),
        data=tmp_path,
    )
    yield engine
    await engine.close()


# The questions share words with the drinks, and only meaning with the birds.
CASES = LabelledCases(
    memories=(
        *(
            LabelledMemory(collection="c", id=f"d{number}", text=f"big cup of tea number {number}")
            for number in range(12)
        ),
        LabelledMemory(collection="c", id="wing", text="a wing in the morning", session="s"),
        LabelledMemory(collection="c", id="feather", text="one feather in the evening", session="s"),
        LabelledMemory(collection="other", id="wing", text="a wing elsewhere"),
    ),
    questions=(
        LabelledQuestion(collection="c", query="how big is a jay", relevant=("wing", "feather")),
        LabelledQuestion(collection="c", query="was the jay big", relevant=("feather",)),
        LabelledQuestion(collection="other", query="jay", relevant=("wing",)),
        LabelledQuestion(collection="c", query="big jay", relevant=("wing",)),
    ),
)


async def test_the_weight_that_finds_most_is_chosen(engine: Engine) -> None:
    reported: list[tuple[int, int | None]] = []
    curve = await calibrate_recall(
        CASES,
        engine=engine,
        weights=[0.0, 8.0, 16.0],
        progress=lambda done, total: reported.append((done, total)),
    )
    assert (curve.model, curve.before, curve.memories, curve.questions) == ("birds", 4.0, 15, 4)
    assert [row.weight for row in curve.rows] == [0.0, 8.0, 16.0]
    zero, eight, sixteen = curve.rows
    assert zero.recall < eight.recall == sixteen.recall == 1.0
    assert curve.chosen == eight
    assert [half.chosen for half in curve.halves] == [8.0, 8.0]
    assert all(half.recall == 1.0 for half in curve.halves)
    assert reported[-1] == (12, 12)
    assert isinstance(engine.embedder, BirdEmbedder)
    assert len(engine.embedder.texts) == 15
    assert sorted(engine.embedder.questions) == sorted(question.query for question in CASES.questions)


DIGITS = "bcdfghjklm"
# Two texts without a common word have a similarity lower than their cosine by this factor.
WORD_FACTOR = 1.1


def spell(similarity: float) -> str:
    """Spell a number with letters, so that no guard sees a number."""
    return "q" + "".join(DIGITS[int(digit)] for digit in f"{similarity:.4f}"[2:])


class CosineEmbedder:
    """A model for which each text spells its cosine with the text `top`."""

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
        cosine = 1.0 if word == "top" else WORD_FACTOR * float(f"0.{digits}")
        return np.array([cosine, (1 - cosine**2) ** 0.5], dtype=np.float64).astype(np.float32)

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        return [None for _ in items]

    async def close(self) -> None:
        """Nothing to release."""


def pairs(*, same: Sequence[float], different: Sequence[float]) -> list[LabelledPair]:
    """Make each pair twice, so that both halves are equal."""
    alike = [LabelledPair(first="top it is", second=spell(cosine), same=True) for cosine in same for _ in range(2)]
    unlike = [
        LabelledPair(first=spell(cosine), second="top it is", same=False) for cosine in different for _ in range(2)
    ]
    return alike + unlike


async def test_the_lowest_threshold_with_few_enough_errors_is_chosen() -> None:
    inputs = pairs(same=[0.9, 0.85, 0.8, 0.65], different=[0.83, 0.7505, *[0.1] * 98])
    reported: list[tuple[int, int | None]] = []
    embedder = CosineEmbedder()
    curve = await calibrate_same(
        inputs, embedder=embedder, wrong=0.01, progress=lambda done, total: reported.append((done, total))
    )
    assert curve.chosen == SameRow(threshold=0.751, found=0.75, wrong=0.01)
    assert curve.halves == (curve.chosen, curve.chosen)
    assert (curve.model, curve.before, curve.pairs, curve.same, curve.bound) == ("angles", 0.5, 208, 8, 0.01)
    assert reported[-1] == (208, 208)
    assert sum(embedder.batches) == 2 * 208
    shares = [row.found for row in curve.rows]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize(("wrong", "threshold", "share"), [(0.0, 0.831, 0.5), (0.34, 0.7, 1.0), (0.99, 0.7, 1.0)])
async def test_the_allowed_share_of_errors_decides(wrong: float, threshold: float, share: float) -> None:
    inputs = pairs(same=[0.9, 0.7005], different=[0.8305, 0.3005, 0.2])
    chosen = (await calibrate_same(inputs, embedder=CosineEmbedder(), wrong=wrong)).chosen
    assert (chosen.threshold, chosen.found) == (pytest.approx(threshold), share)
    assert chosen.wrong <= wrong


async def test_two_different_texts_with_one_vector_leave_only_the_top() -> None:
    inputs = [LabelledPair(first="top", second="top", same=same) for same in (True, False) for _ in range(2)]
    chosen = (await calibrate_same(inputs, embedder=CosineEmbedder(), wrong=0.0)).chosen
    assert chosen.threshold == 1.0


async def test_pairs_that_the_guards_keep_apart_do_not_change_the_threshold() -> None:
    swapped = [LabelledPair(first="top 2", second="top 3", same=False) for _ in range(4)]
    chosen = (
        await calibrate_same([*pairs(same=[0.8], different=[]), *swapped], embedder=CosineEmbedder(), wrong=0.0)
    ).chosen
    assert (chosen.threshold, chosen.found, chosen.wrong) == (pytest.approx(0.8, abs=0.002), 1.0, 0.0)
