"""The weight is found through the real read path, over a store that forgets nothing and embeds once."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.fakes import FakeClock, FakeStore

from scrubjay.app.indexes import make_index
from scrubjay.calibration.labels import Asked, Cases, Told
from scrubjay.calibration.recall import calibrate_recall
from scrubjay.engine import Engine
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile
from scrubjay.recalling.access_log import AccessLog
from scrubjay.settings import Settings


class Birds:
    """A model that knows one thing: which texts are about birds, and which are about drinks."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.questions: list[str] = []

    async def profile(self) -> Profile:
        return Profile(model="birds", dimension=2, weight=4.0)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.texts.extend(texts)
        return [_vector(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        self.questions.append(text)
        return _vector(text)

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        return [None for _ in items]

    async def close(self) -> None:
        """There is nothing to let go of."""


def _vector(text: str) -> Vector:
    is_bird = any(word in text for word in ("feather", "wing", "jay"))
    return np.array([1.0, 0.0] if is_bird else [0.0, 1.0], dtype=np.float32)


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    store, embedder, clock = FakeStore(), Birds(), FakeClock()
    settings = Settings(home=str(tmp_path), vector_index="scan")
    made = Engine(
        store=store,
        embedder=embedder,
        index=make_index(settings, store, embedder),
        clock=clock,
        limits=settings.limits,
        access_log=AccessLog(store, clock=clock),
        data=tmp_path,
    )
    yield made
    await made.close()


# Words lead to the drinks, and only meaning to the birds.
CASES = Cases(
    memories=(
        *(Told(collection="c", id=f"d{number}", text=f"big cup of tea number {number}") for number in range(12)),
        Told(collection="c", id="wing", text="a wing in the morning", session="s"),
        Told(collection="c", id="feather", text="one feather in the evening", session="s"),
        Told(collection="other", id="wing", text="a wing elsewhere"),
    ),
    questions=(
        Asked(collection="c", query="how big is a jay", relevant=("wing", "feather")),
        Asked(collection="c", query="was the jay big", relevant=("feather",)),
        Asked(collection="other", query="jay", relevant=("wing",)),
        Asked(collection="c", query="big jay", relevant=("wing",)),
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
    nothing, items, more = curve.rows
    assert nothing.recall < items.recall == more.recall == 1.0
    assert curve.chosen == items
    assert [half.chosen for half in curve.halves] == [8.0, 8.0]
    assert all(half.recall == 1.0 for half in curve.halves)
    assert reported[-1] == (12, 12)
    assert isinstance(engine.embedder, Birds)
    assert len(engine.embedder.texts) == 15
    assert sorted(engine.embedder.questions) == sorted(question.query for question in CASES.questions)
