"""Fits the weights of scrubjay/extraction/data/weights.toml: `python -m benchmarks.extraction_fit --data FILE`.

The score of a turn combines the scores of its sentences: the logarithm of the sum of their exponentials. The weights
maximize the likelihood of the labelled turns, with regularization. They are fitted on every other conversation and
checked on the rest, fitted on all but one and checked on that one, and last on all; these are printed. Explicit
statements need no weights; the line that adds them is the estimate for unseen conversations.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.extraction_data import Labelled, load_labelled
from scrubjay.extraction.patterns import MIN_SCORE, candidates_in, names_of

_STEPS = 600
_RATE = 0.02
_REGULARIZATION = 20.0
_FLOOR = -30.0
Numbers = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Chosen = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Table:
    """The features of sentences, row by row; the turn of each row, and of each turn its conversation and its label.

    `outright`: whether a turn has an explicit statement.
    """

    names: list[str]
    features: Numbers
    turn: Places
    conversation: Places
    label: Numbers
    outright: Chosen


@dataclass(frozen=True, slots=True)
class Fitted:
    """A weight for each feature, and a bias."""

    weights: Numbers
    bias: float

    def scores(self, table: Table) -> Numbers:
        """Return the combined score of each turn."""
        return _combined(table.features @ self.weights + self.bias, table)


def main() -> None:
    """Fit, check, and print the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a file in LoCoMo's format")
    parser.add_argument("--recall", type=float, default=0.77, help="the share of turns to find")
    options = parser.parse_args()
    table = tabulate(load_labelled(options.data))
    numbers = range(int(table.conversation.max()) + 1)
    halves: Chosen = table.conversation % 2 == 0
    half = fit(table, halves)
    _report("fitted on half, on that half ", half.scores(table)[halves], table.label[halves], options.recall)
    _report("fitted on half, on the other ", half.scores(table)[~halves], table.label[~halves], options.recall)
    held_out = np.zeros(len(table.label))
    for number in numbers:
        here: Chosen = table.conversation == number
        held_out[here] = fit(table, ~here).scores(table)[here]
    _report("fitted on all others, on each ", held_out, table.label, options.recall)
    taken = (held_out >= MIN_SCORE) | table.outright
    right = float(table.label[taken].sum())
    precision, recall = right / taken.sum(), right / table.label.sum()
    print(f"  with explicit statements     :  precision {precision:.3f} at recall {recall:.3f}")
    best = fit(table, np.ones(len(table.label), dtype=bool))
    _report("fitted on all, on all         ", best.scores(table), table.label, options.recall)
    print(f"\nbias = {best.bias:.3f}\n\n[weights]")
    for name, weight in zip(table.names, best.weights, strict=True):
        print(f"{name} = {weight:.3f}")


def tabulate(conversations: Sequence[Labelled]) -> Table:
    """Return the features of all sentences that may state a fact."""
    rows: list[dict[str, float]] = []
    of_turn: list[int] = []
    conversation: list[int] = []
    label: list[bool] = []
    outright: list[bool] = []
    for number, labelled in enumerate(conversations):
        names = names_of(labelled.turns)
        for session in labelled.sessions:
            for before, turn in pairwise((None, *session)):
                if turn is None:
                    continue
                answers = before is not None and before.text.rstrip().endswith("?")
                candidates = candidates_in(turn, names=names, answers=answers)
                of_turn += [len(label)] * len(candidates)
                rows += [candidate.features for candidate in candidates]
                outright.append(any(candidate.explicit for candidate in candidates))
                conversation.append(number)
                label.append(turn.id in labelled.fact_turns)
    feature_names = sorted({name for row in rows for name in row})
    features = np.array([[row.get(name, 0.0) for name in feature_names] for row in rows])
    return Table(
        feature_names, features, np.array(of_turn), np.array(conversation), np.array(label, dtype=np.float64),
        np.array(outright),
    )  # fmt: skip


def fit(table: Table, chosen: Chosen) -> Fitted:
    """Fit weights to the chosen turns, by gradient descent with momentum."""
    rows = chosen[table.turn]
    mean, spread = table.features[rows].mean(axis=0), table.features[rows].std(axis=0)
    spread[spread == 0] = 1.0
    scaled = np.hstack([(table.features - mean) / spread, np.ones((len(table.features), 1))])
    weights = np.zeros(scaled.shape[1])
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, _STEPS + 1):
        scores = scaled @ weights
        combined = _combined(scores, table)
        off = np.where(chosen, 1 / (1 + np.exp(-combined)) - table.label, 0.0)
        slope = scaled.T @ (off[table.turn] * np.exp(scores - combined[table.turn]))
        slope[:-1] += _REGULARIZATION * weights[:-1]
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        weights -= _RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    plain = weights[:-1] / spread
    return Fitted(plain, float(weights[-1] - plain @ mean))


def _combined(scores: Numbers, table: Table) -> Numbers:
    best = np.full(len(table.label), _FLOOR)
    np.maximum.at(best, table.turn, scores)
    total = np.zeros(len(table.label))
    np.add.at(total, table.turn, np.exp(scores - best[table.turn]))
    return best + np.log(np.maximum(total, 1e-30))


def _report(name: str, scores: Numbers, label: Numbers, recall: float) -> None:
    order = np.argsort(-scores)
    right = np.cumsum(label[order])
    place = int(np.argmax(right / label.sum() >= recall))
    precision, reached, threshold = right[place] / (place + 1), right[place] / label.sum(), scores[order[place]]
    print(f"{name}: precision {precision:.3f} at recall {reached:.3f}, with threshold {threshold:+.2f}")


if __name__ == "__main__":
    main()
