"""The `scrubjay` command: it knows every command by name and loads a module only when one of its commands is used."""

import os
from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from scrubjay.version import VERSION

__all__ = ["COMMANDS_BY_MODULE", "app", "load_commands", "main"]

# In the order of the help. A call needs one module, and loading all of them takes longer than most calls.
COMMANDS_BY_MODULE = {
    "verbs": (
        "remember", "recall", "read", "revise", "forget", "restore", "confirm", "purge", "relate", "unrelate", "undo",
        "context", "due", "summarize", "usage", "status", "reembed", "doctor", "history", "log", "diff", "commit",
        "revert", "branch", "branches", "switch", "merge-branch", "drop-branch", "related", "graph", "path",
    ),
    "space": ("rules", "tags", "inbox"),
    "conflicts": ("conflicts",),
    "curate": ("curate", "prune"),
    "code": ("code",),
    "skill": ("skill",),
    "jobs": ("jobs",),
    "notes": ("notes",),
    "extract": ("extract",),
    "files": ("export", "import", "backup"),
    "migrate": ("migrate",),
    "calibrate": ("calibrate",),
    "tokens": ("tokens",),
    "daemon": ("serve", "mcp"),
    "install": ("install", "service"),
}  # fmt: skip
_VERBS = "verbs"
_MODULE_OF_COMMAND = {command: module for module, commands in COMMANDS_BY_MODULE.items() for command in commands}

Command = TyperCommand | TyperGroup


def main() -> None:
    """Run the command line. Whatever a command writes, wherever it lies, is for its user alone."""
    os.umask(0o077)
    app()


class _LazyGroup(TyperGroup):
    """The root group, whose commands are loaded on first use."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.commands = cast("MutableMapping[str, Any]", _LazyCommands())


class _LazyCommands(Mapping[str, Command]):
    """Commands by name; the first use of a command loads its module."""

    def __init__(self) -> None:
        self._loaded: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._loaded:
            self._loaded |= load_commands(_MODULE_OF_COMMAND.get(name, _VERBS), only=name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*_MODULE_OF_COMMAND, *load_commands(_VERBS))))

    def __len__(self) -> int:
        return len(list(iter(self)))


def load_commands(module: str, *, only: str = "") -> dict[str, Command]:
    """Return the commands of a module by name, or one of them, with those of verbs that need no code of their own."""
    # Printing the version does not wait for these imports.
    from scrubjay.model.verbs import VERBS  # noqa: PLC0415
    from scrubjay.surfaces.cli.command import plain  # noqa: PLC0415

    declared = cast("typer.Typer", import_module(f"scrubjay.surfaces.cli.{module}").app)
    group = _new_app()
    group.registered_commands = [info for info in declared.registered_commands if only in ("", info.name)]
    group.registered_groups = [info for info in declared.registered_groups if only in ("", info.name)]
    commands = cast("dict[str, Command]", typer.main.get_group(group).commands)
    for verb in VERBS.values():
        parent, _, name = verb.command.rpartition(" ")
        if not name or _MODULE_OF_COMMAND.get(parent or name, _VERBS) != module or only not in ("", parent or name):
            continue
        siblings = cast("dict[str, Command]", getattr(commands.get(parent), "commands", {})) if parent else commands
        if name not in siblings:
            alone = _new_app()
            plain(alone, verb.request, verb.request.__doc__ or "")
            siblings[name] = cast("dict[str, Command]", typer.main.get_group(alone).commands)[name]
    return commands


def _new_app(*, help: str | None = None, cls: type[TyperGroup] | None = None) -> typer.Typer:
    """Return an empty Typer app with plain-text help and without Typer's own rendering of exceptions."""
    return typer.Typer(help=help, cls=cls, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)


app = _new_app(help="Long-term memory for LLM agents: one store that all of a person's agents share.", cls=_LazyGroup)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"scrubjay {VERSION}")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Long-term memory for LLM agents: one store that all of a person's agents share."""


if __name__ == "__main__":
    main()
