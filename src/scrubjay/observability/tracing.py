"""Traces, for whoever has something to send them to. OpenTelemetry is loaded only then."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from scrubjay import telemetry
from scrubjay.errors import InvalidInput

OFF, OTLP, CONSOLE = WAYS = ("off", "otlp", "console")
_SETTING = "SCRUBJAY_TRACES"


@asynccontextmanager
async def tracing(way: str) -> AsyncGenerator[None]:
    """Trace what is done in the block: `otlp` sends it where OTEL_* say, `console` prints it, `off` does nothing."""
    if way not in WAYS:
        raise InvalidInput(
            f"traces cannot go to {way[:60]!r}", hint=f"{_SETTING} is one of {', '.join(WAYS)}", setting=_SETTING
        )
    if way == OFF:
        yield
        return
    try:
        from scrubjay.observability.otel import Traces, exporter_for  # noqa: PLC0415 - an extra

        traces = Traces(exporter_for(way), at_once=way == CONSOLE)
    except ImportError as error:
        raise InvalidInput(
            "traces need OpenTelemetry, which is not installed",
            hint=f"pip install 'scrubjay[otel]', or set {_SETTING}=off",
            setting=_SETTING,
        ) from error
    except ValueError as error:
        raise InvalidInput(f"OpenTelemetry cannot be set up: {error}", hint="Check the OTEL_* variables") from error
    try:
        with telemetry.observe(traces):
            yield
    finally:
        await asyncio.to_thread(traces.close)
