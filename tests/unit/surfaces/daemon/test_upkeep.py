"""The background work of a store that nobody shares is nobody's."""

import asyncio
from dataclasses import dataclass, field
from typing import cast

from scrubjay.engine import Engine
from scrubjay.surfaces.daemon.upkeep import keep_up
from scrubjay.testing import FakeStore


@dataclass
class Alone:
    """An engine of one machine."""

    store: FakeStore = field(default_factory=FakeStore)


async def test_a_store_of_one_machine_needs_no_leader() -> None:
    async with asyncio.timeout(5):
        await keep_up(cast("Engine", Alone()))
