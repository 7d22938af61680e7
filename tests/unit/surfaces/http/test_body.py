"""Request reader: limits of size, time and memory, and the buffer for uploaded lines."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing

import pytest
from starlette.types import Message, Receive
from tests.unit.surfaces.http.messages import client_sending, scope_of

from scrubjay.errors import Busy, InvalidInput, TooLarge, TooSlow
from scrubjay.surfaces.http import body as body_module
from scrubjay.surfaces.http.body import BodyReader, ClientGone, replay_body, split_lines
from scrubjay.surfaces.http.upload import UploadBuffer


def silent_client() -> Receive:
    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    return receive


async def test_a_body_is_read_whole_and_counted_until_it_is_released() -> None:
    reader = BodyReader(seconds=5)
    body = await reader.read(scope_of("POST"), client_sending(b"abc", b"", b"def"), limit=6)
    assert (body, reader.bytes_in_memory) == (b"abcdef", 6)
    reader.release(body)
    assert reader.bytes_in_memory == 0
    reader.release(None)
    assert reader.bytes_in_memory == 0


async def test_a_missing_body_is_empty() -> None:
    assert await BodyReader(seconds=5).read(scope_of("POST"), client_sending(), limit=6) == b""


@pytest.mark.parametrize("length", ["7", "99999999999999999999999"])
async def test_a_content_length_above_the_limit_is_refused_before_reading(length: str) -> None:
    reader = BodyReader(seconds=5)
    with pytest.raises(TooLarge) as caught:
        await reader.read(scope_of("POST", "/", ("content-length", length)), silent_client(), limit=6)
    assert caught.value.fields["limit"] == 6


async def test_a_body_is_refused_as_soon_as_it_exceeds_the_limit() -> None:
    reader = BodyReader(seconds=5)
    with pytest.raises(TooLarge):
        await reader.read(scope_of("POST"), client_sending(b"abc", b"defg", b"h" * 100), limit=6)
    assert reader.bytes_in_memory == 0


@pytest.mark.parametrize("length", ["", "x", "-1", "1.5", "²"])
async def test_an_invalid_content_length_is_ignored(length: str) -> None:
    scope = scope_of("POST", "/", ("content-length", length))
    assert await BodyReader(seconds=5).read(scope, client_sending(b"abc"), limit=3) == b"abc"


async def test_a_late_body_is_refused() -> None:
    reader = BodyReader(seconds=0.01)
    with pytest.raises(TooSlow, match=r"0\.01 s"):
        await reader.read(scope_of("POST"), silent_client(), limit=6)
    assert reader.bytes_in_memory == 0


async def test_a_client_that_disconnects_raises_client_gone() -> None:
    reader = BodyReader(seconds=5)
    with pytest.raises(ClientGone):
        await reader.read(scope_of("POST"), client_sending(b"abc", ends=False), limit=6)
    assert reader.bytes_in_memory == 0


async def test_all_bodies_together_are_limited() -> None:
    reader = BodyReader(seconds=5, max_bytes=10)
    first = await reader.read(scope_of("POST"), client_sending(b"x" * 8), limit=100)
    with pytest.raises(Busy) as caught:
        await reader.read(scope_of("POST"), client_sending(b"x" * 3), limit=100)
    assert caught.value.fields["retry_after"] == 1
    assert reader.bytes_in_memory == 8
    reader.release(first)
    assert await reader.read(scope_of("POST"), client_sending(b"x" * 3), limit=100) == b"xxx"


async def test_a_cancelled_read_is_not_counted() -> None:
    reader, started = BodyReader(seconds=5), asyncio.Event()

    async def receive() -> Message:
        if not reader.bytes_in_memory:
            return {"type": "http.request", "body": b"abc", "more_body": True}
        started.set()
        return await silent_client()()

    reading = asyncio.create_task(reader.read(scope_of("POST"), receive, limit=6))
    await started.wait()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert reader.bytes_in_memory == 0


@pytest.mark.parametrize("path", ["/api/v1/import", "/call/import_"])
async def test_imports_are_left_to_their_routes(path: str) -> None:
    assert await BodyReader(seconds=5).read(scope_of("POST", path), silent_client(), limit=1) is None


async def test_a_stream_is_limited_in_time_and_size() -> None:
    with pytest.raises(TooSlow):
        await BodyReader(seconds=0.01).limit_stream(silent_client())()
    limited = BodyReader(seconds=5, stream_bytes=5).limit_stream(client_sending(b"abc", b"def"))
    assert (await limited())["body"] == b"abc"
    with pytest.raises(TooLarge):
        await limited()


async def test_a_replayed_body_comes_before_later_messages() -> None:
    receive = replay_body(b"abc", client_sending(ends=False))
    assert await receive() == {"type": "http.request", "body": b"abc", "more_body": False}
    assert (await receive())["type"] == "http.disconnect"


async def stream(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([], []),
        ([b""], []),
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a\nb"], [b"a", b"b"]),
        ([b"a", b"b\n", b"c", b"", b"\n"], [b"ab", b"c"]),
        ([b"\n\n"], [b"", b""]),
        ([b"a\r\nb"], [b"a\r", b"b"]),
        (["é\n".encode()[:1], "é\n".encode()[1:]], ["é".encode()]),
    ],
)
async def test_lines_are_split_across_chunks(chunks: list[bytes], lines: list[bytes]) -> None:
    assert [line async for line in split_lines(stream(*chunks))] == lines


async def test_an_endless_line_is_refused() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * (1 << 20)

    with pytest.raises(TooLarge):
        async for _ in split_lines(endless()):
            pass


@pytest.mark.parametrize("encrypted", [False, True])
async def test_lines_can_be_read_more_than_once(encrypted: bool) -> None:
    with closing(UploadBuffer(encrypted=encrypted)) as buffer:
        await buffer.read_from(split_lines(stream(b"one\ntw", b"o\n")))
        buffer.add(["three é \ud800", b"four\n"])
        for _ in range(2):
            assert list(buffer.lines()) == ["one\n", "two\n", "three é \ud800\n", "four\n"]


def test_an_encrypted_buffer_holds_long_lines_and_no_text() -> None:
    lines = [f"{number} {'long ' * number * 1000}\n" for number in range(60)]
    with closing(UploadBuffer(encrypted=True)) as buffer:
        buffer.add(lines)
        assert list(buffer.lines()) == lines
        assert buffer._file is not None
        buffer._file.seek(0)
        assert b"long" not in buffer._file.read()


@pytest.mark.parametrize("encrypted", [False, True])
def test_an_empty_buffer_has_no_lines(encrypted: bool) -> None:
    with closing(UploadBuffer(encrypted=encrypted)) as buffer:
        assert list(buffer.lines()) == []


async def test_a_failed_upload_closes_the_buffer() -> None:
    async def failing() -> AsyncIterator[bytes]:
        yield b"one\n"
        raise TimeoutError

    buffer = UploadBuffer()
    with pytest.raises(TimeoutError):
        await buffer.read_from(split_lines(failing()))
    with pytest.raises(ValueError, match="closed"):
        list(buffer.lines())


def test_a_line_that_is_not_utf8_is_named_by_its_number() -> None:
    with closing(UploadBuffer()) as buffer:
        buffer.add([b"fine", b"\xff\xfe"])
        with pytest.raises(InvalidInput, match="line 2 is not UTF-8 at byte 0"):
            list(buffer.lines())


def test_a_line_may_hold_a_memory_with_its_history() -> None:
    assert body_module._MAX_LINE_BYTES >= 16 * 1024 * 1024
