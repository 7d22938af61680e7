"""A space as a whole by REST: status, export and import."""

import json
from typing import Any

import pytest
from tests.surfaces.rest.checked_client import API, CheckedClient


async def _lines(client: CheckedClient, **params: Any) -> list[dict[str, Any]]:
    response = await client.request("GET", "/export", params=params)
    assert response.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in response.content.splitlines()]


async def test_a_space_is_exported_and_imported_into_another(client: CheckedClient) -> None:
    for number in range(3):
        await client.remember(f"text number {number}: é 😀 \u2028", name=f"n{number}", tags=["x"])
    await client.request("PATCH", "/memories/n0", json={"title": "Changed"})
    await client.request("DELETE", "/memories/n1")
    await client.post("/memories/n0/links", {"target": "n2"}, status=201)
    exported = (await client.request("GET", "/export")).content
    other = {"space": f"{client.space}-copy"}
    result = await client.post("/import", params=other, content=exported)
    assert (result["imported"], result["known"], result["relations"]) == (3, 0, 1)
    copied = await _lines(client, **other)
    assert copied[1:] == [json.loads(line) for line in exported.splitlines()][1:]
    assert (await client.get("/memories/n0", params=other))["version"] == 2
    again = await client.post("/import", params=other, content=exported)
    assert (again["imported"], again["known"]) == (0, 3)
    results = await client.get("/search", params={"q": "text number 2", **other})
    assert results["hits"]


async def test_the_graph_is_imported_and_exported(client: CheckedClient) -> None:
    lines: list[dict[str, Any]] = [
        {"type": "entity", "name": "Sarah", "entityType": "person", "observations": ["prefers voice calls"]},
        {"type": "entity", "name": "Acme", "entityType": "company", "observations": []},
        {"type": "relation", "from": "Sarah", "to": "Acme", "relationType": "works_at"},
    ]
    content = "\n".join(map(json.dumps, lines))
    result = await client.post("/import", content=content.encode())
    assert (result["imported"], result["relations"]) == (2, 1)
    assert await _lines(client, format="kg") == lines


async def test_an_import_of_many_pieces(client: CheckedClient) -> None:
    await client.remember("kept")
    exported = (await client.request("GET", "/export")).content

    async def pieces():  # noqa: ANN202 - what httpx2 calls an async byte stream
        for start in range(0, len(exported), 7):
            yield exported[start : start + 7]

    result = await client.post("/import", params={"space": f"{client.space}-copy"}, content=pieces())
    assert result["imported"] == 1


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
async def test_an_invalid_export_is_refused_completely(client: CheckedClient, content: bytes, word: str) -> None:
    problem = await client.refused("POST", "/import", 422, "invalid_input", content=content)
    assert word in problem["detail"]
    assert (await client.get("/status"))["memories"] == {}


async def test_one_bad_line_and_nothing_is_stored(client: CheckedClient) -> None:
    for number in range(3):
        await client.remember(f"text {number}")
    exported = (await client.request("GET", "/export")).content
    other = {"space": f"{client.space}-copy"}
    await client.refused("POST", "/import", 422, "invalid_input", params=other, content=exported + b"{}\n")
    assert (await client.get("/status", params=other))["memories"] == {}


async def test_an_import_may_be_larger_than_a_body(client: CheckedClient) -> None:
    for number in range(4):
        await client.remember(f"{number} " + "x" * 90_000)
    exported = (await client.request("GET", "/export")).content
    assert len(exported) > 300_000
    result = await client.post("/import", params={"space": f"{client.space}-copy"}, content=exported)
    assert result["imported"] == 4


async def test_an_unknown_format_is_refused(client: CheckedClient) -> None:
    problem = await client.refused("GET", "/export", 422, "invalid_input", params={"format": "xml"})
    assert problem["detail"] == "format must be one of 'scrubjay' or 'kg'"


async def test_status_covers_one_space(client: CheckedClient) -> None:
    await client.remember("one")
    result = await client.get("/status")
    assert (result["space"], result["memories"], result["versions"]) == (client.space, {"live": 1}, 1)
    problem = await client.refused("GET", "/status", 422, "invalid_input", params={"space": ["a", "b"]})
    assert problem["field"] == "space"


async def test_metrics_health_and_description(client: CheckedClient) -> None:
    for prefix in ("", API):
        health = await client.web.get(f"{prefix}/healthz")
        assert health.json()["ok"] is True
        ready = await client.web.get(f"{prefix}/readyz")
        assert (ready.json()["ready"], ready.json()["index"]) == (True, "ok")
        metrics = await client.web.get(f"{prefix}/metrics")
        assert metrics.headers["content-type"].startswith("text/plain")
        assert "scrubjay_requests_total" in metrics.text
        assert client.space not in metrics.text
        document = await client.web.get(f"{prefix}/openapi.json")
        assert document.json()["info"]["title"] == "Scrubjay"


async def test_metrics_as_openmetrics_on_request(client: CheckedClient) -> None:
    metrics = await client.web.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert metrics.headers["content-type"].startswith("application/openmetrics-text")
    assert metrics.text.endswith("# EOF\n")
