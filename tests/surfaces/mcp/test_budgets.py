"""No result costs more than its budget, and a cursor or more tokens return the rest."""

import json
from typing import Any

import pytest
from mcp.client.client import Client
from mcp_types import CallToolResult
from tests.surfaces.mcp.expensive_texts import EXPENSIVE
from tests.surfaces.mcp.mcp_server import ERAS, call, open_server, refusal, text_of
from tests.surfaces.mcp.token_count import count_tokens

from scrubjay.model.requests import ReadRequest
from scrubjay.settings import Settings

_PROSE = "The harbour master of Lisbon keeps a ledger of every ship that ties up at the northern quay. "


def cost(result: CallToolResult) -> int:
    """Return the tokens of both forms of a result."""
    assert not result.is_error, text_of(result)
    return count_tokens(text_of(result)) + count_tokens(json.dumps(result.structured_content, ensure_ascii=False))


async def _stored(client: Client, count: int, *, length: int = 200, **more: object) -> None:
    for number in range(count):
        text = f"Entry {number}: " + (_PROSE * (length // len(_PROSE) + 1))[:length]
        await call(client, "remember", text=text, name=f"entry-{number}", **more)


@pytest.mark.parametrize("length", [60, 300, 3_000])
async def test_recall_keeps_to_its_budget_and_goes_on(settings: Settings, length: int) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await _stored(client, 25, length=length)
        for max_tokens in (400, None, 8_000, 1_000_000):
            assert await _recall_all(client, max_tokens) == ""


async def test_pages_that_a_long_cursor_leaves_no_room_for_go_on_with_more_tokens(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await _stored(client, 25, length=60)
        assert "ask with more" in await _recall_all(client, 300)


async def _recall_all(client: Client, max_tokens: int | None) -> str:
    """Ask for every page; return the note of the first without room, which is then repeated with more tokens."""
    names: list[str] = []
    cursor, note = "", ""
    while True:
        most = min(max_tokens or 1_500, 8_000) if not note else 8_000
        result = await client.call_tool(
            "recall",
            {"query": "harbour ledger", "limit": 10, "max_tokens": most if note else max_tokens, "cursor": cursor},
        )
        assert cost(result) <= most
        recalled = result.structured_content
        if not recalled["hits"]:
            assert not note
            note = text_of(result)
            continue
        names += [hit["name"] for hit in recalled["hits"]]
        assert all(name in text_of(result) for name in [hit["name"] for hit in recalled["hits"]])
        cursor = recalled.get("cursor", "")
        if not cursor:
            break
        assert cursor in text_of(result) or "the cursor of the structured answer" in text_of(result)
    assert len(names) == len(set(names)) == 25
    return note


@pytest.mark.parametrize("length", [60, 900])
async def test_neighbours_and_reasons_keep_to_the_budget_too(settings: Settings, length: int) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await _stored(client, 6, length=length, source={"session": "harbour"})
        most = 0
        for max_tokens in (300, 2_000):
            names: list[str] = []
            cursor = ""
            while not names or cursor:
                arguments = {"query": "harbour ledger", "limit": 3, "around": 2, "explain": True, "cursor": cursor}
                result = await client.call_tool("recall", {**arguments, "max_tokens": max_tokens})
                assert cost(result) <= max_tokens
                recalled = result.structured_content
                names += [hit["name"] for hit in recalled["hits"]]
                most = max([most, *(len(hit.get("around", [])) for hit in recalled["hits"])])
                cursor = recalled.get("cursor", "")
            assert len(names) == len(set(names)) == 6
        assert most >= 2


async def test_the_nearest_neighbours_are_shown_where_there_is_no_room_for_all(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await _stored(client, 9, length=300, source={"session": "harbour"})
        question = {"query": "entry 4", "filters": {"contains": "Entry 4:"}, "around": 4}
        for max_tokens, expected in ((8_000, 4), (1_000, None), (300, 0)):
            (hit,) = (await call(client, "recall", **question, max_tokens=max_tokens))["hits"]
            places: list[int] = [neighbour["place"] for neighbour in hit.get("around", [])]
            reach = max(map(abs, places), default=0)
            assert places == [*range(-reach, 0), *range(1, reach + 1)]
            assert reach == expected if expected is not None else 0 < reach < 4


async def test_short_memories_are_shown_whole_in_both_forms(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await _stored(client, 8, length=60)
        result = await client.call_tool("recall", {"query": "harbour"})
        # All of them are as likely to answer.
        assert len(result.structured_content["hits"]) == 8
        assert all(hit["passage"] in text_of(result) for hit in result.structured_content["hits"])


async def test_pinned_memories_do_not_crowd_out_the_requested_ones(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await _stored(client, 12, length=900, pinned=True)
        await call(client, "remember", text="the answer is in the blue folder " + "x" * 900, name="answer")
        for max_tokens in (300, 400, 1_500, 8_000):
            result = await client.call_tool("recall", {"query": "answer folder", "max_tokens": max_tokens})
            assert cost(result) <= max_tokens
            assert [hit["name"] for hit in result.structured_content["hits"]] == ["answer"]


async def test_a_name_so_long_that_no_hit_fits_is_said(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await call(client, "remember", text="tea", name="n" * 300, title="t" * 300)
        result = await client.call_tool("recall", {"query": "tea", "max_tokens": 300})
        assert cost(result) <= 300
        assert result.structured_content["hits"] == []
        assert "ask with more" in text_of(result)
        assert len((await call(client, "recall", query="tea", max_tokens=1_000))["hits"]) == 1


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("format", ["markdown", "plain", "json"])
async def test_a_long_memory_is_read_in_parts_that_make_up_the_whole(settings: Settings, era: str, format: str) -> None:
    whole = "\n\n".join(f"Chapter {number}. " + _PROSE * 12 + 'He said "aye".' for number in range(12))
    async with open_server(settings) as server, server.client(era) as client:
        await call(client, "remember", text=whole, name="ledger")
        await call(client, "remember", text="short", name="note")
        text, cursor, parts = "", "", 0
        recalled: dict[str, Any] = {}
        while parts == 0 or cursor:
            result = await client.call_tool("read", {"ids": ["ledger", "note"], "format": format, "cursor": cursor})
            assert cost(result) <= 1_500
            recalled = result.structured_content
            text += "".join(memory["text"] for memory in recalled["memories"] if memory["name"] == "ledger")
            cursor, parts = recalled.get("cursor", ""), parts + 1
        (expected,) = (await server.context().memory.call(ReadRequest.of(ids="ledger", format=format))).texts
        assert text == expected
        assert parts > 5
        assert recalled["memories"][-1]["name"] == "note"
        large = await client.call_tool("read", {"ids": ["ledger"], "format": format, "max_tokens": 8_000})
        assert 3_000 < cost(large) <= 8_000


async def test_a_text_is_cut_where_a_sentence_ends(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await call(client, "remember", text=_PROSE * 100, name="ledger")
        (memory,) = (await call(client, "read", ids=["ledger"], format="plain"))["memories"]
        assert memory["text"].endswith("quay. ")
        assert (memory["from"], memory["to"]) == (0, len(memory["text"]))


async def test_a_cursor_into_a_memory_that_has_changed_is_refused(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await call(client, "remember", text=_PROSE * 100, name="ledger")
        cursor = (await call(client, "read", ids=["ledger"]))["cursor"]
        await call(client, "revise", id="ledger", text=_PROSE * 90)
        assert "has changed since" in await refusal(client, "read", ids=["ledger"], cursor=cursor)
        for wrong in ("nonsense", "WzksMCwwXQ", "WzAsOTk5OTk5LDJd"):
            assert "does not belong" in await refusal(client, "read", ids=["ledger"], cursor=wrong)


async def test_many_references_are_read_in_parts_missing_ones_too(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await _stored(client, 30, length=400)
        refs = [ref for number in range(30) for ref in (f"entry-{number}", f"entri-{number}x")]
        names: list[str] = []
        missing: list[str] = []
        cursor = ""
        while True:
            result = await client.call_tool("read", {"ids": refs, "cursor": cursor})
            assert cost(result) <= 1_500
            names += [memory["name"] for memory in result.structured_content["memories"]]
            missing += [entry["ref"] for entry in result.structured_content.get("missing", [])]
            cursor = result.structured_content.get("cursor", "")
            if not cursor:
                break
        assert (len(set(names)), len(missing)) == (30, 30)


async def test_a_long_history_comes_in_parts(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await call(client, "remember", text="0", name="counter")
        for number in range(1, 60):
            await call(client, "revise", id="counter", text=str(number), message=f"{number}: {_PROSE * 2}")
        numbers: list[int] = []
        cursor = ""
        while True:
            result = await client.call_tool("history", {"id": "counter", "limit": 1_000, "cursor": cursor})
            assert cost(result) <= 1_500
            numbers += [version["number"] for version in result.structured_content["versions"]]
            cursor = result.structured_content.get("cursor", "")
            if not cursor:
                break
        assert numbers == list(range(60, 0, -1))


async def test_a_large_difference_is_cut(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await call(client, "remember", text=_PROSE * 200, name="ledger", title="Ledger")
        await call(client, "revise", id="ledger", text=_PROSE.upper() * 200, title="LEDGER", tags=["loud"])
        result = await client.call_tool("history", {"id": "ledger", "diff": [1, 2]})
        assert cost(result) <= 1_500
        changed = {difference["field"]: difference for difference in result.structured_content["diff"]}
        assert any(difference.get("of", 0) > len(difference["change"]) for difference in changed.values())
        assert "read both versions" in text_of(result)
        same = await client.call_tool("history", {"id": "ledger", "diff": [2, 2]})
        assert "No relevant differences" in text_of(same)


async def test_results_of_forget_relate_and_remember_are_cut_too(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        entities = [f"entity number {number} of the northern quay" for number in range(100)]
        tags = [f"a tag with the number {number} and a long tail" for number in range(64)]
        many = await client.call_tool("remember", {"text": "tea", "entities": entities, "tags": tags})
        assert cost(many) <= 1_500
        shown = len(many.structured_content["ids"])
        assert (shown < 100, f"{shown} of 100 ids" in text_of(many)) == (True, True)
        first, *others = [
            hit.id for hit in (await server.context().memory.recall("", limit=200, max_tokens=99_999)).hits
        ]
        assert others == []
        gone = await client.call_tool("forget", {"ids": [first], "group": True})
        assert (gone.structured_content["count"], cost(gone) <= 1_500) == (100, True)
        assert "more are not listed: count includes them" in text_of(gone)
        lost = await client.call_tool("forget", {"ids": [f"nobody {number} {_PROSE * 3}" for number in range(100)]})
        assert cost(lost) <= 1_500
        await _stored(client, 60, length=60)
        for number in range(1, 59):
            linked = await client.call_tool("relate", {"source": "entry-0", "target": f"entry-{number}"})
            assert cost(linked) <= 1_500
        linked = await client.call_tool("relate", {"source": "entry-0", "target": "entry-59"})
        assert cost(linked) <= 1_500
        assert "there are more links" in text_of(linked)
        warned = await client.call_tool(
            "revise",
            {"id": "entry-0", "remove_observations": [f"{number} {_PROSE}" for number in range(300)], "kind": "x"},
        )
        assert cost(warned) <= 1_500


async def test_the_results_of_many_texts_keep_to_the_budget(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        good = [{"text": f"{number} {_PROSE}", "intent": "new"} for number in range(60)]
        for items in (good, [*good, *({"text": 5} for _ in range(100))], [{"text": _PROSE, "name": "n" * 300}]):
            result = await client.call_tool("remember", {"items": items})
            assert cost(result) <= 1_500
            done = result.structured_content
            assert sum(done["counts"].values()) == len(items)
            omitted = len(items) - len(done.get("results", []))
            assert (f"({omitted} more are not listed" in text_of(result)) == bool(omitted)
        failed = (await call(client, "remember", items=[*good, {"text": 5}]))["results"]
        # What needs a correction is always among the listed ones.
        assert (failed[-1]["index"], failed[-1]["field"]) == (60, "items[60].text")


async def test_items_keep_to_the_budget(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        for number in range(12):
            # Texts that say the same would count once.
            own = " ".join(f"{word}{number}" for word in (_PROSE * 12).split())
            await call(client, "memory_store", text=f"harbour ledger {own}", metadata={"n": number, "why": _PROSE})
        await call(client, "memory_store", text=f"very long: {_PROSE * 900}")
        many = await client.call_tool("memory_recall", {"query": "harbour ledger", "k": 12})
        assert cost(many) <= 1_500
        result = many.structured_content["results"]
        assert result
        assert f"there are more: {len(result)} of the 12 fit" in text_of(many)
        cut = await client.call_tool("memory_recall", {"query": "very long", "k": 12})
        assert cost(cut) <= 1_500
        (long,) = cut.structured_content["results"]
        assert len(long["text"]) < long["of"] == len(f"very long: {_PROSE * 900}")
        assert "long texts are cut" in text_of(cut)


@pytest.mark.parametrize("kind", EXPENSIVE)
async def test_no_kind_of_text_exceeds_its_budget(settings: Settings, kind: str) -> None:
    text = (EXPENSIVE[kind] * 12)[:12_000]
    async with open_server(settings) as server, server.client("auto") as client:
        # The conflict check takes the longest, and does not matter here.
        await server.context().memory.set_rules(conflicts="off")
        await call(client, "remember", text=text, name="whole")
        for number in range(10):
            await call(client, "remember", text=f"{number} tea {text[number * 900 : number * 900 + 900]}", intent="new")
        for max_tokens in (300, 1_500, 8_000):
            for name, arguments in (
                ("read", {"ids": ["whole"], "format": "plain"}),
                ("read", {"ids": ["whole"], "format": "json"}),
                ("recall", {"query": "tea", "limit": 10}),
                ("recall", {"query": "", "limit": 20, "detail": "full"}),
            ):
                result = await client.call_tool(name, {**arguments, "max_tokens": max_tokens})
                assert cost(result) <= max_tokens, (name, arguments)
        result = await client.call_tool("memory_recall", {"query": "tea", "k": 10})
        assert cost(result) <= 1_500


@pytest.mark.parametrize("kind", EXPENSIVE)
async def test_no_kind_of_graph_exceeds_the_limit(settings: Settings, kind: str) -> None:
    observations = [f"{number}: {EXPENSIVE[kind][number * 40 : number * 40 + 1_000]}" for number in range(5)]
    entities = [
        {"name": f"{kind} {number}", "entityType": "text", "observations": observations[:number]} for number in range(6)
    ]
    long = {"name": "long", "entityType": "text", "observations": [_longer_than_a_page(EXPENSIVE[kind] * 12)]}
    async with open_server(settings) as server, server.client("auto", tools="kg") as client:
        await server.context().memory.set_rules(conflicts="off")
        assert cost(await client.call_tool("create_entities", {"entities": [*entities, long]})) <= 8_000
        arguments: dict[str, object] = {}
        for page in range(100):
            result = await client.call_tool("read_graph", arguments)
            assert cost(result) <= 8_000
            if "nextCursor" not in result.structured_content:
                assert page > 0
                break
            arguments = {"cursor": result.structured_content["nextCursor"]}
        else:
            pytest.fail("the pages do not end")


def _longer_than_a_page(text: str) -> str:
    """Repeat a text until it fits no page: both forms cost tokens, and in some kinds every character does."""
    return next(
        (text[:size] for size in range(1_000, 12_000, 1_000) if count_tokens(json.dumps(text[:size])) > 6_000),
        text[:12_000],
    )
