"""Long-running commands: the daemon, and the MCP bridge that agents start."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from scrubjay.settings import Settings
from scrubjay.surfaces.cli.command import bare
from scrubjay.surfaces.mcp import bridge

app = typer.Typer()

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
    if run_daemon(adjusted, idle=idle, http_required=http is not None):
        os.execv(sys.executable, [sys.executable, "-P", "-m", "scrubjay", *sys.argv[1:]])  # noqa: S606 - restart this program


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


def _as_text(path: Path | None) -> str | None:
    return None if path is None else str(path)
