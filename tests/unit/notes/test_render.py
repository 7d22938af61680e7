"""The current date, in four formats and any time zone."""

from datetime import UTC, datetime

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.notes.render import render_date

NOW = datetime(2026, 5, 31, 22, 30, 15, 123456, tzinfo=UTC)


def test_each_format_shows_the_same_moment() -> None:
    dates = {
        format_: render_date(NOW, format=format_, timezone="Europe/Berlin")
        for format_ in ("iso", "locale", "timestamp", "date_only")
    }
    assert [date.date for date in dates.values()] == [
        "2026-06-01T00:30:15+02:00",
        "Monday, 1 June 2026, 00:30:15 CEST",
        "1780266615",
        "2026-06-01",
    ]
    assert {(date.timestamp, date.timezone, date.utc_offset, date.weekday) for date in dates.values()} == {
        (1_780_266_615, "Europe/Berlin", "+02:00", "Monday")
    }
    local = render_date(NOW)
    assert datetime.fromisoformat(local.iso) == NOW.replace(microsecond=0)
    assert local.timezone


@pytest.mark.parametrize("zone", ["Nowhere", "../../etc/passwd", "/etc/passwd", "Europe", "", "a\0b", "x" * 5000])
def test_an_unknown_zone_is_refused(zone: str) -> None:
    if not zone:
        assert render_date(NOW, timezone=zone).iso
        return
    with pytest.raises(InvalidInput, match="there is no time zone"):
        render_date(NOW, timezone=zone)
