"""Registration of commands: options from a request, output for people or as JSON, error messages, and exit codes."""

import asyncio
import inspect
import json
import re
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Annotated, TypeVar, Unpack, cast, get_args

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import CODES, Conflict, NotAllowed, NotFound, ScrubjayError, codes_of
from scrubjay.model import requests, verbs
from scrubjay.model.arguments import Request
from scrubjay.model.memory import Json, Memory
from scrubjay.model.results import ReadResult, Undone
from scrubjay.paths import data_folder, database_file, known_socket
from scrubjay.rpc.codec import error_to_json, to_json
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.console import print_error, progress, progress_made
from scrubjay.surfaces.cli.options import STDIN, Differences, RequestOptions
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
# A hint names verbs; where the command has another name, a user needs that.
_VERB = re.compile(r"`([a-z]+_[a-z_]+)`")
_COMMANDS = {name: f"scrubjay {verb.command}" for name, verb in verbs.VERBS.items() if verb.command}
# What Ctrl-C leaves, and how to go on.
_AGAIN = "run the same command again to go on"
_KEPT = {
    "import": f"what was stored stays, and is not stored twice: {_AGAIN}",
    "import_notes": f"the notes that were imported stay: {_AGAIN}",
    "adopt_notes": "the notes that were adopted stay: `scrubjay notes sync` goes on",
    "sync_notes": f"what was synchronized stays: {_AGAIN}",
    "export": "no export was written: run the same command again",
    "export_notes": "the export is not complete: run the same command again",
    "backup": "no backup was made: run the same command again",
    "curate": "the changes so far stay: the next `scrubjay curate` goes on, and `scrubjay curate --undo last` takes "
    "them back",
    "prune": f"what is in the trash stays there: {_AGAIN}, or `scrubjay curate --undo last` to take it back",
    "reembed": f"the vectors so far stay, and searches use the old model: {_AGAIN}",
    "embed_missing": f"the vectors so far stay: {_AGAIN}",
    "scan_conflicts": f"the conflicts that were found stay: {_AGAIN}",
    "extract": "the facts that were stored stay: `scrubjay undo` takes them back",
    "migrate": f"what was copied stays: {_AGAIN}",
}
_NOTHING_CHANGED = "nothing was changed"
_SOME_CHANGED = "a change that was made stays: `scrubjay undo` takes it back"
INTERRUPTED = 130
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedCommand:
    """A command with its options as they were typed. `call` needs an open client; None: only its own process can."""

    call: Callable[..., Awaitable[object]] | None
    writes: bool
    reads: tuple[str, ...]
    names: Mapping[str, str]
    shared: Mapping[str, object]
    values: Mapping[str, object]

    @property
    def reads_stdin(self) -> bool:
        """Whether standard input is the value of an option."""
        return any(self.values.get(name) == STDIN for name in self.reads)


# A daemon that parses a command collects it instead of carrying it out.
typed: ContextVar[list[TypedCommand] | None] = ContextVar("typed", default=None)


def plain(
    app: typer.Typer,
    request: type[Request[R]],
    help: str,
    *,
    shown: Callable[[R], object] = lambda result: result,
    label: str = "",
    holds_index: bool = False,
    begins: bool = False,
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
    options = RequestOptions(request, (), differences)
    # Its progress is shown, and its files are, where the user is.
    served = not (declared.progress or declared.long or options.names_files)
    _add_verb(app, call, options, name=_name_of(request), holds_index=holds_index, begins=begins, served=served)


def verb(
    app: typer.Typer,
    *,
    name: str = "",
    holds_index: bool = False,
    begins: bool = False,
    served: bool = False,
    **differences: Unpack[Differences],
) -> Callable[[Verb], Verb]:
    """Register a coroutine that takes an open client as a command, and print its result.

    If it has the parameter `make`, its options are those of that request; further parameters are its own options.
    `served`: it needs nothing of its process, neither files nor a terminal, so that a daemon can carry it out.
    `begins`: where there is no memory it makes one, except in a dry run; any other command refuses a mistyped folder.
    """

    def register(function: Verb) -> Verb:
        parameters = inspect.signature(function, eval_str=True).parameters
        own = [parameter for name, parameter in parameters.items() if name not in ("client", "make", "settings")]
        request = get_args(parameters["make"].annotation)[-1] if "make" in parameters else None
        chosen = name or (_name_of(request) if request else function.__name__)
        options = RequestOptions(request, own, differences)
        return _add_verb(app, function, options, name=chosen, holds_index=holds_index, begins=begins, served=served)

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
            shared=_SHARED if answers else _LONG_RUNNING, remains=_KEPT.get(function.__name__, ""),
        )  # fmt: skip
        return function

    return register


