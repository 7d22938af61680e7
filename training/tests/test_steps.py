"""Every step of the training once, on the CPU, with a model of two layers and a few made sentences."""

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from training import evaluate, export, mine, pair_evaluate, pair_export, pairs, static, student, teacher
from training.batches import BatchPlan, BatchSource
from training.corpus import Corpus, prepare, tokenizer
from training.data import FACTS, add_facts, is_held_out, read_facts, read_public
from training.forms import split_at_person
from training.model import Encoder, Weights, load_weights, random_weights
from training.pair_data import LABELS, FactData, PairPlan, PairSource, Statement, swapped, two_statements

THINGS = ("kettle", "bridge", "violin", "garden", "router", "passport", "bakery", "invoice", "ladder", "harbour")
PLACES = ("attic", "cellar", "office", "kitchen", "garage", "library", "station", "market", "museum", "stable")


@pytest.fixture(scope="session")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data in the form of the public sets: where a thing is, asked by its name."""
    folder = tmp_path_factory.mktemp("public")
    texts = [f"We keep the {thing} in the {place} now." for thing in THINGS for place in PLACES]
    groups = [
        {
            "source": source,
            "question": f"Where does the author keep the {thing} of the {place}?",
            "positive": [number],
            "negative": [(number + step) % len(texts) for step in (1, 2)],
            "mined": [(number + step) % len(texts) for step in (10, 20, 30)],
            "teacher": [2.0, -1.0, -2.0, -3.0, -4.0, None],
        }
        for source in ("friendsqa", "circa")
        for number, (thing, place) in enumerate((thing, place) for thing in THINGS for place in PLACES)
    ]
    groups.append({"source": "tweetqa", "question": "Who posted?", "positive": [0], "negative": [], "mined": []})
    pairs = [
        {"source": source, "a": text, "b": text.replace("keep", "store"), "score": score}
        for text in texts[:20]
        for source, score in (("stsb", 0.9), ("paws", 1.0))
    ]
    triples = [{"text": text, "same": f"Now: {text}", "other": f"Never: {text}"} for text in texts[:20]]
    rows = {"texts": [{"id": n, "by": "Ana" if n % 2 else "", "text": text} for n, text in enumerate(texts)]}
    rows |= {"groups": groups, "pairs": pairs, "triples": triples}
    for kind, objects in rows.items():
        lines = "".join(json.dumps(row) + "\n" for row in objects)
        (folder / f"{kind}.0.jsonl").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Facts in the form of the project's own data set."""
    folder = tmp_path_factory.mktemp("facts")

    def fact(text: str) -> dict[str, str]:
        return {"text": text, "date": "2026-01-02", "subject": "place", "project": ""}

    labels = ("same", "more", "changes", "contradicts", "near", "unrelated")
    pairs = [
        {"language": "en", "label": labels[n % 6], "kind": "", "a": fact(f"The {thing} is in the {place}."),
         "b": fact(f"In the {place}: our {thing}.")}
        for n, (thing, place) in enumerate((thing, place) for thing in THINGS for place in PLACES)
    ]  # fmt: skip
    questions = [
        {"language": "en" if n % 2 else "de", "question": f"{thing} at {place}?", "asked": "2026-02-01", "project": "",
         "answers": [fact(f"Go to the {place} for the {thing}.")],
         "lookalikes": [fact(f"The {thing} left {place}.") | {"why": "outdated"},
                        fact(f"A {place}.") | {"why": "topic"}]}
        for n, (thing, place) in enumerate((thing, place) for thing in THINGS for place in PLACES)
    ]  # fmt: skip
    for kind, objects in {"pairs": pairs, "questions": questions}.items():
        (folder / f"w1.{kind}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in objects), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def corpus(public: Path, facts: Path) -> Corpus:
    data = read_public(public)
    add_facts(data, facts)
    return prepare(data)


@pytest.fixture(scope="session")
def start() -> Weights:
    return random_weights(vocabulary=30_522, width=64, layers=2, seed=5)


@pytest.fixture(scope="session")
def trained(corpus: Corpus, start: Weights) -> Weights:
    plan = student.StudentPlan(seed=3, steps=8, blocks=2, block=8, negatives=3, rate=1e-3)
    return student.train(corpus, start, plan, device="cpu")


def test_what_is_left_out_or_kept_aside_is_not_trained_on(corpus: Corpus, facts: Path) -> None:
    assert "tweetqa" not in corpus.sources
    aside = [*read_facts(facts, "pairs", kept_aside=True), *read_facts(facts, "questions", kept_aside=True)]
    assert 5 <= len(aside) <= 40
    assert all(is_held_out(row) for row in aside)
    trained_questions = {bytes(corpus.questions[row]) for row in range(len(corpus.questions))}
    encode = tokenizer().encode
    asked = [np.array(encode(row["question"])[1:-1], dtype=np.uint16) for row in aside if "question" in row]
    assert asked
    assert trained_questions.isdisjoint(map(bytes, asked))


def test_a_corpus_is_read_as_it_was_written(corpus: Corpus, tmp_path: Path) -> None:
    corpus.save(tmp_path / "corpus.npz")
    read = Corpus.load(tmp_path / "corpus.npz")
    assert (read.texts.values == corpus.texts.values).all()
    assert read.sources.tolist() == corpus.sources.tolist()


def test_a_batch_depends_on_its_seed_and_number_alone_and_never_takes_an_answer_as_negative(corpus: Corpus) -> None:
    plan = BatchPlan(seed=4, steps=6, blocks=3, block=8, negatives=4)
    for number in range(6):
        batch, again = BatchSource(corpus, plan)[number], BatchSource(corpus, plan)[number]
        assert all(torch.equal(one[0], other[0]) for one, other in zip(batch.chunks, again.chunks, strict=True))
        assert not (batch.ids[:, 1:] == batch.ids[:, :1]).any()
        assert batch.also.diagonal().all()
        texts = (
            batch.groups * (1 + batch.ids.shape[1])
            + 3 * batch.triples
            + 2 * sum(count for count, _ in batch.pairs.values())
        )
        assert len(batch.order) == texts == sum(len(ids) for ids, _ in batch.chunks)
    assert FACTS in corpus.sources


def test_a_question_about_its_author_can_name_a_person() -> None:
    assert split_at_person("What does the author buy?") == ("What does ", "the author", "", "", " buy?")
    assert split_at_person("Are you happy?") == ("", "Are you", "is", "", " happy?")
    assert split_at_person("Where is my bag?") == ("Where is ", "my", "", "'s", " bag?")
    assert split_at_person("Where is it?") is None


def test_training_lowers_the_loss_and_can_be_repeated(corpus: Corpus, start: Weights, trained: Weights) -> None:
    plan = student.StudentPlan(seed=3, steps=8, blocks=2, block=8, negatives=3, rate=1e-3)
    again = student.train(corpus, start, plan, device="cpu")
    assert all(torch.allclose(trained[name], again[name], atol=1e-5) for name in trained)
    batch = BatchSource(corpus, BatchPlan(seed=99, steps=1, blocks=2, block=8))[0]
    before, after = (
        student.total_loss(student.encode(Encoder(weights).eval(), batch, device="cpu"), batch, distil=1.0).item()
        for weights in (start, trained)
    )
    assert after < before


def test_mining_and_the_teacher_give_candidates_with_scores(corpus: Corpus, start: Weights, trained: Weights) -> None:
    found = mine.mine(corpus, Encoder(trained), each=4, device="cpu")
    group = int(np.flatnonzero(found.source == found.sources.tolist().index(FACTS))[0])
    known = int(found.positives[group] + found.negatives[group])
    assert len(found.candidates[group]) > known
    assert len(set(found.candidates[group].tolist())) == len(found.candidates[group])
    plan = teacher.TeacherPlan(seed=1, steps=3, lists=4, texts=5)
    scored = teacher.score(found, teacher.train(found, start, plan, device="cpu"), device="cpu")
    assert not np.isnan(scored.scores[group]).any()


def test_the_exported_graph_gives_the_vectors_of_the_model(trained: Weights, tmp_path: Path) -> None:
    vocabulary = Path("src/scrubjay/embedding/data/vocab.txt")
    texts = ["Where is the kettle?", "We keep the violin in the attic now, and nobody plays it.", "Ladder"]
    torch.save(trained, tmp_path / "weights.pt")
    wanted = evaluate.encode_with(tmp_path / "weights.pt", device="cpu")(texts)
    for bits in (8, 7):
        digest = export.write(trained, tmp_path / f"int{bits}", {"weight": 12.0}, bits=bits, vocabulary=vocabulary)
        assert len(digest) == 64
        cosines = (evaluate.encode_with(tmp_path / f"int{bits}", device="cpu")(texts) * wanted).sum(axis=1)
        assert cosines.min() > 0.97
    half = export.average({tmp_path / "weights.pt": 0.5, tmp_path / "weights.pt": 0.5})
    assert torch.allclose(half["word.weight"], trained["word.weight"])


def test_a_static_table_is_written_and_measured(corpus: Corpus, trained: Weights, facts: Path, tmp_path: Path) -> None:
    plan = static.StaticPlan(seed=1, steps=4, blocks=2, block=8, width=16)
    static.save(static.train(corpus, trained, plan, device="cpu"), tmp_path / "table.npz")
    encode = evaluate.encode_with(tmp_path / "table.npz", device="cpu")
    assert encode(["Where is the kettle?"]).shape == (1, 16)
    results = evaluate.evaluate(encode, {"facts": facts, "locomo": _locomo(tmp_path), "sts": _sts(tmp_path)})
    assert 0 <= results["facts"]["questions"]["all"]["first"] <= 1
    assert results["locomo"]["words"][1] > 0.5
    assert -1 <= results["sts"]["spearman"] <= 1


def test_the_pair_model_is_trained_taught_exported_and_measured(
    corpus: Corpus, start: Weights, facts: Path, tmp_path: Path
) -> None:
    plan = pairs.PairTraining(seed=3, layers=(0, 1), steps=5, rate=2e-3, lists=2)
    deep = pairs.train(corpus, FactData(facts), start, plan, device="cpu")
    plan = pairs.PairTraining(seed=3, layers=(1,), steps=2, rate=1e-3, lists=2)
    trained = pairs.train(corpus, FactData(facts), start, plan, device="cpu", teachers=[deep])
    again = pairs.train(corpus, FactData(facts), start, plan, device="cpu", teachers=[deep])
    assert all(torch.allclose(trained[name], again[name], atol=1e-5) for name in trained)
    assert torch.equal(trained[pairs.WORDS], pairs.rounded_words(start["word.weight"]))

    data = FactData(facts)
    pairs.add_neighbours(data, start, device="cpu")
    batch = PairSource(corpus, data, PairPlan(seed=9, steps=1, lists=2))[0]
    before, after = (
        sum(pairs.pair_losses(pairs.PairModel(weights).eval(), batch, device="cpu"))
        for weights in (pairs.begin(start, (0, 1)), deep)
    )
    assert after < before

    export.write(start, tmp_path / "encoder", {})
    encoder = tmp_path / "encoder" / "model.onnx"
    assert torch.equal(load_weights(encoder)["word.weight"], pairs.rounded_words(start["word.weight"]))
    pairs.save(trained, tmp_path / "pairs.pt")
    own = pairs.load(tmp_path / "pairs.pt", start)
    pair_export.write(own, encoder, tmp_path / "pairs", facts=facts)
    profile = json.loads((tmp_path / "pairs" / "profile.json").read_text())
    assert encoder.read_bytes()[profile["words"]["at"] :][:64] == _first_words(start)
    texts = [("Where is the kettle?", "In the attic."), ("(8 May 2023) It is red.", "It is blue now, as we all know.")]
    wanted = pair_export.reader_of(tmp_path / "pairs.pt", encoder, device="cpu")(texts)
    found = pair_export.reader_of(tmp_path / "pairs", encoder, device="cpu")(texts)
    temperature, slope, shift = profile["calibration"]
    assert found[:, :-1] * temperature == pytest.approx(wanted[:, :-1], abs=0.05)
    assert (found[:, -1] - shift) / slope == pytest.approx(wanted[:, -1], abs=0.05)

    options = {"facts": facts, "part": "kept-aside", "locomo": _locomo(tmp_path), "sts": _sts(tmp_path)}
    read = pair_export.reader_of(tmp_path / "pairs", encoder, device="cpu")
    results = pair_evaluate.evaluate(read, evaluate.encode_with(tmp_path / "encoder", device="cpu"), options)
    assert set(results["labels"]["confusion"]) == set(LABELS)
    assert 0 <= results["questions"]["all"]["first"] <= 1
    assert len(results["locomo"]) == len(pair_evaluate.READER_WEIGHTS)


def _first_words(start: Weights) -> bytes:
    words = start["word.weight"]
    scale = words.abs().amax(dim=1, keepdim=True) / 127
    return torch.round(words / scale)[0].to(torch.int8).numpy().tobytes()[:64]


def test_two_statements_are_written_with_what_is_known_of_them() -> None:
    first = Statement("Deploys happen on Thursdays.", "2026-01-02", "", "birchgate")
    second = Statement("Deploys moved to Tuesdays.", "2026-03-04", "deploys", "birchgate")
    written = "(2 January 2026) birchgate: Deploys happen on Thursdays."
    assert two_statements(first, second) == (written, "later (4 March 2026) deploys | birchgate: " + second.text)
    assert two_statements(Statement("One."), second) == ("One.", "(4 March 2026) deploys | birchgate: " + second.text)
    random = np.random.default_rng(1)
    for text in ("It costs 30 euros.", "Ana pays on Monday.", "It is green."):
        assert swapped(text, random) not in {text, None}
    assert swapped("Hello there", random) is None


def test_correlation_and_acceptance() -> None:
    assert evaluate.spearman(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])) == pytest.approx(1)
    assert evaluate.spearman(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])) == pytest.approx(-1)
    assert evaluate.accepted(np.array([0.9, 0.5]), np.linspace(0, 0.8, 100)) == 0.5


def _locomo(folder: Path) -> Path:
    turns = [
        {"speaker": "Ana" if n % 2 else "Ben", "dia_id": f"D1:{n + 1}", "text": f"The {thing} is in the {PLACES[n]}."}
        for n, thing in enumerate(THINGS)
    ]
    qa = [
        {"question": f"Where is the {thing}?", "evidence": [f"D1:{n + 1}"], "category": 4}
        for n, thing in enumerate(THINGS)
    ]
    conversation = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    file = folder / "locomo.json"
    file.write_text(json.dumps([{"sample_id": "one", "conversation": conversation, "qa": qa}]), encoding="utf-8")
    return file


def _sts(folder: Path) -> Path:
    random = Random(2)
    lines = [
        f"genre\tfile\tyear\t{n}\t{random.randint(0, 5)}\tThe {thing} stands here.\tA {thing} stood there."
        for n, thing in enumerate(THINGS)
    ]
    file = folder / "sts.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file
