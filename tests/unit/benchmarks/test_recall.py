"""A whole run of the recall benchmark, on a handful of turns."""

from datetime import UTC, datetime
from pathlib import Path

from tests.fakes import FakeEmbedder

from benchmarks.recall import Bench, Options
from benchmarks.recall_data import Asked, Turn, collection
from benchmarks.recall_sources import Dataset
from scrubjay.embedding.minilm import PROFILE
from scrubjay.model.ranking import STAGES
from scrubjay.settings import Settings

DAY = datetime(2024, 2, 1, tzinfo=UTC)
SAID = (
    "I bought a blue canoe in the harbour",
    "My sister plays the cello",
    "The greenhouse needs new glass",
    "I bought a blue canoe in the harbour",
    "We fly to Lisbon in March",
)
TURNS = [
    Turn(id=str(number), text=f"Ines: {text}", session=f"session {number % 2}", at=DAY, speaker="Ines")
    for number, text in enumerate(SAID)
]
ASKED = [
    Asked(text="What does her sister play?", category="who", gold=frozenset({"1"}), sessions=frozenset({"session 1"})),
    Asked(text="Where was the canoe bought?", category="where", gold=frozenset({"0", "3"}), today=DAY),
]
SOME = Dataset(
    name="some", origin="turns", collections=(collection("a", TURNS, ASKED), collection("b", TURNS[2:], ASKED))
)


async def test_every_way_is_measured_through_the_product(tmp_path: Path) -> None:
    bench = Bench(Options(ablate=True, cache=tmp_path), make=_quick)
    (found,) = (await bench.run([SOME])).datasets
    ablated = [f"without {stage}" for stage in STAGES if stage != "rerank"]
    assert [way.name for way in found.ways] == ["Scrubjay", "BM25 alone", "words alone", "meaning alone", *ablated]
    assert found.memories == 8
    # Of the second collection only one question is answered, by the canoe alone.
    assert found.product.questions == 3
    assert found.product.all10 == 1.0
    assert found.categories["where"].questions == 2
    assert found.sessions is not None
    assert found.sessions.r10 == 1.0
    assert found.paces["embedded"].tokens_most > 0
    assert (tmp_path / "questions").is_dir()


async def test_fewer_collections_are_measured_if_asked(tmp_path: Path) -> None:
    bench = Bench(Options(collections=1, cache=tmp_path), make=_quick)
    (found,) = (await bench.run([SOME])).datasets
    assert found.collections == 1
    assert found.product.questions == 2


def _quick(settings: Settings) -> FakeEmbedder:
    # The index is made for the model that the settings name.
    assert settings.embedder == "minilm"
    return FakeEmbedder(model=PROFILE.model, dimension=PROFILE.dimension)
