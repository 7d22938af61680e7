"""`scrubjay service`: the daemon starts at login."""

from dataclasses import replace
from typing import Annotated

import typer

from scrubjay.install.daemon_command import daemon_job
from scrubjay.install.service import (
    ServiceChange,
    ServiceStatus,
    install_service,
    service_status,
    supervisor_here,
    uninstall_service,
)
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.command import bare

app = typer.Typer()
service_app = typer.Typer(
    help="Have the daemon started when you log in: by systemd on Linux, by launchd on macOS.", no_args_is_help=True
)
app.add_typer(service_app, name="service")

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would change, as a diff.")]


@bare(service_app, name="install")
def service_install(
    settings: Settings,
    *,
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where to serve HTTP, or `off`. Default: SCRUBJAY_HTTP.")
    ] = None,
    tools: Annotated[
        str | None, typer.Option(metavar="LIST", help="MCP toolsets, for example core,kg. Default: SCRUBJAY_TOOLS.")
    ] = None,
    start: Annotated[bool, typer.Option("--start/--no-start", help="Start it now too, or only at login.")] = True,
    print_: Annotated[bool, typer.Option("--print", help="Only print the service's file.")] = False,
    dry_run: DryRun = False,
) -> ServiceChange | str:
    """Have the daemon of this data folder started at login, and started again when it dies.

    It gets the settings that are in the environment now, but no secrets.
    """
    supervisor = supervisor_here()
    if tools:
        # The toolsets take a moment to load, which only who names some should wait for.
        from scrubjay.surfaces.mcp.toolsets import pick  # noqa: PLC0415

        pick(tools)
    job = daemon_job(replace(settings, http=http or settings.http, tools=tools or settings.tools))
    if print_:
        return supervisor.written(job).rstrip("\n")
    return install_service(supervisor, job, start=start, dry_run=dry_run)


@bare(service_app, name="uninstall")
def service_uninstall(settings: Settings, *, dry_run: DryRun = False) -> ServiceChange:  # noqa: ARG001 - as all commands
    """Stop the service and remove its file. The data stays."""
    return uninstall_service(supervisor_here(), dry_run=dry_run)


@bare(service_app, name="status")
def service_state(settings: Settings) -> ServiceStatus:  # noqa: ARG001 - as all commands
    """Say whether the service is installed, started at login, and running."""
    return service_status(supervisor_here())
