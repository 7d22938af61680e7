"""Calibrates and exports the pair model: `python -m training.pair_export --model P --encoder E --facts D --out FOLDER`.

The encoder is an exported one: its file has the vectors of words, and the profile says where in it.
"""

import argparse
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from torch.nn import functional

from training import pairs
from training.corpus import MAX_TOKENS
from training.export import build_pairs
from training.model import Weights, load_weights
from training.pair_data import LABELS, MAX_FIRST, Statement, fact_rows, tokens_of, two_statements
from training.teacher import Pair, PairChunk, chunk_pairs

Logits = NDArray[np.float32]
ReadPairs = Callable[[Sequence[tuple[str, str]]], Logits]
"""Gives a row for each pair of texts: the logits of the labels, then the score of an answer."""

NAME = "scrubjay-pairs-en-1"
"""The name of the model, which `status` shows: another number for other weights."""

_PAIRS_A_RUN_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the logits are divided by, and what turns a score into the logit of a probability."""

    temperature: float = 1.0
    slope: float = 1.0
    shift: float = 0.0


def reader_of(path: Path, encoder: Path, *, device: str) -> ReadPairs:
    """Return the function that reads pairs with weights (.pt) or an exported folder, and the encoder's vectors."""
    words = load_weights(encoder)
    if path.is_dir():
        return _session(path / "model.onnx", words["word.weight"].numpy())
    return _torch_reader(pairs.load(path, words), device=device)


def _torch_reader(weights: Weights, *, device: str) -> ReadPairs:
    model = pairs.PairModel(weights).to(device).eval()

    def read(texts: Sequence[tuple[str, str]]) -> Logits:
        chunks, order = chunk_pairs(_tokens(texts), max_first=MAX_FIRST, tokens=65_536)
        with torch.inference_mode():
            classes, scores = pairs.logits(model, chunks, order, device=device)
        return torch.cat([classes, scores[:, None]], dim=1).cpu().numpy()

    return read


def _session(file: Path, words: NDArray[np.float32]) -> ReadPairs:
    import onnxruntime  # noqa: PLC0415 - needed only here

    session = onnxruntime.InferenceSession(str(file), onnxruntime.SessionOptions(), providers=["CPUExecutionProvider"])

    def run(chunk: PairChunk) -> Logits:
        lengths = chunk.lengths.numpy()
        is_token = np.arange(chunk.ids.shape[1])[None, :] < lengths[:, None]
        inputs: dict[str, NDArray[Any]] = {
            "words": words[chunk.ids.numpy()[is_token]], "kinds": chunk.kinds.numpy()[is_token], "lengths": lengths,
        }  # fmt: skip
        return session.run(["logits"], inputs)[0]

    def read(texts: Sequence[tuple[str, str]]) -> Logits:
        chunks, order = chunk_pairs(_tokens(texts), max_first=MAX_FIRST, tokens=_PAIRS_A_RUN_TOKENS)
        return np.concatenate([run(chunk) for chunk in chunks])[order.numpy()]

    return read


def _tokens(texts: Sequence[tuple[str, str]]) -> list[Pair]:
    return [(tokens_of(first), tokens_of(second)) for first, second in texts]


def development_pairs(folder: Path, part: str) -> tuple[list[tuple[str, str]], NDArray[np.int64], list[dict[str, Any]]]:
    """Return the pairs of a part of the facts as the product writes them (without a subject), labels, and rows."""
    rows = fact_rows(folder, "pairs", part)
    texts = [two_statements(without_subject(row["a"]), without_subject(row["b"])) for row in rows]
    return texts, np.array([LABELS.index(row["label"]) for row in rows], dtype=np.int64), rows


def without_subject(row: dict[str, Any]) -> Statement:
    """Return a statement as the product knows it."""
    return Statement(row["text"], row["date"], "", row["project"])


def asked_texts(row: dict[str, Any]) -> tuple[list[tuple[str, str]], list[bool]]:
    """Return a question with its answers and look-alikes, of which the product knows what was replaced."""
    question = Statement(row["question"], row["asked"], "", row["project"]).written
    is_past = any(fact["why"] == "former" for fact in row["lookalikes"])
    facts = [(fact, is_past) for fact in row["answers"]]
    facts += [(fact, fact["why"] == "outdated") for fact in row["lookalikes"]]
    texts = [
        Statement(fact["text"], fact["date"], "", fact["project"], "former" if former else "").written
        for fact, former in facts
    ]
    return [(question, text) for text in texts], [place < len(row["answers"]) for place in range(len(facts))]


