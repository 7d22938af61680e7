"""The work of `scrubjay serve`: run the daemon and print how to connect to it; only that command loads it."""

import asyncio
import gc
import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from functools import partial

from scrubjay.errors import InvalidInput, ScrubjayError, codes_of
from scrubjay.install.commands import bridge_entry, own_command
from scrubjay.paths import data_folder
from scrubjay.settings import DEFAULT_TOOLS, Settings
from scrubjay.surfaces.daemon.logs import LEVELS, set_up_logs
from scrubjay.surfaces.daemon.serve import RunningDaemon, ServeOptions, serve

_OFF = "off"
# As agents, clients and service managers start a daemon: the options, and their settings.
_PLAIN_OPTIONS = {
    "--data": "home", "--space": "space", "--http": "http", "--tools": "tools", "--index_path": "index_path",
    "--notestore_path": "notestore_path", "--idle": "idle",
}  # fmt: skip
_SECONDS = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
# A request creates thousands of objects, and reference counting frees nearly all of them when it ends.
_GC_THRESHOLDS = (50_000, 20, 100)
_RECALL_REQUEST = (
    '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "hello"}}}'
)
_LIST_REQUEST = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'


def serve_plainly(arguments: Sequence[str]) -> int | None:
    """Serve with the usual options, and without the packages of the command line; return the exit code.

    None: the command line must read the options, since some are others, or wrong.
    """
    values = _read_plain(arguments)
    if values is None:
        return None
    idle, is_http_named = float(values.pop("idle", "0")), "http" in values
    # Whatever a command writes, wherever it lies, is for its user alone.
    os.umask(0o077)
    try:
        run_daemon(Settings.load(environment=None, **values), idle=idle, http_required=is_http_named)
    except ScrubjayError as error:
        from scrubjay.surfaces.cli.command import describe_error  # noqa: PLC0415 - it loads the command line

        sys.stderr.write(describe_error(error, as_json=False, names={}))
        return codes_of(error).exit
    return 0


def _read_plain(arguments: Sequence[str]) -> dict[str, str] | None:
    """Return the values of options by their settings; None if there are any but the usual ones."""
    values: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, is_joined, joined = argument.partition("=")
        value = joined if is_joined else next(rest, None)
        if name not in _PLAIN_OPTIONS or value is None or _PLAIN_OPTIONS[name] in values:
            return None
        values[_PLAIN_OPTIONS[name]] = value
    return values if _SECONDS.fullmatch(values.get("idle", "0")) else None


def run_daemon(settings: Settings, *, idle: float, http_required: bool) -> None:
    """Serve until a signal stops the daemon; a signal may also restart this program."""
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
    if asyncio.run(serve(options, ready=partial(_print_welcome, tools=settings.tools))):
        os.execv(sys.executable, [sys.executable, "-P", "-m", "scrubjay", *sys.argv[1:]])  # noqa: S606 - this program


def _print_welcome(running: RunningDaemon, *, tools: str) -> None:
    """Print the next steps; they are for people and so not part of the log."""
    # The objects that exist by now stay for the lifetime of the process.
    gc.freeze()
    gc.enable()
    lines = [f"Scrubjay serves {running.data} (pid {running.pid}). Stop it with Ctrl-C."]
    # With the full path: an agent has another PATH than this shell, whose environment may be activated.
    entry = bridge_entry(data=running.data)
    options = () if running.data == data_folder(environment={}) else ("--data", str(running.data))
    lines += [
        f"  set up      {shlex.join((*own_command(), 'install', *options))}",
        f"  for agents  {json.dumps({'mcpServers': {'scrubjay': entry}})}",
    ]
    if running.http:
        request = _RECALL_REQUEST if _has_recall(tools) else _LIST_REQUEST
        lines += [
            f"  address     {running.http}",
            f"  try         curl -s {running.http}/mcp -H 'content-type: application/json' -d '{request}'",
        ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _has_recall(tools: str) -> bool:
    if tools == DEFAULT_TOOLS:
        return True
    from scrubjay.surfaces.mcp.toolsets import pick  # noqa: PLC0415 - a daemon without agents does not need it

    return any(tool.name == "recall" for tool in pick(tools))
