"""What both Python clients need to travel: steps with names, the first failing of which ends the journey."""

import asyncio
import json
import sys
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

NEWER = "2026-07-28"
PATIENCE = 10.0
CORE = ["remember", "recall", "read", "revise", "forget", "relate", "history"]


@dataclass(frozen=True, kw_only=True)
class Journey:
    """What the command line asks for: PART REVISION stdio|http COMMAND… or URL."""

    part: str
    era: str
    way: str
    target: list[str]
    steps: list[str] = field(default_factory=list[str])

    @asynccontextmanager
    async def step(self, name: str) -> AsyncGenerator[None]:
        """One thing that must work."""
        async with asyncio.timeout(PATIENCE):
            yield
        self.steps.append(name)


def travel(go: Callable[[Journey], Coroutine[object, object, None]]) -> None:
    """Take the journey and print its steps, or say on standard error which one was the last that worked."""
    part, era, way, *target = sys.argv[1:]
    journey = Journey(part=part, era=era, way=way, target=target)
    try:
        asyncio.run(go(journey))
    except BaseException:  # noqa: BLE001 - the edge of a script: whoever has started it gets the trace
        last = journey.steps[-1] if journey.steps else "nothing"
        sys.exit(f"what worked last: {last}\n{traceback.format_exc()}")
    print(json.dumps({"steps": journey.steps}))


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something that happens elsewhere; the step's own time ends the wait."""
    while not await is_so():  # noqa: ASYNC110 - it is another process that does it
        await asyncio.sleep(0.02)


def must(is_so: bool, seen: object) -> None:
    """What was seen is as it must be."""
    if not is_so:
        raise AssertionError(repr(seen)[:1_000])
