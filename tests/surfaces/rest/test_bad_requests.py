"""Invalid URLs, methods and headers."""

from typing import Any
from urllib.parse import quote, unquote

import pytest
from tests.surfaces.rest.checked_client import API, CheckedClient
from tests.surfaces.rest.openapi_document import document, require_problem
from tests.surfaces.rest.raw_client import open_raw_client, request

from scrubjay.surfaces.daemon.serve import RunningDaemon

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND")
MEMORIES = {"read", "forget", "restore", "purge", "smart-write", "batch", "confirm"}
NOTES = {"search", "due", "broken-links", "categories", "templates", "date", "sync"}


async def test_a_method_that_a_path_does_not_accept_is_refused_with_the_allowed_ones(client: CheckedClient) -> None:
    for describe_app, methods in document()["paths"].items():
        allowed = {method.upper() for method in methods}
        await _require_refusals(client, describe_app.replace("{id}", "x"), allowed)


async def _require_refusals(client: CheckedClient, path: str, allowed: set[str]) -> None:
    if "GET" in allowed and path not in {f"{API}/changes", f"{API}/export"}:
        allowed.add("HEAD")
    # These paths could also name memories and notes.
    if path.removeprefix(f"{API}/memories/") in MEMORIES:
        allowed |= {"GET", "HEAD", "PATCH", "DELETE"}
    if path.removeprefix(f"{API}/notes/") in NOTES:
        allowed |= {"GET", "HEAD", "PATCH"}
    # A branch may have a slash in its name, so these paths also name branches.
    if path.endswith(("/{name}/switch", "/{name}/merge")):
        allowed.add("DELETE")
    for method in set(METHODS) - allowed - {"CONNECT"}:
        response = await client.web.request(method, path)
        assert response.status_code == 405, (method, path)
        assert set(response.headers["allow"].split(", ")) == allowed, path
        if method != "HEAD":
            assert require_problem(response)["code"] == "method_not_allowed"


@pytest.mark.parametrize(
    "path",
    [
        "/ui", "/api", "/api/v1", "/api/v1/", "/api/v1/nowhere", "/api/v2/status", "/api/v1/status/", "/api/v1//status",
        "/redoc", "/favicon.ico", "/.env", "/a%0Ab", "/mcp/", "/mcp/kg/", "/api/v1/memories/",
        "/api/v1/memories/a/b/c", "/call", "/openapi.yaml",
    ],
)  # fmt: skip
async def test_an_unknown_path_is_not_found(client: CheckedClient, path: str) -> None:
    for method in METHODS[:-2]:
        response = await client.web.request(method, path)
        assert response.status_code == 404, method
        if method != "HEAD":
            assert unquote(path) in require_problem(response)["detail"]


@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/openapi.json", "/api/v1/status", "/api/v1/search"])
async def test_head_is_get_without_the_body(client: CheckedClient, path: str) -> None:
    head, whole = await client.web.head(path), await client.web.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]
    assert head.headers["x-request-id"]


async def test_head_shows_whether_a_memory_exists(client: CheckedClient) -> None:
    result = await client.remember("x")
    assert (await client.request("HEAD", f"/memories/{result['id']}")).headers["etag"] == '"1"'
    assert (await client.request("HEAD", "/memories/nobody", status=404)).content == b""


@pytest.mark.parametrize(
    "ref",
    [
        "x" * 300, "é" * 300, "%", "%2", "%zz", "a b", "a+b", "..", "a\tb", "\x00", "\x7f", "😀", "; drop table",
        "a&b=c", "?", "#", "*", '"', "\\", "a\nb", "<script>", "{id}", "\ufffe", "\u202e", "null", "0", "-1", "\u0131",
    ],
    ids=ascii,
)  # fmt: skip
async def test_a_reference_may_be_anything(client: CheckedClient, ref: str) -> None:
    path = f"/memories/{quote(ref, safe='')}"
    if ref == "..":
        path = "/memories/%2E%2E"
    problem = await client.refused("GET", path, 404, "not_found")
    assert problem["ref"] == ref[:200]
    for suffix in ("/versions", "/links", "/diff?from=1&to=2"):
        assert (await client.web.get(f"{API}{path}{suffix}")).status_code == 404
    await client.refused("PATCH", path, 404, "not_found", json={})
    await client.refused("DELETE", path, 404, "not_found")
    await client.refused("POST", f"{path}/purge", 404, "not_found")


async def test_a_memory_may_have_a_title_with_special_characters(client: CheckedClient) -> None:
    for number, title in enumerate(("100 %", "a+b & c=d", "why? #1", "%2F", "é 😀", "..", "read")):
        result = await client.remember(f"text {number}", title=title)
        memory = await client.get(f"/memories/{quote(title, safe='').replace('.', '%2E')}")
        assert memory["id"] == result["id"]


