"""Finds the address of the dashboard, and starts a daemon that serves it if none runs."""

import os
import signal
import time
from contextlib import suppress

from scrubjay.auth.owner_ticket import issue_ticket, write_private
from scrubjay.errors import DaemonUnavailable, NotAllowed
from scrubjay.paths import owner_page_file, owner_ticket_file, read_daemon_record
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.by_daemon import running_pid
from scrubjay.surfaces.dashboard.addresses import address
from scrubjay.surfaces.mcp.bridge.daemon import DaemonConnector
from scrubjay.surfaces.mcp.bridge.link import DaemonUnreachable
from scrubjay.surfaces.mcp.bridge.options import read_options

__all__ = ["find_dashboard", "find_owner_page", "write_owner_page"]

_OFF = "off"
# An agent may start one in the moment between two.
_TRIES = 3
_PAUSE = 0.1
_DEFAULT = Settings().http
_DEFAULT_SPACE = Settings().space


def find_dashboard(settings: Settings) -> str:
    """Return the address of the dashboard, in the space of the settings; raises DaemonUnavailable."""
    server = _find_server(settings)
    return server if settings.space == _DEFAULT_SPACE else f"{server.rstrip('/')}{address('', space=settings.space)}"


def find_owner_page(settings: Settings) -> str:
    """Return the address of the page of tokens with a new ticket; raises DaemonUnavailable, NotAllowed elsewhere."""
    if settings.url:
        raise NotAllowed(
            "tokens are managed on the machine of the data", hint="Run `scrubjay open --owner` there, without a URL"
        )
    return f"{_find_server(settings)}ui/owner?ticket={issue_ticket(owner_ticket_file(settings.data))}"


def write_owner_page(settings: Settings, target: str) -> str:
    """Return the address of a file that leads there: the arguments of a browser can be read by all users."""
    file = owner_page_file(settings.data)
    write_private(file, f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={target}">')
    return file.as_uri()


def _find_server(settings: Settings) -> str:
    """Return the address of the server of the data folder.

    A daemon that an agent has started serves no HTTP: it makes room for one that does, and its agents connect to that.
    """
    if settings.url:
        return settings.url
    for _ in range(_TRIES):
        if running_pid(settings.data) is None:
            _start(settings)
        record = read_daemon_record(settings.data)
        if record.get("http"):
            return f"{record['http']}/"
        if not record.get("idle"):
            break
        _end(settings)
    raise DaemonUnavailable(
        f"the daemon (pid {running_pid(settings.data)}) serves no HTTP, and so no pages",
        hint=f"Its port may be in use: stop it with `scrubjay stop`, and serve with --http, for example {_DEFAULT}",
    )


def _end(settings: Settings) -> None:
    """Ask a daemon to finish its requests and leave."""
    pid, end = running_pid(settings.data), time.monotonic() + settings.operation_seconds
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    while pid is not None and running_pid(settings.data) == pid and time.monotonic() < end:
        time.sleep(_PAUSE)


def _start(settings: Settings) -> None:
    options = read_options([f"--data={settings.data}"])
    http = _DEFAULT if settings.http == _OFF else settings.http
    options.environment = {**options.environment, "SCRUBJAY_HTTP": http}
    try:
        DaemonConnector(options).connect(again=False).close()
    except DaemonUnreachable as error:
        raise DaemonUnavailable(str(error), hint="`scrubjay serve` shows what it does") from None
