"""The work of `scrubjay serve`: run the daemon and print how to connect to it; only that command loads it."""

import asyncio
import gc
import json
import sys
from functools import partial

from scrubjay.errors import InvalidInput
from scrubjay.install.commands import bridge_entry
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.logs import LEVELS, set_up_logs
from scrubjay.surfaces.daemon.serve import RunningDaemon, ServeOptions, serve
from scrubjay.surfaces.mcp.toolsets import pick

_OFF = "off"
# A request creates thousands of objects, and reference counting frees nearly all of them when it ends.
_GC_THRESHOLDS = (50_000, 20, 100)
_RECALL_REQUEST = (
    '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "hello"}}}'
)
_LIST_REQUEST = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'


def run_daemon(settings: Settings, *, idle: float, http_required: bool) -> bool:
    """Serve until a signal stops the daemon; return whether to restart it."""
    if settings.log_level not in LEVELS:
        raise InvalidInput(
            f"there is no log level {settings.log_level!r}",
            hint=f"Choose one of {', '.join(LEVELS)}",
            field="log_level",
        )
    set_up_logs(settings.log_level)
    gc.set_threshold(*_GC_THRESHOLDS)
    options = ServeOptions(
        settings=settings,
        tools=settings.tools,
        http="" if settings.http == _OFF else settings.http,
        http_required=http_required,
        idle=idle,
    )
    return asyncio.run(serve(options, ready=partial(_print_welcome, tools=settings.tools)))


def _print_welcome(running: RunningDaemon, *, tools: str) -> None:
    """Print the next steps; they are for people and so not part of the log."""
    # The objects that exist by now stay for the lifetime of the process.
    gc.freeze()
    lines = [f"Scrubjay serves {running.data} (pid {running.pid}). Stop it with Ctrl-C."]
    lines.append(
        f"  for agents  {json.dumps({'mcpServers': {'scrubjay': bridge_entry(data=running.data, by_name=True)}})}"
    )
    if running.http:
        request = _RECALL_REQUEST if any(tool.name == "recall" for tool in pick(tools)) else _LIST_REQUEST
        lines += [
            f"  address     {running.http}",
            f"  try         curl -s {running.http}/mcp -H 'content-type: application/json' -d '{request}'",
        ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
