"""Frames: lines of JSON in chunks of any size, and lines over the limit."""

import asyncio

import pytest

from scrubjay.errors import DaemonUnavailable, InvalidInput, TooLarge
from scrubjay.rpc.frames import LineReader, decode_frame, encode_frame, hello, require_same_protocol
from scrubjay.version import PROTOCOL


def reader_of(*chunks: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    for chunk in chunks:
        reader.feed_data(chunk)
    reader.feed_eof()
    return reader


async def test_lines_come_one_by_one_in_chunks_of_any_size() -> None:
    lines = LineReader(reader_of(b"one\ntw", b"o\n", b"\n", b"three"))
    assert [await lines.line() for _ in range(5)] == [b"one", b"two", b"", None, None]


async def test_a_line_that_is_too_long_is_skipped_and_the_next_is_read() -> None:
    lines = LineReader(reader_of(b"x" * 300_000, b"y" * 600_000, b"\nnext\n"), longest=1000)
    with pytest.raises(TooLarge, match="900,000 bytes"):
        await lines.line()
    assert await lines.line() == b"next"
    assert await lines.line() is None


async def test_a_long_line_without_an_end_is_no_line() -> None:
    assert await LineReader(reader_of(b"x" * 600_000), longest=1000).line() is None


def test_frames_are_lines() -> None:
    frame = {"id": 1, "text": "two\nlines \ud800 é"}
    line = encode_frame(frame)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_frame(line) == frame
    with pytest.raises(InvalidInput, match="cannot be written as JSON"):
        encode_frame({"x": b"bytes"})  # type: ignore[dict-item]
    for bad in (b"{", b"[1]", b"\xff", b""):
        with pytest.raises(InvalidInput):
            decode_frame(bad)


def test_the_older_side_is_named() -> None:
    require_same_protocol(hello("verbs"), other="daemon")
    with pytest.raises(DaemonUnavailable) as caught:
        require_same_protocol({"scrubjay": "0.0.1", "protocol": PROTOCOL - 1}, other="daemon")
    assert caught.value.hint == "Update Scrubjay if needed, and restart the daemon"
    assert f"the daemon (Scrubjay 0.0.1, protocol {PROTOCOL - 1}) and the client" in caught.value.message
    with pytest.raises(DaemonUnavailable) as caught:
        require_same_protocol({"scrubjay": "9.9", "protocol": PROTOCOL + 1}, other="daemon")
    assert caught.value.hint == "Update the client and restart its program"
    with pytest.raises(DaemonUnavailable) as caught:
        require_same_protocol({"protocol": PROTOCOL + 1}, other="client")
    assert caught.value.hint == "Update Scrubjay if needed, and restart the daemon"
    with pytest.raises(DaemonUnavailable) as caught:
        require_same_protocol({}, other="client")
    assert caught.value.hint == "Update the client and restart its program"
