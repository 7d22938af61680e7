"""The functions of programs that are no verbs: entities as lists, files, statistics, and what the interpreter lacks."""

import re
import statistics
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import cast

from scrubjay.code.functions import Functions, HostError, about_verb, host_error, signature_of, unknown_name, verbs_for
from scrubjay.code.skills.source import function_in
from scrubjay.code.workspace import Workspace
from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.lazy import dataclass
from scrubjay.model.caller import Access
from scrubjay.model.memory import Json
from scrubjay.model.verbs import VERBS
from scrubjay.workers import run_in_thread

PRELUDE = """
import json, math, re

result = None
workspace = "."
_type = type

def filter_by_confidence(results, threshold):
    return [r for r in results if r.get("confidence", r.get("score", r.get("relevance_score", 0))) > threshold]

def summarize_results(results):
    flat = []
    for r in results:
        if isinstance(r, list):
            flat.extend(r)
        else:
            flat.append(r)
    types = {}
    for r in flat:
        types[r.get("type", r.get("kind"))] = True
    return {"count": len(flat), "types": list(types), "sample": flat[:5]}

def load_skill(name):
    loaded = _load_skill(name)
    scope = dict(_shared)
    for used in loaded["uses"]:
        scope[used] = eval("_host_" + used)
    exec(loaded["source"], scope)
    return scope[loaded["name"]]

_shared = {
    "json": json, "math": math, "re": re, "workspace": workspace, "filter_by_confidence": filter_by_confidence,
    "summarize_results": summarize_results, "load_skill": load_skill,
}
"""
"""What every program begins with: the modules that it need not import, and functions that need no memory."""
TYPE = "_type"
"""The built-in `type`: programs often have a variable of that name."""
IN_PRELUDE = {
    "filter_by_confidence(results, threshold)": "Return the results whose confidence, score or relevance is above a "
    "threshold.",
    "summarize_results(results)": "Return the number of results, their types, and the first five.",
    "load_skill(name)": "Return the function of a skill, which runs in a scope of its own.",
}
HOST = "_host_"
"""Begins another name of each function of the memory, which a program that has redefined the function cannot hide."""
_WORD = re.compile(r"[A-Za-z_]\w*")
# How a program shows a function that it passes on.
_PASSED = re.compile(r"<function '(\w+)' at 0x[0-9a-f]+>")
MODULES = (
    "json", "math", "re", "datetime", "collections", "itertools", "functools", "random", "time", "decimal", "hashlib",
    "statistics",
)  # fmt: skip
"""The modules that a program can import, of which `statistics` is one of these functions."""
_MANY = "_many"
_MAX_BATCH = 10_000
_MAX_STATISTIC = 100_000
_MAX_GROUPS = 10_000
_MAX_BITS = 1024
# So few values take less than a millisecond.
_FEW = 100
STATISTICS = (
    "mean", "fmean", "median", "median_low", "median_high", "mode", "multimode", "stdev", "pstdev", "variance",
    "pvariance", "quantiles",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Function:
    signature: str
    about: str
    # The verb whose rights it needs; empty if it touches nothing but the caller's own files.
    verb: str
    call: Callable[..., Awaitable[Json]]
    needs: Access = Access.READ

    @property
    def name(self) -> str:
        return self.signature.partition("(")[0]


class Library:
    """All functions of one program: those of the registry, and those of this module before them."""

    def __init__(self, functions: Functions, workspace: Workspace, *, program: str = "") -> None:
        self._functions = functions
        self._workspace = workspace
        self._program = program
        self._own = {function.name: function for function in self._list()}

    @property
    def names(self) -> frozenset[str]:
        """The names of the functions that the caller may use."""
        return frozenset((*self._allowed, *self._functions.names)) - {"load_skill"}

    def has(self, name: str) -> bool:
        """Whether a program may pass a name around as a value: that of a function, or of its variant for lists."""
        return name in self.names or (name.endswith(_MANY) and name.removesuffix(_MANY) in self.names)

    @property
    def unfinished(self) -> str:
        """The verb whose write goes on after the end of the program, if there is one."""
        return self._functions.unfinished

    @property
    def _allowed(self) -> list[str]:
        """The functions of this module that the caller may use."""
        return [
            name for name, function in self._own.items()
            if (self._functions.offers(function.verb) if function.verb else self._functions.allows(function.needs))
        ]  # fmt: skip

    async def call(self, name: str, args: Sequence[Json], kwargs: Mapping[str, Json]) -> Json:
        """Call a function, or once for each item of a list if its name ends so; raises HostError."""
        self._functions.calls += 1
        single = name.removesuffix(_MANY)
        if name.endswith(_MANY) and name not in VERBS and single in self.names:
            return await self._call_many(single, args, kwargs)
        return await self._call(name, args, kwargs)

    async def _call(self, name: str, args: Sequence[Json], kwargs: Mapping[str, Json]) -> Json:
        own = self._own.get(name)
        if own is None and name.startswith("statistics."):
            return await _statistic(name.removeprefix("statistics."), args, kwargs)
        if own is None:
            return await self._functions.call(name, args, kwargs)
        try:
            if own.verb and not self._functions.offers(own.verb):
                return await self._functions.call(own.verb, args, kwargs)
            self._functions.access.require(own.needs, verb=name)
            return await own.call(*args, **kwargs)
        except TypeError:
            # The wrong number of arguments, for the functions here check their types themselves.
            raise HostError(kind="TypeError", message=f"call it as {own.signature}") from None
        except ScrubjayError as error:
            raise host_error(error) from error

    async def _call_many(self, name: str, args: Sequence[Json], kwargs: Mapping[str, Json]) -> Json:
        """Call a function for each item: its arguments as a dict, or its first one. One that fails has an `error`."""
        items = args[0] if args else None
        if len(args) != 1 or not isinstance(items, list):
            raise HostError(kind="TypeError", message=f"{name}{_MANY} takes a list with one item for each {name}")
        if len(items) > _MAX_BATCH:
            raise HostError(kind="ValueError", message=f"{name}{_MANY} takes {_MAX_BATCH:,} items at most")
        results: list[Json] = []
        for item in items:
            own: Mapping[str, Json] = item if isinstance(item, dict) else {}
            try:
                results.append(await self._call(name, [] if own is item else [item], {**kwargs, **own}))
            except HostError as error:
                results.append({"error": error.message})
        return results

    def _list(self) -> tuple[_Function, ...]:
        return (
            _Function(
                signature="search_nodes(query, limit=10)", verb="search_nodes", call=self._search_nodes,
                about="Return a list of up to 10,000 entities by name and type, or else by meaning; '' lists all.",
            ),
            _Function(
                signature="get_status()", verb="get_memory_status", call=self._get_status,
                about="Return counts by type and tier, sizes and versions.",
            ),
            _Function(
                signature="diff(id, version1, version2)", verb="history", call=self._diff,
                about="Return the differences between two versions of a memory, field by field.",
            ),
            _Function(
                signature="read_file(name)", verb="", call=self._read_file, about="Return the text of a file.",
            ),
            _Function(
                signature="write_file(name, text)", verb="", call=self._write_file, needs=Access.AGENT,
                about="Keep a text as a file of your own for later programs; returns its size.",
            ),
            _Function(
                signature="list_files()", verb="", call=self._list_files, about="Return your files with their sizes.",
            ),
            _Function(
                signature="delete_file(name)", verb="", call=self._delete_file, needs=Access.AGENT,
                about="Delete one of your files.",
            ),
            _Function(
                signature='save_skill(name, source="", description="", tags=[], example=None, draft=False)',
                verb="save_skill", call=self._save_skill,
                about="Save a function as a skill, after it was run with the arguments of its example. The source is a "
                "text, or a function of this program.",
            ),
            # The prelude has its counterpart, which makes a function of the source.
            _Function(signature="_load_skill(name)", verb="", call=self._load_skill, about=""),
            _Function(
                signature="load_result(handle)", verb="", call=self._load_result,
                about="Return a stored result whole.",
            ),
            _Function(
                signature="functions()", verb="", call=self._list_functions, about="Return what a program can call.",
            ),
        )  # fmt: skip

    async def _search_nodes(self, query: Json, limit: Json = 10) -> Json:
        answer = await self._functions.call("search_nodes", [query], {"limit": limit})
        return cast("dict[str, Json]", answer)["results"]

    async def _get_status(self) -> Json:
        return await self._functions.call("get_memory_status", [], {})

    async def _diff(self, id: Json, version1: Json, version2: Json) -> Json:
        history = await self._functions.call("history", [id], {"diff": [version1, version2]})
        return cast("dict[str, Json]", history)["diff"]

    async def _read_file(self, name: Json) -> Json:
        return await self._workspace.read(_file_name(name))

    async def _write_file(self, name: Json, text: Json) -> Json:
        return await self._workspace.write(_file_name(name), _text(text, "text"))

    async def _list_files(self) -> Json:
        return cast("Json", await self._workspace.sizes())

    async def _delete_file(self, name: Json) -> Json:
        return await self._workspace.delete(_file_name(name))

    async def _save_skill(
        self, name: Json, source: Json = "", description: Json = "", tags: Json = None, **others: Json
    ) -> Json:  # fmt: skip
        passed = _PASSED.fullmatch(source) if isinstance(source, str) else None
        if passed or not source:
            # A program cannot read its own source, and need not write it twice.
            source = function_in(self._program, name=passed[1] if passed else _text(name, "name"))
        return await self._functions.call(
            "save_skill", [name], {"source": source, "description": description, "tags": tags or [], **others}
        )

    async def _load_skill(self, name: Json) -> Json:
        skill = cast("dict[str, Json]", await self._functions.call("load_skill", [name], {}))
        source = str(skill["source"])
        uses: list[Json] = [*sorted(filter(self.has, {*_WORD.findall(source)}))]
        return {"name": skill["name"], "source": source, "uses": uses}

    async def _load_result(self, handle: Json) -> Json:
        return await self._workspace.result(_text(handle, "handle"))

    async def _list_functions(self) -> Json:
        return [
            *(f"{own.signature}: {own.about}" for own in map(self._own.__getitem__, self._allowed) if own.about),
            *(f"{signature}: {about}" for signature, about in IN_PRELUDE.items()),
            *_verb_lines([name for name in self._functions.names if name in self.names and name not in self._own]),
        ]


def _verb_lines(names: Sequence[str]) -> list[str]:
    verbs = verbs_for(Access.AGENT)
    return [f"{signature_of(verbs[name])}: {about_verb(verbs[name])}" for name in names]


async def _statistic(name: str, args: Sequence[Json], kwargs: Mapping[str, Json]) -> Json:
    if name not in STATISTICS:
        raise HostError(kind="AttributeError", message=unknown_name(name, STATISTICS))
    values = (*args, *kwargs.values())
    size = sum(len(value) for value in values if isinstance(value, list | str | dict))
    if size > _MAX_STATISTIC:
        raise HostError(kind="ValueError", message=f"statistics.{name} takes {_MAX_STATISTIC:,} values at most")
    groups = kwargs.get("n")
    if isinstance(groups, int) and groups > _MAX_GROUPS:
        raise HostError(kind="ValueError", message=f"statistics.{name} makes {_MAX_GROUPS:,} groups at most")
    few = size <= _FEW and groups is None
    try:
        return _compute(name, args, kwargs) if few else await run_in_thread(_compute, name, args, kwargs)
    except (statistics.StatisticsError, ValueError, ZeroDivisionError, OverflowError) as error:
        raise HostError(kind="ValueError", message=str(error)) from None
    except (TypeError, AttributeError) as error:
        raise HostError(kind="TypeError", message=str(error)) from None


def _compute(name: str, args: Sequence[Json], kwargs: Mapping[str, Json]) -> Json:
    for value in (*args, *kwargs.values()):
        for number in value if isinstance(value, list) else (value,):
            # One that a float cannot hold has an exact mean all the same, after minutes.
            if isinstance(number, int) and number.bit_length() > _MAX_BITS:
                raise OverflowError("int too large to convert to float")
    return getattr(statistics, name)(*args, **kwargs)


def _file_name(value: Json) -> str:
    # Programs write f"{workspace}/notes.txt" too.
    return _text(value, "name").removeprefix("./")


def _text(value: Json, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a text, not {type(cast('object', value)).__name__}", field=name)
    return value
