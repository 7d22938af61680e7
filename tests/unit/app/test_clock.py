"""The clock that a file sets."""

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scrubjay.app import FileClock, open_engine
from scrubjay.errors import InvalidInput
from scrubjay.settings import Settings

MAY = datetime(2026, 5, 31, 14, tzinfo=UTC)


def test_time_runs_on_from_the_moment_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "clock"
    file.write_text("2026-05-31T16:00:00+02:00\n")
    clock = FileClock(file)
    first, second = clock.now(), clock.now()
    assert MAY <= first <= second < MAY + timedelta(minutes=1)
    file.write_text("2025-01-01T00:00:00Z")
    assert timedelta() <= clock.now() - datetime(2025, 1, 1, tzinfo=UTC) < timedelta(minutes=1)


@pytest.mark.parametrize(
    "content", ["", "soon", "2026-05-31T14:00:00", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00"]
)
def test_the_clock_keeps_the_last_good_moment(tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "clock"
    file.write_text("2026-05-31T14:00:00Z")
    clock = FileClock(file)
    with caplog.at_level(logging.WARNING):
        file.write_text(content)
        assert MAY <= clock.now() < MAY + timedelta(minutes=1)
        file.unlink()
        assert MAY <= clock.now() < MAY + timedelta(minutes=1)
    assert "the clock runs on" in caplog.text


@pytest.mark.parametrize("content", [None, b"soon", b"2026-05-31T14:00:00", b"\xff\xfe"])
async def test_without_a_moment_nothing_starts(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "clock"
    if content is not None:
        file.write_bytes(content)
    settings = Settings(home=str(tmp_path / "data"), embedder="none", vector_index="scan", clock_file=str(file))
    with pytest.raises(InvalidInput, match="SCRUBJAY_CLOCK_FILE"):
        async with open_engine(settings):
            pass
