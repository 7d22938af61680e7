"""A whole run of the recall benchmark, on a handful of turns."""

from datetime import UTC, datetime
from pathlib import Path

from tests.fakes import FakeEmbedder

from benchmarks.recall import Options, RecallBenchmark
from benchmarks.recall_data import LabelledQuestion, Turn, as_plain_texts, collection
from benchmarks.recall_sources import Dataset
from scrubjay.embedding.bundled import PROFILE
from scrubjay.model.ranking import STAGES
from scrubjay.settings import Settings

DAY = datetime(2024, 2, 1, tzinfo=UTC)
TEXTS = (
    "I bought a blue canoe in the harbour",
    "My sister plays the cello",
    "The greenhouse needs new glass",
    "I bought a blue canoe in the harbour",
    "We fly to Lisbon in March",
)
TURNS = [
    Turn(id=str(number), text=f"Ines: {text}", session=f"session {number % 2}", at=DAY, speaker="Ines")
    for number, text in enumerate(TEXTS)
]
QUESTIONS = [
    LabelledQuestion(
        text="What does her sister play?", category="who", gold=frozenset({"1"}), sessions=frozenset({"session 1"})
    ),
    LabelledQuestion(text="Where was the canoe bought?", category="where", gold=frozenset({"0", "3"}), today=DAY),
]
DATASET = Dataset(
    name="some", origin="turns", collections=(collection("a", TURNS, QUESTIONS), collection("b", TURNS[2:], QUESTIONS))
)


async def test_every_method_is_measured_through_the_product(tmp_path: Path) -> None:
    benchmark = RecallBenchmark(Options(ablate=True, cache=tmp_path), make=_quick)
    (measured,) = (await benchmark.run([DATASET])).datasets
    ablated = [f"without {stage}" for stage in STAGES if stage != "rerank"]
    assert [method.name for method in measured.methods] == [
        "Scrubjay",
        "BM25 alone",
        "words alone",
        "meaning alone",
        *ablated,
    ]
    assert measured.memories == 8
    # The second collection has evidence for one question only.
    assert measured.product.questions == 3
    assert measured.product.all10 == 1.0
    assert measured.categories["where"].questions == 2
    assert measured.sessions is not None
    assert measured.sessions.r10 == 1.0
    assert measured.paces["embedded"].tokens_most > 0
    assert (tmp_path / "questions").is_dir()


async def test_turns_are_stored_as_texts_alone(tmp_path: Path) -> None:
    benchmark = RecallBenchmark(Options(plain=True, cache=tmp_path), make=_quick)
    (measured,) = (await benchmark.run([DATASET])).datasets
    assert measured.product.all10 == 1.0
    assert [turn.text for turn in as_plain_texts(DATASET.collections[0]).memories][:1] == [
        "(12:00 am on 1 February, 2024) Ines: I bought a blue canoe in the harbour"
    ]


async def test_fewer_collections_are_measured_with_a_limit(tmp_path: Path) -> None:
    benchmark = RecallBenchmark(Options(collections=1, cache=tmp_path), make=_quick)
    (measured,) = (await benchmark.run([DATASET])).datasets
    assert measured.collections == 1
    assert measured.product.questions == 2


def _quick(settings: Settings) -> FakeEmbedder:
    # The index is made for the model that the settings name.
    assert settings.embedder == "bundled"
    return FakeEmbedder(model=PROFILE.model, dimension=PROFILE.dimension)
