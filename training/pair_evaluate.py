"""Measures the pair model: `python -m training.pair_evaluate --model P --encoder E --facts D --sts F --locomo F`.

Prints a line of JSON for each model. The facts are those that are kept aside, or with `--part development` those that
models are chosen with.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.recall_data import Collection
from benchmarks.recall_locomo import load_locomo
from benchmarks.recall_longmemeval import load_longmemeval
from training.evaluate import Encode, accepted, encode_with
from training.lexical import LexicalRanking
from training.pair_data import LABELS, Statement, fact_rows, swapped, two_statements
from training.pair_export import ReadPairs, asked_texts, development_pairs, reader_of, without_subject

_DUPLICATE, _DISTINCT = 4.5, 3.0
_THRESHOLDS = (0.5, 0.7, 0.8, 0.9, 0.95)
_DEPTH = 16
# One unit of cosine beside the words, as the product has it; and of the reader's score beside both.
_COSINE_WEIGHT = 12.0
READER_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
"""How much one unit of the reader's score counts beside the ranking."""


def judge_labels(folder: Path, part: str, read: ReadPairs) -> dict[str, Any]:
    """Measure the labels: confusion, what each threshold gives, by language, and whether the probabilities hold."""
    texts, labels, rows = development_pairs(folder, part)
    shares = probabilities(read(texts))
    found = shares.argmax(axis=1)
    five, wanted = np.minimum(found, 4), np.minimum(labels, 4)
    languages = np.array([row["language"] for row in rows])
    confusion = {
        label: dict(zip(LABELS, np.bincount(found[labels == number], minlength=len(LABELS)).tolist(), strict=True))
        for number, label in enumerate(LABELS)
    }
    return {
        "pairs": len(rows),
        "right of five": _share(five == wanted),
        "by language": {
            str(each): [int((languages == each).sum()), _share((five == wanted)[languages == each])]
            for each in sorted(set(languages))
        },
        "confusion": confusion,
        "by probability": {
            name: _by_threshold(shares[:, columns].sum(axis=1), np.isin(labels, columns))
            for name, columns in {"same": [0], "same or more": [0, 1], "replaces": [2, 3]}.items()
        },
        "near called same": {
            str(limit): int((shares[labels == 4][:, :2].sum(axis=1) >= limit).sum()) for limit in _THRESHOLDS
        },
        "reliability": reliability(shares.max(axis=1), found == labels),
        "swapped": _judge_swaps(rows, read),
    }


