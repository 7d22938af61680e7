"""The tools of `kg` beyond the reference server: budgets, pages, and use together with the other tools."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import cast

import pytest
from tests.surfaces.mcp.kg_calls import Call, link
from tests.surfaces.mcp.kg_context import CallTool, Reply, all_pages, make_caller, open_context

from scrubjay.errors import InvalidInput
from scrubjay.model.caller import Caller
from scrubjay.model.memory import Json
from scrubjay.surfaces.mcp.budget import MAX_TOKENS, cost_of
from scrubjay.surfaces.mcp.tool import ToolContext
from scrubjay.surfaces.mcp.toolsets import pick
from scrubjay.surfaces.mcp.toolsets.kg import TOOLS, open_nodes, read_resource


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[ToolContext]:
    async with open_context(tmp_path / "data") as opened:
        yield opened


@pytest.fixture
def ask(context: ToolContext) -> CallTool:
    """Return a function that calls a tool, and fails if the result exceeds the budget."""
    call_tool = make_caller(context)

    async def within(name: str, arguments: Mapping[str, Json]) -> Reply:
        reply = await call_tool(name, arguments)
        assert cost_of(reply.text, reply.structured) <= MAX_TOKENS
        return reply

    return within


def entity(name: str, *observations: str, kind: str = "thing") -> dict[str, Json]:
    return {"name": name, "entityType": kind, "observations": [*observations]}


async def create(ask: CallTool, *entities: Json) -> Reply:
    return await ask("create_entities", {"entities": [*entities]})


def entities_of(graph: Mapping[str, Json] | None) -> list[dict[str, Json]]:
    assert graph is not None
    return cast("list[dict[str, Json]]", graph["entities"])


def test_the_toolset_has_the_nine_tools_of_the_reference_server() -> None:
    assert pick("kg") == TOOLS
    assert [(tool.name, tool.read_only, tool.destructive, tool.idempotent) for tool in TOOLS] == [
        ("create_entities", False, False, False),
        ("create_relations", False, False, False),
        ("add_observations", False, False, False),
        ("delete_entities", False, True, True),
        ("delete_observations", False, True, True),
        ("delete_relations", False, True, True),
        ("read_graph", True, False, True),
        ("search_nodes", True, False, True),
        ("open_nodes", True, False, True),
    ]


async def test_a_graph_that_fits_is_whole_and_has_no_cursor(ask: CallTool) -> None:
    await create(ask, *(entity(f"e{number}", "a fact " * 5) for number in range(30)))
    reply = await ask("read_graph", {})
    assert list(reply.structured or {}) == ["entities", "relations"]
    assert len(entities_of(reply.structured)) == 30
    assert reply.text == json.dumps(reply.structured, indent=2, ensure_ascii=False)


async def test_a_larger_one_comes_in_pages_of_whole_entities(ask: CallTool) -> None:
    entities = [entity(f"e{number}", "日本語 a fact " * 20, f"another {number}") for number in range(120)]
    await create(ask, *entities)
    await ask("create_relations", {"relations": [link("e0", f"e{number}") for number in range(120)]})
    calls: list[Call] = [("read_graph", {}), ("search_nodes", {"query": "FACT"})]
    for name, arguments in calls:
        reply = await ask(name, arguments)
        assert reply.structured is not None
        assert "nextCursor" in reply.structured
        assert "cursor" in str(reply.structured["note"])
        assert reply.text == json.dumps(reply.structured, indent=2, ensure_ascii=False)
        whole = await all_pages(ask, name, arguments)
        assert whole["entities"] == entities
        assert whole["relations"] == [link("e0", f"e{number}") for number in range(120)]


async def test_a_page_shows_the_relations_of_its_entities(ask: CallTool) -> None:
    await create(ask, *(entity(f"e{number}", "a fact " * 40) for number in range(120)))
    await ask("create_relations", {"relations": [link("e119", "e0")]})
    first = await ask("read_graph", {})
    assert (first.structured or {})["relations"] == [link("e119", "e0")]


async def test_an_entity_longer_than_a_page_comes_in_pieces_and_nothing_is_lost(ask: CallTool) -> None:
    texts = ["short", "long " * 5_000, '"\n\\' * 1_500, "日本" * 2_500, "last"]
    made = await create(ask, entity("Before"), entity("Long", *texts), entity("After"))
    assert "Done for all 3; the first 1 are shown" in made.text
    assert (made.structured or {})["note"] == "Done for all 3; the first 1 are shown"
    pieces = entities_of(await all_pages(ask, "read_graph", {}))
    assert [piece["name"] for piece in (pieces[0], pieces[-1])] == ["Before", "After"]
    long = [cast("list[str]", piece["observations"]) for piece in pieces[1:-1]]
    assert {str(piece["name"]) for piece in pieces[1:-1]} == {"Long"}
    assert "".join(piece for part in long for piece in part) == "".join(texts)


async def test_many_observations_are_shared_out_whole(ask: CallTool) -> None:
    texts = [f"observation number {number} of one entity" for number in range(1_000)]
    await create(
        ask,
        entity("Much"),
    )
    await ask("add_observations", {"observations": [{"entityName": "Much", "contents": [*texts]}]})
    pieces = entities_of(await all_pages(ask, "open_nodes", {"names": ["Much"]}))
    assert len(pieces) > 1
    assert [text for piece in pieces for text in cast("list[str]", piece["observations"])] == texts


async def test_names_longer_than_a_page_are_cut_and_the_rest_is_still_returned(ask: CallTool) -> None:
    long = "n" * 30_000
    await create(ask, entity(long, "a fact", kind=long), entity("other"))
    await ask("create_relations", {"relations": [link(long, "other", long)]})
    first = await ask("read_graph", {})
    (shown,) = entities_of(first.structured)
    assert str(shown["name"]).startswith("nnn")
    assert str(shown["name"]).endswith("…")
    whole = await all_pages(ask, "read_graph", {})
    assert [entity["name"] for entity in entities_of(whole)][-1] == "other"
    (relation,) = cast("list[dict[str, Json]]", whole["relations"])
    assert relation["to"] == "other"
    opened = await all_pages(ask, "open_nodes", {"names": [long]})
    assert entities_of(opened)[0]["observations"] == ["a fact"]


async def test_pages_go_on_when_the_graph_changes_between_them(ask: CallTool) -> None:
    await create(ask, *(entity(f"e{number:03}", "a fact " * 40) for number in range(100)))
    first = await ask("read_graph", {})
    seen = [str(entity["name"]) for entity in entities_of(first.structured)]
    await ask("delete_entities", {"entityNames": [seen[0], seen[-1], f"e{len(seen):03}"]})
    await create(ask, entity("new"))
    rest = await all_pages(ask, "read_graph", {"cursor": (first.structured or {})["nextCursor"]})
    expected = [*(f"e{number:03}" for number in range(len(seen) + 1, 100)), "new"]
    assert [entity["name"] for entity in entities_of(rest)] == expected


@pytest.mark.parametrize("cursor", ["x", "!!!", "W10", "WyJhIiwxXQ", 5, "WyJhIiwxLCJiIl0", "e30"])
async def test_a_cursor_that_is_not_ours_is_refused(ask: CallTool, cursor: Json) -> None:
    calls: list[Call] = [("read_graph", {}), ("search_nodes", {"query": ""}), ("open_nodes", {"names": ["a"]})]
    for name, arguments in calls:
        reply = await ask(name, {**arguments, "cursor": cursor})
        assert reply.is_error
        assert "cursor" in reply.text


async def test_a_cursor_that_points_nowhere_ends_the_list(ask: CallTool) -> None:
    await create(ask, entity("Ada"))
    # ["~",5,-3]: after everything.
    reply = await ask("read_graph", {"cursor": "WyJ-Iiw1LC0zXQ"})
    assert reply.structured == {"entities": [], "relations": []}


async def test_reading_counts_as_a_visit(context: ToolContext, ask: CallTool) -> None:
    await create(ask, entity("Ada"), entity("Bob"), entity("Cy"))
    await ask("open_nodes", {"names": ["Ada"]})
    await ask("search_nodes", {"query": "bob"})
    await ask("read_graph", {})
    await context.engine.access_log.flush()
    read = (await context.memory.read(["Ada", "Bob", "Cy"])).memories
    assert [memory.access_count for memory in read] == [1, 1, 0]


async def test_writes_can_be_recalled_undone_and_separated_by_space(context: ToolContext, ask: CallTool) -> None:
    await create(ask, entity("Ada", "prefers green tea", kind="person"))
    (hit,) = (await context.memory.recall("green tea", kind="person")).hits
    assert hit.name == "Ada"
    await ask("delete_entities", {"entityNames": ["Ada"]})
    assert entities_of((await ask("read_graph", {})).structured) == []
    await context.memory.undo()
    assert entities_of((await ask("read_graph", {})).structured) == [entity("Ada", "prefers green tea", kind="person")]
    other = make_caller(ToolContext(engine=context.engine, who=Caller(space="other")))
    assert entities_of((await other("read_graph", {})).structured) == []
    assert entities_of((await other("search_nodes", {"query": "tea"})).structured) == []


async def test_wrong_arguments_are_named_also_without_an_earlier_check(context: ToolContext) -> None:
    wrong: list[tuple[dict[str, Json], str]] = [
        ({"names": "Ada"}, "names"),
        ({"names": ["\ud800"]}, "names"),
        ({"names": [], "cursor": 5}, "cursor"),
    ]
    for arguments, field in wrong:
        with pytest.raises(InvalidInput) as caught:
            await open_nodes(context, arguments)
        assert caught.value.fields["field"] == field


@pytest.mark.parametrize(
    ("entities", "field"),
    [
        (None, "entities"),
        (["x"], "entities[0]"),
        ([entity("a"), {"name": "b"}], "entities[1].entityType"),
        ([{"name": "b", "entityType": "", "observations": "x"}], "entities[0].observations"),
    ],
)
async def test_an_error_gives_the_path_to_the_wrong_value(context: ToolContext, entities: Json, field: str) -> None:
    create_entities = TOOLS[0].call
    with pytest.raises(InvalidInput) as caught:
        await create_entities(context, {"entities": entities})
    assert caught.value.fields["field"] == field


async def test_the_resource_is_the_graph(context: ToolContext, ask: CallTool) -> None:
    await create(ask, entity("Ada"))
    assert await read_resource(context) == (await ask("read_graph", {})).text