def calibrate(read: ReadPairs, folder: Path) -> Calibration:
    """Fit the temperature of the labels and the line of the scores on the development part of the facts."""
    texts, labels, _ = development_pairs(folder, "development")
    asked = [asked_texts(row) for row in fact_rows(folder, "questions", "development")]
    if not texts or not asked:
        return Calibration()
    values = torch.tensor(read(texts)[:, :-1])
    scores = torch.tensor(read([pair for pairs_of, _ in asked for pair in pairs_of])[:, -1])
    answers = torch.tensor([each for _, those in asked for each in those]).float()
    wanted = torch.tensor(labels)
    line = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.LBFGS([line], max_iter=60, line_search_fn="strong_wolfe")

    def closure() -> Any:
        optimizer.zero_grad()
        loss = functional.cross_entropy(values / line[0].exp(), wanted)
        judged = scores * line[1].exp() + line[2]
        loss = loss + functional.binary_cross_entropy_with_logits(judged, answers)
        loss.backward()
        return loss

    optimizer.step(closure)
    temperature, slope, shift = line.detach().tolist()
    return Calibration(float(np.exp(temperature)), float(np.exp(slope)), shift)


def calibrated(weights: Weights, found: Calibration) -> Weights:
    """Return weights whose logits are calibrated: softmax and the logistic function then give probabilities."""
    changed = {
        "classes.weight": weights["classes.weight"] / found.temperature,
        "classes.bias": weights["classes.bias"] / found.temperature,
        "answers.weight": weights["answers.weight"] * found.slope,
        "answers.bias": weights["answers.bias"] * found.slope + found.shift,
    }
    return weights | changed


def place_of(file: Path, name: str) -> int:
    """Return where in an ONNX file the numbers of a constant begin."""
    data = file.read_bytes()
    raw = next(each.raw_data for each in onnx.load_from_string(data).graph.initializer if each.name == name)
    place = data.find(raw)
    if place < 0 or data.find(raw, place + 1) >= 0:
        raise SystemExit(f"{file}: the numbers of {name} do not stand there once")
    return place


def write(weights: Weights, encoder: Path, folder: Path, *, facts: Path, bits: int = 8) -> str:
    """Calibrate the rounded model, write the folder that the product reads, and return the digest of the model."""
    words = load_weights(encoder)["word.weight"].numpy()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "model.onnx"
    file.write_bytes(build_pairs(weights, bits=bits).SerializeToString())
    found = calibrate(_session(file, words), facts)
    data = build_pairs(calibrated(weights, found), bits=bits).SerializeToString()
    file.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    profile = {
        "name": NAME,
        "labels": LABELS,
        "longest": MAX_TOKENS,
        "first": MAX_FIRST,
        "sha256": digest,
        "encoder": hashlib.sha256(encoder.read_bytes()).hexdigest(),
        "words": {
            "at": place_of(encoder, "words"),
            "scales_at": place_of(encoder, "word_scales"),
            "rows": words.shape[0],
            "width": words.shape[1],
        },
        "calibration": [round(value, 4) for value in (found.temperature, found.slope, found.shift)],
    }
    (folder / "profile.json").write_text(json.dumps(profile) + "\n", encoding="utf-8")
    return digest


def main() -> None:
    """Export with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, nargs="+", required=True, help="weights; several are averaged")
    parser.add_argument("--encoder", type=Path, required=True, help="the exported encoder, model.onnx")
    parser.add_argument("--facts", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--bits", type=int, choices=(7, 8), default=8)
    options = parser.parse_args()
    words = load_weights(options.encoder)
    loaded = [pairs.load(file, words) for file in options.model]
    mean = {name: sum(each[name] for each in loaded) / len(loaded) for name in loaded[0]}
    print(write(mean, options.encoder, options.out, facts=options.facts, bits=options.bits))


if __name__ == "__main__":
    main()
