"""The named steps of both Python clients; the first failure ends the journey."""

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
    """The arguments of the command line: PART REVISION stdio|http COMMAND… or URL."""

    part: str
    era: str
    transport: str
    target: list[str]
    steps: list[str] = field(default_factory=list[str])

    @asynccontextmanager
    async def step(self, name: str) -> AsyncGenerator[None]:
        """Run a step within the time limit."""
        async with asyncio.timeout(PATIENCE):
            yield
        self.steps.append(name)


def run_journey(go: Callable[[Journey], Coroutine[object, object, None]]) -> None:
    """Run the journey and print its steps, or print the last successful step and the error on standard error."""
    part, era, transport, *target = sys.argv[1:]
    journey = Journey(part=part, era=era, transport=transport, target=target)
    try:
        asyncio.run(go(journey))
    except BaseException:  # noqa: BLE001 - the edge of a script: the caller gets the trace
        last = journey.steps[-1] if journey.steps else "nothing"
        sys.exit(f"last successful step: {last}\n{traceback.format_exc()}")
    print(json.dumps({"steps": journey.steps}))


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait for a change in another process, within the time limit of the step."""
    while not await condition():  # noqa: ASYNC110 - another process changes it
        await asyncio.sleep(0.02)


def must(condition: bool, observed: object) -> None:
    """Raise AssertionError with the observed value unless the condition holds."""
    if not condition:
        raise AssertionError(repr(observed)[:1_000])
