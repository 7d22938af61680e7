"""The benchmark runs without data, and our patterns are the best of the methods that it compares."""

import numpy as np

from benchmarks.extraction import METHODS, figures
from benchmarks.extraction_data import load_labelled
from benchmarks.extraction_fit import fit, tabulate
from scrubjay.extraction.features import WEIGHTS


def test_patterns_are_best_on_the_generated_conversation() -> None:
    ours, *others = [figures(load_labelled(None), finder)[2] for finder in METHODS.values()]
    assert ours > max(others)


def test_every_feature_has_a_weight_and_weights_can_be_fitted() -> None:
    table = tabulate(load_labelled(None))
    assert set(table.names) <= set(WEIGHTS)
    scores = fit(table, np.ones(len(table.label), dtype=bool)).scores(table)
    assert scores[table.label == 1].min() > scores[table.label == 0].max()
