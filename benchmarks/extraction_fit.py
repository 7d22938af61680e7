"""Finds the weights of scrubjay/extraction/data/weights.toml: `python -m benchmarks.extraction_fit --data FILE`.

A turn is taken to state a fact as surely as all its sentences together are: the logarithm of the sum of their
exponentials. The weights are those under which the turns that are known to state one are likeliest, held small.
They are fitted on every other conversation and checked on the rest, fitted on all but one and checked on that one, and
at last on all, which are the numbers printed. What sentences say outright needs no weights; the line in which it is
added is what can be expected of conversations that nobody has seen.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.extraction_data import Labelled, labelled
from scrubjay.extraction.patterns import MIN_SCORE, candidates_in, names_of

_STEPS = 600
_RATE = 0.02
_HELD = 20.0
_FLOOR = -30.0
Numbers = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Chosen = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Table:
    """The marks of sentences, row by row; the turn of each row, and of each turn its conversation and its label.

    `outright`: whether a turn says something outright.
    """

    names: list[str]
    marks: Numbers
    turn: Places
    conversation: Places
    label: Numbers
    outright: Chosen


@dataclass(frozen=True, slots=True)
class Fitted:
    """A weight for each mark, and one for none."""

    weights: Numbers
    bias: float

    def scores(self, table: Table) -> Numbers:
        """What each turn's sentences come to together."""
        return _together(table.marks @ self.weights + self.bias, table)


def main() -> None:
    """Fit, check, and print the weights."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True, help="a file in LoCoMo's form")
    options.add_argument("--recall", type=float, default=0.77, help="the share of turns to be found")
    request = options.parse_args()
    table = tabled(labelled(request.data))
    every = range(int(table.conversation.max()) + 1)
    halves: Chosen = table.conversation % 2 == 0
    half = fit(table, halves)
    _report("fitted on half, on that half ", half.scores(table)[halves], table.label[halves], request.recall)
    _report("fitted on half, on the other ", half.scores(table)[~halves], table.label[~halves], request.recall)
    left = np.zeros(len(table.label))
    for item in every:
        here: Chosen = table.conversation == item
        left[here] = fit(table, ~here).scores(table)[here]
    _report("each by those fitted on others", left, table.label, request.recall)
    taken = (left >= MIN_SCORE) | table.outright
    right = float(table.label[taken].sum())
    precision, recall = right / taken.sum(), right / table.label.sum()
    print(f"  with what is said outright  : precision {precision:.3f} at recall {recall:.3f}")
    best = fit(table, np.ones(len(table.label), dtype=bool))
    _report("fitted on all, on all         ", best.scores(table), table.label, request.recall)
    print(f"\nbias = {best.bias:.3f}\n\n[weights]")
    for name, weight in zip(table.names, best.weights, strict=True):
        print(f"{name} = {weight:.3f}")


def tabled(conversations: Sequence[Labelled]) -> Table:
    """The marks of all sentences that may state a fact."""
    rows: list[dict[str, float]] = []
    of_turn: list[int] = []
    conversation: list[int] = []
    label: list[bool] = []
    outright: list[bool] = []
    for number, item in enumerate(conversations):
        names = names_of(item.turns)
        for session in item.sessions:
            for before, turn in pairwise((None, *session)):
                if turn is None:
                    continue
                answers = before is not None and before.text.rstrip().endswith("?")
                results = candidates_in(turn, names=names, answers=answers)
                of_turn += [len(label)] * len(results)
                rows += [each.features for each in results]
                outright.append(any(each.explicit for each in results))
                conversation.append(number)
                label.append(turn.id in item.telling)
    names_of_marks = sorted({name for row in rows for name in row})
    marks = np.array([[row.get(name, 0.0) for name in names_of_marks] for row in rows])
    return Table(
        names_of_marks, marks, np.array(of_turn), np.array(conversation), np.array(label, dtype=np.float64),
        np.array(outright),
    )  # fmt: skip


def fit(table: Table, chosen: Chosen) -> Fitted:
    """The weights for some of the turns, by gradient descent with momentum."""
    rows = chosen[table.turn]
    mean, spread = table.marks[rows].mean(axis=0), table.marks[rows].std(axis=0)
    spread[spread == 0] = 1.0
    scaled = np.hstack([(table.marks - mean) / spread, np.ones((len(table.marks), 1))])
    weights = np.zeros(scaled.shape[1])
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, _STEPS + 1):
        scores = scaled @ weights
        together = _together(scores, table)
        off = np.where(chosen, 1 / (1 + np.exp(-together)) - table.label, 0.0)
        slope = scaled.T @ (off[table.turn] * np.exp(scores - together[table.turn]))
        slope[:-1] += _HELD * weights[:-1]
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        weights -= _RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    plain = weights[:-1] / spread
    return Fitted(plain, float(weights[-1] - plain @ mean))


def _together(scores: Numbers, table: Table) -> Numbers:
    best = np.full(len(table.label), _FLOOR)
    np.maximum.at(best, table.turn, scores)
    total = np.zeros(len(table.label))
    np.add.at(total, table.turn, np.exp(scores - best[table.turn]))
    return best + np.log(np.maximum(total, 1e-30))


def _report(name: str, scores: Numbers, label: Numbers, recall: float) -> None:
    order = np.argsort(-scores)
    results = np.cumsum(label[order])
    at = int(np.argmax(results / label.sum() >= recall))
    precision, reached, least = results[at] / (at + 1), results[at] / label.sum(), scores[order[at]]
    print(f"{name}: precision {precision:.3f} at recall {reached:.3f}, taking what comes to {least:+.2f} or more")


if __name__ == "__main__":
    main()
