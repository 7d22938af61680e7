"""A space as a whole by REST: how it is, how it goes out and comes in."""

import json
from typing import Any

import pytest
from tests.surfaces.rest.checked_client import API, Visitor


async def _lines(visitor: Visitor, **params: Any) -> list[dict[str, Any]]:
    response = await visitor.ask("GET", "/export", params=params)
    assert response.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in response.content.splitlines()]


async def test_a_space_goes_out_and_comes_in_elsewhere(visitor: Visitor) -> None:
    for number in range(3):
        await visitor.remember(f"text number {number}: é 😀 \u2028", name=f"n{number}", tags=["x"])
    await visitor.ask("PATCH", "/memories/n0", json={"title": "Changed"})
    await visitor.ask("DELETE", "/memories/n1")
    await visitor.post("/memories/n0/links", {"target": "n2"}, status=201)
    whole = (await visitor.ask("GET", "/export")).content
    other = {"space": f"{visitor.space}-copy"}
    reported = await visitor.post("/import", params=other, content=whole)
    assert (reported["imported"], reported["known"], reported["relations"]) == (3, 0, 1)
    copied = await _lines(visitor, **other)
    assert copied[1:] == [json.loads(line) for line in whole.splitlines()][1:]
    assert (await visitor.get("/memories/n0", params=other))["version"] == 2
    again = await visitor.post("/import", params=other, content=whole)
    assert (again["imported"], again["known"]) == (0, 3)
    results = await visitor.get("/search", params={"q": "text number 2", **other})
    assert results["hits"]


async def test_the_graph_goes_out_and_comes_in(visitor: Visitor) -> None:
    lines: list[dict[str, Any]] = [
        {"type": "entity", "name": "Sarah", "entityType": "person", "observations": ["prefers voice calls"]},
        {"type": "entity", "name": "Acme", "entityType": "company", "observations": []},
        {"type": "relation", "from": "Sarah", "to": "Acme", "relationType": "works_at"},
    ]
    content = "\n".join(map(json.dumps, lines))
    reported = await visitor.post("/import", content=content.encode())
    assert (reported["imported"], reported["relations"]) == (2, 1)
    assert await _lines(visitor, format="kg") == lines


async def test_an_import_of_many_pieces(visitor: Visitor) -> None:
    await visitor.remember("kept")
    whole = (await visitor.ask("GET", "/export")).content

    async def pieces():  # noqa: ANN202 - what httpx2 calls an async byte stream
        for start in range(0, len(whole), 7):
            yield whole[start : start + 7]

    reported = await visitor.post("/import", params={"space": f"{visitor.space}-copy"}, content=pieces())
    assert reported["imported"] == 1


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"not json\n", "line 1"),
        (b'{"scrubjay": 999}\n', "999"),
        (b"\xff\xfe\x00\n", "line 1 is not UTF-8"),
        ('{"scrubjay": "export"}\n'.encode("utf-16"), "UTF-8"),
        (b"[" * 100_000, "line 1"),
        (b'{"type": "entity"}\n', "observations"),
        (b'{"type": "entity", "name": "a", "entityType": "b", "observations": []}\n\xff\n', "line 2"),
    ],
)
async def test_what_is_no_export_is_refused_whole(visitor: Visitor, content: bytes, word: str) -> None:
    problem = await visitor.refused("POST", "/import", 422, "invalid_input", content=content)
    assert word in problem["detail"]
    assert (await visitor.get("/status"))["memories"] == {}


async def test_one_bad_line_and_nothing_is_stored(visitor: Visitor) -> None:
    for number in range(3):
        await visitor.remember(f"text {number}")
    whole = (await visitor.ask("GET", "/export")).content
    other = {"space": f"{visitor.space}-copy"}
    await visitor.refused("POST", "/import", 422, "invalid_input", params=other, content=whole + b"{}\n")
    assert (await visitor.get("/status", params=other))["memories"] == {}


async def test_an_import_may_be_larger_than_a_body(visitor: Visitor) -> None:
    for number in range(4):
        await visitor.remember(f"{number} " + "x" * 90_000)
    whole = (await visitor.ask("GET", "/export")).content
    assert len(whole) > 300_000
    reported = await visitor.post("/import", params={"space": f"{visitor.space}-copy"}, content=whole)
    assert reported["imported"] == 4


async def test_a_format_that_is_not_there(visitor: Visitor) -> None:
    problem = await visitor.refused("GET", "/export", 422, "invalid_input", params={"format": "xml"})
    assert problem["detail"] == "format must be one of 'scrubjay' or 'kg'"


async def test_status_tells_of_one_space(visitor: Visitor) -> None:
    await visitor.remember("one")
    reported = await visitor.get("/status")
    assert (reported["space"], reported["memories"], reported["versions"]) == (visitor.space, {"live": 1}, 1)
    problem = await visitor.refused("GET", "/status", 422, "invalid_input", params={"space": ["a", "b"]})
    assert problem["field"] == "space"


async def test_figures_health_and_description(visitor: Visitor) -> None:
    for prefix in ("", API):
        health = await visitor.web.get(f"{prefix}/healthz")
        assert health.json()["ok"] is True
        ready = await visitor.web.get(f"{prefix}/readyz")
        assert (ready.json()["ready"], ready.json()["index"]) == (True, "ok")
        figures = await visitor.web.get(f"{prefix}/metrics")
        assert figures.headers["content-type"].startswith("text/plain")
        assert "scrubjay_requests_total" in figures.text
        assert visitor.space not in figures.text
        document = await visitor.web.get(f"{prefix}/openapi.json")
        assert document.json()["info"]["title"] == "Scrubjay"


async def test_figures_as_openmetrics_for_those_who_ask(visitor: Visitor) -> None:
    figures = await visitor.web.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert figures.headers["content-type"].startswith("application/openmetrics-text")
    assert figures.text.endswith("# EOF\n")
