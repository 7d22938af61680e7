"""Bodies: whole, in time, and never more than there is room for."""

import asyncio

import pytest
from starlette.types import Message, Receive
from tests.unit.surfaces.http.messages import saying, scope_of

from scrubjay.errors import Busy, TooLarge, TooSlow
from scrubjay.surfaces.http.body import BodyReader, HungUp, replayed


def silent() -> Receive:
    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    return receive


async def test_a_body_is_read_whole_and_counted_until_it_is_released() -> None:
    bodies = BodyReader(seconds=5)
    body = await bodies.read(scope_of("POST"), saying(b"abc", b"", b"def"), limit=6)
    assert (body, bodies.held) == (b"abcdef", 6)
    bodies.release(body)
    assert bodies.held == 0
    bodies.release(None)
    assert bodies.held == 0


async def test_none_is_empty() -> None:
    assert await BodyReader(seconds=5).read(scope_of("POST"), saying(), limit=6) == b""


@pytest.mark.parametrize("length", ["7", "99999999999999999999999"])
async def test_more_than_the_limit_is_refused_before_it_is_sent(length: str) -> None:
    bodies = BodyReader(seconds=5)
    with pytest.raises(TooLarge) as caught:
        await bodies.read(scope_of("POST", "/", ("content-length", length)), silent(), limit=6)
    assert caught.value.fields["limit"] == 6


async def test_and_as_soon_as_it_is_there() -> None:
    bodies = BodyReader(seconds=5)
    with pytest.raises(TooLarge):
        await bodies.read(scope_of("POST"), saying(b"abc", b"defg", b"h" * 100), limit=6)
    assert bodies.held == 0


@pytest.mark.parametrize("length", ["", "x", "-1", "1.5", "²"])
async def test_a_length_that_is_none_announces_nothing(length: str) -> None:
    scope = scope_of("POST", "/", ("content-length", length))
    assert await BodyReader(seconds=5).read(scope, saying(b"abc"), limit=3) == b"abc"


async def test_what_does_not_come_in_time_is_not_waited_for() -> None:
    bodies = BodyReader(seconds=0.01)
    with pytest.raises(TooSlow, match=r"0\.01 s"):
        await bodies.read(scope_of("POST"), silent(), limit=6)
    assert bodies.held == 0


async def test_a_client_that_leaves_is_gone() -> None:
    bodies = BodyReader(seconds=5)
    with pytest.raises(HungUp):
        await bodies.read(scope_of("POST"), saying(b"abc", ends=False), limit=6)
    assert bodies.held == 0


async def test_all_together_may_not_be_too_much() -> None:
    bodies = BodyReader(seconds=5, most=10)
    first = await bodies.read(scope_of("POST"), saying(b"x" * 8), limit=100)
    with pytest.raises(Busy) as caught:
        await bodies.read(scope_of("POST"), saying(b"x" * 3), limit=100)
    assert caught.value.fields["retry_after"] == 1
    assert bodies.held == 8
    bodies.release(first)
    assert await bodies.read(scope_of("POST"), saying(b"x" * 3), limit=100) == b"xxx"


async def test_a_reading_that_is_given_up_is_not_counted() -> None:
    bodies, begun = BodyReader(seconds=5), asyncio.Event()

    async def receive() -> Message:
        if not bodies.held:
            return {"type": "http.request", "body": b"abc", "more_body": True}
        begun.set()
        return await silent()()

    reading = asyncio.create_task(bodies.read(scope_of("POST"), receive, limit=6))
    await begun.wait()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert bodies.held == 0


@pytest.mark.parametrize("path", ["/api/v1/import", "/call/import_"])
async def test_lines_are_left_to_whoever_takes_them_in(path: str) -> None:
    assert await BodyReader(seconds=5).read(scope_of("POST", path), silent(), limit=1) is None


async def test_a_stream_must_keep_coming_and_end() -> None:
    with pytest.raises(TooSlow):
        await BodyReader(seconds=0.01).paced(silent())()
    paced = BodyReader(seconds=5, stream_bytes=5).paced(saying(b"abc", b"def"))
    assert (await paced())["body"] == b"abc"
    with pytest.raises(TooLarge):
        await paced()


async def test_what_was_read_is_told_once_more_and_then_what_the_caller_does() -> None:
    again = replayed(b"abc", saying(ends=False))
    assert await again() == {"type": "http.request", "body": b"abc", "more_body": False}
    assert (await again())["type"] == "http.disconnect"
