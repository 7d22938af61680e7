"""Writes in flight: one that may say the same waits, any other goes on."""

import asyncio

import numpy as np
import pytest

from scrubjay.writing.context import InFlightWrites, Statement

NORTH = np.array([1.0, 0.0], dtype=np.float32)
NEARLY_NORTH = np.array([0.99, 0.14], dtype=np.float32)
EAST = np.array([0.0, 1.0], dtype=np.float32)


async def test_a_write_that_says_the_same_waits_until_the_first_is_stored() -> None:
    order = await _order_of((NORTH, ""), (NEARLY_NORTH, ""))
    assert order == ["0 begins", "0 ends", "1 begins", "1 ends"]


async def test_a_write_that_says_something_else_does_not_wait() -> None:
    order = await _order_of((NORTH, ""), (EAST, ""))
    assert order == ["0 begins", "1 begins", "0 ends", "1 ends"]


async def test_a_write_of_the_same_session_always_waits() -> None:
    assert (await _order_of((NORTH, "a"), (EAST, "a")))[1] == "0 ends"
    assert (await _order_of((NORTH, "a"), (EAST, "b")))[1] == "1 begins"


async def test_without_a_vector_nothing_waits() -> None:
    assert (await _order_of((None, ""), (None, "")))[1] == "1 begins"


async def test_spaces_do_not_wait_for_each_other_and_a_failure_releases_the_next() -> None:
    in_flight = InFlightWrites()
    async with in_flight.register("one", Statement(NORTH)), in_flight.register("two", Statement(NORTH)):
        pass
    for _ in range(2):
        with pytest.raises(KeyError):
            async with in_flight.register("one", Statement(NORTH)):
                raise KeyError
    assert await _order_of((NORTH, ""))


async def _order_of(*writes: tuple[np.ndarray | None, str]) -> list[str]:
    in_flight, order = InFlightWrites(), list[str]()

    async def run(number: int, vector: np.ndarray | None, session: str) -> None:
        async with in_flight.register("default", Statement(vector, session)):
            order.append(f"{number} begins")
            for _ in range(3):
                await asyncio.sleep(0)
            order.append(f"{number} ends")

    await asyncio.gather(*(run(number, *write) for number, write in enumerate(writes)))
    return order
