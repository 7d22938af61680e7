"""The line buffer finds the same lines however the bytes arrive."""

import pytest

from scrubjay.surfaces.mcp.bridge.link import LineBuffer


@pytest.mark.parametrize("step", [1, 2, 3, 7, 100])
def test_lines_come_out_whole_however_they_went_in(step: int) -> None:
    data = b"one\n\ntwo\r\nthr\xc3\xa9\xc3\xa9\nhalf"
    lines = LineBuffer()
    result = [line for at in range(0, len(data), step) for line in lines.feed(data[at : at + step])]
    assert result == [b"one\n", b"\n", b"two\r\n", b"thr\xc3\xa9\xc3\xa9\n"]
    assert lines.rest() == b"half\n"
    assert lines.rest() == b""


@pytest.mark.parametrize("step", [1, 5, 64, 10_000])
def test_a_line_over_the_limit_is_reported_by_its_ends_and_the_next_is_read(step: int) -> None:
    refused: list[tuple[bytes, bytes]] = []
    lines = LineBuffer(limit=1000, refuse=lambda head, tail: refused.append((head, tail)))
    data = b"a" * 1000 + b"b" * 3000 + b"z\nnext\n" + b"c" * 999 + b"\n"
    result = [line for at in range(0, len(data), step) for line in lines.feed(data[at : at + step])]
    assert result == [b"next\n", b"c" * 999 + b"\n"]
    ((head, tail),) = refused
    assert head == b"a" * 512
    assert tail.endswith(b"bz\n")
    assert len(tail) == 512


def test_a_skipped_line_is_never_held_whole() -> None:
    lines = LineBuffer(limit=1000)
    for _ in range(100):
        assert lines.feed(b"x" * 1000) == []
        assert len(lines._pending) <= 2000


def test_a_line_that_is_too_long_may_also_be_the_last() -> None:
    refused: list[bytes] = []
    lines = LineBuffer(limit=10, refuse=lambda head, _: refused.append(head))
    assert lines.feed(b"x" * 50) == []
    assert lines.rest() == b""
    assert refused == [b"x" * 50]
