"""Measures an encoder: `python -m training.evaluate --model W --sts sts-dev.csv --locomo F --longmemeval F --facts D`.

Weights (.pt, or .onnx of the start) run in PyTorch; a folder or an exported .onnx runs in onnxruntime; .npz is a table.
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
from training.corpus import tokenizer
from training.data import read_facts
from training.lexical import LexicalRanking
from training.mine import encode_all
from training.model import Encoder, load_weights

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
WEIGHTS = (0, 4, 8, 10, 12, 14, 16, 20, 24, 30)
"""How much one unit of cosine counts beside the words."""

_DUPLICATE, _DISTINCT, _ALLOWED = 4.5, 3.0, 0.01
_DEPTH = 10


def encode_with(path: Path, *, device: str) -> Encode:
    """Return the function that embeds texts with a model of any of the three kinds."""
    wordpiece = tokenizer()
    if path.suffix == ".npz":
        return _table(path, wordpiece.encode)
    file = path / "model.onnx" if path.is_dir() else path
    if path.is_dir():
        return _session(file, wordpiece.encode)
    model = Encoder(load_weights(file)).to(device)

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        return (
            encode_all(model, [np.array(wordpiece.encode(text)) for text in texts], device=device).float().cpu().numpy()
        )

    return encode


def _table(file: Path, tokens: Callable[[str], list[int]]) -> Encode:
    with np.load(file) as arrays:
        rows = arrays["q"].astype(np.float32) * arrays["s"].astype(np.float32)[:, None]

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        sums = np.stack([rows[tokens(text)[1:-1]].sum(axis=0) for text in texts])
        return sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)

    return encode


def _session(file: Path, tokens: Callable[[str], list[int]]) -> Encode:
    import onnxruntime  # noqa: PLC0415 - needed only here

    session = onnxruntime.InferenceSession(str(file), onnxruntime.SessionOptions(), providers=["CPUExecutionProvider"])

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        vectors: list[NDArray[np.float32]] = []
        for text in texts:
            ids = np.array(tokens(text))
            ((vector,),) = session.run(["vectors"], {"ids": ids, "lengths": np.array([len(ids)])})
            vectors.append(vector / np.linalg.norm(vector))
        return np.stack(vectors)

    return encode


def judge_pairs(file: Path, encode: Encode) -> dict[str, float]:
    """Return the rank correlation with people's scores, and the duplicates accepted when 1 % of others are."""
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if len(row) >= 7]
    scores = np.array([float(row[4]) for row in rows])
    first, second = encode([row[5] for row in rows]), encode([row[6] for row in rows])
    cosines = (first * second).sum(axis=1)
    return {
        "spearman": spearman(cosines, scores),
        "spearman of the first 400": spearman(cosines[:400], scores[:400]),
        "gate": accepted(cosines[scores >= _DUPLICATE], cosines[scores <= _DISTINCT]),
    }


