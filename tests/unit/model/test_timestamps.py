"""Times are UTC, exact to the microsecond, and written as ISO 8601."""

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from tests.unit.strategies import moments, some_examples

from scrubjay.errors import InvalidInput
from scrubjay.model.timestamps import from_micros, parse_moment, to_iso, to_micros

NOON = datetime(2026, 5, 31, 12, tzinfo=UTC)


@given(moments)
@some_examples
def test_microseconds_are_exact(moment: datetime) -> None:
    assert from_micros(to_micros(moment)) == moment


@given(moments)
@some_examples
def test_text_comes_back_as_the_same_moment(moment: datetime) -> None:
    parsed = parse_moment(to_iso(moment), field="at")
    assert parsed == moment
    assert parsed.tzinfo is UTC


def test_before_1970_counts_down() -> None:
    assert to_micros(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == -1


def test_other_zones_are_written_in_utc() -> None:
    assert to_iso(NOON.astimezone(timezone(timedelta(hours=2)))) == "2026-05-31T12:00:00Z"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-05-31", datetime(2026, 5, 31, tzinfo=UTC)),
        ("2026-05-31T12:00:00", NOON),
        ("2026-05-31T12:00:00Z", NOON),
        ("2026-05-31 14:00+02:00", NOON),
        ("2026-05-31T06:30:00.000001-05:30", NOON + timedelta(microseconds=1)),
        ("  20260531T120000Z\n", NOON),
    ],
)
def test_common_forms_are_understood(text: str, expected: datetime) -> None:
    assert parse_moment(text, field="since") == expected


def test_no_zone_means_utc_in_any_local_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        assert parse_moment("2026-05-31T12:00", field="since") == NOON
        assert to_iso(NOON) == "2026-05-31T12:00:00Z"
    time.tzset()


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "31.05.2026", "2026-13-01", "2026-02-30", "1748692800", "0001-01-01T00:00+14:00"]
)
def test_a_text_that_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match="since") as caught:
        parse_moment(text, field="since")
    assert caught.value.fields["field"] == "since"
    assert "2026-05-31" in caught.value.hint