def _add_verb(
    app: typer.Typer,
    function: Verb,
    options: RequestOptions,
    *,
    name: str,
    holds_index: bool,
    begins: bool,
    served: bool,
) -> Verb:
    """Add a command, and return it as a function of a client and of what was typed."""
    takes = inspect.signature(function).parameters
    declared = _declaration(options.request) if options.request else None
    writes = declared is None or not declared.reads

    async def call_with(client: MemoryClient, **values: object) -> object:
        own = {name: value for name, value in values.items() if name in takes}
        return await function(client, **own, **({"make": options.make(values)} if "make" in takes else {}))

    async def connect_and_call(settings: Settings, space: str | None, values: dict[str, object]) -> object:
        # A server needs to know whether the user chose the space, even the default one; if not, the token decides.
        async with MemoryClient(settings=settings, space=space) as client:
            if not writes:
                await require_space(client, settings)
            return await call_with(client, **values)

    def call(*, settings: Settings, space: str | None, **values: object) -> object:
        if not writes:
            # What is wrong with the options is said first.
            options.make(values)()
        if not begins:
            require_memory(settings)
        with ExitStack() as stack:
            if begins and values.get("dry_run") and not _has_memory(settings):
                import tempfile  # noqa: PLC0415 - for this alone

                # It shows what it would do to an empty memory, and leaves none.
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="scrubjay-"))
                settings = replace(settings, home=folder)
            adjusted = settings.owning_index if holds_index else settings.short_lived
            values |= {"settings": settings} if "settings" in takes else {}
            return asyncio.run(connect_and_call(adjusted, space, values))

    _add_command(
        app, call, options.parameters, name=name, help=function.__doc__, names=options.names, reads=options.reads,
        writes=writes, served=call_with if served else None,
        remains=_KEPT.get(declared.name if declared else "", _SOME_CHANGED if writes else _NOTHING_CHANGED),
    )  # fmt: skip
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
    reads: tuple[str, ...] = (),
    writes: bool = True,
    served: Callable[..., Awaitable[object]] | None = None,
    shared: Mapping[str, tuple[object, object]] = _SHARED,
    remains: str = "",
) -> None:
    """Add a command with these parameters and the shared options.

    `names` are those of its arguments in messages; `remains` says what is left when it is interrupted.
    """

    def command(**options: object) -> None:
        shared_values = {option: options.pop(option, None) for option in _SHARED}
        if (collected := typed.get()) is not None:
            collected.append(
                TypedCommand(call=served, writes=writes, reads=reads, names=names, shared=shared_values, values=options)
            )
            return
        as_json = bool(shared_values["as_json"])
        try:
            settings = load_settings(shared_values)
            result = call(settings=settings, space=shared_values["space"], **options)
        except ScrubjayError as error:
            print_error(describe_error(error, as_json=as_json, names=names))
            raise typer.Exit(codes_of(error).exit) from None
        except KeyboardInterrupt:
            sys.stderr.write(f"\n{_describe_interruption(remains)}\n")
            raise typer.Exit(INTERRUPTED) from None
        else:
            if result is not None:
                _print_result(result, as_json=as_json)
            raise typer.Exit(exit_code(result))

    added = [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for option, (annotation, default) in shared.items()
    ]
    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    command.__signature__ = inspect.Signature([*keyword_only, *added])
    command.__doc__ = help
    app.command(name=name.strip("_").replace("_", "-"))(command)


