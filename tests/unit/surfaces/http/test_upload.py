"""Lines that somebody sends, kept until all are there."""

from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.surfaces.http import upload as spooling
from scrubjay.surfaces.http.upload import UploadBuffer, lines_of


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    for piece in given:
        yield piece


@pytest.mark.parametrize(
    ("given", "lines"),
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
async def test_lines_however_they_are_cut(given: list[bytes], lines: list[bytes]) -> None:
    assert [line async for line in lines_of(pieces(*given))] == lines


async def test_a_line_without_end_is_refused() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * (1 << 20)

    with pytest.raises(TooLarge):
        async for _ in lines_of(endless()):
            pass


async def test_lines_are_read_as_often_as_need_be() -> None:
    with closing(UploadBuffer()) as spool:
        await spool.take(lines_of(pieces(b"one\ntw", b"o\n")))
        spool.add(["three é \ud800", b"four\n"])
        for _ in range(2):
            assert list(spool.lines()) == ["one\n", "two\n", "three é \ud800\n", "four\n"]


def test_without_lines_there_are_none() -> None:
    with closing(UploadBuffer()) as spool:
        assert list(spool.lines()) == []


async def test_what_breaks_off_is_let_go_of() -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield b"one\n"
        raise TimeoutError

    spool = UploadBuffer()
    with pytest.raises(TimeoutError):
        await spool.take(lines_of(breaking()))
    with pytest.raises(ValueError, match="closed"):
        list(spool.lines())


def test_what_is_no_text_is_named_by_its_line() -> None:
    with closing(UploadBuffer()) as spool:
        spool.add([b"fine", b"\xff\xfe"])
        with pytest.raises(InvalidInput, match="line 2 is not UTF-8 at byte 0"):
            list(spool.lines())


def test_the_longest_line_has_room_for_a_memory_with_its_past() -> None:
    assert spooling._LONGEST_LINE >= 16 * 1024 * 1024
