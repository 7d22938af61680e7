"""The `scrubjay` command: it knows every command by name and loads a module only when one of its commands is used."""

import os
from collections.abc import Iterator, Mapping, MutableMapping
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from scrubjay.surfaces.cli.by_daemon import ALIASES
from scrubjay.version import VERSION

__all__ = ["COMMANDS_BY_MODULE", "SECTIONS", "app", "load_commands", "main"]

# In the order of the help. A call needs one module, and loading all of them takes longer than most calls.
COMMANDS_BY_MODULE = {
    "verbs": (
        "remember", "recall", "read", "revise", "forget", "restore", "confirm", "purge", "relate", "unrelate", "undo",
        "context", "due", "summarize", "usage", "status", "health", "spaces", "reembed", "doctor", "list", "history",
        "log", "diff", "commit", "revert", "branch", "branches", "switch", "merge-branch", "drop-branch", "related",
        "graph", "path",
    ),
    "edit": ("edit",),
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
    "daemon": ("serve", "mcp", "open", "stop", "logs"),
    "install": ("install", "service"),
}  # fmt: skip
SECTIONS = {
    "Remember": ("remember", "extract", "import"),
    "Find": ("recall", "list", "read", "context", "due", "related", "graph", "path", "summarize"),
    "Change": ("revise", "edit", "confirm", "relate", "unrelate", "forget", "restore", "purge", "undo"),
    "History": (
        "history", "log", "diff", "commit", "revert", "branch", "branches", "switch", "merge-branch", "drop-branch",
    ),
    "Notes and files": ("notes", "export", "backup", "migrate"),
    "Care": (
        "conflicts", "inbox", "curate", "prune", "tags", "rules", "usage", "health", "jobs", "doctor", "reembed",
        "calibrate",
    ),
    "Programs": ("code", "skill"),
    "Server": ("status", "spaces", "open", "serve", "stop", "logs", "mcp", "tokens"),
    "Set-up": ("install", "service"),
}  # fmt: skip
# What people type first, coming from other programs.
_MEANT = {
    "ls": "list", "all": "list", "find": "recall", "query": "recall", "ask": "recall", "get": "read", "cat": "read",
    "view": "read", "new": "remember", "create": "remember", "store": "remember", "save": "remember", "note": "notes",
    "update": "revise", "change": "revise", "set": "revise", "rm": "forget", "remove": "forget", "del": "forget",
    "trash": "list", "link": "relate", "versions": "history", "rollback": "revert", "start": "serve", "run": "serve",
    "daemon": "serve", "ui": "open", "web": "open", "dashboard": "open", "kill": "stop", "quit": "stop",
    "info": "status", "health": "doctor", "check": "doctor", "setup": "install", "init": "install",
    "token": "tokens", "tag": "tags", "dedupe": "conflicts", "duplicates": "conflicts", "clean": "curate",
}  # fmt: skip
_OF_EACH_COMMAND = ("--data", "--space", "--agent", "--json")
_VERBS = "verbs"
_MODULE_OF_COMMAND = {command: module for module, commands in COMMANDS_BY_MODULE.items() for command in commands}

Command = TyperCommand | TyperGroup


def main() -> None:
    """Run the command line. Whatever a command writes, wherever it lies, is for its user alone."""
    os.umask(0o077)
    # Whatever starts it: a shell completes the command of this name.
    app(prog_name="scrubjay")


class _LazyGroup(TyperGroup):
    """The root group, whose commands are loaded on first use."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.commands = cast("MutableMapping[str, Any]", _LazyCommands())

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the classes of both are private
        """Write the commands in sections, one line each."""
        other_names = {command: f"{command}, {alias}" for alias, command in ALIASES.items()}
        listed = {name for names in SECTIONS.values() for name in names}
        width = max(len(other_names.get(name, name)) for name in self.commands)
        # A verb without code of its own may be in none of them.
        others = tuple(name for name in self.commands if name not in listed)
        for section, names in {**SECTIONS, **({"Other": others} if others else {})}.items():
            rows = [
                (other_names.get(name, name).ljust(width), self.commands[name].get_short_help_str(formatter.width))
                for name in names
            ]
            with formatter.section(section):
                formatter.write_dl(rows)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options before the command; an error about one of a command says where it belongs."""
        if args and (option := args[0].partition("=")[0]) in _OF_EACH_COMMAND:
            ctx.fail(f"No such option: {option}. It stands after the command: scrubjay COMMAND {option}")
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of a word; for a word that is none, the error names the one that is meant."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            words = [*ALIASES, *self.commands]
            meant = [_MEANT[args[0]]] if args[0] in _MEANT else get_close_matches(args[0], words)
            if meant:
                ctx.fail(f"No such command {args[0]!r}. Did you mean {' or '.join(map(repr, meant))}?")
        return super().resolve_command(ctx, args)


class _LazyCommands(Mapping[str, Command]):
    """Commands by name; the first use of a command loads its module."""

    def __init__(self) -> None:
        self._loaded: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        name = ALIASES.get(name, name)
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
