"""Tracing: loads OpenTelemetry only if traces are switched on."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from scrubjay import telemetry
from scrubjay.errors import InvalidInput

OFF, OTLP, CONSOLE = EXPORTERS = ("off", "otlp", "console")
_SETTING = "SCRUBJAY_TRACES"


@asynccontextmanager
async def tracing(exporter: str) -> AsyncGenerator[None]:
    """Trace the work in this block: `otlp` sends spans as OTEL_* says, `console` prints them, `off` does nothing."""
    if exporter not in EXPORTERS:
        raise InvalidInput(
            f"there is no exporter {exporter[:60]!r} for traces",
            hint=f"{_SETTING} is one of {', '.join(EXPORTERS)}",
            setting=_SETTING,
        )
    if exporter == OFF:
        yield
        return
    try:
        from scrubjay.observability.otel import Traces, exporter_for  # noqa: PLC0415 - an extra

        traces = Traces(exporter_for(exporter), immediately=exporter == CONSOLE)
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
