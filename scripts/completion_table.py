"""What shells offer for every command, for the command line's table: `make docs` writes it."""

import json
from typing import Any

import typer

from scripts.help_table import commands_by_path
from scrubjay.surfaces.cli.completion import ShownArgument, ShownCommand, ShownOption, ShownValue

__all__ = ["completion_table"]

_OPTION = "option"
# The labels that a parameter takes, by its name.
_LABELS = {
    **dict.fromkeys(("tag", "tags", "any_tag"), "tag"),
    **{field: field for field in ("session", "project", "category", "entity", "kind", "space")},
    "memory": "name",
}
_NAMED = frozenset(("id", "ids", "identifier", "note", "source", "target"))
# Their ids are not those of memories.
_OTHER_IDS = frozenset(("conflicts", "jobs"))
_WIDTH = 80


def completion_table() -> str:
    """Return the commands as JSON, by the words after `scrubjay`: a line for each."""
    lines = [
        f"{json.dumps(path)}: {json.dumps(_shown(path, command), ensure_ascii=False)}"
        for path, command in sorted(commands_by_path().items())
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _shown(path: str, command: Any) -> ShownCommand:
    commands = getattr(command, "commands", {})
    options = [each for each in command.params if each.param_type_name == _OPTION]
    arguments = [each for each in command.params if each.param_type_name != _OPTION]
    return ShownCommand(
        commands=[(name, commands[name].get_short_help_str(_WIDTH)) for name in commands],
        options=[_option(each, typer.Context(command)) for each in options],
        arguments=[_argument(each, typer.Context(command), path=path) for each in arguments],
    )


def _option(parameter: Any, context: typer.Context) -> ShownOption:
    return ShownOption(
        names=[*parameter.opts, *parameter.secondary_opts],
        help=parameter.help or "",
        takes=not parameter.is_flag,
        **_value(parameter, context, field=_LABELS.get(parameter.name, "")),
    )


def _argument(parameter: Any, context: typer.Context, *, path: str) -> ShownArgument:
    is_name = parameter.name in _NAMED and path.split(maxsplit=1)[0] not in _OTHER_IDS
    field = "name" if is_name else _LABELS.get(parameter.name, "")
    return ShownArgument(repeats=parameter.nargs < 0, **_value(parameter, context, field=field))


def _value(parameter: Any, context: typer.Context, *, field: str) -> ShownValue:
    choices = str(parameter.metavar or "").split("|")
    if len(choices) == 1:
        choices = [item.value for item in parameter.shell_complete(context, "")]
    if choices:
        return ShownValue(choices=choices)
    return ShownValue(field=field) if field else ShownValue()
