"""`scrubjay install` and `scrubjay service`: set up clients, and start the daemon at login."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from scrubjay.errors import InvalidInput
from scrubjay.install.clients import CLIENTS, SCOPES, Client, find_client, mcp_address
from scrubjay.install.commands import bridge_entry, daemon_command
from scrubjay.install.entries import (
    NAME,
    ClientStatuses,
    EntryRequest,
    Installed,
    RenderedEntry,
    apply_entry,
    list_clients,
    render_entry,
)
from scrubjay.install.service import (
    ServiceChange,
    ServiceStatus,
    find_supervisor,
    install_service,
    service_status,
    uninstall_service,
)
from scrubjay.install.syntax import ServerEntry
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.command import DEFAULT_AGENT, bare

app = typer.Typer()
service_app = typer.Typer(help="Start the daemon at login, with systemd or launchd.", no_args_is_help=True)
app.add_typer(service_app, name="service")

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show the changes, as a diff.")]


@bare(app)
def install(
    settings: Settings,
    client: Annotated[
        str,
        typer.Argument(
            metavar="CLIENT",
            help=f"{', '.join(CLIENTS)}. Default: list all clients.",
            autocompletion=lambda: list(CLIENTS),
        ),
    ] = "",
    *,
    list_: Annotated[
        bool, typer.Option("--list", help="List all supported clients and whether they are set up.")
    ] = False,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Remove the entry, and nothing else.")] = False,
    print_: Annotated[bool, typer.Option("--print", help="Only print the entry, in the format of the client.")] = False,
    dry_run: DryRun = False,
    scope: Annotated[
        str, typer.Option(metavar="user|project", help="All your projects, or the one in this folder.")
    ] = SCOPES[0],
    file: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Configuration file. Default: that of the client.")
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the server in the client.")] = NAME,
    tools: Annotated[str, typer.Option(metavar="LIST", help="MCP toolsets, for example core,kg.")] = "",
    url: Annotated[
        str,
        typer.Option(metavar="URL", help="Remote server; the client reads its token from SCRUBJAY_TOKEN."),
    ] = "",
) -> Installed | ClientStatuses | RenderedEntry:
    """Add Scrubjay to the configuration of a client.

    The rest of the file does not change. A copy of the original file gets the suffix .before-scrubjay.
    """
    if list_ or not client:
        return list_clients(name=name)
    if uninstall and print_:
        raise InvalidInput("--print and --uninstall exclude each other", hint="Give one of them", field="print")
    target = find_client(client)
    path = target.file(scope=scope) if file is None else file.expanduser().absolute()
    entry = None if uninstall else _make_entry(target, settings, scope=scope, tools=tools, url=url)
    request = EntryRequest(client=target, file=path, entry=entry, name=name, scope=scope)
    return render_entry(request) if print_ else apply_entry(request, dry_run=dry_run)


@bare(service_app, name="install")
def service_install(
    settings: Settings,
    *,
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="HTTP address, or `off`. Default: SCRUBJAY_HTTP.")
    ] = None,
    tools: Annotated[
        str | None, typer.Option(metavar="LIST", help="MCP toolsets, for example core,kg. Default: SCRUBJAY_TOOLS.")
    ] = None,
    start: Annotated[bool, typer.Option("--start/--no-start", help="Start the daemon now, or only at login.")] = True,
    print_: Annotated[bool, typer.Option("--print", help="Only print the file of the service.")] = False,
    dry_run: DryRun = False,
) -> ServiceChange | str:
    """Start the daemon at login, and restart it if it fails.

    The service serves this data folder. It gets the current settings of the environment, but no secrets.
    """
    supervisor = find_supervisor()
    if tools:
        # The toolsets take a moment to load; only a command with --tools should wait for them.
        from scrubjay.surfaces.mcp.toolsets import pick  # noqa: PLC0415

        pick(tools)
    service = daemon_command(replace(settings, http=http or settings.http, tools=tools or settings.tools))
    if print_:
        return supervisor.render(service).rstrip("\n")
    return install_service(supervisor, service, start=start, dry_run=dry_run)


@bare(service_app, name="uninstall")
def service_uninstall(settings: Settings, *, dry_run: DryRun = False) -> ServiceChange:  # noqa: ARG001 - every command takes them
    """Stop the service and remove its file; the data stays."""
    return uninstall_service(find_supervisor(), dry_run=dry_run)


@bare(service_app, name="status")
def service_state(settings: Settings) -> ServiceStatus:  # noqa: ARG001 - every command takes them
    """Show whether the service is installed and running."""
    return service_status(find_supervisor())


def _make_entry(client: Client, settings: Settings, *, scope: str, tools: str, url: str) -> ServerEntry:
    if url and tools:
        raise InvalidInput(
            "--tools applies only to a server on this machine",
            hint="For a remote server, use the path /mcp/TOOLSET in --url",
            field="tools",
        )
    if url:
        return client.remote_entry(mcp_address(url))
    if tools:
        # The toolsets take a moment to load; only a command with --tools should wait for them.
        from scrubjay.surfaces.mcp.toolsets import pick  # noqa: PLC0415

        pick(tools)
    return client.local_entry(
        bridge_entry(
            data=settings.data,
            space="" if settings.space == Settings().space else settings.space,
            agent="" if settings.agent == DEFAULT_AGENT else settings.agent,
            tools=tools,
            # A configuration shared with others must not name a folder of this machine.
            by_name=scope != SCOPES[0],
        )
    )
