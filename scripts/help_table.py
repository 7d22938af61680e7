"""The help of every command at 80 columns, for the command line's table: `make docs` writes it."""

import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO

import typer
from typer.core import TyperCommand, TyperGroup

from scrubjay.surfaces.cli.by_daemon import ALIASES
from scrubjay.surfaces.cli.help import COLUMNS
from scrubjay.surfaces.cli.main import app

__all__ = ["commands_by_path", "help_table"]

# Columns that help leaves free on a terminal.
_MARGIN = 2


def help_table() -> str:
    """Return the pages as JSON, by the words after `scrubjay`."""
    pages = {path: _page(path) for path in commands_by_path()}
    return json.dumps(pages, ensure_ascii=False, indent=0, sort_keys=True) + "\n"


def commands_by_path() -> dict[str, TyperCommand | TyperGroup]:
    """Return every command and group, also by its other names."""
    root = typer.main.get_command(app)
    if not isinstance(root, TyperGroup):
        raise TypeError(type(root))
    commands = {"": root, **dict(_below(root))}
    return {**commands, **{alias: commands[name] for alias, name in ALIASES.items()}}


def _page(path: str) -> str:
    with redirect_stdout(StringIO()) as shown:
        try:
            app([*path.split(), "--help"], prog_name="scrubjay", terminal_width=COLUMNS - _MARGIN)
        except SystemExit as done:
            if done.code:
                raise RuntimeError(f"`scrubjay {path} --help` failed: {shown.getvalue()}") from None
    return shown.getvalue()


def _below(group: TyperGroup, before: str = "") -> Iterator[tuple[str, TyperCommand | TyperGroup]]:
    for name, command in group.commands.items():
        path = f"{before} {name}".strip()
        if not isinstance(command, TyperCommand | TyperGroup):
            raise TypeError(type(command))
        yield path, command
        if isinstance(command, TyperGroup):
            yield from _below(command, path)
