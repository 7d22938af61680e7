"""The priors: the parts of a score besides words and meaning."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.strategies import some_examples

from scrubjay.model.draft import Limits
from scrubjay.model.passage import StoredPassage
from scrubjay.model.ranking import Ranking
from scrubjay.model.requests import RecallRequest
from scrubjay.model.timestamps import to_micros
from scrubjay.recalling.context_window import build_window
from scrubjay.recalling.fuse import score_priors
from scrubjay.recalling.understand import understand

NOW = datetime(2024, 3, 15, 12, tzinfo=UTC)


class Prior(NamedTuple):
    """The priors of one passage."""

    date: float
    name: float
    manner: float
    standing: float


def prior(
    query: str = "", *, length: int = 10, without: str = "", extra: Mapping[str, object] | None = None, **fields: object
) -> Prior:
    terms = " ".join("x" * length)
    passage = StoredPassage(
        id=1, memory_id="m", observation=None, start=0, end=1, hash=b"", terms=terms, date=to_micros(NOW)
    )._replace(**fields, **(extra or {}))
    ranking = Ranking.parse(without=without)
    parsed = understand(RecallRequest(query=query), limits=Limits(), ranking=ranking, now=NOW)
    priors = score_priors(build_window([passage], []), query=parsed, ranking=ranking, now=NOW)
    return Prior(*(float(part[0]) for part in priors))


def on(year: int, month: int, day: int) -> int:
    return to_micros(datetime(year, month, day, 15, tzinfo=UTC))


def test_a_named_day_favours_statements_of_that_day() -> None:
    exact, near, far = (prior("what was on 7 May 2023?", date=on(2023, 5, day)).date for day in (7, 10, 31))
    assert exact == 4.0
    assert exact > near > far > 0


def test_a_named_month_favours_all_of_its_days() -> None:
    assert prior("what did we do in May 2023?", date=on(2023, 5, 31)).date == 4.0
    assert 0 < prior("what did we do in May 2023?", date=on(2023, 6, 9)).date < 2.0
    assert prior("what did we do in 2023?", date=on(2022, 12, 1)).date < 0.1


def test_without_a_named_day_the_date_does_not_count() -> None:
    assert prior("what did we do?", date=on(2023, 5, 7)).date == 0.0


def test_a_named_speaker_counts_by_the_share_of_the_name() -> None:
    assert prior("what does Sarah like?", who="sarah").name == 0.5
    assert prior("what does Sarah like?", who="sarah miller").name == 0.25
    assert prior("what does Bob like?", who="sarah").name == 0.0
    assert prior("what does Sarah like?", who="").name == 0.0


def test_questions_score_lower_and_longer_passages_higher() -> None:
    assert prior(asks=2).manner < prior().manner < prior(length=100).manner


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"relevance": 1.0}, {"relevance": 0.3}),
        ({"date": on(2024, 3, 1)}, {"date": on(2022, 3, 1)}),
        ({"confirmed": on(2024, 3, 1)}, {"confirmed": on(2021, 3, 1)}),
        ({"accesses": 5}, {"accesses": 0}),
        ({"tier": 2}, {"tier": 0}),
    ],
)
def test_standing_is_relevance_recency_confirmation_use_and_tier(
    better: dict[str, object], worse: dict[str, object]
) -> None:
    old: dict[str, object] = {"date": on(2023, 3, 1)}
    assert prior(extra=old | better).standing > prior(extra=old | worse).standing


@pytest.mark.parametrize(("stage", "part"), [("dates", "date"), ("names", "name"), ("manner", "manner")])
def test_each_prior_can_be_disabled(stage: str, part: str) -> None:
    fields = {"who": "sarah", "date": on(2023, 5, 7), "asks": 2}
    query = "what did Sarah say on 7 May 2023?"
    assert getattr(prior(query, extra=fields), part) != 0
    assert getattr(prior(query, without=stage, extra=fields), part) == 0
    assert prior(query, without="standing", extra=fields).standing == 0


@given(
    age=st.integers(-100, 40_000), since=st.none() | st.integers(-100, 40_000), relevance=st.floats(0, 1),
    accesses=st.integers(0, 10**9), tier=st.integers(0, 3),
)  # fmt: skip
@some_examples
def test_standing_never_outweighs_a_rare_word(
    age: int, since: int | None, relevance: float, accesses: int, tier: int
) -> None:
    confirmed = None if since is None else to_micros(NOW - timedelta(days=since))
    date = to_micros(NOW - timedelta(days=age))
    result = prior(date=date, confirmed=confirmed, relevance=relevance, accesses=accesses, tier=tier)
    assert -0.501 <= result.standing <= 2.5
