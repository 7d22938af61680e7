"""The tools of `core` as a way to call verbs, by a client of the protocol, and what their answers show of a result."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import cast

from mcp.client.client import Client
from tests.surfaces.verb_steps import Values

from scrubjay.model.memory import Json
from scrubjay.model.verbs import Verb
from scrubjay.surfaces.mcp.protocol import ERROR
from scrubjay.surfaces.mcp.toolsets import TOOLSETS

_Fields = dict[str, Json]
# What a tool says of every text that an agent writes.
_BY_AGENT: Json = {"method": "agent", "trust": "agent"}
_TOOL_OF = {verb: tool for tool in TOOLSETS["core"] for verb in tool.verbs}
# What a tool takes to be another verb than its own.
_MODES: Mapping[str, Values] = {"restore": {"restore": True}, "unrelate": {"remove": True}}


def said_by_agent(verb: str, values: Values) -> Values:
    """Return the values of a request as an agent's, of whose texts no tool lets it say that they are the user's."""
    if verb == "remember_many":
        items = cast("list[_Fields]", values["items"])
        return {**values, "items": [{**item, "source": _BY_AGENT} if "text" in item else item for item in items]}
    return {**values, "source": _BY_AGENT} if verb in ("remember", "revise") else values


class ThroughCore:
    """The tool of a verb, with an argument of the tool for each of the verb."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, verb: Verb, values: Values) -> Json:
        tool, arguments, filters = _TOOL_OF[verb.name], dict(_MODES.get(verb.name, {})), dict[str, Json]()
        for name, value in values.items():
            # A relation has a source too, which is a name.
            if name == "source" and isinstance(value, dict):
                continue
            shown = tool.names.get(name, name)
            if shown.startswith("filters."):
                filters[name] = value
            else:
                arguments[shown] = _without_sources(value)
        if filters:
            arguments["filters"] = filters
        result = await self._client.call_tool(tool.name, arguments)
        if result.is_error:
            assert result.meta is not None
            return {"error": cast("_Fields", result.meta[ERROR])["code"]}
        return cast("Json", result.structured_content)


def _without_sources(value: Json) -> Json:
    if not isinstance(value, list):
        return value
    return [
        {name: part for name, part in item.items() if name != "source"} if isinstance(item, dict) else item
        for item in value
    ]


def _only(fields: Json, names: Collection[str]) -> _Fields:
    return {name: value for name, value in cast("_Fields", fields).items() if name in names}


def _each(items: Json, names: Collection[str]) -> list[Json]:
    return [_only(item, names) for item in cast("list[Json]", items)]


_CONFLICT = ("id", "type", "confidence", "suggested_action", "differs")
_MISSING = ("ref", "suggestions")


def _remembered(result: _Fields) -> _Fields:
    rest = {name: value for name, value in result.items() if name not in ("ids", "trace")}
    return {**rest, "conflicts": _each(result["conflicts"], _CONFLICT)}


def _remembered_many(result: _Fields) -> _Fields:
    """Return the actions, and where an item failed, the whole error in one text."""
    results: list[Json] = []
    counts: dict[str, Json] = {}
    for item in cast("list[_Fields]", result["items"]):
        done, error = cast("_Fields | None", item.get("result")), cast("_Fields | None", item.get("error"))
        action = str(done["action"]) if done else "failed"
        counts[action] = cast("int", counts.get(action, 0)) + 1
        if done:
            shown = _only(done, ("action", "id", "name", "merged_into"))
            results.append({"index": item["index"], **shown, "conflicts": _each(done["conflicts"], _CONFLICT)})
        elif error:
            results.append({"index": item["index"], "action": "failed"})
    return {"counts": counts, "results": results}


def _recalled(result: _Fields) -> _Fields:
    unshown = ("space", "branch", "mark", "source")
    hits: _Fields = {}
    for name in ("hits", "pinned"):
        listed = cast("list[_Fields]", result[name])
        hits[name] = [{field: value for field, value in hit.items() if field not in unshown} for hit in listed]
    return {**_only(result, ("cursor", "degraded", "nothing_relevant", "notes")), **hits}


def _read(result: _Fields) -> _Fields:
    texts = cast("list[Json]", result["texts"])
    memories: list[Json] = [
        {**cast("_Fields", memory), "text": text}
        for memory, text in zip(_each(result["memories"], ("id", "name", "version")), texts, strict=True)
    ]
    return {"memories": memories, "missing": _each(result["missing"], _MISSING)}


def _written(result: _Fields) -> _Fields:
    rest = {name: value for name, value in result.items() if (name, value) != ("branch", "main")}
    return {**rest, "conflicts": _each(result["conflicts"], _CONFLICT)}


def _outcome(result: _Fields) -> _Fields:
    done = _each(result["done"], ("action", "id", "name", "version"))
    return {"done": done, "count": len(done), "missing": _each(result["missing"], _MISSING)}


def _related(result: _Fields) -> _Fields:
    return _only(result, ("action", "source", "target", "source_links", "target_links"))


def _history(result: _Fields) -> _Fields:
    head = _only(result, ("id", "name"))
    if not result["diff"]:
        return {**head, "versions": _each(result["versions"], ("number", "action", "created_at", "agent", "message"))}
    return {**head, "diff": [_change(diff) for diff in cast("list[_Fields]", result["diff"])]}


def _change(diff: _Fields) -> Json:
    lines = "\n".join(cast("list[str]", diff["lines"]))
    return {"field": diff["field"], "change": lines or f"-{diff['before']}\n+{diff['after']}"}


SHOWN_BY_CORE: Mapping[str, Callable[[_Fields], _Fields]] = MappingProxyType(
    {
        "remember": _remembered,
        "remember_many": _remembered_many,
        "recall": _recalled,
        "read": _read,
        "revise": _written,
        "revert": _written,
        "forget": _outcome,
        "restore": _outcome,
        "relate": _related,
        "unrelate": _related,
        "history": _history,
    }
)
"""What a tool shows of the result of each verb that it carries out."""
