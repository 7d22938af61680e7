"""`scrubjay install` and `scrubjay service`: set up clients, and start the daemon at login."""

import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.install.clients import CLIENTS, SCOPES, Client, find_client, mcp_address
from scrubjay.install.commands import bridge_entry, daemon_command, is_temporary_program, own_command, own_options
from scrubjay.install.entries import (
    NAME,
    ClientStatus,
    ClientStatuses,
    EntryRequest,
    Installed,
    InstalledClients,
    RenderedEntry,
    apply_entry,
    find_entry,
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
from scrubjay.lazy import dataclass
from scrubjay.paths import data_folder
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
            help=f"{', '.join(CLIENTS)}. Default: those on this machine.",
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
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Set up all clients that are found, without a question.")
    ] = False,
    scope: Annotated[
        str, typer.Option(metavar="user|project", help="All your projects, or the one in this folder.")
    ] = SCOPES[0],
    file: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Configuration file. Default: that of the client.")
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the server in the client.")] = NAME,
    tools: Annotated[
        str, typer.Option(metavar="LIST", help="MCP toolsets, for example core,kg. Default: those chosen before.")
    ] = "",
    url: Annotated[
        str,
        typer.Option(metavar="URL", help="Remote server; the client reads its token from SCRUBJAY_TOKEN."),
    ] = "",
) -> Installed | InstalledClients | ClientStatuses | RenderedEntry:
    """Add Scrubjay to the configuration of a client.

    Without a client it finds those on this machine, and asks. The rest of the file does not change. A copy of the
    original file gets the suffix .before-scrubjay.
    """
    change = _Change(
        settings=settings, uninstall=uninstall, dry_run=dry_run, scope=scope, file=file, name=name, tools=tools, url=url
    )
    if list_:
        return list_clients(name=name)
    if uninstall and print_:
        raise InvalidInput("--print and --uninstall exclude each other", hint="Give one of them", field="print")
    if client:
        target = find_client(client)
        return render_entry(change.request(target)) if print_ else change.apply(target)
    if print_ or file is not None or url:
        raise InvalidInput("a client is missing", hint=f"Name one of {', '.join(CLIENTS)}", field="client")
    return _install_found(change, yes=yes)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """The options of the command, whichever client it is for."""

    settings: Settings
    uninstall: bool
    dry_run: bool
    scope: str
    file: Path | None
    name: str
    tools: str
    url: str

    def request(self, client: Client) -> EntryRequest:
        """Return the entry for a client; it has the options of the former entry that were not given now."""
        path = client.file(scope=self.scope) if self.file is None else self.file.expanduser().absolute()
        empty = EntryRequest(client=client, file=path, entry=None, name=self.name, scope=self.scope)
        return empty if self.uninstall else replace(empty, entry=self._entry(empty))

    def apply(self, client: Client) -> Installed:
        """Add or remove the entry of a client, and say what was kept and what a user must know."""
        request = self.request(client)
        former = own_options(None if self.url or self.uninstall else find_entry(request))
        done = apply_entry(request, dry_run=self.dry_run)
        if request.entry is None or "command" not in request.entry:
            return done
        written = own_options(request.entry)
        chosen = self._chosen()
        same = [name for name, value in former.items() if written.get(name) == value and name not in chosen]
        words = tuple(word for name in same for word in (name, former[name]))
        return replace(done, kept=words, notes=tuple(self._notes(written)))

    def _entry(self, empty: EntryRequest) -> ServerEntry:
        if self.url and self.tools:
            raise InvalidInput(
                "--tools applies only to a server on this machine",
                hint="For a remote server, use the path /mcp/TOOLSET in --url",
                field="tools",
            )
        if self.url:
            return empty.client.remote_entry(mcp_address(self.url))
        if self.tools:
            # The toolsets take a moment to load; only a command with --tools should wait for them.
            from scrubjay.surfaces.mcp.toolsets import pick  # noqa: PLC0415

            pick(self.tools)
        chosen = self._chosen()
        return empty.client.local_entry(
            bridge_entry(
                data=self.settings.data if "--data" in chosen else None,
                space=chosen.get("--space", ""),
                agent=chosen.get("--agent", ""),
                tools=self.tools,
                former=own_options(find_entry(empty)),
                # A configuration shared with others must not name a folder of this machine.
                shared=self.scope != SCOPES[0],
            )
        )

    def _chosen(self) -> dict[str, str]:
        """Return the options of this command and its environment that an entry has too."""
        settings = self.settings
        return {
            **({"--tools": self.tools} if self.tools else {}),
            **({"--space": settings.space} if settings.space != Settings().space else {}),
            **({"--agent": settings.agent} if settings.agent != DEFAULT_AGENT else {}),
            **({"--data": str(settings.data)} if settings.data != data_folder(environment={}) else {}),
        }

    def _notes(self, written: Mapping[str, str]) -> Iterator[str]:
        if self.scope == SCOPES[0]:
            if is_temporary_program():
                yield "this program runs from a temporary environment: install it with `uv tool` or `pipx`, then again"
            return
        if "--data" in self._chosen() and "--data" not in written:
            yield (
                f"a shared file does not name {self.settings.data}: set SCRUBJAY_HOME to it where the client is started"
            )
        if shutil.which(NAME) is None:
            folder = Path(own_command()[0]).parent
            yield f"the file says `{NAME}` without a path: its readers need the program on the PATH (here {folder})"


def _install_found(change: _Change, *, yes: bool) -> InstalledClients | ClientStatuses:
    """Add or remove the entry of every client on this machine for which the user says yes."""
    statuses = list_clients(name=change.name)
    in_scope = [client for client in CLIENTS.values() if change.scope == SCOPES[0] or client.project_file]
    files = {(status.client, status.scope): status for status in statuses.clients}
    # A scope that does not exist is refused here.
    clients = [client for client in in_scope if _is_wanted(client, change, files)]
    asks = sys.stdin.isatty() and sys.stderr.isatty()
    if not clients or not (yes or asks or change.dry_run):
        return statuses
    if not (yes or change.dry_run):
        # All is asked before anything is written, so that Ctrl-C changes nothing.
        clients = [client for client in clients if _confirm(client, change)]
    done: list[Installed] = []
    failed: list[str] = []
    for client in clients:
        try:
            done.append(change.apply(client))
        except ScrubjayError as error:
            failed.append(str(error))
    return InstalledClients(clients=tuple(done), failed=tuple(failed))


def _is_wanted(client: Client, change: _Change, files: Mapping[tuple[str, str], ClientStatus]) -> bool:
    client.file(scope=change.scope)
    status = files.get((client.name, change.scope))
    is_installed = status is not None and status.installed
    if status is not None and status.trouble:
        return False
    return is_installed if change.uninstall else client.is_found and not is_installed


def _confirm(client: Client, change: _Change) -> bool:
    act = "Remove Scrubjay from" if change.uninstall else "Add Scrubjay to"
    return typer.confirm(f"{act} {client.title} ({client.file(scope=change.scope)})?", default=True, err=True)
