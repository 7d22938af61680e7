"""A reader of a stream of changes."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from tests.patience import PATIENCE


@dataclass(frozen=True, slots=True)
class StreamBlock:
    """A block of a stream: an event with its id, or a comment."""

    id: str = ""
    data: dict[str, Any] | None = None
    comment: str = ""


class Stream:
    """A stream of server-sent events."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._blocks = _blocks(response)

    async def next(self) -> StreamBlock:
        """Return the next block."""
        async with asyncio.timeout(PATIENCE):
            return await anext(self._blocks)

    async def event(self) -> dict[str, Any]:
        """Return the next event, without comments."""
        while (result := await self.next()).data is None:
            continue
        assert result.id == str(result.data["seq"])
        return result.data

    async def end(self) -> list[StreamBlock]:
        """Return the blocks until the server ends the stream."""
        async with asyncio.timeout(PATIENCE):
            return [result async for result in self._blocks]


@asynccontextmanager
async def streaming(web: httpx2.AsyncClient, **options: Any) -> AsyncGenerator[Stream]:
    async with web.stream("GET", "/api/v1/changes", **options) as response:
        if response.status_code == 200:
            assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
            assert response.headers["cache-control"] == "no-store"
            assert response.headers["x-request-id"]
        stream = Stream(response)
        if response.status_code == 200:
            assert (await stream.next()).comment == "hello"
        yield stream


async def _blocks(response: httpx2.Response) -> AsyncIterator[StreamBlock]:
    lines: list[str] = []
    async for line in response.aiter_lines():
        if line:
            lines.append(line)
            continue
        yield _parse_block(lines)
        lines = []
    assert not lines


def _parse_block(lines: list[str]) -> StreamBlock:
    if lines[0].startswith(":"):
        return StreamBlock(comment=lines[0].removeprefix(": "))
    fields = dict(line.split(": ", 1) for line in lines)
    return StreamBlock(id=fields["id"], data=json.loads(fields["data"]))
