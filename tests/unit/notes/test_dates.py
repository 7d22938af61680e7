"""The date of now, in four formats and any time zone."""

from datetime import UTC, datetime

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.notes.dates import current_date

NOW = datetime(2026, 5, 31, 22, 30, 15, 123456, tzinfo=UTC)


def test_each_format_tells_the_same_moment() -> None:
    said = {
        form: current_date(NOW, format=form, timezone="Europe/Berlin")
        for form in ("iso", "locale", "timestamp", "date_only")
    }
    assert [one.date for one in said.values()] == [
        "2026-06-01T00:30:15+02:00",
        "Monday, 1 June 2026, 00:30:15 CEST",
        "1780266615",
        "2026-06-01",
    ]
    assert {(one.timestamp, one.timezone, one.utc_offset, one.weekday) for one in said.values()} == {
        (1_780_266_615, "Europe/Berlin", "+02:00", "Monday")
    }
    here = current_date(NOW)
    assert datetime.fromisoformat(here.iso) == NOW.replace(microsecond=0)
    assert here.timezone


@pytest.mark.parametrize("zone", ["Nowhere", "../../etc/passwd", "/etc/passwd", "Europe", "", "a\0b", "x" * 5000])
def test_a_zone_that_nobody_knows_is_refused(zone: str) -> None:
    if not zone:
        assert current_date(NOW, timezone=zone).iso
        return
    with pytest.raises(InvalidInput, match="there is no time zone"):
        current_date(NOW, timezone=zone)
