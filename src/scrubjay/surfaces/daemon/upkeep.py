"""What one server does for all: finishes what others were killed over."""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import ExitStack

from scrubjay import telemetry
from scrubjay.engine import Engine
from scrubjay.errors import ScrubjayError
from scrubjay.sharing import Leadership, Shared

_log = logging.getLogger(__name__)
_NAME = "upkeep"
_SECONDS = 300.0


async def keep_up(engine: Engine, *, seconds: float = _SECONDS) -> None:
    """Tidy the store and embed what is missing now and then, as long as this server leads; never ends by itself.

    A store of one machine is tidied by whoever opens it.
    """
    if not isinstance(engine.store, Shared):
        return
    async with engine.store.leader(_NAME) as leader:
        with ExitStack() as stack:
            stack.callback(telemetry.gauge("leading", lambda: float(leader.leads)))
            while True:
                await leader.elected()
                _log.info("leads", extra={"fields": {"work": _NAME}})
                await _while_leading(_rounds(engine, seconds=seconds), leader)


async def _rounds(engine: Engine, *, seconds: float) -> None:
    while True:
        try:
            await engine.store.tidy()
            await engine.embed_missing()
        except ScrubjayError as error:
            # Whatever ails the store now, there is another round.
            _log.warning("upkeep was put off", extra={"fields": {"error": error.code}})
        except Exception:  # noqa: BLE001 - a job's edge
            # What nobody thought of must not make it begin again at once.
            _log.exception("upkeep failed")
        await asyncio.sleep(seconds)


async def _while_leading(work: Coroutine[object, object, None], leader: Leadership) -> None:
    """Work until somebody else leads."""
    working, dismissed = asyncio.create_task(work), asyncio.create_task(leader.dismissed())
    try:
        await asyncio.wait({working, dismissed}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (working, dismissed):
            task.cancel()
        await asyncio.gather(working, dismissed, return_exceptions=True)
