"""Toolsets: groups of tools that are switched on together, each for one kind of client, with errors in its words."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import getdoc
from typing import cast

from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.model.arguments import arguments_of
from scrubjay.model.memory import Json
from scrubjay.model.requests import SetRulesRequest
from scrubjay.model.verbs import VERBS, Verb
from scrubjay.rpc.codec import to_json
from scrubjay.settings import DEFAULT_TOOLS
from scrubjay.surfaces.mcp.arguments import did_you_mean, display
from scrubjay.surfaces.mcp.tool import StaticResource, Tool, ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets import code, core, curation, enhanced, entities, items, kg, notes, session, smart
from scrubjay.surfaces.mcp.toolsets.render import render_fields
from scrubjay.surfaces.mcp.toolsets.schema import output_schema, verb_schema

ALL = "all"

_WRITTEN: dict[str, tuple[Tool, ...]] = {
    "core": core.TOOLS,
    "kg": kg.TOOLS,
    "enhanced": enhanced.TOOLS,
    "items": items.TOOLS,
    "entities": entities.TOOLS,
    "smart": smart.TOOLS,
    "notes": notes.TOOLS,
    "session": session.TOOLS,
    "curation": curation.TOOLS,
    "code": code.TOOLS,
}


def _plain_tools(toolset: str, written: Sequence[Tool]) -> Iterator[Tool]:
    """Yield tools for the verbs that the registry puts into a toolset and that need no code of their own."""
    names = {tool.name for tool in written}
    for verb in VERBS.values():
        for place, _, name in (tool.partition(".") for tool in verb.tools):
            if place == toolset and name not in names:
                yield _plain_tool(verb, name)


def _plain_tool(verb: Verb, name: str) -> Tool:
    async def call(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
        result = to_json(await context.memory.call(verb.request.of(**arguments), progress=context.progress))
        fields = result if isinstance(result, dict) else {"result": result}
        return render_fields(fields)

    return Tool(
        name=name, title=name.replace("_", " ").capitalize(), description=getdoc(verb.request) or "",
        input=verb_schema(verb.request), output=output_schema(), call=call, read_only=verb.reads,
        destructive=verb.effect == "destroys", idempotent=verb.idempotent, verbs={verb.name: ""},
    )  # fmt: skip


# If two toolsets have a tool of the same name, the later one serves it.
TOOLSETS: dict[str, tuple[Tool, ...]] = {
    toolset: (*tools, *_plain_tools(toolset, tools)) for toolset, tools in _WRITTEN.items()
}

# Hints write verbs (with their arguments), names of arguments and values as code.
_CODE = re.compile(r"`([^`]+)`")
# The same on another surface, after the name of a verb, and the routes of REST.
_ALTERNATIVES = re.compile(r"(?<=`)(?:, (?:or )?| or )`(?:scrubjay|GET|POST|PATCH|PUT|DELETE) [^`]+`")
_ROUTE = re.compile(r"(?:GET|POST|PATCH|PUT|DELETE) /")
_CLAUSE_END = re.compile(r"(; |\. |: |, or )")
# The words that a hint may only use where the toolset has them; the names of rules are none of them.
_ENGINE_WORDS = frozenset(VERBS) | {
    argument.name
    for verb in VERBS.values()
    for argument in arguments_of(verb.request)
    if verb.request is not SetRulesRequest
}


def pick(names: str = "") -> tuple[Tool, ...]:
    """Return the tools of comma-separated toolsets; no name means the default, `all` means all of them."""
    chosen = {name.strip() for name in (names.strip() or DEFAULT_TOOLS).split(",") if name.strip()}
    for name in chosen:
        if name != ALL and name not in TOOLSETS:
            raise InvalidInput(
                f"there is no toolset {display(name)}", hint=did_you_mean(name, (*TOOLSETS, ALL)), field="tools"
            )
    toolsets = [tools for name, tools in TOOLSETS.items() if name in chosen or ALL in chosen]
    return tuple({tool.name: tool for tools in toolsets for tool in tools}.values())


def resources_of(tools: Sequence[Tool]) -> tuple[StaticResource, ...]:
    """Return the static resources of the toolsets that these tools belong to."""
    return tuple(
        resource
        for resource, owners in ((kg.GRAPH, kg.TOOLS), (session.CONTEXT, session.TOOLS))
        if any(tool in owners for tool in tools)
    )


def reword(error: ScrubjayError, tool: Tool) -> ScrubjayError:
    """Return an error of the engine in the words of a tool: its names of arguments, and the tools of its toolset."""
    # A name that the tool has is its own: its handler has raised the error.
    names = {name: own for name, own in tool.names.items() if name not in _properties(tool) and _is_argument(own, tool)}
    reworded = error.renamed(names)
    fields = {name: value for name, value in reworded.fields.items() if name != "field" or _is_argument(value, tool)}
    return type(error)(reworded.message, hint=_reword_clauses(reworded.hint, tool), **fields)


def reword_remarks(result: ToolResult, tool: Tool) -> ToolResult:
    """Return a result whose warnings and errors name the tools of the toolset."""
    structured, text = _reword_fields(result.structured, tool), result.text
    for old, new in zip(_remarks(result.structured), _remarks(structured), strict=True):
        text = text.replace(old, new)
    return replace(result, structured=structured, text=text)


def _reword_fields(fields: Mapping[str, Json], tool: Tool) -> dict[str, Json]:
    reworded = dict(fields)
    for name in ("warnings", "errors", "results"):
        items = fields.get(name)
        if isinstance(items, list):
            reworded[name] = [
                # The first clause says what happened.
                _reword_clauses(item, tool, start=1) if isinstance(item, str)
                else _reword_fields(item, tool) if isinstance(item, dict)
                else item
                for item in items
            ]  # fmt: skip
    if isinstance(error := fields.get("error"), str):
        reworded["error"] = _reword_clauses(error, tool, start=1)
    return reworded


def _remarks(fields: Mapping[str, Json]) -> Iterator[str]:
    """Yield the warnings and the error of a result, and those of its items."""
    yield from (str(warning) for warning in cast("list[Json]", fields.get("warnings", [])))
    if isinstance(error := fields.get("error"), str):
        yield error
    for item in cast("list[Json]", fields.get("results", [])):
        if isinstance(item, dict):
            yield from _remarks(item)


def _reword_clauses(text: str, tool: Tool, *, start: int = 0) -> str:
    """Return a text without the clauses, from `start` on, that name what the toolset does not have."""
    # The ends of clauses are at the odd places.
    first, *rest = _CLAUSE_END.split(_ALTERNATIVES.sub("", text))
    reworded = ""
    for number, (end, clause) in enumerate([("", first), *zip(rest[::2], rest[1::2], strict=True)]):
        codes = {code: _reword_code(code, tool) for code in _CODE.findall(clause)}
        if not all(codes.values()) and number >= start:
            continue
        own = _CODE.sub(lambda match, codes=codes: codes[match[1]] or match[0], clause)
        reworded += end + own if reworded or not number else own[:1].upper() + own[1:]
    return reworded


def _reword_code(code: str, tool: Tool) -> str:
    """Return the verb, argument or value of a hint as the tool's toolset has it; empty if it does not."""
    if _ROUTE.match(code):
        return ""
    word, _, rest = code.partition(" ")
    toolset = next((tools for tools in TOOLSETS.values() if tool in tools), (tool,))
    # Options in the style of the command line are arguments that no tool has.
    for other in toolset:
        if word in other.verbs and "--" not in rest:
            addition = other.verbs[word]
            return f"`{other.name} {rest}".rstrip() + f"` {addition}".rstrip()
    is_value = any(word in cast("list[Json]", schema.get("enum", [])) for schema in _properties(tool).values())
    is_foreign = word in _ENGINE_WORDS and not is_value and not _is_argument(code, tool)
    return "" if is_foreign else f"`{code}`"


def _is_argument(field: object, tool: Tool) -> bool:
    return isinstance(field, str) and re.split(r"[.\[]", field, maxsplit=1)[0] in _properties(tool)


def _properties(tool: Tool) -> Mapping[str, Mapping[str, Json]]:
    return cast("Mapping[str, Mapping[str, Json]]", tool.input["properties"])
