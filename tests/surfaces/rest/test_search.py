"""Searching by REST: by address and by body, page by page, in one space and in several."""

from typing import Any
from uuid import uuid4

import pytest
from tests.surfaces.rest.checked_client import Visitor


async def _fill(visitor: Visitor, count: int) -> list[str]:
    return [
        (await visitor.remember(f"the lighthouse keeper wrote letter number {number}", tags=[f"t{number % 2}"]))["id"]
        for number in range(count)
    ]


async def test_a_question_in_the_address_and_in_a_body_find_the_same(visitor: Visitor) -> None:
    await _fill(visitor, 3)
    await visitor.remember("Sarah prefers voice calls to mail", kind="preference")
    by_address = await visitor.get("/search", params={"q": "how does Sarah like to be reached? voice calls"})
    by_body = await visitor.post("/search", {"query": "how does Sarah like to be reached? voice calls"})
    assert [hit["id"] for hit in by_address["hits"]] == [hit["id"] for hit in by_body["hits"]]
    hit = by_address["hits"][0]
    assert (hit["passage"], hit["space"], hit["memory"]) == ("Sarah prefers voice calls to mail", visitor.space, None)
    assert by_address["degraded"]


async def test_without_a_question_the_most_recent_come(visitor: Visitor) -> None:
    ids = await _fill(visitor, 3)
    assert [hit["id"] for hit in (await visitor.get("/search"))["hits"]] == ids[::-1]
    assert [hit["id"] for hit in (await visitor.post("/search", {}))["hits"]] == ids[::-1]


@pytest.mark.parametrize("query", ["", "lighthouse keeper letter"])
@pytest.mark.parametrize("by", ["GET", "POST"])
async def test_a_cursor_leads_through_every_page_once(visitor: Visitor, by: str, query: str) -> None:
    ids = await _fill(visitor, 11)
    seen: list[str] = []
    cursor = ""
    for _ in range(20):
        request: dict[str, Any] = {"limit": 3, "cursor": cursor, "max_tokens": 100_000}
        page = (
            await visitor.get("/search", params={"q": query, **request})
            if by == "GET"
            else await visitor.post("/search", {"query": query, **request})
        )
        assert len(page["hits"]) <= 3
        seen += [hit["id"] for hit in page["hits"]]
        cursor = page["cursor"]
        if not cursor:
            break
    assert sorted(seen) == sorted(ids)


@pytest.mark.parametrize("cursor", ["x", "bm9uc2Vuc2U", "é" * 10, "\x00", "A" * 1000])
async def test_a_cursor_that_nobody_gave_is_refused(visitor: Visitor, cursor: str) -> None:
    await _fill(visitor, 2)
    for inputs in ({"params": {"cursor": cursor}}, {"json": {"cursor": cursor}}):
        method = "GET" if "params" in inputs else "POST"
        problem = await visitor.refused(method, "/search", 422, "invalid_input", **inputs)
        assert problem["field"] == "cursor"


async def test_a_cursor_of_another_question_is_refused(visitor: Visitor) -> None:
    await _fill(visitor, 5)
    page = await visitor.get("/search", params={"q": "lighthouse", "limit": 2})
    assert page["cursor"]
    params = {"q": "keeper", "limit": 2, "cursor": page["cursor"]}
    await visitor.refused("GET", "/search", 422, "invalid_input", params=params)