def spearman(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return the rank correlation; equal values share a rank."""
    return float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])


def _ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[inverse]


def accepted(same: NDArray[Any], different: NDArray[Any]) -> float:
    """Return the share of equal pairs above the cosine that 1 % of the different ones reach."""
    allowed = int(len(different) * _ALLOWED)
    limit = np.sort(different)[::-1][allowed] if len(different) > allowed else -1.0
    return float((same > limit).mean())


def recall(collections: Sequence[Collection], encode: Encode) -> dict[str, Any]:
    """Return R@5, R@10 and nDCG@10 of the cosine alone and beside words, for each weight."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for collection in collections:
        texts = [turn.text for turn in collection.memories]
        words = LexicalRanking(
            texts, [turn.session for turn in collection.memories], [turn.speaker for turn in collection.memories]
        )
        cosines = encode([question.text for question in collection.questions]) @ encode(texts).T
        for question, row in zip(collection.questions, cosines, strict=True):
            gold = np.array([turn.id in question.gold for turn in collection.memories])
            lexical = words.scores(question.text)
            ranked = {"cosine": row} | {str(weight): lexical + weight * row for weight in WEIGHTS}
            for name, scores in ranked.items():
                found.setdefault(name, []).append(_quality(scores, gold))
    means = {name: np.mean(rows, axis=0).round(4).tolist() for name, rows in found.items()}
    best = max(means.keys() - {"cosine"}, key=lambda name: sum(means[name]))
    return {"cosine": means["cosine"], "words": means["0"], "best weight": best, "best": means[best], "all": means}


def _quality(scores: NDArray[Any], gold: NDArray[np.bool_]) -> tuple[float, float, float]:
    hits = gold[np.argsort(-scores, kind="stable")[:_DEPTH]]
    gains = 1 / np.log2(np.arange(2, _DEPTH + 2))
    ideal = gains[: min(_DEPTH, int(gold.sum()))].sum()
    return (
        float(hits[:5].sum() / gold.sum()),
        float(hits.sum() / gold.sum()),
        float((hits * gains[: len(hits)]).sum() / ideal),
    )


def judge_facts(folder: Path, encode: Encode) -> dict[str, Any]:
    """Measure on the facts that are kept aside: mean cosine of each label, duplicates accepted, and answers found.

    A question is asked of the facts of all kept-aside questions; its outdated look-alikes are left out, since only
    dates tell them.
    """
    pairs = list(read_facts(folder, "pairs", kept_aside=True))
    first, second = encode([row["a"]["text"] for row in pairs]), encode([row["b"]["text"] for row in pairs])
    cosines, labels = (first * second).sum(axis=1), np.array([row["label"] for row in pairs])
    by_label = {str(label): round(float(cosines[labels == label].mean()), 3) for label in sorted(set(labels))}
    others = np.isin(labels, ["changes", "contradicts", "near", "unrelated"])
    return {
        "pairs": len(pairs),
        "mean cosine": by_label,
        "same above others": above(cosines[labels == "same"], cosines[others]),
        "changes above unrelated": above(cosines[labels == "changes"], cosines[labels == "unrelated"]),
        "questions": _judge_questions(folder, encode),
    }


def above(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return how often a value of the first kind is greater than one of the second."""
    return float((first[:, None] > second[None, :]).mean()) if len(first) and len(second) else float("nan")


def _judge_questions(folder: Path, encode: Encode) -> dict[str, Any]:
    rows = [row for row in read_facts(folder, "questions", kept_aside=True) if row["answers"]]
    facts = [(number, fact, True) for number, row in enumerate(rows) for fact in row["answers"]]
    facts += [(number, fact, False) for number, row in enumerate(rows) for fact in row["lookalikes"]]
    if not rows:
        return {}
    scores = encode([row["question"] for row in rows]) @ encode([fact["text"] for _, fact, _ in facts]).T
    first: dict[str, list[tuple[float, float]]] = {}
    for number, row in enumerate(rows):
        gold = np.array([owner == number and answers for owner, _, answers in facts])
        hidden = np.array(
            [
                owner == number and not answers and fact["why"] in {"outdated", "former"}
                for owner, fact, answers in facts
            ]
        )
        ranked = np.argsort(-np.where(hidden, -2, scores[number]), kind="stable")
        for name in ("all", row["language"]):
            first.setdefault(name, []).append((float(gold[ranked[0]]), float(gold[ranked[:5]].any())))
    return {
        name: {"count": len(values), "first": round(float(np.mean([v[0] for v in values])), 3),
               "in five": round(float(np.mean([v[1] for v in values])), 3)}
        for name, values in first.items()
    }  # fmt: skip


def evaluate(encode: Encode, options: Mapping[str, Path | None]) -> dict[str, Any]:
    """Measure with every data set that is named."""
    results: dict[str, Any] = {}
    if file := options.get("sts"):
        results["sts"] = judge_pairs(file, encode)
    if file := options.get("locomo"):
        results["locomo"] = recall(load_locomo(file), encode)
    if file := options.get("longmemeval"):
        results["longmemeval"] = recall(load_longmemeval(file), encode)
    if folder := options.get("facts"):
        results["facts"] = judge_facts(folder, encode)
    return results


def main() -> None:
    """Measure the models of the command line and print a line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, nargs="+", required=True)
    for name in ("sts", "locomo", "longmemeval", "facts"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = vars(parser.parse_args())
    models, device = options.pop("model"), options.pop("device")
    for model in models:
        began = time.monotonic()
        results = evaluate(encode_with(model, device=device), options)
        print(json.dumps({"model": str(model), **results, "seconds": round(time.monotonic() - began, 1)}), flush=True)


if __name__ == "__main__":
    main()
