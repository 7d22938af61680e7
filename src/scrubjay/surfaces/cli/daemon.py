"""Commands that run for long: the daemon, and the bridge that agents start."""

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
        "--index_path", "--index-path", metavar="DIR", help="Folder of what can be rebuilt: the vector index."
    ),
]
NotestorePath = Annotated[
    Path | None,
    typer.Option(
        "--notestore_path",
        "--notestore-path",
        metavar="DIR",
        help="Folder of Markdown notes, kept in step with the memory. Default: SCRUBJAY_NOTESTORE_PATH, else the one "
        "that was used last.",
    ),
]


@bare(app, answers=False)
def serve(
    settings: Settings,
    *,
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where to serve HTTP, or `off`. Default: SCRUBJAY_HTTP.")
    ] = None,
    tools: Annotated[
        str | None, typer.Option(metavar="LIST", help="MCP toolsets, for example core,kg. Default: SCRUBJAY_TOOLS.")
    ] = None,
    index_path: IndexPath = None,
    notestore_path: NotestorePath = None,
    idle: Annotated[
        float, typer.Option(metavar="SECONDS", help="Leave when nobody was connected for so long; 0 stays.")
    ] = 0.0,
    require_token: Annotated[
        bool | None,
        typer.Option(
            "--require-token", help="Ask for a token over HTTP, also on this machine. Default: SCRUBJAY_REQUIRE_TOKEN."
        ),
    ] = None,
    log_level: Annotated[
        str | None, typer.Option(help="debug, info, warning or error. Default: SCRUBJAY_LOG_LEVEL.")
    ] = None,
) -> None:
    """Run the daemon: one process that owns the data folder and that all agents talk to.

    It stops on SIGTERM and SIGINT after it has finished what it accepted, and starts again on SIGHUP.
    """
    # The server's packages take a second to load, which no other command should wait for.
    from scrubjay.surfaces.cli.serving import run_daemon  # noqa: PLC0415

    chosen = settings.with_overrides(
        http=http, tools=tools, index_path=_spelled(index_path), notestore_path=_spelled(notestore_path),
        log_level=log_level, require_token=require_token,
    )  # fmt: skip
    if run_daemon(chosen, idle=idle, http_must=http is not None):
        os.execv(sys.executable, [sys.executable, "-P", "-m", "scrubjay", *sys.argv[1:]])  # noqa: S606 - ourselves, anew


def _spelled(path: Path | None) -> str | None:
    return None if path is None else str(path)


@bare(app, answers=False)
def mcp(
    settings: Settings,
    *,
    tools: Annotated[str, typer.Option(metavar="LIST", help="MCP toolsets, for example core,kg.")] = "",
    agent: Annotated[str, typer.Option(metavar="NAME", help="Who writes. Default: what the client calls itself.")] = "",
    project: Annotated[
        str, typer.Option(help="Default project of what is remembered. Default: the repository worked in.")
    ] = "",
    index_path: IndexPath = None,
    notestore_path: NotestorePath = None,
) -> None:
    """Speak MCP on standard input and output: the line for a client's configuration.

    It talks to the daemon of the data folder, and starts one that leaves by itself when none runs.
    """
    given = {
        "--data": settings.home, "--space": settings.space, "--agent": agent, "--tools": tools,
        "--project": project, "--index_path": _spelled(index_path), "--notestore_path": _spelled(notestore_path),
    }  # fmt: skip
    raise typer.Exit(bridge.main([f"{name}={value}" for name, value in given.items() if value]))
