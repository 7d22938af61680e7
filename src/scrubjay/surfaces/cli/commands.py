"""Every command by name, and the module that it is loaded from when somebody asks for it."""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["HOMES", "CommandsOnDemand", "house_style"]

# By module, in the order of the help. A call needs one of them, and to load all takes longer than most calls.
HOMES = {
    "verbs": (
        "remember", "recall", "read", "revise", "forget", "restore", "purge", "relate", "unrelate", "undo", "status",
        "doctor",
    ),
    "history": ("history", "log", "diff", "commit", "revert"),
    "branches": ("branch", "branches", "switch", "merge-branch", "drop-branch"),
    "context": ("context",),
    "graph": ("related", "graph", "path"),
    "rules": ("rules",),
    "tags": ("tags",),
    "inbox": ("inbox",),
    "conflicts": ("conflicts",),
    "jobs": ("jobs",),
    "notes": ("notes",),
    "extract": ("extract",),
    "files": ("export", "import", "backup"),
    "migrate": ("migrate",),
    "calibrate": ("calibrate",),
    "tokens": ("tokens",),
    "daemon": ("serve", "mcp"),
    "install": ("install",),
    "service": ("service",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in HOMES.items() for name in names}

Command = TyperCommand | TyperGroup


def house_style(*, help: str | None = None, cls: type[TyperGroup] | None = None) -> typer.Typer:
    """An empty command line whose help is plain text and whose errors are our own."""
    return typer.Typer(help=help, cls=cls, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)


class CommandsOnDemand(TyperGroup):
    """The root of all commands: it knows their names, and loads those that are asked for."""

    def __init__(self, **given: object) -> None:
        super().__init__(**given)  # type: ignore[arg-type]
        self.commands = cast("MutableMapping[str, Any]", _OnDemand())


class _OnDemand(Mapping[str, Command]):
    """Commands by name, each made when it is first looked at, together with the others of its module."""

    def __init__(self) -> None:
        self._made: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._made:
            self._made |= commands_of(_HOME_OF[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_HOME_OF)

    def __len__(self) -> int:
        return len(_HOME_OF)


def commands_of(home: str) -> dict[str, Command]:
    """The commands of a module."""
    part = house_style()
    part.add_typer(cast("typer.Typer", import_module(f"scrubjay.surfaces.cli.{home}").app))
    return cast("dict[str, Command]", typer.main.get_group(part).commands)
