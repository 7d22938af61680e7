"""The `scrubjay` command."""

from typing import Annotated

import typer

from scrubjay.surfaces.cli.commands import CommandsOnDemand, house_style
from scrubjay.version import VERSION

app = house_style(
    help="Long-term memory for LLM agents: one store that all of a person's agents share.", cls=CommandsOnDemand
)


def _print_version(wanted: bool) -> None:
    if wanted:
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


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
