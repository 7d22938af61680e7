"""`scrubjay rules`: what becomes of what is written into a space."""

import re
from collections.abc import Sequence
from typing import Annotated, cast

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json
from scrubjay.model.rules import Rules
from scrubjay.surfaces.cli.command import verb

app = typer.Typer()
rules_app = typer.Typer(help="Rules of a space: what becomes of what is written into it.", no_args_is_help=True)
app.add_typer(rules_app, name="rules")

_CHANGE = re.compile(r"(?P<name>\w+)\s*(?P<how>\+=|-=|=)\s*(?P<value>.*)", re.DOTALL)


@verb(rules_app)
async def show(client: MemoryClient) -> Rules:
    """Show all rules; those that were changed have a star."""
    return await client.rules()


@verb(rules_app, name="set")
async def set_(
    client: MemoryClient,
    changes: Annotated[
        list[str],
        typer.Argument(help="Each NAME=VALUE; a list takes NAME+=VALUE and NAME-=VALUE, too.", show_default=False),
    ],
) -> Rules:
    """Set rules anew, for what is written from now on."""
    parsed = [_parsed(change) for change in changes]
    before = await client.rules() if any(how != "=" for _, how, _ in parsed) else Rules()
    return await _set(client, _changed(parsed, before))


@verb(rules_app)
async def reset(
    client: MemoryClient,
    names: Annotated[list[str] | None, typer.Argument(help="Which rules; all, unless some are named.")] = None,
) -> Rules:
    """Take rules back to their defaults."""
    return await _set(client, dict.fromkeys(names or Rules().as_json))


async def _set(client: MemoryClient, changes: dict[str, Json]) -> Rules:
    # A name that no rule has is said before it is taken for an argument of something else.
    Rules().with_changes(dict.fromkeys(changes))
    return await client.set_rules(**changes)


def _parsed(change: str) -> tuple[str, str, str]:
    found = _CHANGE.fullmatch(change.strip())
    if found is None:
        raise InvalidInput(f"{change[:100]!r} sets no rule", hint="For example density=reject", field="changes")
    return found["name"], found["how"], found["value"].strip()


def _changed(changes: Sequence[tuple[str, str, str]], before: Rules) -> dict[str, Json]:
    """What to set: a list grows with every value that is given for it, beginning with what it has or with nothing."""
    known = before.as_json
    changed: dict[str, Json] = {}
    for name, how, value in changes:
        if not isinstance(known.get(name), list):
            if how != "=":
                raise InvalidInput(
                    f"{name[:100]} is no list and takes no {how}", hint="Set it with =", field=name[:100]
                )
            changed[name] = value
            continue
        now = changed.get(name, known[name] if how != "=" else [])
        have = cast("list[Json]", now)
        changed[name] = [one for one in have if one != value] + ([value] if how != "-=" and value else [])
    return changed
