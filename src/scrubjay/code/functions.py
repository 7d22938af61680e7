"""What a program can call: the verbs of the registry that its caller may use, and a few functions more.

A program sees plain functions that return plain data. They go through the front door, with the caller's space and
rights. A program does not wait for them beyond its time; a write that has begun then goes on without it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from enum import Enum
from functools import cache
from inspect import getdoc
from typing import cast

from scrubjay.errors import InvalidInput, NotAllowed, NotFound, ScrubjayError
from scrubjay.model.arguments import Argument, Request, arguments_of, result_of
from scrubjay.model.caller import Access, Caller
from scrubjay.model.memory import Json
from scrubjay.model.verbs import VERBS, Verb
from scrubjay.rpc.codec import to_json

_log = logging.getLogger(__name__)

Call = Callable[..., Awaitable[object]]
# A program has no token budget while it runs, and may ask for more than an agent.
_NO_TOKEN_LIMIT = 1_000_000
# They take longer than a program may, send streams, belong to the machinery of clients, or are a run of their own.
_LONG_ALLOWED = frozenset({"remember_many", "extract"})
_NEVER = frozenset({"export", "import", "outcome", "undo"})
# A program loads a skill instead of running it elsewhere.
_SKILLS = frozenset({"save_skill", "list_skills", "load_skill"})
_LEVELS = tuple(Access)
# Twice the most programs that run at once, so that the writes of those that have ended cannot add up.
_MAX_WRITES = 128


class HostError(Exception):
    """An error as the program sees it: the name of a built-in exception, and a message without places or secrets."""

    def __init__(self, *, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def may_call(verb: Verb) -> bool:
    """Whether programs have a verb: what an agent may do and `undo` takes back, in one space, in a short time."""
    if verb.name in _SKILLS:
        return True
    if verb.code or verb.curation or verb.all_spaces or verb.name in _NEVER:
        return False
    # `undo` takes back what is in the log of changes.
    is_safe = verb.reads or (verb.logged and verb.effect == "writes")
    return is_safe and verb.needs in (Access.READ, Access.AGENT) and (not verb.long or verb.name in _LONG_ALLOWED)


def caller_of(who: Caller, run: str) -> Caller:
    """Return the caller on whose behalf a program acts: never more than an agent, in one space."""
    # A model may have written it, after reading a hostile text.
    access = Access.AGENT if who.access in (Access.WRITE, Access.OWNER) else who.access
    return replace(who, access=access, any_space=False, sees_paths=False, run=run)


@cache
def verbs_for(access: Access) -> Mapping[str, Verb]:
    """Return the verbs that a program of a caller has."""
    level = _LEVELS.index(access)
    return {name: verb for name, verb in VERBS.items() if may_call(verb) and _LEVELS.index(verb.needs) <= level}


@cache
def signature_of(verb: Verb) -> str:
    """Return how a program calls a verb: `recall(query, limit=8, …)`."""
    return f"{verb.name}({', '.join(map(_parameter, _in_order(verb)))})"


def about_verb(verb: Verb) -> str:
    """Return what a verb does, in one line."""
    return (getdoc(verb.request) or "").partition("\n")[0]


class Functions:
    """The functions of one program, by name."""

    def __init__(self, call: Call, who: Caller, *, writes: set[asyncio.Future[object]]) -> None:
        self._call = call
        self._who = who
        self._writes = writes
        self._verbs = verbs_for(who.access)
        self.calls = 0
        self.has_written = False
        # The verb whose write goes on after the end of the program.
        self.unfinished = ""

    async def call(self, name: str, args: Sequence[Json], kwargs: Mapping[str, Json]) -> Json:
        """Call a verb; raises HostError."""
        try:
            return await self._call_verb(name, args, kwargs)
        except ScrubjayError as error:
            raise host_error(error) from error
        except (HostError, asyncio.CancelledError):
            raise
        except Exception as error:
            # Its text may name files or contain data of others.
            _log.exception("a program called %s, which failed", name[:100])
            raise HostError(kind="RuntimeError", message=f"{name} failed inside the memory") from error

    async def _call_verb(self, name: str, args: Sequence[Json], kwargs: Mapping[str, Json]) -> Json:
        """Carry out a verb, and return its result as plain data."""
        verb = self._find(name)
        result = await self._carry_out(verb, verb.request.of(**_bind(verb, args, kwargs)))
        # The results of some verbs are plain data already.
        return cast("Json", result) if result_of(verb.request) == dict[str, Json] else to_json(result)

    def offers(self, name: str) -> bool:
        """Whether the caller may use a verb."""
        return name in self._verbs

    def allows(self, needed: Access) -> bool:
        """Whether the caller has a level of access."""
        return _LEVELS.index(self.access) >= _LEVELS.index(needed)

    @property
    def access(self) -> Access:
        """What the caller may do."""
        return self._who.access

    @property
    def names(self) -> tuple[str, ...]:
        """The verbs that the caller may use."""
        return tuple(self._verbs)

    async def _carry_out(self, verb: Verb, request: Request[object]) -> object:
        if verb.reads:
            return await self._call(request, who=self._who)
        while len(self._writes) >= _MAX_WRITES:
            await asyncio.wait(self._writes, return_when=asyncio.FIRST_COMPLETED)
        # A write that has begun is completed, as it is for every other caller.
        work = asyncio.ensure_future(self._call(request, who=self._who))
        self._writes.add(work)
        work.add_done_callback(self._writes.discard)
        # A refusal has changed nothing, except that a long verb may have begun.
        self.has_written = self.has_written or verb.long
        try:
            result = await asyncio.shield(work)
        except asyncio.CancelledError:
            # The program ends now, whatever becomes of the write.
            self.has_written, self.unfinished = True, "" if work.done() else verb.name
            raise
        self.has_written = True
        return result

    def _find(self, name: str) -> Verb:
        verb = VERBS.get(name)
        if verb is None or not may_call(verb):
            raise HostError(kind="NameError", message=unknown_name(name, self.names))
        # The same words as everywhere.
        self._who.access.require(verb.needs, verb=name)
        return verb


def unknown_name(name: str, names: Sequence[str]) -> str:
    """Return the message for a function that programs do not have."""
    near = get_close_matches(name[:100], names, n=1)
    hint = f"did you mean {near[0]}?" if near else "functions() lists what there is"
    return f"name {name[:100]!r} is not defined; {hint}"


def host_error(error: ScrubjayError) -> HostError:
    """Return an error of the memory as the program sees it."""
    kinds = (
        (NotAllowed, "PermissionError"), (NotFound, "LookupError"), (InvalidInput, "ValueError"),
    )  # fmt: skip
    kind = next((name for kind, name in kinds if isinstance(error, kind)), "RuntimeError")
    # Its places are hidden already: programs never see where files are.
    return HostError(kind=kind, message=f"{error.message}. {error.hint}".rstrip(". ") if error.hint else error.message)


def _bind(verb: Verb, args: Sequence[Json], kwargs: Mapping[str, Json]) -> dict[str, Json]:
    """Return arguments by name; a program may give them by place too."""
    places = [argument.name for argument in _in_order(verb)]
    if len(args) > len(places):
        raise InvalidInput(f"{verb.name} takes {len(places)} arguments, not {len(args)}", hint=signature_of(verb))
    placed = dict(zip(places, args, strict=False))
    twice = next((name for name in placed if name in kwargs), None)
    if twice:
        raise InvalidInput(f"{verb.name} got {twice} twice", field=twice)
    budget: dict[str, Json] = {"max_tokens": _NO_TOKEN_LIMIT} if "max_tokens" in places else {}
    return {**budget, **placed, **kwargs}


@cache
def _in_order(verb: Verb) -> tuple[Argument, ...]:
    """Return the arguments of a verb, those first that need no name on any surface."""
    return tuple(sorted(arguments_of(verb.request), key=lambda argument: not argument.about.positional))


def _parameter(argument: Argument) -> str:
    if argument.is_required:
        return argument.name
    default = argument.default.value if isinstance(argument.default, Enum) else argument.default
    simple = default if isinstance(default, str | int | float | bool | type(None)) else None
    return f"{argument.name}={simple!r}" if simple is not None else f"{argument.name}=…"
