"""The figures of the recall benchmark: metrics, the textbook's BM25, tables and the plot."""

import math
from dataclasses import replace
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import pytest

from benchmarks.recall_bm25 import Bm25
from benchmarks.recall_data import Turn
from benchmarks.recall_figures import Measured, Pace, RecallResults, Way
from benchmarks.recall_metrics import Quality, answer_of, by_category, in_order, quality
from benchmarks.recall_plot import plot
from benchmarks.recall_report import page, verdicts
from benchmarks.timing import spread

GOOD = Quality(questions=40, r5=0.7, r10=0.8, all10=0.75, mrr=0.6, ndcg10=0.65)
LESS = replace(GOOD, r5=0.69, r10=0.77)
PACE = Pace(recall=spread([0.01, 0.02]), recall_rest=spread([0.004]), tokens_mean=801.4, tokens_most=1400)
RESULTS = RecallResults(
    version="1.2.3",
    machine="a machine",
    model="a model",
    ranking="the defaults",
    datasets=(
        Measured(
            dataset="locomo",
            origin="some.json",
            collections=2,
            memories=1234,
            ways=(Way(name="Scrubjay", quality=GOOD), Way(name="BM25 < alone", quality=LESS)),
            categories={"temporal": GOOD},
            backends={"embedded": GOOD, "PostgreSQL": LESS},
            paces={"embedded": PACE},
            sessions=LESS,
        ),
    ),
)


def test_recall_counts_what_is_among_the_first() -> None:
    found = [f"other {number}" for number in range(9)]
    one = answer_of("a", ["x", *found[:5], "y", *found[5:]], gold={"x", "y", "z"})
    assert one.places == (1, 7)
    got = quality([one])
    assert got.r5 == pytest.approx(1 / 3)
    assert got.r10 == pytest.approx(2 / 3)
    assert got.all10 == 0
    assert got.mrr == 1
    assert got.ndcg10 == pytest.approx((1 + 1 / math.log2(8)) / (1 + 1 / math.log2(3) + 0.5))


def test_what_stands_below_the_tenth_place_is_not_found() -> None:
    one = answer_of("a", [*(f"other {number}" for number in range(10)), "x"], gold={"x"})
    assert quality([one]) == Quality(questions=1, r5=0, r10=0, all10=0, mrr=0, ndcg10=0)


def test_means_are_over_questions_and_by_category() -> None:
    hit, miss = answer_of("a", ["x"], gold={"x"}), answer_of("b", ["y"], gold={"x"})
    assert quality([hit, miss, hit, miss]).r5 == pytest.approx(0.5)
    assert {name: one.all10 for name, one in by_category([hit, miss, hit]).items()} == {"a": 1.0, "b": 0.0}
    assert quality([]).questions == 0
    assert in_order(["s2", "s1", "s2"]) == ["s2", "s1"]


def test_bm25_prefers_rare_words_and_short_turns() -> None:
    turns = [
        _turn("1", "the canoe leaks"),
        _turn("2", "the canoe was expensive and we talked about it for a long evening in the harbour"),
        _turn("3", "a telescope for the attic"),
        _turn("4", "nothing happened", at=datetime(2023, 5, 8, tzinfo=UTC)),
    ]
    index = Bm25(turns)
    assert index.first("Where is the canoe?", count=10) == ["1", "2"]
    assert index.first("canoe telescope", count=1) == ["3"]
    assert index.first("What happened in May?", count=1) == ["4"]
    assert index.first("volcano", count=10) == []
    assert Bm25([]).first("anything", count=3) == []


def test_the_page_tells_everything() -> None:
    told = page(RESULTS)
    assert "| Scrubjay | 0.700 | 0.800 | 0.750 | 0.600 | 0.650 |  |" in told
    assert "| BM25 < alone | 0.690 | 0.770 | 0.750 | 0.600 | 0.650 | -3.0 |" in told
    assert "| temporal | 40 | 0.700 | 0.800 |" in told
    assert "### By session" in told
    assert "some.json: 1,234 memories in 2 spaces, 40 questions" in told
    assert "| embedded | 15.0 / 20.0 | 4.0 / 4.0 | 801 | 1,400 |" in told


def test_backends_may_be_two_points_apart() -> None:
    (shallow, deep) = verdicts(RESULTS.datasets[0])
    assert shallow[1]
    assert deep == ("R@10 on PostgreSQL: 3.00 points from the embedded store, 2 at most", False)
    alone = replace(RESULTS.datasets[0], backends={"embedded": GOOD}, sessions=None)
    assert verdicts(alone) == []
    assert "### By backend" not in page(replace(RESULTS, datasets=(alone,)))


def test_the_plot_is_an_image_with_two_bars_a_way() -> None:
    drawn = ET.fromstring(plot(RESULTS))
    spaces = {"svg": "http://www.w3.org/2000/svg"}
    bars = [one for one in drawn.findall("svg:rect", spaces) if one.get("height") == "11"]
    assert [float(bar.get("width", 0)) for bar in bars] == pytest.approx([368.0, 322.0, 354.2, 317.4])
    texts = [one.text for one in drawn.findall("svg:text", spaces)]
    assert {"locomo", "Scrubjay", "BM25 < alone", "R@10", "R@5", "0.800"} <= set(texts)


def _turn(name: str, text: str, *, at: datetime | None = None) -> Turn:
    return Turn(id=name, text=text, session="s", at=at)