def probabilities(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the probability of each label."""
    exponents = np.exp(logits[:, :-1].astype(np.float64) - logits[:, :-1].max(axis=1, keepdims=True))
    return exponents / exponents.sum(axis=1, keepdims=True)


def _share(right: NDArray[np.bool_]) -> float:
    return round(float(right.mean()), 3) if len(right) else float("nan")


def _by_threshold(shares: NDArray[np.float64], right: NDArray[np.bool_]) -> dict[str, list[float]]:
    """Return precision and recall for each threshold."""
    return {
        str(limit): [_share(right[shares >= limit]), _share((shares >= limit)[right])] for limit in _THRESHOLDS
    }  # fmt: skip


def reliability(shares: NDArray[np.float64], right: NDArray[np.bool_]) -> list[list[float]]:
    """Return for each tenth of the probability: how many, the mean probability, and how often it was right."""
    tenths = np.minimum((shares * 10).astype(int), 9)
    return [
        [int((tenths == tenth).sum()), round(float(shares[tenths == tenth].mean()), 3), _share(right[tenths == tenth])]
        for tenth in range(10)
        if (tenths == tenth).any()
    ]


def _judge_swaps(rows: Sequence[Mapping[str, Any]], read: ReadPairs) -> dict[str, int]:
    """Return how many statements with a swapped number, day, name or negation would be taken for the same."""
    random = np.random.default_rng(5)
    texts: list[tuple[str, str]] = []
    for row in rows:
        other = row["b"] if row["label"] == "same" else row["a"]
        text = swapped(other["text"], random)
        if text is not None:
            second = Statement(text, row["b"]["date"], "", other["project"])
            texts.append(two_statements(without_subject(dict(row["a"])), second))
    shares = probabilities(read(texts))[:, :2].sum(axis=1)
    return {"count": len(texts)} | {str(limit): int((shares >= limit).sum()) for limit in _THRESHOLDS}


def judge_gate(file: Path, read: ReadPairs) -> dict[str, float]:
    """Return the share of equal pairs that are accepted where 1 % of the different ones are."""
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if len(row) >= 7]
    scores = np.array([float(row[4]) for row in rows])
    shares = probabilities(read([(row[5], row[6]) for row in rows]))
    results = dict[str, float]()
    for name, values in {"same": shares[:, 0], "same or more": shares[:, :2].sum(axis=1)}.items():
        same, different = values[scores >= _DUPLICATE], values[scores <= _DISTINCT]
        results[f"gate by {name}"] = round(accepted(same, different), 3)
        for limit in _THRESHOLDS:
            results[f"{name} {limit}: merged"] = _share(same >= limit)
            results[f"{name} {limit}: wrong"] = _share(different >= limit)
    return results


def judge_questions(folder: Path, part: str, read: ReadPairs, encode: Encode) -> dict[str, Any]:
    """Ask the facts of all questions of a part: the best by cosine, then read again.

    Each question has its own look-alikes among them. Of what was replaced the reader is told so.
    """
    rows = [row for row in fact_rows(folder, "questions", part) if row["answers"]]
    written = [asked_texts(row) for row in rows]
    facts = [[*row["answers"], *row["lookalikes"]] for row in rows]
    owner = np.array([number for number, own in enumerate(facts) for _ in own])
    answers = np.array([is_answer for _, own in written for is_answer in own])
    texts = [text for own, _ in written for _, text in own]
    cosines = encode([row["question"] for row in rows]) @ encode([fact["text"] for own in facts for fact in own]).T
    found: dict[str, list[tuple[float, ...]]] = {}
    for number, row in enumerate(rows):
        gold = answers & (owner == number)
        best = np.argsort(-cosines[number], kind="stable")[:_DEPTH]
        question = written[number][0][0][0]
        scores = read([(question, texts[each]) for each in best])[:, -1]
        again = best[np.argsort(-scores, kind="stable")]
        value = *_first_hits(gold[best]), *_first_hits(gold[again])
        for name in ("all", row["language"]):
            found.setdefault(name, []).append(value)
    return {
        name: {"count": len(values)} | dict(zip(
            ("first by cosine", "in three by cosine", "first", "in three"),
            np.mean(values, axis=0).round(3).tolist(), strict=True))
        for name, values in found.items()
    }  # fmt: skip


def _first_hits(hits: NDArray[np.bool_]) -> tuple[float, float]:
    return float(hits[0]), float(hits[:3].any())


def judge_own_lists(folder: Path, part: str, read: ReadPairs) -> dict[str, Any]:
    """Measure each question against its own look-alikes, and how well the score tells that nothing answers."""
    rows = fact_rows(folder, "questions", part)
    asked = [asked_texts(row) for row in rows]
    scores = np.split(
        read([pair for own, _ in asked for pair in own])[:, -1], np.cumsum([len(own) for own, _ in asked])
    )
    best = np.array([each.max() for each in scores[: len(rows)]])
    answered = np.array([bool(row["answers"]) for row in rows])
    first = [own[int(each.argmax())] for each, (_, own) in zip(scores, asked, strict=False) if any(own)]
    limits = np.quantile(best[answered], (0.03, 0.05, 0.1)) if answered.any() else np.zeros(3)
    flat = np.concatenate(scores)
    return {
        "first": _share(np.array(first)),
        "quiet at 3, 5, 10 % lost": [_share(best[~answered] < limit) for limit in limits],
        "reliability": reliability(
            1 / (1 + np.exp(-flat.astype(np.float64))), np.array([each for _, own in asked for each in own])
        ),
    }


def judge_recall(collections: Sequence[Collection], read: ReadPairs, encode: Encode) -> dict[str, Any]:
    """Read the best of the ranking again: first hit, R@5, R@10 and nDCG@10 for each weight of the reader."""
    found: dict[float, list[tuple[float, ...]]] = {weight: [] for weight in READER_WEIGHTS}
    for collection in collections:
        memories = collection.memories
        words = LexicalRanking(
            [turn.text for turn in memories], [turn.session for turn in memories], [turn.speaker for turn in memories]
        )
        cosines = encode([question.text for question in collection.questions]) @ encode([m.text for m in memories]).T
        for question, row in zip(collection.questions, cosines, strict=True):
            gold = np.array([turn.id in question.gold for turn in memories])
            scores = words.scores(question.text) + _COSINE_WEIGHT * row
            best = np.argsort(-scores, kind="stable")[:_DEPTH]
            asked = Statement(question.text, f"{question.today:%Y-%m-%d}" if question.today else "").written
            texts = [(asked, _remembered(memories[each])) for each in best]
            answers = read(texts)[:, -1]
            for weight, values in found.items():
                again = best[np.argsort(-(scores[best] + weight * answers), kind="stable")]
                values.append(_quality(gold[again], int(gold.sum())))
    return {str(weight): np.mean(values, axis=0).round(4).tolist() for weight, values in found.items()}


def _remembered(turn: Any) -> str:
    return Statement(turn.text, f"{turn.at:%Y-%m-%d}" if turn.at else "", turn.speaker).written


def _quality(hits: NDArray[np.bool_], gold: int) -> tuple[float, ...]:
    gains = 1 / np.log2(np.arange(2, 12))
    first = hits[:10]
    gained = float((first * gains[: len(first)]).sum() / gains[: min(10, gold)].sum())
    return float(hits[0]), float(hits[:5].sum() / gold), float(first.sum() / gold), gained


def evaluate(read: ReadPairs, encode: Encode, options: Mapping[str, Any]) -> dict[str, Any]:
    """Measure with every data set that is named."""
    results: dict[str, Any] = {}
    if folder := options.get("facts"):
        part = options["part"]
        results["labels"] = judge_labels(folder, part, read)
        results["own lists"] = judge_own_lists(folder, part, read)
        results["questions"] = judge_questions(folder, part, read, encode)
    if file := options.get("sts"):
        results["sts"] = judge_gate(file, read)
    loaders: dict[str, Callable[[Path], Sequence[Collection]]] = {
        "locomo": load_locomo,
        "longmemeval": load_longmemeval,
    }
    for name, load in loaders.items():
        if file := options.get(name):
            results[name] = judge_recall(load(file), read, encode)
    return results


def main() -> None:
    """Measure the models of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, nargs="+", required=True, help="weights, or exported folders")
    parser.add_argument("--encoder", type=Path, required=True, help="the exported encoder, model.onnx")
    parser.add_argument("--part", choices=("development", "kept-aside"), default="kept-aside")
    for name in ("facts", "sts", "locomo", "longmemeval"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = vars(parser.parse_args())
    models, device, encoder = options.pop("model"), options.pop("device"), options.pop("encoder")
    encode = encode_with(encoder, device=device)
    for model in models:
        began = time.monotonic()
        results = evaluate(reader_of(model, encoder, device=device), encode, options)
        print(json.dumps({"model": str(model), **results, "seconds": round(time.monotonic() - began, 1)}), flush=True)


if __name__ == "__main__":
    main()
