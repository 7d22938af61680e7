"""`scrubjay rules`: how a space processes new memories."""

import re
from collections.abc import Sequence
from typing import Annotated, cast

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json
from scrubjay.model.requests import RulesRequest, SetRulesRequest
from scrubjay.model.rules import Rules, read_rule
from scrubjay.surfaces.cli.command import plain, verb

app = typer.Typer()
rules_app = typer.Typer(help="Rules of a space, applied to every new memory.", no_args_is_help=True)
app.add_typer(rules_app, name="rules")

_CHANGE = re.compile(r"(?P<name>\w+)\s*(?P<operator>\+=|-=|=)\s*(?P<value>.*)", re.DOTALL)


plain(rules_app, RulesRequest, "Show all rules; a star marks changed ones.")


# The rules are given as NAME=VALUE, not as options.
@verb(rules_app, name="set")
async def set_(
    client: MemoryClient,
    changes: Annotated[
        list[str],
        typer.Argument(help="NAME=VALUE; for a list also NAME+=VALUE and NAME-=VALUE.", show_default=False),
    ],
) -> Rules:
    """Change rules; they apply to memories written from now on."""
    parsed = [_parse_change(change) for change in changes]
    current = await client.rules() if any(operator != "=" for _, operator, _ in parsed) else Rules()
    return await _set_rules(client, _new_values(parsed, current))


@verb(rules_app)
async def reset(
    client: MemoryClient,
    names: Annotated[list[str] | None, typer.Argument(help="Names of rules. Default: all.")] = None,
) -> Rules:
    """Reset rules to their defaults."""
    return await _set_rules(client, dict.fromkeys(names or Rules().as_json))


async def _set_rules(client: MemoryClient, changes: dict[str, Json]) -> Rules:
    values = {name: value if value is None else read_rule(name, value) for name, value in changes.items()}
    Rules().with_changes(dict.fromkeys(values))
    return await client.call(SetRulesRequest.of(**values))


def _parse_change(change: str) -> tuple[str, str, str]:
    match = _CHANGE.fullmatch(change.strip())
    if match is None:
        raise InvalidInput(
            f"{change[:100]!r} is not a change of a rule", hint="Write NAME=VALUE, for example density=reject",
            field="changes",
        )  # fmt: skip
    return match["name"], match["operator"], match["value"].strip()


def _new_values(changes: Sequence[tuple[str, str, str]], current: Rules) -> dict[str, Json]:
    """Return the values to set; each change of a list adds to its result so far."""
    current_values = current.as_json
    values: dict[str, Json] = {}
    for name, operator, value in changes:
        if not isinstance(current_values.get(name), list):
            if operator != "=":
                raise InvalidInput(
                    f"{name[:100]} is not a list, so {operator} does not apply", hint="Set it with =", field=name[:100]
                )
            values[name] = value
            continue
        items = cast("list[Json]", values.get(name, current_values[name] if operator != "=" else []))
        values[name] = [item for item in items if item != value] + ([value] if operator != "-=" and value else [])
    return values