async def test_a_memory_with_a_slash_in_its_title_is_read_by_id(client: CheckedClient) -> None:
    result = await client.remember("x", title="a/b")
    problem = require_problem(await client.web.get(f"{API}/memories/a%2Fb", params={"space": client.space}))
    assert problem["code"] == "no_such_path"
    assert "/openapi.json" in problem["detail"]
    assert (await client.get(f"/memories/{result['id']}"))["title"] == "a/b"
    results = await client.post("/memories/read", {"ids": ["a/b"], "format": "json"})
    assert results["memories"][0]["id"] == result["id"]


async def test_the_other_name_of_a_field_leads_to_the_parameter(client: CheckedClient) -> None:
    for path in ("/memories", "/search"):
        problem = await client.refused("GET", path, 422, "invalid_input", params={"type": "fact"})
        assert (problem["field"], problem["hint"]) == ("type", "Did you mean `kind`?")


async def test_a_long_reference_is_refused(client: CheckedClient) -> None:
    problem = await client.refused("GET", f"/memories/{'x' * 301}", 422, "invalid_input")
    assert (problem["field"], problem["detail"]) == ("id", "id is longer than 300 characters")
    body = {"ids": ["x" * 301]}
    problem = await client.refused("POST", "/memories/read", 413, "too_large", json=body)
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
    ids=lambda value: str(value)[:40],
)
async def test_invalid_query_parameters_are_refused(
    client: CheckedClient, path: str, params: dict[str, Any], field: str, word: str
) -> None:
    problem = await client.refused("GET", path, 422, "invalid_input", params=params)
    assert problem["field"] == field
    assert word in problem["detail"]


async def test_an_unknown_query_parameter_of_a_write_is_refused(client: CheckedClient) -> None:
    request: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/memories", {"json": {"text": "x"}}),
        ("DELETE", "/memories/x", {}),
        ("POST", "/undo", {"json": {}}),
        ("POST", "/import", {"content": b"{}"}),
    ]
    for method, path, inputs in request:
        problem = await client.refused(method, path, 422, "invalid_input", params={"dry_run": "1"}, **inputs)
        assert problem["field"] == "dry_run"
    assert (await client.get("/status"))["memories"] == {}


@pytest.mark.parametrize("query", ["%ff=%fe", "q=%ff%fe", "q=%ed%a0%80", "q=%00", "&&&", "=", "q", "q=%", "%20=1"])
async def test_a_query_string_may_contain_any_bytes(client: CheckedClient, query: str) -> None:
    response = await client.web.get(f"{API}/search?{query}")
    assert response.status_code in (200, 422)
    if response.status_code == 422:
        require_problem(response)


async def test_headers_may_contain_any_bytes(served: RunningDaemon) -> None:
    async with open_raw_client(served.http) as raw:
        for name in ("x-scrubjay-agent", "x-scrubjay-run", "x-request-id", "accept", "if-none-match", "traceparent"):
            for value in ("\xff\xfe", "é", "x" * 5000, "\t", '"'):
                reply = await raw.request("GET", "/api/v1/search", f"{name}: {value}")
                assert reply.status in (200, 422), (name, value)
                assert reply.headers["x-request-id"].isalnum()


async def test_a_valid_request_id_of_the_client_is_used(client: CheckedClient) -> None:
    response = await client.web.get("/healthz", headers={"x-request-id": "my-request-0001"})
    assert response.headers["x-request-id"] == "my-request-0001"
    for odd in ("short", "x" * 100, "sj_" + "a" * 30, "a b c d e f", "<script>alert</script>"):
        response = await client.web.get("/healthz", headers={"x-request-id": odd})
        assert response.headers["x-request-id"] != odd


@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_http_1_0_is_supported(served: RunningDaemon, version: str) -> None:
    async with open_raw_client(served.http) as raw:
        await raw.send(f"GET /healthz HTTP/{version}\r\nhost: 127.0.0.1\r\n\r\n".encode())
        reply = await raw.receive_response()
        assert reply.status == 200
        assert ("close" in reply.headers.get("connection", "")) == (version == "1.0")


async def test_an_absolute_request_target_is_accepted(served: RunningDaemon) -> None:
    async with open_raw_client(served.http) as raw:
        await raw.send(request("GET", "http://evil.example/healthz"))
        assert (await raw.receive_response()).status == 200
        await raw.send(b"GET http://127.0.0.1/healthz HTTP/1.1\r\nhost: evil.example\r\n\r\n")
        assert (await raw.receive_response()).problem["header"] == "Host"
