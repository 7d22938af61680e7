"""`scrubjay install`: adds an entry to the configuration file of a client, or removes it; the rest stays."""

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

from scrubjay.errors import Conflict, InvalidInput, ScrubjayError
from scrubjay.install.clients import CLIENTS, SCOPES, TOKEN, Client, stale_keys
from scrubjay.install.commands import is_own_entry
from scrubjay.install.files import read_file, replace_file, unified_diff
from scrubjay.install.syntax import InvalidSyntax, KeyPath, NotEditable, ServerEntry, Syntax, dotted, leaves
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json

NAME = "scrubjay"
_NAMES = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRequest:
    """An entry for a file of a client; without an entry ours is removed."""

    client: Client
    file: Path
    entry: ServerEntry | None
    name: str = NAME
    scope: str = SCOPES[0]

    @property
    def path(self) -> KeyPath:
        """The path of the entry in the file."""
        return (self.client.servers, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A change of the configuration of a client; with `dry_run` the change that would be made."""

    action: str
    client: str
    name: str
    file: str
    copy: str = ""
    diff: str = ""
    next: str = ""
    dry_run: bool = False
    kept: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        remarks = [f"  note    {note}" for note in self.notes]
        if self.kept:
            remarks.insert(0, f"  kept    {' '.join(self.kept)}  (to drop them: --uninstall, then install again)")
        if self.dry_run:
            return "\n".join((self.diff.rstrip("\n") or f"{self.file} would not change", *remarks))
        summary = {
            "installed": f"{self.name} is installed for {CLIENTS[self.client].title} in {self.file}",
            "updated": f"{self.name} is updated for {CLIENTS[self.client].title} in {self.file}",
            "unchanged": f"{self.name} is in {self.file} already; nothing was changed",
            "removed": f"{self.name} is removed from {self.file}",
            "absent": f"{self.name} is not in {self.file}; nothing was changed",
        }[self.action]
        lines = [summary]
        if self.copy:
            lines.append(f"  before  {self.copy}")
        lines += remarks
        if self.next:
            lines.append(f"  next    {self.next}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledClients:
    """Changes of the configurations of several clients; `failed` has the errors of those that were not changed."""

    clients: tuple[Installed, ...]
    failed: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every configuration could be changed."""
        return not self.failed

    def __str__(self) -> str:
        lines = [*map(str, self.clients), *(f"error: {problem}" for problem in self.failed)]
        return "\n".join(lines) or "nothing was changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedEntry:
    """An entry in the format of a client."""

    client: str
    file: str
    entry: str

    def __str__(self) -> str:
        return self.entry.rstrip("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientStatus:
    """A configuration file of a client, and whether it has our entry; `trouble` says why it cannot be read.

    `found`: the client is on this machine, with a configuration file or without.
    """

    client: str
    scope: str
    file: str
    exists: bool
    installed: bool
    found: bool = True
    trouble: str = ""

    @property
    def is_ready(self) -> bool:
        """Whether Scrubjay can be added."""
        return self.found and not self.installed and not self.trouble

    def __str__(self) -> str:
        state = "installed" if self.installed else "ready to set up" if self.found else "not used here"
        return f"{self.client:<15} {self.scope:<8} {'unreadable' if self.trouble else state:<16} {self.file}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientStatuses:
    """The configuration files of all clients."""

    clients: tuple[ClientStatus, ...]

    def __str__(self) -> str:
        ready = [status.client for status in self.clients if status.is_ready]
        if ready:
            steps = [f"set up one   scrubjay install {ready[0]}", "set up all   scrubjay install --yes"]
        elif any(status.installed for status in self.clients):
            steps = []
        else:
            steps = [
                "None of these clients is used on this machine; `scrubjay install CLIENT` sets one up all the same.",
                "For another client, `scrubjay install claude-code --print` prints the entry that most clients take.",
            ]
        return "\n".join((*map(str, self.clients), *steps))


def apply_entry(request: EntryRequest, *, dry_run: bool = False) -> Installed:
    """Add, update or remove an entry; with dry_run only return the diff."""
    _check(request)
    file = read_file(request.file)
    text = file.text
    with _explain_errors(request):
        action, changed = _edit(request, text)
    result = Installed(
        action=action, client=request.client.name, name=request.name, file=str(request.file), dry_run=dry_run
    )
    if changed == text:
        return result
    if dry_run:
        return replace(result, diff=unified_diff(request.file, text, changed))
    copy = replace_file(file, file.encode(changed))
    return replace(result, copy=str(copy or ""), next=_next_step(request))


def render_entry(request: EntryRequest) -> RenderedEntry:
    """Return the entry alone, in the format of the client."""
    _check(request)
    entry = request.client.syntax.render(request.path, request.entry or {})
    return RenderedEntry(client=request.client.name, file=str(request.file), entry=entry)


def find_entry(request: EntryRequest) -> ServerEntry | None:
    """Return the entry that a file has already."""
    with _explain_errors(request):
        return request.client.syntax.find(read_file(request.file).text, request.path)


def list_clients(*, name: str = NAME, folder: Path | None = None) -> ClientStatuses:
    """Return the user file of every client, and the project files that exist."""
    statuses: list[ClientStatus] = []
    for client in CLIENTS.values():
        statuses.append(_status(client, client.file(), name=name, scope=SCOPES[0]))
        if client.project_file:
            file = client.file(scope=SCOPES[1], folder=folder)
            if file.exists():
                statuses.append(_status(client, file, name=name, scope=SCOPES[1]))
    return ClientStatuses(clients=tuple(statuses))


def _status(client: Client, file: Path, *, name: str, scope: str) -> ClientStatus:
    request = EntryRequest(client=client, file=file, entry=None, name=name)
    entry: ServerEntry | None = None
    problem = ""
    try:
        entry = find_entry(request)
    except ScrubjayError as error:
        problem = error.message
    return ClientStatus(
        client=client.name, scope=scope, file=str(file), exists=file.exists(), installed=entry is not None,
        found=client.is_found, trouble=problem,
    )  # fmt: skip


def _check(request: EntryRequest) -> None:
    if not _NAMES.fullmatch(request.name):
        raise InvalidInput(
            f"a server cannot be called {request.name[:80]!r}",
            hint="Use up to 64 letters, digits, hyphens and underscores",
            field="name",
        )
    for value in leaves(request.entry or {}).values():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InvalidInput(
                f"{value!r} cannot be written as UTF-8, which a configuration requires",
                hint="Use another folder or name",
            ) from None


def _edit(request: EntryRequest, text: str) -> tuple[str, str]:
    """Return the action and the changed text; the same text if there is nothing to do."""
    syntax, path = request.client.syntax, request.path
    existing = syntax.find(text, path)
    if request.entry is None:
        if existing is None:
            return "absent", text
        _require_own(request, existing)
        changed = syntax.remove(text, path)
        verify_edit(syntax, changed, without_entry(syntax.parse(text), path), path=path)
        return "removed", changed
    drop = () if existing is None else stale_keys(existing, request.entry)
    changed = syntax.merge(text, path, request.entry, drop=drop)
    verify_edit(syntax, changed, with_entry(syntax.parse(text), path, request.entry, drop=drop), path=path)
    return ("unchanged" if changed == text else "installed" if existing is None else "updated"), changed


def verify_edit(syntax: Syntax, text: str, expected: dict[str, Json], *, path: KeyPath) -> None:
    """Raise NotEditable unless an edited text has exactly the expected value: the last check before a write."""
    try:
        value = syntax.parse(text)
    except InvalidSyntax as error:
        raise NotEditable(f"it cannot be changed safely ({error.problem})", path=()) from None
    if _canonical(value, path) != _canonical(expected, path):
        raise NotEditable("it cannot be changed safely", path=())


def with_entry(
    document: dict[str, Json], path: KeyPath, entry: ServerEntry, *, drop: tuple[str, ...]
) -> dict[str, Json]:
    """Return a document with the values of an entry at a path, and without the keys to drop."""
    changed = deepcopy(document)
    for key in drop:
        changed = without_entry(changed, (*path, key))
    for keys, value in leaves(entry).items():
        _object_at(changed, (*path, *keys[:-1]))[keys[-1]] = value
    return changed


def without_entry(document: dict[str, Json], path: KeyPath) -> dict[str, Json]:
    """Return a document without the value at a path."""
    changed = deepcopy(document)
    _object_at(changed, path[:-1]).pop(path[-1], None)
    return changed


def _object_at(document: dict[str, Json], path: KeyPath) -> dict[str, Json]:
    for key in path:
        inner = document.setdefault(key, {})
        if not isinstance(inner, dict):
            raise NotEditable("is not an object", path=path)
        document = inner
    return document


def _canonical(document: dict[str, Json], path: KeyPath) -> str:
    # TOML does not distinguish an empty table from a missing one.
    present = {key: value for key, value in document.items() if key != path[0] or value != {}}
    # Compared as text, because NaN does not equal itself.
    return json.dumps(present, sort_keys=True, default=str)


def _next_step(request: EntryRequest) -> str:
    step = request.client.next_step(scope=request.scope)
    if request.entry is None or "command" in request.entry:
        return step
    return f"Set {TOKEN} where {request.client.title} is started, to a token of that server. {step}"


def _require_own(request: EntryRequest, entry: ServerEntry) -> None:
    """Raise Conflict for an entry of another server with the same name."""
    if not is_own_entry(entry) and TOKEN not in json.dumps(entry, default=str):
        raise Conflict(
            f"{dotted(request.path)} in {request.file} does not start Scrubjay",
            hint="Remove it by hand if you want to",
            path=str(request.file),
        )


@contextmanager
def _explain_errors(request: EntryRequest) -> Generator[None]:
    """Raise errors of the format as InvalidInput, with the file and a hint."""
    syntax, file = request.client.syntax.name, str(request.file)
    try:
        yield
    except InvalidSyntax as error:
        position = f" (line {error.line}, column {error.column})" if error.line else ""
        raise InvalidInput(
            f"{file} is not valid {syntax}: {error.problem}{position}",
            hint="Correct it, or name another file with --file; nothing was changed",
            path=file,
            line=error.line,
        ) from None
    except NotEditable as error:
        problem = f"{dotted(error.path)} {error.problem}" if error.path else error.problem
        raise InvalidInput(
            f"{file}: {problem}",
            hint=f"Correct it; `scrubjay install {request.client.name} --print` shows the entry. Nothing was changed",
            path=file,
        ) from None
