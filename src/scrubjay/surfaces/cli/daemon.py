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
    index_path: Annotated[
        Path | None,
        typer.Option("--index_path", metavar="DIR", help="Folder of what can be rebuilt: the vector index."),
    ] = None,
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

    chosen = settings.with_given(
        http=http, tools=tools, index_path=None if index_path is None else str(index_path), log_level=log_level,
        require_token=require_token,
    )  # fmt: skip
    if run_daemon(chosen, idle=idle, http_must=http is not None):
        os.execv(sys.executable, [sys.executable, "-P", "-m", "scrubjay", *sys.argv[1:]])  # noqa: S606 - ourselves, anew


@bare(app, answers=False)
def mcp(
    settings: Settings,
    *,
    tools: Annotated[str, typer.Option(metavar="LIST", help="MCP toolsets, for example core,kg.")] = "",
    agent: Annotated[str, typer.Option(metavar="NAME", help="Who writes. Default: what the client calls itself.")] = "",
    project: Annotated[
        str, typer.Option(help="Default project of what is remembered. Default: the repository worked in.")
    ] = "",
) -> None:
    """Speak MCP on standard input and output: the line for a client's configuration.

    It talks to the daemon of the data folder, and starts one that leaves by itself when none runs.
    """
    given = {
        "--data": settings.home, "--space": settings.space, "--agent": agent, "--tools": tools,
        "--project": project,
    }  # fmt: skip
    raise typer.Exit(bridge.main([f"{name}={value}" for name, value in given.items() if value]))
