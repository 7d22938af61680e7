"""Registration of commands: options from a request, output for people or as JSON, error messages, and exit codes."""

import asyncio
import inspect
import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Annotated, TypeVar, Unpack, cast, get_args

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import CODES, Conflict, NotFound, ScrubjayError, codes_of
from scrubjay.model import verbs
from scrubjay.model.arguments import Request
from scrubjay.model.memory import Json, Memory
from scrubjay.model.results import ReadResult, Undone
from scrubjay.rpc.codec import error_to_json, to_json
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.console import progress
from scrubjay.surfaces.cli.options import Differences, RequestOptions
from scrubjay.surfaces.cli.render import show

R = TypeVar("R")
Make = Callable[..., R]
"""Makes the request of a command from its options and from further arguments."""
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
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]


def plain(
    app: typer.Typer,
    request: type[Request[R]],
    help: str,
    *,
    shown: Callable[[R], object] = lambda result: result,
    label: str = "",
    holds_index: bool = False,
    **differences: Unpack[Differences],
) -> None:
    """Register a command that does no more than its verb; `shown` prepares the result, `label` is for the progress."""
    declared = _declaration(request)

    async def call(client: MemoryClient, *, make: Make[Request[R]]) -> object:
        if not declared.progress:
            return shown(await client.call(make()))
        with progress(label or declared.command) as report:
            return shown(await client.call(make(), progress=report))

    call.__doc__ = help
    _add_verb(app, call, RequestOptions(request, (), differences), name=_name_of(request), holds_index=holds_index)


def verb(
    app: typer.Typer, *, name: str = "", holds_index: bool = False, **differences: Unpack[Differences]
) -> Callable[[Verb], Verb]:
    """Register a coroutine that takes an open client as a command, and print its result.

    If it has the parameter `make`, its options are those of that request; further parameters are its own options.
    """

    def register(function: Verb) -> Verb:
        parameters = inspect.signature(function, eval_str=True).parameters
        own = [parameter for name, parameter in parameters.items() if name not in ("client", "make", "settings")]
        request = get_args(parameters["make"].annotation)[-1] if "make" in parameters else None
        chosen = name or (_name_of(request) if request else function.__name__)
        options = RequestOptions(request, own, differences)
        return _add_verb(app, function, options, name=chosen, holds_index=holds_index)

    return register


def _declaration(request: type[Request[object]]) -> verbs.Verb:
    return next(declared for declared in verbs.VERBS.values() if declared.request is request)


def _name_of(request: type[Request[object]]) -> str:
    """Return the name of the command of a request, without that of its group."""
    return _declaration(request).command.split()[-1]


def bare(app: typer.Typer, *, name: str | None = None, answers: bool = True) -> Callable[[Plain], Plain]:
    """Register a function that takes only the settings as a command: it must not open the store."""

    def register(function: Plain) -> Plain:
        def call(*, settings: Settings, space: str | None, **options: object) -> object:
            del space  # It is part of the settings.
            return function(settings=settings, **options)

        parameters = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        _add_command(
            app, call, parameters, name=name or function.__name__, help=function.__doc__,
            shared=_SHARED if answers else _LONG_RUNNING,
        )  # fmt: skip
        return function

    return register


def _add_verb(app: typer.Typer, function: Verb, options: RequestOptions, *, name: str, holds_index: bool) -> Verb:
    """Add a command, and return it as a function of a client and of what was typed."""
    takes = inspect.signature(function).parameters

    async def call_with(client: MemoryClient, **values: object) -> object:
        own = {name: value for name, value in values.items() if name in takes}
        return await function(client, **own, **({"make": options.make(values)} if "make" in takes else {}))

    async def connect_and_call(settings: Settings, space: str | None, values: dict[str, object]) -> object:
        # A server needs to know whether the user chose the space, even the default one; if not, the token decides.
        async with MemoryClient(settings=settings, space=space) as client:
            return await call_with(client, **values)

    def call(*, settings: Settings, space: str | None, **values: object) -> object:
        adjusted = settings.owning_index if holds_index else settings.short_lived
        values |= {"settings": settings} if "settings" in takes else {}
        return asyncio.run(connect_and_call(adjusted, space, values))

    _add_command(app, call, options.parameters, name=name, help=function.__doc__, names=options.names)
    call_with.__signature__ = inspect.Signature(options.parameters)
    return call_with


def _add_command(
    app: typer.Typer,
    call: Plain,
    parameters: Sequence[inspect.Parameter],
    *,
    name: str,
    help: str | None,
    names: Mapping[str, str] = MappingProxyType({}),
    shared: Mapping[str, tuple[object, object]] = _SHARED,
) -> None:
    """Add a command with these parameters and the shared options; `names` are those of its arguments in messages."""

    def command(**options: object) -> None:
        shared_values = {option: options.pop(option, None) for option in _SHARED}
        as_json = bool(shared_values["as_json"])
        try:
            settings = _load_settings(shared_values)
            result = call(settings=settings, space=shared_values["space"], **options)
        except ScrubjayError as error:
            _fail(error, as_json=as_json, names=names)
        else:
            if result is not None:
                _print_result(result, as_json=as_json)
            raise typer.Exit(_exit_code(result))

    added = [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for option, (annotation, default) in shared.items()
    ]
    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    command.__signature__ = inspect.Signature([*keyword_only, *added])
    command.__doc__ = help
    app.command(name=name.strip("_").replace("_", "-"))(command)


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
        sys.stdout.write(json.dumps(_result_json(result), ensure_ascii=False, indent=2) + "\n")
    else:
        show(result)


def _result_json(result: object) -> Json:
    """Return a result as JSON; of a memory that is read, every field."""
    if not isinstance(result, ReadResult):
        return to_json(result)
    names = [field.name for field in fields(Memory)]
    memories: list[Json] = [{name: to_json(getattr(memory, name)) for name in names} for memory in result.memories]
    return {**cast("dict[str, Json]", to_json(result)), "memories": memories}


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


def _fail(error: ScrubjayError, *, as_json: bool, names: Mapping[str, str]) -> None:
    """Print what happened and what to do next, and exit with the error's code."""
    renamed = error.renamed(names)
    if as_json:
        # In JSON, the field has the same name as on every other surface.
        renamed.fields |= {name: value for name, value in error.fields.items() if name == "field"}
        sys.stderr.write(json.dumps({"error": error_to_json(renamed)}, ensure_ascii=False) + "\n")
    else:
        sys.stderr.write(f"error: {renamed}\n")
    raise typer.Exit(codes_of(error).exit)
