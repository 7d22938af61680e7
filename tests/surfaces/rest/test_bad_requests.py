"""Addresses, methods and headers that are not as they should be."""

from typing import Any
from urllib.parse import quote, unquote

import pytest
from tests.surfaces.rest.checked_client import API, Visitor
from tests.surfaces.rest.openapi_document import document, require_problem
from tests.surfaces.rest.raw_client import request, wired

from scrubjay.surfaces.daemon.serve import Running

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND")
NOTES = {"search", "due", "broken-links", "categories", "templates", "date", "sync"}


async def test_a_method_that_a_path_does_not_take_is_refused_with_those_it_takes(visitor: Visitor) -> None:
    for described, methods in document()["paths"].items():
        taken = {method.upper() for method in methods}
        await _require_refusals(visitor, described.replace("{id}", "x"), taken)


async def _require_refusals(visitor: Visitor, path: str, taken: set[str]) -> None:
    if "GET" in taken and path not in {f"{API}/changes", f"{API}/export"}:
        taken.add("HEAD")
    # Paths with a name of their own are also the names of memories, and of notes.
    if path.removeprefix(f"{API}/memories/") in {"read", "forget", "restore", "purge", "smart-write"}:
        taken |= {"GET", "HEAD", "PATCH", "DELETE"}
    if path.removeprefix(f"{API}/notes/") in NOTES:
        taken |= {"GET", "HEAD", "PATCH"}
    # A branch may have a slash in its name, and be called so.
    if path.endswith(("/{name}/switch", "/{name}/merge")):
        taken.add("DELETE")
    for method in set(METHODS) - taken - {"CONNECT"}:
        response = await visitor.web.request(method, path)
        assert response.status_code == 405, (method, path)
        assert set(response.headers["allow"].split(", ")) == taken, path
        if method != "HEAD":
            assert require_problem(response)["code"] == "method_not_allowed"


@pytest.mark.parametrize(
    "path",
    [
        "/", "/api", "/api/v1", "/api/v1/", "/api/v1/nowhere", "/api/v2/status", "/api/v1/status/", "/api/v1//status",
        "/docs", "/redoc", "/favicon.ico", "/.env", "/a%0Ab", "/mcp/", "/mcp/kg/", "/api/v1/memories/",
        "/api/v1/memories/a/b/c", "/call", "/openapi.yaml",
    ],
)  # fmt: skip
async def test_a_path_that_is_not_served(visitor: Visitor, path: str) -> None:
    for method in METHODS[:-2]:
        response = await visitor.web.request(method, path)
        assert response.status_code == 404, method
        if method != "HEAD":
            assert unquote(path) in require_problem(response)["detail"]


@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/openapi.json", "/api/v1/status", "/api/v1/search"])
async def test_head_is_get_without_the_body(visitor: Visitor, path: str) -> None:
    head, whole = await visitor.web.head(path), await visitor.web.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]
    assert head.headers["x-request-id"]


async def test_head_tells_whether_a_memory_is_there(visitor: Visitor) -> None:
    reported = await visitor.remember("x")
    assert (await visitor.ask("HEAD", f"/memories/{reported['id']}")).headers["etag"] == '"1"'
    assert (await visitor.ask("HEAD", "/memories/nobody", status=404)).content == b""


@pytest.mark.parametrize(
    "ref",
    [
        "x" * 300, "é" * 300, "%", "%2", "%zz", "a b", "a+b", "..", "a\tb", "\x00", "\x7f", "😀", "; drop table",
        "a&b=c", "?", "#", "*", '"', "\\", "a\nb", "<script>", "{id}", "\ufffe", "\u202e", "null", "0", "-1", "\u0131",
    ],
    ids=ascii,
)  # fmt: skip
async def test_a_reference_may_be_anything(visitor: Visitor, ref: str) -> None:
    path = f"/memories/{quote(ref, safe='')}"
    if ref == "..":
        path = "/memories/%2E%2E"
    problem = await visitor.refused("GET", path, 404, "not_found")
    assert problem["ref"] == ref[:200]
    for end in ("/versions", "/links", "/diff?from=1&to=2"):
        assert (await visitor.web.get(f"{API}{path}{end}")).status_code == 404
    await visitor.refused("PATCH", path, 404, "not_found", json={})
    await visitor.refused("DELETE", path, 404, "not_found")
    await visitor.refused("POST", f"{path}/purge", 404, "not_found")


async def test_a_memory_may_be_called_by_what_looks_odd(visitor: Visitor) -> None:
    for number, title in enumerate(("100 %", "a+b & c=d", "why? #1", "%2F", "é 😀", "..", "read")):
        reported = await visitor.remember(f"text {number}", title=title)
        results = await visitor.get(f"/memories/{quote(title, safe='').replace('.', '%2E')}")
        assert results["id"] == reported["id"]


async def test_a_slash_is_part_of_the_path_and_such_a_memory_goes_by_its_id(visitor: Visitor) -> None:
    reported = await visitor.remember("x", title="a/b")
    problem = require_problem(await visitor.web.get(f"{API}/memories/a%2Fb", params={"space": visitor.space}))
    assert problem["code"] == "no_such_path"
    assert (await visitor.get(f"/memories/{reported['id']}"))["title"] == "a/b"
    results = await visitor.post("/memories/read", {"ids": ["a/b"], "format": "json"})
    assert results["memories"][0]["id"] == reported["id"]


