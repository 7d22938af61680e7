"""Whether a server is ready: one look for all who ask, and no word of where the store is."""

import asyncio

import pytest

from scrubjay.errors import IndexUnavailable, StoreBusy, StoreDamaged
from scrubjay.surfaces.rest.readiness import ReadinessProbe, Ready


class Memory:
    def __init__(
        self, *, problem: str = "", error: Exception | None = None, index_error: Exception | None = None
    ) -> None:
        self.problem, self.error, self.index_error = problem, error, index_error
        self.looks = 0
        self.may_answer = asyncio.Event()

    async def ready(self) -> None:
        self.looks += 1
        await self.may_answer.wait()
        if self.error is not None:
            raise self.error

    async def index_problem(self) -> str:
        if self.index_error is not None:
            raise self.index_error
        return self.problem


async def test_many_who_ask_cost_one_look() -> None:
    memory, conflict_checker = Memory(), ReadinessProbe()
    asking = [asyncio.create_task(conflict_checker.look(memory)) for _ in range(50)]
    await asyncio.sleep(0)
    asking[0].cancel()
    memory.may_answer.set()
    reported = await asyncio.gather(*asking, return_exceptions=True)
    assert reported[1:] == [Ready()] * 49
    assert await conflict_checker.look(memory) == Ready()
    assert memory.looks == 1


async def test_an_index_that_is_unwell_is_told_and_is_no_reason_to_go_elsewhere() -> None:
    for memory in (
        Memory(problem="http://10.0.0.1:6333 does not answer"),
        Memory(index_error=IndexUnavailable("away")),
    ):
        memory.may_answer.set()
        assert await ReadinessProbe().look(memory) == Ready(index="degraded")


@pytest.mark.parametrize(
    "error", [StoreBusy("postgresql://me@10.0.0.1 is away"), StoreDamaged("page 7"), TimeoutError()]
)
async def test_a_store_that_cannot_be_used_is_told_without_its_address(error: Exception) -> None:
    memory = Memory(error=error)
    memory.may_answer.set()
    with pytest.raises(StoreBusy) as caught:
        await ReadinessProbe().look(memory)
    assert str(caught.value) == "the store cannot be used now. Retry after 1 s"
    assert caught.value.fields == {"retry_after": 1}
