"""The `scrubjay` command with an additional toolset: tools and prompts for test suites and clients.

Only `python -m interop` starts it. The daemon, its endpoints, the limiter and the bridge are the real ones.
"""

import asyncio
from collections.abc import Mapping
from typing import cast

from scrubjay.__main__ import main
from scrubjay.model.memory import Json
from scrubjay.surfaces.mcp.prompts import PROMPTS, PromptTemplate
from scrubjay.surfaces.mcp.tool import Tool, ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets import TOOLSETS
from scrubjay.surfaces.mcp.toolsets.schema import TEXT, input_schema, output_schema

TOOLSET = "fixture"
_STEP = 0.05
# Longer than any client here waits, shorter than the time limit of a request.
_LONGEST_WAIT = 20.0
_waiting: dict[str, str] = {}


async def _text(_: ToolContext, __: Mapping[str, Json]) -> ToolResult:
    return ToolResult(structured={"text": "a few words"}, text="a few words")


async def _break(_: ToolContext, __: Mapping[str, Json]) -> ToolResult:
    raise ZeroDivisionError


async def _report(context: ToolContext, _: Mapping[str, Json]) -> ToolResult:
    """Report three steps with pauses, because quick reports are combined."""
    for done in (10, 50, 100):
        if context.progress is not None:
            context.progress(done, 100)
        await asyncio.sleep(_STEP)
    return ToolResult(structured={"done": 100}, text="done")


async def _wait(_: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Wait, and note when the caller cancels."""
    who = str(arguments["who"])
    _waiting[who] = "waiting"
    try:
        await asyncio.sleep(_LONGEST_WAIT)
    except asyncio.CancelledError:
        _waiting[who] = "given up"
        raise
    return ToolResult(structured={"state": "not cancelled"})


async def _state(_: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    state = _waiting.get(str(arguments["who"]), "not there")
    return ToolResult(structured={"state": state}, text=state)


async def _say(_: ToolContext, arguments: Mapping[str, str]) -> str:
    return "Say: " + ", ".join(f"{name} is {value}" for name, value in arguments.items())


_WORDS: dict[str, Json] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "place", "type": "object", "properties": {"town": {"type": "string"}}}},
    "properties": {
        "address": {"$ref": "#/$defs/address"},
        "transport": {"enum": ["post", "voice"]},
        "street": {"type": "string"},
        "number": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["street"]}, {"required": ["number"]}]}],
    "if": {"properties": {"transport": {"const": "post"}}, "required": ["transport"]},
    "then": {"required": ["street"]},
    "else": {"required": ["number"]},
    "additionalProperties": False,
}

TOOLS = (
    Tool(
        name="test_simple_text",
        title="Text",
        description="Says a few words",
        input=input_schema(),
        output=output_schema(text=TEXT),
        call=_text,
        read_only=True,
    ),
    Tool(
        name="test_logging_tool",
        title="No log",
        description="Says a few words, and logs nothing to the client",
        input=input_schema(),
        output=output_schema(text=TEXT),
        call=_text,
        read_only=True,
    ),
    Tool(
        name="test_error_handling",
        title="Error",
        description="Fails with an unexpected error",
        input=input_schema(),
        output=output_schema(),
        call=_break,
        read_only=True,
    ),
    Tool(
        name="test_tool_with_progress",
        title="Progress",
        description="Reports its progress three times",
        input=input_schema(),
        output=output_schema(),
        call=_report,
        read_only=True,
    ),
    Tool(
        name="json_schema_2020_12_tool",
        title="Schema",
        description="Has a schema with many words in it",
        input=_WORDS,
        output=output_schema(),
        call=_text,
        read_only=True,
    ),
    Tool(
        name="test_parameter_in_header",
        title="Header",
        description="Takes a parameter that HTTP clients repeat in a header",
        input=input_schema(word={**TEXT, "x-mcp-header": "Word"}),
        output=output_schema(text=TEXT),
        call=_text,
        read_only=True,
    ),
    Tool(
        name="wait",
        title="Wait",
        description="Waits until the caller cancels",
        input=input_schema("who", who=TEXT),
        output=output_schema(state=TEXT),
        call=_wait,
        read_only=True,
    ),
    Tool(
        name="state_of_wait",
        title="State",
        description="Returns the state of a wait",
        input=input_schema("who", who=TEXT),
        output=output_schema(state=TEXT),
        call=_state,
        read_only=True,
    ),
)

TEMPLATES = (
    PromptTemplate(name="test_simple_prompt", title="Plain", description="A few words", arguments={}, render=_say),
    PromptTemplate(
        name="test_prompt_with_arguments",
        title="With arguments",
        description="A few words of yours",
        arguments={"arg1": "A word", "arg2": "Another"},
        render=_say,
    ),
)


if __name__ == "__main__":
    TOOLSETS[TOOLSET] = TOOLS
    cast("dict[str, PromptTemplate]", PROMPTS).update({template.name: template for template in TEMPLATES})
    main()
