"""Writes on their way: of two that say the same at the same moment, the second waits until the first is stored."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np

from scrubjay.model.passage import Vector

# Whoever waits looks again afterwards, so that a wait too many costs a moment and nothing else.
_NEAR = 0.85


@dataclass(eq=False, slots=True)
class _Flight:
    vector: Vector | None
    session: str
    landed: asyncio.Event = field(default_factory=asyncio.Event)

    def meets(self, vector: Vector | None, session: str) -> bool:
        if session and session == self.session:
            return True
        return self.vector is not None and vector is not None and float(np.dot(self.vector, vector)) >= _NEAR


class InFlightWrites:
    """The writes of this process that have been compared with what is stored, and are not stored yet."""

    def __init__(self) -> None:
        self._by_space: dict[str, list[_Flight]] = {}

    @asynccontextmanager
    async def taking_off(self, space: str, *, vector: Vector | None, session: str = "") -> AsyncGenerator[None]:
        """Wait for those that may say the same, then be waited for."""
        in_flight = self._by_space.setdefault(space, [])
        while (before := next((one for one in in_flight if one.meets(vector, session)), None)) is not None:
            await before.landed.wait()
            in_flight = self._by_space.setdefault(space, [])
        flight = _Flight(vector, session)
        in_flight.append(flight)
        try:
            yield
        finally:
            flight.landed.set()
            in_flight.remove(flight)
            if not in_flight and self._by_space.get(space) is in_flight:
                del self._by_space[space]
