"""What all commands share: where the data is, how the answer is printed, what an error looks like."""

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
_AGENT = Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Who writes; `undo` goes by it.")]
_JSON = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
_SHARED = {
    "data": (_DATA, None),
    "space": (_SPACE, None),
    "agent": (_AGENT, None),
    "as_json": (_JSON, False),
}
# What runs for long prints no answer, and writes nothing in its own name.
_SERVING = {name: _SHARED[name] for name in ("data", "space")}
DEFAULT_AGENT = "cli"


def verb(app: typer.Typer, *, name: str | None = None, holds_index: bool = False) -> Callable[[Verb], Verb]:
    """Make a coroutine over an open client a command; its result is printed. Most are over in a moment."""

    def register(function: Verb) -> Verb:
        def call(*, settings: Settings, space: str | None, **options: object) -> object:
            chosen = settings.owning_index if holds_index else settings.short_lived
            return asyncio.run(_with_client(function, chosen, options, space=space))

        _add(app, function, call, name=name, skip=1)
        return function

    return register


def bare(app: typer.Typer, *, name: str | None = None, answers: bool = True) -> Callable[[Plain], Plain]:
    """Make a function over the settings alone a command: for what must not open the store."""

    def register(function: Plain) -> Plain:
        def call(*, settings: Settings, space: str | None, **options: object) -> object:
            del space  # It is among the settings.
            return function(settings=settings, **options)

        _add(app, function, call, name=name, skip=1, shared=_SHARED if answers else _SERVING)
        return function

    return register


def _add(
    app: typer.Typer,
    function: Callable[..., object],
    call: Plain,
    *,
    name: str | None,
    skip: int,
    shared: Mapping[str, tuple[object, object]] = _SHARED,
) -> None:
    @wraps(function)
    def command(**options: object) -> None:
        given = {one: options.pop(one, None) for one in _SHARED}
        as_json = bool(given["as_json"])
        try:
            settings = _settings(given)
            answer = call(settings=settings, space=given["space"], **options)
        except ScrubjayError as error:
            fail(error, as_json=as_json)
        else:
            if answer is not None:
                print_answer(answer, as_json=as_json)
            raise typer.Exit(_exit_code(answer))

    parameters = list(inspect.signature(function, eval_str=True).parameters.values())[skip:]
    parameters += [
        inspect.Parameter(one, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for one, (annotation, default) in shared.items()
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    app.command(name=name)(command)


def _exit_code(answer: object) -> int:
    """A script must be able to tell that something is missing, refused or unwell, though the command did its work."""
    if getattr(answer, "missing", ()):
        return CODES[NotFound].exit
    if getattr(answer, "action", "") in ("rejected", "conflict"):
        return CODES[Conflict].exit
    if isinstance(answer, Undone) and answer.skipped and not answer.done:
        return CODES[Conflict].exit
    if getattr(answer, "ok", True) is False:
        return CODES[ScrubjayError].exit
    return 0


def print_answer(answer: object, *, as_json: bool) -> None:
    """Print for a program, or for a person."""
    if as_json:
        sys.stdout.write(json.dumps(to_json(answer), ensure_ascii=False, indent=2) + "\n")
    else:
        show(answer)


def fail(error: ScrubjayError, *, as_json: bool) -> None:
    """Say what went wrong and what to do next, and leave with the error's own code."""
    if as_json:
        sys.stderr.write(json.dumps({"error": error_to_json(error)}, ensure_ascii=False) + "\n")
    else:
        sys.stderr.write(f"error: {error}\n")
    raise typer.Exit(codes_of(error).exit)


def _settings(shared: dict[str, object]) -> Settings:
    loaded = Settings.load(
        home=cast("str | None", shared["data"]),
        space=cast("str | None", shared["space"]),
        agent=cast("str | None", shared["agent"]),
    )
    # A server knows whose token it is shown.
    return replace(loaded, agent=loaded.agent or ("" if loaded.url and loaded.token else DEFAULT_AGENT))


async def _with_client(function: Verb, settings: Settings, options: dict[str, object], *, space: str | None) -> object:
    # A server must know whether the space was chosen, also when it is the usual one: else the token decides.
    async with MemoryClient(settings=settings, space=space) as client:
        return await function(client, **options)