async def require_space(client: MemoryClient, settings: Settings) -> None:
    """Raise NotFound if there is nothing to read because the space was mistyped."""
    if settings.space == Settings().space:
        return
    try:
        names = await client.call(requests.SpacesRequest(name=settings.space))
    except NotAllowed:
        # A token for some spaces: the server says which.
        return
    if settings.space not in names:
        hint = f"Did you mean --space {names[0]}?" if names else "`scrubjay spaces` lists them; a write makes a new one"
        raise NotFound(f"there is no space {settings.space[:100]!r}", hint=hint, field="space")


def require_memory(settings: Settings) -> None:
    """Raise NotFound if there is no memory: a mistyped folder must not become an empty one."""
    if _has_memory(settings):
        return
    with suppress(OSError):
        others = [folder.name for folder in settings.data.parent.iterdir() if database_file(folder).exists()]
        if near := get_close_matches(settings.data.name, others, n=1):
            hint = f"Did you mean --data {settings.data.parent / near[0]}?"
            raise NotFound(f"there is no memory at {settings.data}", hint=hint, field="data")
    usual = data_folder()
    if usual != settings.data and database_file(usual).exists():
        hint = f"There is one at {usual}: leave --data out to use it"
    else:
        hint = "`scrubjay remember` makes one"
    raise NotFound(f"there is no memory at {settings.data}", hint=hint, field="data")


def _has_memory(settings: Settings) -> bool:
    if settings.url or settings.database_url:
        return True
    try:
        # The daemon of a folder may keep its memories in a database elsewhere.
        return database_file(settings.data).exists() or known_socket(settings.data).exists()
    except OSError:
        # Opening it says why it cannot be read.
        return True


def load_settings(shared: Mapping[str, object], *, environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of a command: of its options, else of the environment."""
    settings = Settings.load(
        environment=environment,
        home=cast("str | None", shared["data"]),
        space=cast("str | None", shared["space"]),
        agent=cast("str | None", shared["agent"]),
    )
    # A server derives the agent from the token.
    return replace(settings, agent=settings.agent or ("" if settings.url and settings.token else DEFAULT_AGENT))


def _print_result(result: object, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(result_as_json(result))
    else:
        show(result)


def result_as_json(result: object) -> str:
    """Return a result as `--json` prints it."""
    return json.dumps(_result_json(result), ensure_ascii=False, indent=2) + "\n"


def _result_json(result: object) -> Json:
    """Return a result as JSON; of a memory that is read, every field."""
    if not isinstance(result, ReadResult):
        return to_json(result)
    names = [field.name for field in fields(Memory)]
    memories: list[Json] = [{name: to_json(getattr(memory, name)) for name in names} for memory in result.memories]
    return {**cast("dict[str, Json]", to_json(result)), "memories": memories}


def exit_code(result: object) -> int:
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


def _describe_interruption(remains: str) -> str:
    return f"interrupted{progress_made()}" + (f"; {remains}" if remains else "")


def describe_error(error: ScrubjayError, *, as_json: bool, names: Mapping[str, str]) -> str:
    """Return what happened and what to do next, with the names of the command line."""
    renamed = error.renamed(names)
    renamed.hint = _VERB.sub(lambda match: f"`{_COMMANDS.get(match[1], match[1])}`", renamed.hint)
    if not as_json:
        return f"error: {renamed}\n"
    # In JSON, the field has the same name as on every other surface.
    renamed.fields |= {name: value for name, value in error.fields.items() if name == "field"}
    return json.dumps({"error": error_to_json(renamed)}, ensure_ascii=False) + "\n"