@pytest.mark.parametrize(
    ("asked", "names"),
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
async def test_filters(visitor: Visitor, asked: dict[str, Any], names: str) -> None:
    await visitor.remember("first", name="a", kind="preference", category="people", tags=["x", "y"])
    source = {"session": "s1", "agent": "writer", "trust": "user"}
    await visitor.remember("second", name="b", project="acme", scope="team", tags=["z"], source=source)
    await visitor.remember("third", name="c", entities=["Sarah"])
    await visitor.ask("PATCH", "/memories/c", json={"tier": "semantic"})
    await visitor.remember("fourth", name="d")
    await visitor.ask("DELETE", "/memories/d")
    for page in (await visitor.get("/search", params=asked), await visitor.post("/search", asked)):
        assert "".join(sorted(hit["name"] for hit in page["hits"])) == names


async def test_a_filter_by_metadata_needs_a_body(visitor: Visitor) -> None:
    await visitor.remember("first", name="a", metadata={"colour": "blue"})
    await visitor.remember("second", name="b", metadata={"colour": "red"})
    page = await visitor.post("/search", {"metadata": {"colour": "blue"}})
    assert [hit["name"] for hit in page["hits"]] == ["a"]


async def test_the_whole_memory_and_the_reasons_on_request(visitor: Visitor) -> None:
    await visitor.remember("the lighthouse keeper")
    params = {"q": "lighthouse", "detail": "full", "explain": "true"}
    (hit,) = (await visitor.get("/search", params=params))["hits"]
    assert hit["memory"]["content"] == "the lighthouse keeper"
    assert hit["why"]


async def test_neighbours_come_along_on_request(visitor: Visitor) -> None:
    for text in ("Shall we go?", "On Monday!", "At ten?"):
        await visitor.remember(text, source={"session": "talk"})
    request: dict[str, Any] = {"contains": "monday", "around": 1, "today": "2026-05-31"}
    for page in (await visitor.get("/search", params=request), await visitor.post("/search", request)):
        (hit,) = page["hits"]
        assert [(item["place"], item["passage"]) for item in hit["around"]] == [(-1, "Shall we go?"), (1, "At ten?")]
        assert {"id", "name", "date"} <= set(hit["around"][0])
    (hit,) = (await visitor.get("/search", params={"contains": "monday"}))["hits"]
    assert hit["around"] == []


async def test_what_is_forgotten_is_never_chosen_by_what_it_contains(visitor: Visitor) -> None:
    reported = await visitor.remember("On Monday!", name="a")
    for name, value in (("contains", "monday"), ("today", "2026-05-31"), ("around", 1)):
        body = {"filter": {"kind": "note", name: value}}
        for verb in ("forget", "restore", "purge"):
            problem = await visitor.refused("POST", f"/memories/{verb}", 422, "invalid_input", json=body)
            assert problem["field"] == f"filter.{name}"
    assert (await visitor.get(f"/memories/{reported['id']}")).get("state", "live") == "live"


async def test_a_long_cursor_goes_into_a_body(visitor: Visitor) -> None:
    cursor = "A" * 54_000
    problem = await visitor.refused("POST", "/search", 422, "invalid_input", json={"cursor": cursor})
    assert problem["detail"] == "the cursor does not belong to this question"
    problem = await visitor.refused("GET", "/search", 422, "invalid_input", params={"cursor": cursor})
    assert (problem["field"], "longer than 8,000" in problem["detail"]) == ("cursor", True)


async def test_pinned_memories_come_along(visitor: Visitor) -> None:
    await visitor.remember("always said", pinned=True)
    page = await visitor.get("/search", params={"q": "nothing of the kind"})
    assert [hit["passage"] for hit in page["pinned"]] == ["always said"]


async def test_the_budget_holds(visitor: Visitor) -> None:
    await _fill(visitor, 8)
    small = await visitor.get("/search", params={"q": "lighthouse", "max_tokens": 60})
    large = await visitor.get("/search", params={"q": "lighthouse", "max_tokens": 10_000})
    assert len(small["hits"]) < len(large["hits"]) == 8
    assert small["tokens"] <= 60


async def test_several_spaces_are_searched_together_and_every_hit_names_its_own(visitor: Visitor) -> None:
    spaces = [f"{visitor.space}-{letter}" for letter in "abc"]
    for space in spaces:
        await visitor.post("/memories", {"text": f"the lighthouse of {space}"}, status=201, params={"space": space})
    for expected in (spaces, spaces[1:], spaces[:1]):
        for page in (
            await visitor.get("/search", params={"q": "lighthouse", "space": expected}),
            await visitor.post("/search", {"query": "lighthouse"}, params={"space": expected}),
        ):
            assert {hit["space"] for hit in page["hits"]} == set(expected)
    results = await visitor.post(
        "/memories/read", {"ids": [f"the-lighthouse-of-{spaces[2]}"]}, params={"space": spaces}
    )
    assert results["memories"][0]["space"] == spaces[2]


async def test_a_space_that_nobody_wrote_to_is_empty(visitor: Visitor) -> None:
    page = await visitor.get("/search", params={"q": "anything", "space": f"never-{uuid4().hex}"})
    assert (page["hits"], page["cursor"]) == ([], "")
