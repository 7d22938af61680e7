"""Reading a stream of changes, one event at a time."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from tests.surfaces.rest.waiting import LONGEST


@dataclass(frozen=True, slots=True)
class Told:
    """A block of a stream: an event with its number, or a remark."""

    id: str = ""
    data: dict[str, Any] | None = None
    remark: str = ""


class Stream:
    """Server-sent events as they come."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._blocks = _blocks(response)

    async def next(self) -> Told:
        """The next block, whatever it is."""
        async with asyncio.timeout(LONGEST):
            return await anext(self._blocks)

    async def event(self) -> dict[str, Any]:
        """The next event; remarks are passed over."""
        while (reported := await self.next()).data is None:
            continue
        assert reported.id == str(reported.data["seq"])
        return reported.data

    async def end(self) -> list[Told]:
        """What comes until the server ends it."""
        async with asyncio.timeout(LONGEST):
            return [reported async for reported in self._blocks]


@asynccontextmanager
async def streaming(web: httpx2.AsyncClient, **options: Any) -> AsyncGenerator[Stream]:
    async with web.stream("GET", "/api/v1/changes", **options) as response:
        if response.status_code == 200:
            assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
            assert response.headers["cache-control"] == "no-store"
            assert response.headers["x-request-id"]
        stream = Stream(response)
        if response.status_code == 200:
            assert (await stream.next()).remark == "hello"
        yield stream


async def _blocks(response: httpx2.Response) -> AsyncIterator[Told]:
    lines: list[str] = []
    async for line in response.aiter_lines():
        if line:
            lines.append(line)
            continue
        yield _told(lines)
        lines = []
    assert not lines


def _told(lines: list[str]) -> Told:
    if lines[0].startswith(":"):
        return Told(remark=lines[0].removeprefix(": "))
    fields = dict(line.split(": ", 1) for line in lines)
    return Told(id=fields["id"], data=json.loads(fields["data"]))
