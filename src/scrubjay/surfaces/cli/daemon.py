"""Long-running commands: the daemon, and the MCP bridge that agents start."""

import os
import signal
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from scrubjay.errors import DaemonUnavailable, NotFound
from scrubjay.paths import daemon_log
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.by_daemon import running_pid
from scrubjay.surfaces.cli.command import bare, require_memory
from scrubjay.surfaces.cli.console import say
from scrubjay.surfaces.mcp import bridge

app = typer.Typer()

_STOP_SECONDS = 30.0
_PAUSE = 0.2

IndexPath = Annotated[
    Path | None,
    typer.Option(
        "--index_path", "--index-path", metavar="DIR", help="Folder of the vector index, which can be rebuilt."
    ),
]
NotestorePath = Annotated[
    Path | None,
    typer.Option(
        "--notestore_path",
        "--notestore-path",
        metavar="DIR",
        help="Folder of Markdown notes, synchronized with the memory. Default: SCRUBJAY_NOTESTORE_PATH, else the "
        "folder used last.",
    ),
]


@bare(app, answers=False)
def serve(
    settings: Settings,
    *,
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="HTTP address, or `off`. Default: SCRUBJAY_HTTP.")
    ] = None,
    tools: Annotated[
        str | None, typer.Option(metavar="LIST", help="MCP toolsets, for example core,kg. Default: SCRUBJAY_TOOLS.")
    ] = None,
    index_path: IndexPath = None,
    notestore_path: NotestorePath = None,
    idle: Annotated[
        float, typer.Option(metavar="SECONDS", help="Exit after this time without a connection; 0: never.")
    ] = 0.0,
    require_token: Annotated[
        bool | None,
        typer.Option(
            "--require-token", help="Require a token over HTTP, even on this machine. Default: SCRUBJAY_REQUIRE_TOKEN."
        ),
    ] = None,
    log_level: Annotated[
        str | None, typer.Option(help="debug, info, warning or error. Default: SCRUBJAY_LOG_LEVEL.")
    ] = None,
) -> None:
    """Run the daemon.

    The daemon owns the data folder, and all agents connect to it. On SIGTERM and SIGINT it finishes accepted requests
    and stops; on SIGHUP it restarts.
    """
    # The server's packages take a second to load; no other command should wait for them.
    from scrubjay.surfaces.cli.serving import run_daemon  # noqa: PLC0415

    adjusted = settings.with_overrides(
        http=http, tools=tools, index_path=_as_text(index_path), notestore_path=_as_text(notestore_path),
        log_level=log_level, require_token=require_token,
    )  # fmt: skip
    run_daemon(adjusted, idle=idle, http_required=http is not None)


@bare(app, answers=False)
def mcp(
    settings: Settings,
    *,
    tools: Annotated[str, typer.Option(metavar="LIST", help="MCP toolsets, for example core,kg.")] = "",
    agent: Annotated[
        str, typer.Option(metavar="NAME", help="Author of changes. Default: the name of the client.")
    ] = "",
    project: Annotated[str, typer.Option(help="Project of new memories. Default: the current repository.")] = "",
    index_path: IndexPath = None,
    notestore_path: NotestorePath = None,
) -> None:
    """Serve MCP on standard input and output.

    Put this command into the configuration of a client. It connects to the daemon of the data folder; if none runs, it
    starts one that exits when it is idle.
    """
    options = {
        "--data": settings.home, "--space": settings.space, "--agent": agent, "--tools": tools,
        "--project": project, "--index_path": _as_text(index_path), "--notestore_path": _as_text(notestore_path),
    }  # fmt: skip
    raise typer.Exit(bridge.main([f"{name}={value}" for name, value in options.items() if value]))


@bare(app, name="open")
def open_dashboard(
    settings: Settings,
    *,
    owner: Annotated[
        bool, typer.Option("--owner", help="Open the page of tokens, which is for the owner of the data alone.")
    ] = False,
    print_only: Annotated[bool, typer.Option("--print", help="Print the address, and open no browser.")] = False,
) -> str:
    """Open the dashboard in a browser.

    Its pages search and show what is remembered. If no daemon runs, it starts one, which exits when no page and no
    agent is connected for ten minutes. With --owner the address is valid once, and for two minutes.
    """
    require_memory(settings)
    # Only this command needs them.
    import webbrowser  # noqa: PLC0415

    from scrubjay.surfaces.cli.dashboard import find_dashboard, find_owner_page, write_owner_page  # noqa: PLC0415

    if owner:
        address = find_owner_page(settings)
        opened = address if print_only else write_owner_page(settings, address)
    else:
        opened = address = find_dashboard(settings)
    if not print_only and not webbrowser.open(opened):
        return f"{address} (no browser was found: open it yourself)"
    return address if print_only or not owner else f"opened the page of tokens, {address.partition('?')[0]}"


@bare(app)
def stop(settings: Settings) -> str:
    """Stop the daemon of the data folder.

    It finishes the requests that it has accepted. An agent that needs one later starts it again.
    """
    pid = running_pid(settings.data)
    if pid is None:
        return f"no daemon runs for {settings.data}"
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return f"the daemon (pid {pid}) has just ended"
    end = time.monotonic() + _STOP_SECONDS
    while running_pid(settings.data) == pid:
        if time.monotonic() > end:
            raise DaemonUnavailable(
                f"the daemon (pid {pid}) still runs after {_STOP_SECONDS:.0f} s",
                hint="It may be finishing long work: `scrubjay logs` shows what it does",
            )
        time.sleep(_PAUSE)
    return f"stopped the daemon of {settings.data} (pid {pid})"


@bare(app)
def logs(
    settings: Settings,
    *,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="Show so many of the last lines.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
) -> None:
    """Print the log of a daemon that an agent has started.

    A daemon that you start with `serve` writes to its terminal, and one that starts at login to the log of the system.
    """
    file = daemon_log(settings.data)
    try:
        with file.open(encoding="utf-8", errors="replace") as stream, suppress(KeyboardInterrupt):
            for line in deque(stream, maxlen=lines):
                say(line.rstrip("\n"))
            while follow:
                if line := stream.readline():
                    say(line.rstrip("\n"))
                else:
                    time.sleep(_PAUSE)
    except OSError as error:
        raise NotFound(
            f"there is no log at {file} ({error.strerror})",
            hint="Only a daemon that an agent has started in the background writes one",
        ) from None


def _as_text(path: Path | None) -> str | None:
    return None if path is None else str(path)
