"""Weights and stages of recall are configured by name."""

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.model.ranking import STAGES, Ranking, Weights


def test_by_default_every_stage_takes_part() -> None:
    assert all(Ranking().uses(stage) for stage in STAGES)
    assert Ranking.parse() == Ranking()


def test_stages_are_left_out_by_name() -> None:
    ranking = Ranking.parse(without=" Context, typos,")
    assert [stage for stage in STAGES if not ranking.uses(stage)] == ["context", "typos"]


def test_weights_are_set_by_name() -> None:
    weights = Ranking.parse(weights="recency=0, name = 1.5").weights
    assert (weights.recency, weights.name, weights.pair) == (0.0, 1.5, Weights().pair)


@pytest.mark.parametrize("without", ["everything", "words,wrods"])
def test_a_stage_that_does_not_exist_is_refused(without: str) -> None:
    with pytest.raises(InvalidInput, match="stage") as caught:
        Ranking.parse(without=without)
    assert "context" in caught.value.hint


@pytest.mark.parametrize("weights", ["x=1", "recency", "recency=", "recency=much", "recency=nan", "recency=inf", "=1"])
def test_a_weight_that_makes_no_sense_is_refused(weights: str) -> None:
    with pytest.raises(InvalidInput, match="weight") as caught:
        Ranking.parse(weights=weights)
    assert caught.value.fields["setting"] == "SCRUBJAY_RECALL_WEIGHTS"
