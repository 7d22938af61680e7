"""Search by REST: by query string and by body, page by page, in one space and in several."""

from typing import Any
from uuid import uuid4

import pytest
from tests.surfaces.rest.checked_client import CheckedClient


async def _fill(client: CheckedClient, count: int) -> list[str]:
    return [
        (await client.remember(f"the lighthouse keeper wrote letter number {number}", tags=[f"t{number % 2}"]))["id"]
        for number in range(count)
    ]


async def test_a_query_string_and_a_body_return_the_same_hits(client: CheckedClient) -> None:
    await _fill(client, 3)
    await client.remember("Sarah prefers voice calls to mail", kind="preference")
    by_address = await client.get("/search", params={"q": "how does Sarah like to be reached? voice calls"})
    by_body = await client.post("/search", {"query": "how does Sarah like to be reached? voice calls"})
    assert [hit["id"] for hit in by_address["hits"]] == [hit["id"] for hit in by_body["hits"]]
    hit = by_address["hits"][0]
    assert (hit["passage"], hit["space"], hit["memory"]) == ("Sarah prefers voice calls to mail", client.space, None)
    assert by_address["degraded"]


async def test_without_a_question_the_newest_memories_are_returned(client: CheckedClient) -> None:
    ids = await _fill(client, 3)
    assert [hit["id"] for hit in (await client.get("/search"))["hits"]] == ids[::-1]
    assert [hit["id"] for hit in (await client.post("/search", {}))["hits"]] == ids[::-1]


@pytest.mark.parametrize("query", ["", "lighthouse keeper letter"])
@pytest.mark.parametrize("by", ["GET", "POST"])
async def test_a_cursor_visits_every_hit_once(client: CheckedClient, by: str, query: str) -> None:
    ids = await _fill(client, 11)
    seen: list[str] = []
    cursor = ""
    for _ in range(20):
        request: dict[str, Any] = {"limit": 3, "cursor": cursor, "max_tokens": 100_000}
        page = (
            await client.get("/search", params={"q": query, **request})
            if by == "GET"
            else await client.post("/search", {"query": query, **request})
        )
        assert len(page["hits"]) <= 3
        seen += [hit["id"] for hit in page["hits"]]
        cursor = page["cursor"]
        if not cursor:
            break
    assert sorted(seen) == sorted(ids)


@pytest.mark.parametrize("cursor", ["x", "bm9uc2Vuc2U", "é" * 10, "\x00", "A" * 1000])
async def test_an_invalid_cursor_is_refused(client: CheckedClient, cursor: str) -> None:
    await _fill(client, 2)
    for inputs in ({"params": {"cursor": cursor}}, {"json": {"cursor": cursor}}):
        method = "GET" if "params" in inputs else "POST"
        problem = await client.refused(method, "/search", 422, "invalid_input", **inputs)
        assert problem["field"] == "cursor"


async def test_a_cursor_of_another_question_is_refused(client: CheckedClient) -> None:
    await _fill(client, 5)
    page = await client.get("/search", params={"q": "lighthouse", "limit": 2})
    assert page["cursor"]
    params = {"q": "keeper", "limit": 2, "cursor": page["cursor"]}
    await client.refused("GET", "/search", 422, "invalid_input", params=params)


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"kind": "preference"}, "a"),
        ({"category": "people"}, "a"),
        ({"project": "acme"}, "b"),
        ({"scope": "team"}, "b"),
        ({"entity": "Sarah"}, "c"),
        ({"tags": ["x", "y"]}, "a"),
        ({"any_tags": ["x", "z"]}, "ab"),
        ({"tier": "semantic"}, "c"),
        ({"session": "s1"}, "b"),
        ({"agent": "writer"}, "b"),
        ({"trust": "user"}, "b"),
        ({"state": "trashed"}, "d"),
        ({"contains": "IRS"}, "a"),
        ({"contains": "ir", "kind": "note"}, "c"),
        ({"contains": "nowhere"}, ""),
        ({"until": "2020-01-01"}, ""),
        ({"since": "2020-01-01T00:00:00Z"}, "abc"),
        ({"tier": "working", "trust": "unknown"}, "a"),
    ],
    ids=str,
)
async def test_filters(client: CheckedClient, filters: dict[str, Any], names: str) -> None:
    await client.remember("first", name="a", kind="preference", category="people", tags=["x", "y"])
    source = {"session": "s1", "agent": "writer", "trust": "user"}
    await client.remember("second", name="b", project="acme", scope="team", tags=["z"], source=source)
    await client.remember("third", name="c", entities=["Sarah"])
    await client.request("PATCH", "/memories/c", json={"tier": "semantic"})
    await client.remember("fourth", name="d")
    await client.request("DELETE", "/memories/d")
    for page in (await client.get("/search", params=filters), await client.post("/search", filters)):
        assert "".join(sorted(hit["name"] for hit in page["hits"])) == names


