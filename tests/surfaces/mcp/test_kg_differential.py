"""The same calls to the real npm server and to ours: the same results, and the same graph after each."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from tests.surfaces.mcp.kg_calls import ADA, STORY, TEXTS, WRONG, Call, drawn, link
from tests.surfaces.mcp.kg_context import CallTool, Reply, all_pages, make_caller, open_context

from benchmarks.reference_server import Program, Unavailable, install, session
from scrubjay.model.memory import Json

READING = ("read_graph", "search_nodes", "open_nodes")
# The server's message for refused arguments; a tool's own errors are worded differently.
REFUSED = "MCP error -32602"
LONG = "long " * 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A call with a different result on purpose. `before` is called first, with the same result."""

    reason: str
    call: Call
    before: tuple[Call, ...] = ()


# All intended differences.
DIFFERENCES = (
    Difference(
        reason="a name is unique in a space: of two entities with one name in a call, the first is made",
        call=("create_entities", {"entities": [ADA, {"name": "Ada", "entityType": "again", "observations": []}]}),
    ),
    Difference(
        reason="a relation is there or not: one that appears twice in a call is made once",
        call=("create_relations", {"relations": [link("Ada", "Bob"), link("Ada", "Bob")]}),
    ),
    Difference(
        reason="no store keeps a NUL character: binary data is refused",
        call=("create_entities", {"entities": [{"name": "nul\x00", "entityType": "t", "observations": []}]}),
    ),
    Difference(
        reason="an argument that a tool does not take is named, not passed over: it is most often misspelt",
        call=("search_nodes", {"query": "a", "limit": 5}),
    ),
    Difference(
        reason="no answer is longer than 8,000 tokens: what was made is not repeated whole",
        call=("create_entities", {"entities": [{"name": "Long", "entityType": "t", "observations": [LONG]}]}),
    ),
    Difference(
        reason="no answer is longer than 8,000 tokens: a large graph comes in pages",
        before=tuple(
            ("create_entities", {"entities": [{"name": f"E{n}", "entityType": "t", "observations": ["text " * 300]}]})
            for n in range(40)
        ),
        call=("read_graph", {}),
    ),
)


@pytest.fixture(scope="module")
def program() -> Program:
    try:
        return asyncio.run(install())
    except Unavailable as reason:
        pytest.skip(f"the reference server is not available: {reason}")


@pytest.fixture
async def both(program: Program, tmp_path: Path) -> AsyncIterator[tuple[CallTool, CallTool]]:
    async with the_server(program, tmp_path / "memory.jsonl") as theirs, open_context(tmp_path / "data") as context:
        yield make_caller(context), theirs


@asynccontextmanager
async def the_server(program: Program, file: Path) -> AsyncGenerator[CallTool]:
    async with session(program, file=file) as server:

        async def ask(tool: str, arguments: Mapping[str, Json]) -> Reply:
            result = await server.call(tool, arguments)
            (content,) = result["content"]
            return Reply(
                text=content["text"],
                structured=result.get("structuredContent"),
                is_error=bool(result.get("isError")),
            )

        yield ask


async def test_a_story_of_all_tools(both: tuple[CallTool, CallTool]) -> None:
    await compare(STORY, both)


async def test_wrong_arguments_are_refused_by_both_and_change_nothing(both: tuple[CallTool, CallTool]) -> None:
    await compare((("create_entities", {"entities": [ADA]}), *WRONG), both)


@pytest.mark.parametrize("seed", range(3))
async def test_calls_at_random(both: tuple[CallTool, CallTool], seed: int) -> None:
    await compare(drawn(seed, calls=80), both)


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference.reason.split(":")[0])
async def test_deliberate_differences_remain(both: tuple[CallTool, CallTool], difference: Difference) -> None:
    ours, theirs = both
    await compare(difference.before, both, is_graph_compared=False)
    tool, arguments = difference.call
    assert await ours(tool, arguments) != await theirs(tool, arguments)


async def test_a_graph_in_pages_has_all_that_the_server_tells_at_once(both: tuple[CallTool, CallTool]) -> None:
    names = [f"Entity number {number}" for number in range(90)]
    texts: list[Json] = [f"{text} and more of it" for text in TEXTS]
    entities: list[Json] = [{"name": name, "entityType": "t", "observations": texts[:6]} for name in names]
    ring = [link(*pair) for pair in zip(names, (*names[7:], *names[:7]), strict=True)]
    loose = [link(f"Nobody {number}", f"Nobody {number + 1}") for number in range(40)]
    hub = [link("Entity number 3", name, "leads to") for name in names]
    calls: list[Call] = [
        ("create_entities", {"entities": entities}),
        *(("create_relations", {"relations": relations}) for relations in (ring, loose, hub)),
    ]
    await compare(calls, both, is_graph_compared=False, is_echo_compared=False)
    ours, theirs = both
    calls: list[Call] = [
        ("read_graph", {}),
        ("search_nodes", {"query": "NUMBER 3"}),
        ("open_nodes", {"names": [*names]}),
    ]
    for tool, arguments in calls:
        theirs_graph = (await theirs(tool, arguments)).structured
        assert (await ours(tool, arguments)).structured != theirs_graph
        require_same_graph(await all_pages(ours, tool, arguments), theirs_graph, (tool, arguments))


async def compare(
    calls: Iterable[Call],
    both: tuple[CallTool, CallTool],
    *,
    is_graph_compared: bool = True,
    is_echo_compared: bool = True,
) -> None:
    ours, theirs = both
    for call in calls:
        tool, arguments = call
        mine, other = await ours(tool, arguments), await theirs(tool, arguments)
        if other.text.startswith(REFUSED):
            assert (mine.is_error, mine.structured) == (True, None), call
        elif tool in READING and mine.structured and "nextCursor" in mine.structured:
            require_same_graph(await all_pages(ours, tool, arguments), other.structured, call)
        elif is_echo_compared:
            assert mine == other, call
        if is_graph_compared:
            graph = (await theirs("read_graph", {})).structured
            require_same_graph(await all_pages(ours, "read_graph", {}), graph, call)


def require_same_graph(ours: dict[str, Json], theirs: dict[str, Json] | None, call: Call) -> None:
    """Compare entities in order and relations in any order, since only each page has its relations in order."""
    assert theirs is not None
    assert ours["entities"] == theirs["entities"], call
    assert counted(ours["relations"]) == counted(theirs["relations"]), call


def counted(relations: Json) -> Counter[str]:
    return Counter(json.dumps(relation, sort_keys=True) for relation in cast("list[Json]", relations))
