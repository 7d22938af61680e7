"""`scrubjay install`: puts Scrubjay into a client's own configuration."""

from pathlib import Path
from typing import Annotated

import typer

from scrubjay.errors import InvalidInput
from scrubjay.install.address import mcp_address
from scrubjay.install.clients import CLIENTS, SCOPES, Client, client_named
from scrubjay.install.entries import NAME, Installed, KnownClients, Order, Printed, carry_out, known_clients, printed
from scrubjay.install.program import bridge_entry
from scrubjay.install.syntax import Entry
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.command import DEFAULT_AGENT, bare

app = typer.Typer()


def _client_names() -> list[str]:
    return list(CLIENTS)


@bare(app)
def install(
    settings: Settings,
    client: Annotated[
        str,
        typer.Argument(
            metavar="CLIENT", help=f"{', '.join(CLIENTS)}. Without it, the list.", autocompletion=_client_names
        ),
    ] = "",
    *,
    list_: Annotated[bool, typer.Option("--list", help="Show every known client and whether it is set up.")] = False,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Take the entry out again; nothing else.")] = False,
    print_: Annotated[bool, typer.Option("--print", help="Only print the entry, in the client's format.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change, as a diff.")] = False,
    scope: Annotated[
        str, typer.Option(metavar="user|project", help="For all of your projects, or for the one in this folder.")
    ] = SCOPES[0],
    file: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Another file of the client's format. Default: its own.")
    ] = None,
    name: Annotated[str, typer.Option(help="What the client calls the server.")] = NAME,
    tools: Annotated[str, typer.Option(metavar="LIST", help="MCP toolsets, for example core,kg.")] = "",
    url: Annotated[
        str,
        typer.Option(metavar="URL", help="A server elsewhere; its token is taken from SCRUBJAY_TOKEN by the client."),
    ] = "",
) -> Installed | KnownClients | Printed:
    """Put Scrubjay into the configuration of a client, and leave the rest of that file as it is.

    The file as it was is kept beside it, with .before-scrubjay at the end of its name.
    """
    if list_ or not client:
        return known_clients(name=name)
    if uninstall and print_:
        raise InvalidInput("--print and --uninstall contradict each other", hint="Give one of them", field="print")
    chosen = client_named(client)
    place = chosen.file(scope=scope) if file is None else file.expanduser().absolute()
    entry = None if uninstall else _entry(chosen, settings, scope=scope, tools=tools, url=url)
    order = Order(client=chosen, file=place, entry=entry, name=name, scope=scope)
    return printed(order) if print_ else carry_out(order, dry_run=dry_run)


def _entry(client: Client, settings: Settings, *, scope: str, tools: str, url: str) -> Entry:
    if url and tools:
        raise InvalidInput(
            "--tools is for a server on this machine",
            hint="A server elsewhere has /mcp/TOOLSET as its path",
            field="tools",
        )
    if url:
        return client.remote_entry(mcp_address(url))
    if tools:
        # The toolsets take a moment to load, which only who names some should wait for.
        from scrubjay.surfaces.mcp.toolsets import pick  # noqa: PLC0415

        pick(tools)
    return client.local_entry(
        bridge_entry(
            data=settings.data,
            space="" if settings.space == Settings().space else settings.space,
            agent="" if settings.agent == DEFAULT_AGENT else settings.agent,
            tools=tools,
            # What is shared with others must not name a folder of this machine.
            by_name=scope != SCOPES[0],
        )
    )
