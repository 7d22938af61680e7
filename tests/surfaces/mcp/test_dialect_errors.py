"""Every toolset speaks its own language: its errors name its own arguments and tools, never those of another."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from inspect import getmembers, isfunction, signature
from typing import Any, cast

import pytest
from mcp_types import CallToolResult
from tests.surfaces.mcp.mcp_server import McpServer, call, open_server, text_of

from scrubjay.client import MemoryClient
from scrubjay.graph.records import RECORD_FIELDS
from scrubjay.model.arguments import arguments_of
from scrubjay.model.memory import Json
from scrubjay.model.requests import RememberRequest
from scrubjay.settings import Settings
from scrubjay.surfaces.mcp.protocol import ERROR
from scrubjay.surfaces.mcp.tool import Tool, ToolResult
from scrubjay.surfaces.mcp.toolsets import TOOLSETS, reword_remarks

_TOOLS = [(toolset, tool) for toolset, tools in TOOLSETS.items() for tool in tools]
_VERBS = {name: verb for name, verb in getmembers(MemoryClient, isfunction) if not name.startswith("_")}
_ARGUMENTS = {
    *(name for verb in _VERBS.values() for name in signature(verb).parameters),
    *(name for _, tool in _TOOLS for name in (*cast("dict[str, Json]", tool.input["properties"]), *tool.names)),
}
_KNOWN = {tool.name for _, tool in _TOOLS} | _VERBS.keys() | _ARGUMENTS
_MAX_BYTES = 10_000
_LONG = "word " * 3_000
_ENTITY: dict[str, Json] = {"name": "Ada", "entityType": "person", "observations": ["Ada drinks tea."]}
_TEXTS_OF: dict[str, Json] = {"entityName": "Ada", "contents": ["x"], "observations": ["x"]}
_LINK: dict[str, Json] = {"from": "Ada", "to": "Bob", "relationType": "knows"}
# Valid values of required arguments.
_GOOD: dict[str, Json] = {
    "code": "result = 1",
    "text": "Cleo keeps bees.", "title": "Bees", "content": "Cleo keeps bees.", "query": "tea", "ids": ["tea"],
    "id": "tea", "source": "tea", "target": "coffee", "entities": ["Ada"], "memory_type": "fact", "scope": "team",
    "identifier": "tea", "source_id": "tea", "target_id": "coffee", "entity_name": "Ada", "branch_name": "draft",
    "version": 1, "version1": 1, "version2": 1, "message": "why", "conversation_text": "Ann: I moved to Rome.",
    "entity_data": _ENTITY, "conflict_data": {"conflict_id": "none"}, "entity": "Ada", "updates": {"tags": ["x"]},
    "observations": [_TEXTS_OF], "deletions": [_TEXTS_OF], "relations": [_LINK], "entityNames": ["Ada"],
    "names": ["Ada"], "name": "count_kind",
}  # fmt: skip
# Without a change there is no version to be stale.
_CHANGES: dict[str, dict[str, Json]] = {
    "remember": {"text": "Cleo keeps bees."},
    "revise": {"pinned": True},
    "update_memory": {"project": "x"},
    "edit_mem": {"category": "x"},
}
# Arguments that replace the required ones.
_INSTEAD: dict[str, Json] = {"items": [{"text": "Cleo keeps bees."}]}
_TEXTS: list[Json] = [
    5, "", "  ", "a\x00b", _LONG, "x" * 500, "no-such-thing", "gone", "twin", "2026-13-40", "old", "main", "a\tb/..",
]  # fmt: skip
_LISTS: list[Json] = [
    "x", [5], [], [""], ["a\x00b"], [_LONG], ["x" * 500], [f"t{number}" for number in range(300)], ["no-such-thing"],
    ["gone"], ["twin"], ["old", "x"], [1, 999], [1],
]  # fmt: skip
_NUMBERS: list[Json] = ["x", True, 0, -1, 2, 999, 10**9, 1 << 70, 0.5]
_OBJECTS: list[Json] = ["x", [], {}, {"no_such": 1}, {"a": "b\x00"}, {"a": _LONG}]
_FIELD_VALUES: list[Json] = [
    5, "", "x" * 500, "a\x00b", _LONG, [], [5], [_LONG], [f"t{number}" for number in range(300)], -1, {"a": "b\x00"},
]  # fmt: skip
# The fields of objects whose schemas name none.
_FIELDS: dict[str, tuple[str, ...]] = {
    "entities": RECORD_FIELDS,
    "items": tuple(argument.name for argument in arguments_of(RememberRequest)),
    "updates": RECORD_FIELDS,
    "entity_data": (*RECORD_FIELDS, "id"),
    "conflict_data": ("conflict_id", "entity_data"),
    "source": ("session", "agent", "trust", "method", "at"),
    "filters": (
        "entity",
        "tags",
        "tier",
        "trust",
        "since",
        "until",
        "state",
        "contains",
        "as_of",
        "branch",
        "metadata",
    ),
}


@pytest.mark.parametrize(("toolset", "tool"), _TOOLS, ids=[f"{toolset}-{tool.name}" for toolset, tool in _TOOLS])
async def test_errors_about_any_argument_name_this_toolset_alone(settings: Settings, toolset: str, tool: Tool) -> None:
    problems: set[str] = set()
    async with open_server(replace(settings, max_text_bytes=_MAX_BYTES)) as server:
        await _seed(server)
        async with server.client("auto", tools=toolset) as client:
            for arguments in _wrong_calls(tool):
                for message, field in _errors_of(await client.call_tool(tool.name, arguments)):
                    problems |= {f"{problem}: {message[:300]}" for problem in _problems(message, field, toolset, tool)}
    assert sorted(problems) == []


def _wrong_calls(tool: Tool) -> Iterator[dict[str, Json]]:
    """Yield calls with one wrong argument each, and the rest as it should be."""
    properties = cast("dict[str, dict[str, Any]]", tool.input["properties"])
    good = {name: _good(name, properties[name]) for name in cast("list[str]", tool.input.get("required", []))}
    good |= _CHANGES.get(tool.name, {})
    yield {"no_such_argument": 1}
    yield {}
    yield good
    for name, schema in properties.items():
        if name in _INSTEAD:
            yield from ({name: value} for value in _wrong_values(name, schema, _INSTEAD[name]))
        else:
            yield from ({**good, name: value} for value in _wrong_values(name, schema, good.get(name)))


def _good(name: str, schema: dict[str, Any]) -> Json:
    return [_ENTITY] if name == "entities" and schema["items"]["type"] == "object" else _GOOD[name]


def _wrong_values(name: str, schema: dict[str, Any], good: Json) -> Iterator[Any]:
    items = schema.get("items", {})
    match schema.get("type"):
        case "string":
            yield from _TEXTS
        case "integer" | "number":
            yield from _NUMBERS
        case "array" if items.get("type") == "object":
            yield from ("x", [5], [{}])
            record = cast("list[dict[str, Json]]", good)[0]
            fields = items.get("properties") or _FIELDS[name]
            yield from ([{**record, field: value}] for field in fields for value in _FIELD_VALUES)
        case "array":
            yield from _LISTS
        case "object":
            yield from _OBJECTS
            record = cast("dict[str, Json]", good or {})
            yield from ({**record, field: value} for field in _FIELDS.get(name, ()) for value in _FIELD_VALUES)
        case _:
            yield from ("x", 5)


def _errors_of(result: CallToolResult) -> Iterator[tuple[str, str]]:
    """Yield the error of a result with its field, and its remarks without one."""
    structured = cast("dict[str, Any]", result.structured_content or {})
    if result.is_error:
        message = text_of(result)
        assert "The daemon's log" not in message
        yield message, cast("dict[str, Any]", (result.meta or {})[ERROR]).get("field", "")
    elif structured.get("success") is False and "error" in structured:
        hint = structured.get("hint", "")
        yield structured["error"] + (f". {hint}" if hint else ""), structured.get("field", "")
    yield from ((str(remark), "") for remark in structured.get("warnings", []))
    yield from (
        (item["error"], item["field"])
        for item in structured.get("results", [])
        if isinstance(item, dict) and isinstance(item.get("error"), str)
    )
    # These begin with the name of an entity.
    yield from ((str(remark).partition(": ")[2], "") for remark in structured.get("errors", []))


def _problems(message: str, field: str, toolset: str, tool: Tool) -> Iterator[str]:
    """Yield what an error says in the words of others."""
    properties = cast("dict[str, Json]", tool.input["properties"])
    words = set(_words(json.dumps(tool.input)))
    if "filters" in properties:
        # Their fields are described once.
        words |= set(_words(json.dumps(TOOLSETS["core"][1].input)))
    own = {*properties, *(other.name for other in TOOLSETS[toolset])}
    if field and re.split(r"[.\[]", field)[0] not in properties and "takes no argument" not in message:
        yield f"the field {field} is no argument"
    # What the caller has sent is quoted.
    unquoted = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "''", message)
    for code in re.findall(r"`([^`]+)`", unquoted):
        if re.split(r"[ .]", code)[0] in _KNOWN - own - (words - _VERBS.keys()):
            yield f"it names {code}"
    for word in _words(re.sub(r"`[^`]+`", "", unquoted)):
        if word in _KNOWN - own - words and ("_" in word or word.lower() != word):
            yield f"it names {word}"
    subject = re.match(r"(?:[\d,]+ )?([\w.]+)(?:\[\d+\])?(?: must| has| have| are too|:)", unquoted)
    if subject and subject[1].split(".")[0] in _KNOWN - own - words:
        yield f"it is about {subject[1]}"


def _words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z]\w*", text)


async def _seed(server: McpServer) -> None:
    """Store memories in the states that errors speak of."""
    memory = server.context().memory
    for name, text in (("tea", "Ada drinks tea."), ("coffee", "Bob drinks coffee."), ("gone", "Cleo sails alone.")):
        await memory.remember(text, name=name, kind="fact", intent="new")
    await memory.remember("The first of two.", title="Twin", name="twin-1", intent="new")
    await memory.remember("Quite another story.", title="Twin", name="twin-2", intent="new")
    await memory.create_entities([_ENTITY, {"name": "Bob", "entityType": "person", "observations": ["Bob is tall."]}])
    for name in ("draft", "old"):
        await memory.branch("ada", name)
    await memory.drop_branch("ada", "old")
    await memory.forget(["gone"])


_BINARY = "has a NUL character at character 1: it looks like binary data. Encode binary data as text, or leave it out"
_EMPTY = "there is nothing to remember: the"
_EMPTIED = "the edit would leave nothing of the memory"
_REJECTED = "nothing was stored: the text itself says that it must not be remembered"
_RULES = "Change the text, or the rules of the space"
_MISSING = "no memory is called 'nowhere-at-all'. Find it with"
_ADA: dict[str, Json] = {"entity_name": "Ada"}
_TOO_LONG = "has 500 characters; the limit is 300. Put the long form into"


@pytest.mark.parametrize(
    ("target", "arguments", "message", "field"),
    [
        ("items.memory_recall", {"query": "x", "k": 1 << 40}, f"k must be at most 1000, not {1 << 40}", "k"),
        ("items.memory_store", {"text": ""}, f"{_EMPTY} text is empty. Give `text`", "text"),
        ("core.remember", {"text": ""}, f"{_EMPTY} text is empty. Give `text`, or at least `name` and `kind`", "text"),
        ("smart.smart_write", {"title": "x", "content": ""}, f"{_EMPTY} content is empty. Give `content`", "content"),
        (
            "smart.smart_write",
            {"title": "x", "content": "y", "type": "z" * 500},
            f"type {_TOO_LONG} `content`",
            "type",
        ),
        (
            "smart.smart_write",
            {"title": "x", "content": "y", "intent": "continue"},
            "the intent `continue` needs a session. Give `session_hint`, or leave `intent` to auto",
            "intent",
        ),
        ("entities.store_memory", {"text": "x", "entity": "z" * 500}, f"entity {_TOO_LONG} `text`", "entity"),
        (
            "notes.edit_mem",
            {"id": "nowhere-at-all", "content": "x"},
            "no note is called 'nowhere-at-all'. Find it with `search_mem`",
            "",
        ),
        ("core.revise", {"id": "tea", "text": "Do not remember this."}, f"{_REJECTED}. {_RULES}", ""),
        (
            "core.remember",
            {"content": "Cleo keeps bees."},
            "remember takes no argument 'content'. Did you mean text?",
            "content",
        ),
        (
            "core.remember",
            {"text": "Cleo keeps bees.", "type": "fact"},
            "remember takes no argument 'type'. Did you mean kind?",
            "type",
        ),
        ("smart.update_memory", {"id": "nowhere-at-all", "title": "x"}, f"{_MISSING} `search_memories`", ""),
        ("core.revise", {"id": "nowhere-at-all", "title": "x"}, f"{_MISSING} `recall`", ""),
        ("enhanced.memory_branches", {"entity_name": "nowhere-at-all"}, f"{_MISSING} `search_nodes`", ""),
        # `core` has a tool that forgets, these have none.
        ("core.revise", {"id": "tea", "text": ""}, f"{_EMPTIED}. Use `forget` to drop it", "text"),
        ("smart.update_memory", {"id": "tea", "content": ""}, _EMPTIED, "content"),
        ("enhanced.memory_drop_branch", _ADA | {"branch_name": "main"}, "main cannot be dropped", "branch_name"),
        ("enhanced.memory_drop_branch", _ADA | {"branch_name": "old"}, "'Ada' has no branch 'old'. It was dropped", ""),
        (
            "enhanced.memory_drop_branch",
            _ADA | {"branch_name": "no-such-thing"},
            "'Ada' has no branch 'no-such-thing'. `memory_branches` lists its branches",
            "",
        ),
        ("enhanced.memory_branches", {"entity_name": "gone"}, "'gone' is in the trash", ""),
        ("enhanced.memory_undo", {"run": "none"}, "there is no run 'none'", ""),
        ("core.revise", {"id": "tea", "revert_to": 0}, "revert_to must be at least 1, not 0", "revert_to"),
        (
            "core.recall",
            {"since": "soon"},
            "since: 'soon' is not a date or time. Write it as 2026-05-31 or 2026-05-31T14:00:00Z",
            "since",
        ),
        (
            "enhanced.memory_diff",
            _ADA | {"version1": 1, "version2": 1 << 70},
            f"version2 must be at most {(1 << 63) - 1}, not {1 << 70}",
            "version2",
        ),
        (
            "enhanced.update_entity",
            {"entity": "Ada", "updates": {"tags": ["x" * 500]}},
            f"updates.tags {_TOO_LONG} `updates.observations`",
            "updates.tags",
        ),
        (
            "kg.create_relations",
            {"relations": [_LINK | {"relationType": "a\x00b"}]},
            f"relations.relationType {_BINARY}",
            "relations.relationType",
        ),
        (
            "notes.link_mem",
            {"source_id": "tea", "target_id": "coffee", "link_text": "a\x00b"},
            f"link_text {_BINARY}",
            "link_text",
        ),
    ],
)
async def test_an_error_uses_the_words_of_its_toolset(
    settings: Settings, target: str, arguments: dict[str, Json], message: str, field: str
) -> None:
    toolset, tool = target.split(".")
    async with open_server(settings) as server, server.client("auto", tools=toolset) as client:
        await _seed(server)
        assert next(_errors_of(await client.call_tool(tool, arguments))) == (message, field)


async def test_remarks_about_rules_name_tools_that_are_listed(settings: Settings) -> None:
    new: dict[str, Json] = {
        "name": "Zoe",
        "entityType": "person",
        "observations": ["Zoe rides."],
        "always_include": True,
    }
    async with open_server(settings) as server:
        await server.context().memory.set_rules(review="agents")
        async with server.client("auto", tools="kg") as client:
            del new["always_include"]
            message = text_of(await client.call_tool("create_entities", {"entities": [new]}))
            assert message.endswith("cannot wait for that. Set the rule `review` of this space to none")
        async with server.client("auto", tools="enhanced") as client:
            made = await call(client, "create_entities", entities=[new | {"always_include": True}])
            assert "it was not pinned: pin it with `update_entity` after approval" in made["results"][0]["warnings"]
        async with server.client("auto", tools="core") as client:
            done = await client.call_tool("remember", {"text": "Zoe rides to work.", "pinned": True})
            assert "it was not pinned: pin it with `revise` after approval" in text_of(done)


def test_a_remark_without_a_tool_for_its_advice_keeps_what_happened() -> None:
    warnings: list[Json] = [
        "no speaker counts as you: say which one with `me`",
        "the newer one wins; `undo` takes it back",
    ]
    result = ToolResult(structured={"warnings": warnings}, text="\n".join(map(str, warnings)))
    for tool, expected in (
        (TOOLSETS["items"][0], ["no speaker counts as you", "the newer one wins"]),
        (TOOLSETS["enhanced"][0], ["no speaker counts as you", "the newer one wins; `memory_undo` takes it back"]),
    ):
        reworded = reword_remarks(result, tool)
        assert (reworded.structured, reworded.text.split("\n")) == ({"warnings": expected}, expected)


def test_every_verb_that_a_tool_names_exists_and_has_one_tool_in_a_toolset() -> None:
    for toolset, tools in TOOLSETS.items():
        verbs = [verb for tool in tools for verb in tool.verbs]
        assert sorted(verbs) == sorted(set(verbs)), toolset
        assert set(verbs) <= _VERBS.keys(), toolset