async def test_a_reference_that_is_too_long(visitor: Visitor) -> None:
    problem = await visitor.refused("GET", f"/memories/{'x' * 301}", 422, "invalid_input")
    assert (problem["field"], problem["detail"]) == ("id", "id is longer than 300 characters")
    body = {"ids": ["x" * 301]}
    problem = await visitor.refused("POST", "/memories/read", 413, "too_large", json=body)
    assert problem["field"] == "ids.0"


@pytest.mark.parametrize(
    ("path", "params", "field", "word"),
    [
        ("/search", {"query": "x"}, "query", "no parameter 'query'"),
        ("/search", {"Q": "x"}, "Q", "no parameter 'Q'"),
        ("/search", {"limit": "0"}, "limit", "at least 1"),
        ("/search", {"limit": "x"}, "limit", "whole number"),
        ("/search", {"limit": "1.5"}, "limit", "whole number"),
        ("/search", {"limit": "9" * 5000}, "limit", ""),
        ("/search", {"limit": ["1", "2"]}, "limit", "given 2 times"),
        ("/search", {"explain": "maybe"}, "explain", "true or false"),
        ("/search", {"tier": "gold"}, "tier", "'working'"),
        ("/search", {"since": "yesterday"}, "since", "not a date"),
        ("/search", {"until": "0000-00-00"}, "until", "not a date"),
        ("/search", {"since": "99999-01-01"}, "since", "not a date"),
        ("/search", {"q": "x" * 8001}, "q", "longer than 8,000"),
        ("/search", {"tags": ["x"] * 65}, "tags", "more than 64"),
        ("/search", {"space": ["x"] * 101}, "space", "more than 100"),
        ("/search", {"cursor": "x" * 8001}, "cursor", "longer than 8,000"),
        ("/search", {"contains": "x" * 8001}, "contains", "longer than 8,000"),
        ("/search", {"around": "-1"}, "around", "at least 0"),
        ("/search", {"around": "11"}, "around", "at most 10"),
        ("/search", {"today": "someday"}, "today", "not a date"),
        ("/status", {"deep": "1"}, "deep", "no parameter"),
        ("/export", {"format": ""}, "format", "'scrubjay'"),
        ("/memories/x", {"version": "0"}, "version", "at least 1"),
        ("/memories/x", {"version": str(1 << 64)}, "version", ""),
        ("/memories/x/versions", {"limit": "1001"}, "limit", "at most 1000"),
        ("/memories/x/versions", {"before": "-1"}, "before", "at least 1"),
    ],
    ids=lambda given: str(given)[:40],
)
async def test_what_does_not_fit_in_the_address(
    visitor: Visitor, path: str, params: dict[str, Any], field: str, word: str
) -> None:
    problem = await visitor.refused("GET", path, 422, "invalid_input", params=params)
    assert problem["field"] == field
    assert word in problem["detail"]


async def test_a_parameter_that_no_write_knows(visitor: Visitor) -> None:
    request: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/memories", {"json": {"text": "x"}}),
        ("DELETE", "/memories/x", {}),
        ("POST", "/undo", {"json": {}}),
        ("POST", "/import", {"content": b"{}"}),
    ]
    for method, path, inputs in request:
        problem = await visitor.refused(method, path, 422, "invalid_input", params={"dry_run": "1"}, **inputs)
        assert problem["field"] == "dry_run"
    assert (await visitor.get("/status"))["memories"] == {}


@pytest.mark.parametrize("query", ["%ff=%fe", "q=%ff%fe", "q=%ed%a0%80", "q=%00", "&&&", "=", "q", "q=%", "%20=1"])
async def test_an_address_of_any_bytes(visitor: Visitor, query: str) -> None:
    response = await visitor.web.get(f"{API}/search?{query}")
    assert response.status_code in (200, 422)
    if response.status_code == 422:
        require_problem(response)


async def test_a_header_of_any_bytes(served: Running) -> None:
    async with wired(served.http) as raw:
        for name in ("x-scrubjay-agent", "x-scrubjay-run", "x-request-id", "accept", "if-none-match", "traceparent"):
            for value in ("\xff\xfe", "é", "x" * 5000, "\t", '"'):
                reply = await raw.ask("GET", "/api/v1/search", f"{name}: {value}")
                assert reply.status in (200, 422), (name, value)
                assert reply.headers["x-request-id"].isalnum()


async def test_a_request_has_the_number_it_came_with_if_that_is_one(visitor: Visitor) -> None:
    response = await visitor.web.get("/healthz", headers={"x-request-id": "my-request-0001"})
    assert response.headers["x-request-id"] == "my-request-0001"
    for odd in ("short", "x" * 100, "sj_" + "a" * 30, "a b c d e f", "<script>alert</script>"):
        response = await visitor.web.get("/healthz", headers={"x-request-id": odd})
        assert response.headers["x-request-id"] != odd


@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_an_older_http_is_spoken_too(served: Running, version: str) -> None:
    async with wired(served.http) as raw:
        await raw.say(f"GET /healthz HTTP/{version}\r\nhost: 127.0.0.1\r\n\r\n".encode())
        reply = await raw.hear()
        assert reply.status == 200
        assert ("close" in reply.headers.get("connection", "")) == (version == "1.0")


async def test_an_address_that_is_a_whole_one(served: Running) -> None:
    async with wired(served.http) as raw:
        await raw.say(request("GET", "http://evil.example/healthz"))
        assert (await raw.hear()).status == 200
        await raw.say(b"GET http://127.0.0.1/healthz HTTP/1.1\r\nhost: evil.example\r\n\r\n")
        assert (await raw.hear()).problem["header"] == "Host"