async def test_a_filter_by_metadata_needs_a_body(client: CheckedClient) -> None:
    await client.remember("first", name="a", metadata={"colour": "blue"})
    await client.remember("second", name="b", metadata={"colour": "red"})
    page = await client.post("/search", {"metadata": {"colour": "blue"}})
    assert [hit["name"] for hit in page["hits"]] == ["a"]


async def test_the_whole_memory_and_the_reasons_on_request(client: CheckedClient) -> None:
    await client.remember("the lighthouse keeper")
    # Without a value, it means yes.
    for explain in ("true", ""):
        params = {"q": "lighthouse", "detail": "full", "explain": explain}
        (hit,) = (await client.get("/search", params=params))["hits"]
        assert hit["memory"]["content"] == "the lighthouse keeper"
        assert hit["why"]


async def test_neighbours_are_returned_on_request(client: CheckedClient) -> None:
    for text in ("Shall we go?", "On Monday!", "At ten?"):
        await client.remember(text, source={"session": "talk"})
    request: dict[str, Any] = {"contains": "monday", "around": 1, "today": "2026-05-31"}
    for page in (await client.get("/search", params=request), await client.post("/search", request)):
        (hit,) = page["hits"]
        assert [(neighbour["place"], neighbour["passage"]) for neighbour in hit["around"]] == [
            (-1, "Shall we go?"),
            (1, "At ten?"),
        ]
        assert {"id", "name", "date"} <= set(hit["around"][0])
    (hit,) = (await client.get("/search", params={"contains": "monday"}))["hits"]
    assert hit["around"] == []


async def test_selections_cannot_filter_by_content(client: CheckedClient) -> None:
    result = await client.remember("On Monday!", name="a")
    for name, value in (("contains", "monday"), ("today", "2026-05-31"), ("around", 1)):
        body = {"filter": {"kind": "note", name: value}}
        for verb in ("forget", "restore", "purge"):
            problem = await client.refused("POST", f"/memories/{verb}", 422, "invalid_input", json=body)
            assert problem["field"] == f"filter.{name}"
    assert (await client.get(f"/memories/{result['id']}")).get("state", "live") == "live"


async def test_a_long_cursor_needs_a_body(client: CheckedClient) -> None:
    cursor = "A" * 54_000
    problem = await client.refused("POST", "/search", 422, "invalid_input", json={"cursor": cursor})
    assert problem["detail"] == "the cursor does not belong to this question"
    problem = await client.refused("GET", "/search", 422, "invalid_input", params={"cursor": cursor})
    assert (problem["field"], "longer than 8,000" in problem["detail"]) == ("cursor", True)


async def test_pinned_memories_are_returned(client: CheckedClient) -> None:
    await client.remember("always said", pinned=True)
    page = await client.get("/search", params={"q": "nothing of the kind"})
    assert [hit["passage"] for hit in page["pinned"]] == ["always said"]


async def test_the_token_budget_is_respected(client: CheckedClient) -> None:
    await _fill(client, 8)
    small = await client.get("/search", params={"q": "lighthouse", "max_tokens": 60})
    large = await client.get("/search", params={"q": "lighthouse", "max_tokens": 10_000})
    assert len(small["hits"]) < len(large["hits"]) == 8
    assert small["tokens"] <= 60


async def test_several_spaces_are_searched_together_and_every_hit_names_its_own(client: CheckedClient) -> None:
    spaces = [f"{client.space}-{letter}" for letter in "abc"]
    for space in spaces:
        memory = {"text": f"the lighthouse of {space}", "name": f"lighthouse-of-{space}"}
        await client.post("/memories", memory, status=201, params={"space": space})
    for expected in (spaces, spaces[1:], spaces[:1]):
        for page in (
            await client.get("/search", params={"q": "lighthouse", "space": expected}),
            await client.post("/search", {"query": "lighthouse"}, params={"space": expected}),
        ):
            assert {hit["space"] for hit in page["hits"]} == set(expected)
    results = await client.post("/memories/read", {"ids": [f"lighthouse-of-{spaces[2]}"]}, params={"space": spaces})
    assert results["memories"][0]["space"] == spaces[2]


async def test_a_new_space_is_empty(client: CheckedClient) -> None:
    page = await client.get("/search", params={"q": "anything", "space": f"never-{uuid4().hex}"})
    assert (page["hits"], page["cursor"]) == ([], "")
