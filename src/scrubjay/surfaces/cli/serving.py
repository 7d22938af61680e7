"""Runs the daemon for the command line, and tells a person how to use it."""

import asyncio
import gc
import json
import sys
from functools import partial

from scrubjay.errors import InvalidInput
from scrubjay.install.program import bridge_entry
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.logs import LEVELS, set_up_logs
from scrubjay.surfaces.daemon.serve import Orders, Running, serve
from scrubjay.surfaces.mcp.toolsets import pick

_OFF = "off"
# A request makes thousands of objects, and nearly all of them go as it ends, without being looked for.
_RARELY = (50_000, 20, 100)
_TRY = (
    '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "hello"}}}'
)
_LIST = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'


def run_daemon(settings: Settings, *, idle: float, http_must: bool) -> bool:
    """Serve until told to stop; returns whether to start again."""
    if settings.log_level not in LEVELS:
        raise InvalidInput(
            f"there is no log level {settings.log_level!r}", hint=f"It is one of {', '.join(LEVELS)}", field="log_level"
        )
    set_up_logs(settings.log_level)
    gc.set_threshold(*_RARELY)
    orders = Orders(
        settings=settings,
        tools=settings.tools,
        http="" if settings.http == _OFF else settings.http,
        http_must=http_must,
        idle=idle,
    )
    return asyncio.run(serve(orders, ready=partial(_welcome, tools=settings.tools)))


def _welcome(running: Running, *, tools: str) -> None:
    """What to type next; for people, so it is not part of the log."""
    # What is there by now is there to stay.
    gc.freeze()
    lines = [f"Scrubjay serves {running.data} (pid {running.pid}). Stop it with Ctrl-C."]
    lines.append(
        f"  for agents  {json.dumps({'mcpServers': {'scrubjay': bridge_entry(data=running.data, by_name=True)}})}"
    )
    if running.http:
        asked = _TRY if any(tool.name == "recall" for tool in pick(tools)) else _LIST
        lines += [
            f"  address     {running.http}",
            f"  try         curl -s {running.http}/mcp -H 'content-type: application/json' -d '{asked}'",
        ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
