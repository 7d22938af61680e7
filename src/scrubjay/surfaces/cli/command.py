"""Registration of commands: shared options, output for people or as JSON, error messages, and exit codes."""

import asyncio
import inspect
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Annotated, cast

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import CODES, Conflict, NotFound, ScrubjayError, codes_of
from scrubjay.model.results import Undone
from scrubjay.rpc.codec import error_to_json, to_json
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.render import show

Verb = Callable[..., Awaitable[object]]
Plain = Callable[..., object]

_DATA = Annotated[
    str | None,
    typer.Option("--data", metavar="DIR", help="Data folder. Default: SCRUBJAY_HOME, else the user-data folder."),
]
_SPACE = Annotated[
    str | None, typer.Option("--space", metavar="NAME", help="Space to work in. Default: SCRUBJAY_SPACE.")
]
_AGENT = Annotated[
    str | None, typer.Option("--agent", metavar="NAME", help="Author of changes; `undo` reverts by author.")
]
_JSON = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
_SHARED = {
    "data": (_DATA, None),
    "space": (_SPACE, None),
    "agent": (_AGENT, None),
    "as_json": (_JSON, False),
}
# A long-running command prints no result, and writes no memories of its own.
_LONG_RUNNING = {name: _SHARED[name] for name in ("data", "space")}
DEFAULT_AGENT = "cli"


def verb(app: typer.Typer, *, name: str | None = None, holds_index: bool = False) -> Callable[[Verb], Verb]:
    """Register a coroutine that takes an open client as a command, and print its result."""

    def register(function: Verb) -> Verb:
        def call(*, settings: Settings, space: str | None, **options: object) -> object:
            adjusted = settings.owning_index if holds_index else settings.short_lived
            return asyncio.run(_call_with_client(function, adjusted, options, space=space))

        _add_command(app, function, call, name=name)
        return function

    return register


def bare(app: typer.Typer, *, name: str | None = None, answers: bool = True) -> Callable[[Plain], Plain]:
    """Register a function that takes only the settings as a command: it must not open the store."""

    def register(function: Plain) -> Plain:
        def call(*, settings: Settings, space: str | None, **options: object) -> object:
            del space  # It is part of the settings.
            return function(settings=settings, **options)

        _add_command(app, function, call, name=name, shared=_SHARED if answers else _LONG_RUNNING)
        return function

    return register


def _add_command(
    app: typer.Typer,
    function: Callable[..., object],
    call: Plain,
    *,
    name: str | None,
    shared: Mapping[str, tuple[object, object]] = _SHARED,
) -> None:
    """Add a command with the parameters of the function after its first, and the shared options."""

    @wraps(function)
    def command(**options: object) -> None:
        shared_values = {option: options.pop(option, None) for option in _SHARED}
        as_json = bool(shared_values["as_json"])
        try:
            settings = _load_settings(shared_values)
            result = call(settings=settings, space=shared_values["space"], **options)
        except ScrubjayError as error:
            _fail(error, as_json=as_json)
        else:
            if result is not None:
                _print_result(result, as_json=as_json)
            raise typer.Exit(_exit_code(result))

    parameters = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    parameters += [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for option, (annotation, default) in shared.items()
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    app.command(name=name)(command)


async def _call_with_client(
    function: Verb, settings: Settings, options: dict[str, object], *, space: str | None
) -> object:
    # A server needs to know whether the user chose the space, even the default one; if not, the token decides.
    async with MemoryClient(settings=settings, space=space) as client:
        return await function(client, **options)


def _load_settings(shared: dict[str, object]) -> Settings:
    settings = Settings.load(
        home=cast("str | None", shared["data"]),
        space=cast("str | None", shared["space"]),
        agent=cast("str | None", shared["agent"]),
    )
    # A server derives the agent from the token.
    return replace(settings, agent=settings.agent or ("" if settings.url and settings.token else DEFAULT_AGENT))


def _print_result(result: object, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(to_json(result), ensure_ascii=False, indent=2) + "\n")
    else:
        show(result)


def _exit_code(result: object) -> int:
    """Return an exit code that tells a script that something is missing, refused or unhealthy."""
    if getattr(result, "missing", ()):
        return CODES[NotFound].exit
    if getattr(result, "action", "") in ("rejected", "conflict"):
        return CODES[Conflict].exit
    if isinstance(result, Undone) and result.skipped and not result.done:
        return CODES[Conflict].exit
    if getattr(result, "ok", True) is False:
        return CODES[ScrubjayError].exit
    return 0


def _fail(error: ScrubjayError, *, as_json: bool) -> None:
    """Print what happened and what to do next, and exit with the error's code."""
    if as_json:
        sys.stderr.write(json.dumps({"error": error_to_json(error)}, ensure_ascii=False) + "\n")
    else:
        sys.stderr.write(f"error: {error}\n")
    raise typer.Exit(codes_of(error).exit)
