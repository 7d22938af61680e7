"""`scrubjay install`: an entry goes into a client's configuration, or comes out of it, and all else stays."""

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from scrubjay.errors import Conflict, InvalidInput, ScrubjayError
from scrubjay.install.clients import CLIENTS, SCOPES, TOKEN, Client, stale_keys
from scrubjay.install.diff import diff_of
from scrubjay.install.files import read_file, replace_file
from scrubjay.install.program import is_ours
from scrubjay.install.syntax import Entry, Place, Unfit, Unreadable, leaves, spelled
from scrubjay.install.verify import meaning_with, meaning_without, require_meaning

NAME = "scrubjay"
_NAMES = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Which entry is to stand in which file; none takes ours out."""

    client: Client
    file: Path
    entry: Entry | None
    name: str = NAME
    scope: str = SCOPES[0]

    @property
    def place(self) -> Place:
        """Where the entry stands in the file."""
        return (self.client.servers, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What was done to a client's configuration, or would be."""

    action: str
    client: str
    name: str
    file: str
    copy: str = ""
    diff: str = ""
    next: str = ""
    dry_run: bool = False

    def __str__(self) -> str:
        if self.dry_run:
            return self.diff.rstrip("\n") or f"{self.file} would stay as it is"
        reported = {
            "installed": f"{self.name} is installed for {CLIENTS[self.client].title} in {self.file}",
            "updated": f"{self.name} is updated for {CLIENTS[self.client].title} in {self.file}",
            "unchanged": f"{self.name} is in {self.file} already; nothing was changed",
            "removed": f"{self.name} is removed from {self.file}",
            "absent": f"{self.name} is not in {self.file}; nothing was changed",
        }[self.action]
        lines = [reported]
        if self.copy:
            lines.append(f"  before  {self.copy}")
        if self.next:
            lines.append(f"  next    {self.next}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """An entry as it would be written."""

    client: str
    file: str
    entry: str

    def __str__(self) -> str:
        return self.entry.rstrip("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownClient:
    """A client's configuration, and whether we are in it; `trouble` says why that cannot be told."""

    client: str
    scope: str
    file: str
    exists: bool
    installed: bool
    trouble: str = ""

    def __str__(self) -> str:
        state = "installed" if self.installed else "not there" if self.exists else "no file"
        return f"{self.client:<15} {self.scope:<8} {'unreadable' if self.trouble else state:<11} {self.file}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownClients:
    """The clients that an entry can be written for."""

    clients: tuple[KnownClient, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.clients))


def carry_out(order: Order, *, dry_run: bool = False) -> Installed:
    """Bring a client's configuration to what is ordered; says what was done, or with dry_run what would be."""
    _check(order)
    results = read_file(order.file)
    text = results.text
    with _explained(order):
        action, changed = _changed(order, text)
    done = Installed(action=action, client=order.client.name, name=order.name, file=str(order.file), dry_run=dry_run)
    if changed == text:
        return done
    if dry_run:
        return replace(done, diff=diff_of(order.file, text, changed))
    copy = replace_file(results, results.data_of(changed))
    return replace(done, copy=str(copy or ""), next=_next_step(order))


def printed(order: Order) -> Printed:
    """The entry alone, in the client's own format."""
    _check(order)
    entry = order.client.syntax.shown(order.place, order.entry or {})
    return Printed(client=order.client.name, file=str(order.file), entry=entry)


def known_clients(*, name: str = NAME, folder: Path | None = None) -> KnownClients:
    """Every client's configuration of the user, and those of the project that are there."""
    reported: list[KnownClient] = []
    for client in CLIENTS.values():
        reported.append(_known(client, client.file(), name=name, scope=SCOPES[0]))
        if client.project_file:
            file = client.file(scope=SCOPES[1], folder=folder)
            if file.exists():
                reported.append(_known(client, file, name=name, scope=SCOPES[1]))
    return KnownClients(clients=tuple(reported))


def _known(client: Client, file: Path, *, name: str, scope: str) -> KnownClient:
    order = Order(client=client, file=file, entry=None, name=name)
    entry: Entry | None = None
    trouble = ""
    try:
        with _explained(order):
            entry = client.syntax.found(read_file(file).text, order.place)
    except ScrubjayError as error:
        trouble = error.message
    return KnownClient(
        client=client.name, scope=scope, file=str(file), exists=file.exists(), installed=entry is not None,
        trouble=trouble,
    )  # fmt: skip


def _check(order: Order) -> None:
    if not _NAMES.fullmatch(order.name):
        raise InvalidInput(
            f"a server cannot be called {order.name[:80]!r}",
            hint="Clients take up to 64 letters, digits, hyphens and underscores",
            field="name",
        )
    for value in leaves(order.entry or {}).values():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InvalidInput(
                f"{value!r} is not text in UTF-8, as a configuration must be", hint="Use another folder or name"
            ) from None


def _changed(order: Order, text: str) -> tuple[str, str]:
    """What is done, and the text after it; the text itself when there is nothing to do."""
    syntax, place = order.client.syntax, order.place
    existing = syntax.found(text, place)
    if order.entry is None:
        if existing is None:
            return "absent", text
        _require_ours(order, existing)
        changed = syntax.without(text, place)
        require_meaning(syntax, changed, meaning_without(syntax.value(text), place), place=place)
        return "removed", changed
    drop = () if existing is None else stale_keys(existing, order.entry)
    changed = syntax.merged(text, place, order.entry, drop=drop)
    expected = meaning_with(syntax.value(text), place, order.entry, drop=drop)
    require_meaning(syntax, changed, expected, place=place)
    return ("unchanged" if changed == text else "installed" if existing is None else "updated"), changed


def _next_step(order: Order) -> str:
    step = order.client.next_step(scope=order.scope)
    if order.entry is None or "command" in order.entry:
        return step
    return f"Set {TOKEN} where {order.client.title} is started, to a token of that server. {step}"


def _require_ours(order: Order, entry: Entry) -> None:
    """Another server that happens to have the name is not ours to remove."""
    if not is_ours(entry) and TOKEN not in json.dumps(entry, default=str):
        raise Conflict(
            f"{spelled(order.place)} in {order.file} does not start Scrubjay",
            hint="Remove it by hand if it is meant",
            path=str(order.file),
        )


@contextmanager
def _explained(order: Order) -> Generator[None]:
    """What is wrong with a configuration, with its path and what to do."""
    name, path = order.client.syntax.name, str(order.file)
    try:
        yield
    except Unreadable as error:
        where = f" (line {error.line}, column {error.column})" if error.line else ""
        raise InvalidInput(
            f"{path} is no {name} that can be read: {error.what}{where}",
            hint="Mend it, or name another with --file; nothing was changed",
            path=path,
            line=error.line,
        ) from None
    except Unfit as error:
        what = f"{spelled(error.place)} {error.what}" if error.place else error.what
        raise InvalidInput(
            f"{path}: {what}",
            hint=f"Mend it; `scrubjay install {order.client.name} --print` shows the entry. Nothing was changed",
            path=path,
        ) from None
