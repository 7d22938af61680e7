"""The figures of the recall benchmark: metrics, BM25, tables and the plot."""

import math
from dataclasses import replace
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import pytest

from benchmarks.recall_bm25 import Bm25
from benchmarks.recall_data import Turn
from benchmarks.recall_figures import Measured, Method, Pace, RecallResults
from benchmarks.recall_metrics import Quality, answer_of, by_category, in_order, quality
from benchmarks.recall_plot import plot
from benchmarks.recall_report import checks, page
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
            methods=(Method(name="Scrubjay", quality=GOOD), Method(name="BM25 < alone", quality=LESS)),
            categories={"temporal": GOOD},
            backends={"embedded": GOOD, "PostgreSQL": LESS},
            paces={"embedded": PACE},
            sessions=LESS,
        ),
    ),
)


def test_recall_counts_relevant_names_among_the_first() -> None:
    others = [f"other {number}" for number in range(9)]
    answer = answer_of("a", ["x", *others[:5], "y", *others[5:]], gold={"x", "y", "z"})
    assert answer.ranks == (1, 7)
    metrics = quality([answer])
    assert metrics.r5 == pytest.approx(1 / 3)
    assert metrics.r10 == pytest.approx(2 / 3)
    assert metrics.all10 == 0
    assert metrics.mrr == 1
    assert metrics.ndcg10 == pytest.approx((1 + 1 / math.log2(8)) / (1 + 1 / math.log2(3) + 0.5))


def test_results_below_the_tenth_rank_do_not_count() -> None:
    answer = answer_of("a", [*(f"other {number}" for number in range(10)), "x"], gold={"x"})
    assert quality([answer]) == Quality(questions=1, r5=0, r10=0, all10=0, mrr=0, ndcg10=0)


def test_means_are_over_questions_and_by_category() -> None:
    hit, miss = answer_of("a", ["x"], gold={"x"}), answer_of("b", ["y"], gold={"x"})
    assert quality([hit, miss, hit, miss]).r5 == pytest.approx(0.5)
    assert {name: answer.all10 for name, answer in by_category([hit, miss, hit]).items()} == {"a": 1.0, "b": 0.0}
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


def test_the_page_has_every_table() -> None:
    text = page(RESULTS)
    assert "| Scrubjay | 0.700 | 0.800 | 0.750 | 0.600 | 0.650 |  |" in text
    assert "| BM25 < alone | 0.690 | 0.770 | 0.750 | 0.600 | 0.650 | -3.0 |" in text
    assert "| temporal | 40 | 0.700 | 0.800 |" in text
    assert "### By session" in text
    assert "some.json: 1,234 memories in 2 spaces, 40 questions" in text
    assert "| embedded | 15.0 / 20.0 | 4.0 / 4.0 | 801 | 1,400 |" in text


def test_backends_may_be_two_points_apart() -> None:
    (shallow, deep) = checks(RESULTS.datasets[0])
    assert shallow[1]
    assert deep == ("R@10 on PostgreSQL: 3.00 points from the embedded store, at most 2", False)
    alone = replace(RESULTS.datasets[0], backends={"embedded": GOOD}, sessions=None)
    assert checks(alone) == []
    assert "### By backend" not in page(replace(RESULTS, datasets=(alone,)))


def test_the_plot_is_an_image_with_two_bars_per_method() -> None:
    drawn = ET.fromstring(plot(RESULTS))
    spaces = {"svg": "http://www.w3.org/2000/svg"}
    bars = [answer for answer in drawn.findall("svg:rect", spaces) if answer.get("height") == "11"]
    assert [float(bar.get("width", 0)) for bar in bars] == pytest.approx([368.0, 322.0, 354.2, 317.4])
    texts = [answer.text for answer in drawn.findall("svg:text", spaces)]
    assert {"locomo", "Scrubjay", "BM25 < alone", "R@10", "R@5", "0.800"} <= set(texts)


def _turn(name: str, text: str, *, at: datetime | None = None) -> Turn:
    return Turn(id=name, text=text, session="s", at=at)
