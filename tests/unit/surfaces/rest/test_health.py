"""The readiness probe: one check for all callers, and errors without the store's address."""

import asyncio

import pytest

from scrubjay.errors import IndexUnavailable, StoreBusy, StoreDamaged
from scrubjay.surfaces.rest.health import ReadinessProbe, Ready


class FakeEngine:
    def __init__(
        self, *, problem: str = "", error: Exception | None = None, index_error: Exception | None = None
    ) -> None:
        self.problem, self.error, self.index_error = problem, error, index_error
        self.checks = 0
        self.may_respond = asyncio.Event()

    async def ready(self) -> None:
        self.checks += 1
        await self.may_respond.wait()
        if self.error is not None:
            raise self.error

    async def index_problem(self) -> str:
        if self.index_error is not None:
            raise self.index_error
        return self.problem


async def test_many_callers_share_one_check() -> None:
    engine, probe = FakeEngine(), ReadinessProbe()
    callers = [asyncio.create_task(probe.check(engine)) for _ in range(50)]
    await asyncio.sleep(0)
    callers[0].cancel()
    engine.may_respond.set()
    results = await asyncio.gather(*callers, return_exceptions=True)
    assert results[1:] == [Ready()] * 49
    assert await probe.check(engine) == Ready()
    assert engine.checks == 1


async def test_a_degraded_index_is_reported_and_the_server_stays_ready() -> None:
    for engine in (
        FakeEngine(problem="http://10.0.0.1:6333 does not answer"),
        FakeEngine(index_error=IndexUnavailable("unavailable")),
    ):
        engine.may_respond.set()
        assert await ReadinessProbe().check(engine) == Ready(index="degraded")


@pytest.mark.parametrize(
    "error", [StoreBusy("postgresql://me@10.0.0.1 is unavailable"), StoreDamaged("page 7"), TimeoutError()]
)
async def test_an_unavailable_store_is_reported_without_its_address(error: Exception) -> None:
    engine = FakeEngine(error=error)
    engine.may_respond.set()
    with pytest.raises(StoreBusy) as caught:
        await ReadinessProbe().check(engine)
    assert str(caught.value) == "the store is not available. Retry after 1 s"
    assert caught.value.fields == {"retry_after": 1}
