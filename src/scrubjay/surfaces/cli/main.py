"""The `scrubjay` command."""

from typing import Annotated

import typer

from scrubjay.surfaces.cli import (
    branches,
    calibrate,
    conflicts,
    context,
    daemon,
    extract,
    files,
    graph,
    history,
    inbox,
    install,
    jobs,
    migrate,
    notes,
    rules,
    service,
    tags,
    tokens,
    verbs,
)
from scrubjay.version import VERSION

app = typer.Typer(
    help="Long-term memory for LLM agents: one store that all of a person's agents share.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(verbs.app)
app.add_typer(history.app)
app.add_typer(branches.app)
app.add_typer(context.app)
app.add_typer(graph.app)
app.add_typer(rules.app)
app.add_typer(tags.app)
app.add_typer(inbox.app)
app.add_typer(conflicts.app)
app.add_typer(jobs.app)
app.add_typer(notes.app)
app.add_typer(extract.app)
app.add_typer(files.app)
app.add_typer(migrate.app)
app.add_typer(calibrate.app)
app.add_typer(tokens.app)
app.add_typer(daemon.app)
app.add_typer(install.app)
app.add_typer(service.app)


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
