"""Bodies that are too large, not JSON, not declared as JSON, or invalid: each is refused with a readable error."""

import json
from typing import Any

import pytest
from tests.surfaces.rest.checked_client import CheckedClient

JSON = {"content-type": "application/json"}
LIMIT = 100_000
WITH_BODY = [
    ("POST", "/memories"),
    ("POST", "/memories/smart-write"),
    ("POST", "/memories/read"),
    ("POST", "/memories/forget"),
    ("POST", "/memories/restore"),
    ("POST", "/memories/purge"),
    ("PATCH", "/memories/x"),
    ("POST", "/search"),
    ("POST", "/memories/x/revert"),
    ("POST", "/memories/x/links"),
    ("POST", "/undo"),
    ("PATCH", "/rules"),
    ("POST", "/tags/synonyms"),
    ("POST", "/tags/preview"),
    ("POST", "/inbox/approve"),
    ("POST", "/inbox/decline"),
]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{", "Expecting property name"),
        (b"{'text': 'x'}", "Expecting property name"),
        (b'{"text": "x",}', ""),
        (b'{"text": "x"} {}', "Extra data"),
        (b'{"text": "\x00"}', "Invalid control character"),
        (b'{"text": NaN}', "JSON has no number NaN"),
        (b'{"text": "x", "metadata": {"a": Infinity}}', "JSON has no number Infinity"),
        (b'{"text": "x", "metadata": {"a": -Infinity}}', "JSON has no number -Infinity"),
        (b'{"text": "x", "metadata": {"a": 1e999}}', "larger than the server can store"),
        (b'{"text": "x", "metadata": {"a": ' + b"9" * 5000 + b"}}", "too many digits"),
        (b'{"text": "x", "text": "y"}', "an object in it has the same key twice"),
        (b'{"text": "x", "metadata": {"a": {"b": 1, "b": 1}}}', "an object in it has the same key twice"),
        (b'{"text": "\xff"}', "not UTF-8 at byte 10"),
        ('{"text": "x"}'.encode("utf-16"), "not UTF-8"),
        ('{"text": "x"}'.encode("utf-32"), "not UTF-8"),
        ('{"text": "x"}'.encode("utf-16-le"), ""),
        (b'{"text": "\xed\xa0\x80"}', "not UTF-8"),
        (b"[" * 50_000, "nested too deeply"),
        (b'{"text": "x", "metadata": {"a": ' + b"[" * 20_000 + b"]" * 20_000 + b"}}", "nested too deeply"),
        (b"text=x", "Expecting value"),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_invalid_json_is_refused(client: CheckedClient, body: bytes, why: str) -> None:
    problem = await client.refused("POST", "/memories", 400, "bad_json", content=body, headers=JSON)
    assert problem["detail"].startswith("the body is not valid JSON: ")
    assert why in problem["detail"]
    assert (await client.get("/status"))["memories"] == {}


@pytest.mark.parametrize(("method", "path"), WITH_BODY)
async def test_every_route_refuses_bad_bodies_alike(client: CheckedClient, method: str, path: str) -> None:
    await client.refused(method, path, 400, "bad_json", content=b"{", headers=JSON)
    await client.refused(method, path, 415, "unsupported_media_type", content=b"{}")
    await client.refused(method, path, 413, "too_large", content=b" " * (LIMIT + 1), headers=JSON)
    for body in (b"[]", b'"x"', b"1", b"null", b"true"):
        problem = await client.refused(method, path, 422, "invalid_input", content=body, headers=JSON)
        assert problem["field"] == "the body"
    problem = await client.refused(method, path, 422, "invalid_input")
    assert problem["detail"] == "the body is missing"
    problem = await client.refused(method, path, 422, "invalid_input", json={"colour": "red"})
    assert "colour is not a known field" in problem["errors"]


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx",
     "text/json", "application/xml", "json", "*/*", "application/json, text/plain", ";"],
)  # fmt: skip
async def test_other_content_types_are_refused(client: CheckedClient, kind: str) -> None:
    problem = await client.refused(
        "POST", "/memories", 415, "unsupported_media_type", content=b'{"text": "x"}', headers={"content-type": kind}
    )
    assert kind[:20] in problem["detail"]
    assert "application/json" in problem["hint"]


@pytest.mark.parametrize(
    "kind", ["application/json", "Application/JSON", "application/json; charset=utf-8", "application/vnd.x+json"]
)
async def test_content_types_of_json_are_accepted(client: CheckedClient, kind: str) -> None:
    await client.request("POST", "/memories", status=201, content=b'{"text": "x"}', headers={"content-type": kind})


async def test_a_byte_order_mark_is_ignored(client: CheckedClient) -> None:
    await client.request("POST", "/memories", status=201, content=b'\xef\xbb\xbf{"text": "x"}', headers=JSON)


@pytest.mark.parametrize(("method", "path"), [("POST", "/memories"), ("POST", "/import"), ("PATCH", "/memories/x")])
async def test_a_body_in_another_encoding_is_refused(client: CheckedClient, method: str, path: str) -> None:
    for encoding in ("gzip", "br", "identity, gzip"):
        headers = {**JSON, "content-encoding": encoding}
        problem = await client.refused(
            method, path, 415, "unsupported_media_type", content=b"\x1f\x8b", headers=headers
        )
        assert encoding in problem["detail"]


async def test_a_body_over_the_limit_is_refused_with_and_without_content_length(client: CheckedClient) -> None:
    body = json.dumps({"text": "x" * LIMIT}).encode()

    async def pieces():  # noqa: ANN202 - what httpx2 calls an async byte stream
        for start in range(0, len(body), 1000):
            yield body[start : start + 1000]

    for content in (body, pieces()):
        problem = await client.refused("POST", "/memories", 413, "too_large", content=content, headers=JSON)
        assert problem["limit"] == LIMIT
    # A body of exactly the limit is accepted.
    fits = b'{"text": "' + b"x" * (LIMIT - 12) + b'"}'
    await client.request("POST", "/memories", status=201, content=fits, headers=JSON)


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, ["text is missing"]),
        ({"text": 1}, ["text must be a text"]),
        ({"text": None}, ["text must be a text"]),
        ({"text": ["x"]}, ["text must be a text"]),
        ({"text": "x", "tags": "a"}, ["tags must be a list"]),
        ({"text": "x", "tags": [1, "a", None]}, ["tags.0 must be a text", "tags.2 must be a text"]),
        ({"text": "x", "pinned": "yes"}, ["pinned must be true or false"]),
        ({"text": "x", "pinned": 1}, ["pinned must be true or false"]),
        ({"text": "x", "metadata": []}, ["metadata must be an object"]),
        ({"text": "x", "metadata": "a"}, ["metadata must be an object"]),
        ({"text": "x", "intent": "maybe"}, ["intent must be one of 'auto', 'new' or 'continue'"]),
        ({"text": "x", "source": {"colour": 1}}, ["source.colour is not a known field"]),
        ({"text": "x", "source": "me"}, ["source must be an object"]),
        ({"text": "x", "expires_at": 1}, ["expires_at must be a text"]),
        ({"text": "x", "Text": "y", "colour": "z"}, ["Text is not a known field", "colour is not a known field"]),
    ],
    ids=str,
)  # fmt: skip
async def test_invalid_fields_get_readable_errors(
    client: CheckedClient, body: dict[str, Any], errors: list[str]
) -> None:
    problem = await client.refused("POST", "/memories", 422, "invalid_input", json=body)
    assert problem["errors"] == errors
    assert problem["detail"] == errors[0]
    assert problem["field"] == errors[0].split()[0]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"limit": 0}, "limit must be at least 1"),
        ({"limit": 1001}, "limit must be at most 1000"),
        ({"limit": 1.5}, "limit must be a whole number"),
        ({"limit": "8"}, "limit must be a whole number"),
        ({"limit": True}, "limit must be a whole number"),
        ({"limit": 10**30}, "limit must be at most 1000"),
        ({"max_tokens": -(10**30)}, "max_tokens must be at least 1"),
        ({"tier": "gold"}, "tier must be one of 'working', 'episodic', 'semantic', 'procedural' or ''"),
        ({"around": -1}, "around must be at least 0"),
        ({"around": 11}, "around must be at most 10"),
        ({"around": "2"}, "around must be a whole number"),
        ({"explain": 1}, "explain must be true or false"),
        ({"today": 5}, "today must be a text"),
        ({"detail": "all"}, "detail must be one of 'concise' or 'full'"),
        ({"state": "gone"}, "state must be one of 'live', 'merged', 'archived', 'trashed', 'waiting' or 'branched'"),
    ],
    ids=str,
)
async def test_numbers_and_choices(client: CheckedClient, body: dict[str, Any], error: str) -> None:
    problem = await client.refused("POST", "/search", 422, "invalid_input", json=body)
    assert problem["detail"] == error


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": "x", "title": "y" * 301}, "title"),
        ({"text": "x", "tags": ["t"] * 65}, "tags"),
        ({"text": "x", "tags": ["t" * 301]}, "tags.0"),
        ({"text": "x", "entities": ["t"] * 101}, "entities"),
        ({"text": "x", "observations": ["t"] * 5001}, "observations"),
        ({"text": "x", "metadata": {"a": "y" * 65_000}}, "metadata"),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_too_much_of_something_is_too_large(client: CheckedClient, body: dict[str, Any], field: str) -> None:
    problem = await client.refused("POST", "/memories", 413, "too_large", json=body)
    assert problem["field"] == field


async def test_the_list_of_errors_is_limited(client: CheckedClient) -> None:
    body = {f"unknown{number}": number for number in range(100)}
    problem = await client.refused("POST", "/memories", 422, "invalid_input", json=body)
    assert len(problem["errors"]) == 20
    long = await client.refused("POST", "/memories", 422, "invalid_input", json={"text": "x", "n" * 10_000: 1})
    assert len(json.dumps(long)) < 1000


@pytest.mark.parametrize(
    "body",
    [
        {"text": "\ud800"},
        {"text": "x", "title": "a\udfffb"},
        {"text": "x", "tags": ["\ud800"]},
        {"text": "x", "metadata": {"\ud800": 1}},
        {"text": "x", "metadata": {"a": ["\ud800"]}},
        {"text": "x", "source": {"agent": "\ud800"}},
        {"text": "x", "\ud800": 1},
        {"text": "x", "kind": "\ud800"},
    ],
    ids=ascii,
)
async def test_half_a_character_is_refused(client: CheckedClient, body: dict[str, Any]) -> None:
    content = json.dumps(body).encode()
    problem = await client.refused("POST", "/memories", 422, "invalid_input", content=content, headers=JSON)
    assert problem["detail"]
    assert (await client.get("/status"))["memories"] == {}


@pytest.mark.parametrize("field", ["text", "title", "name", "kind", "category"])
async def test_a_nul_never_breaks_the_server(client: CheckedClient, field: str) -> None:
    response = await client.web.post(
        "/api/v1/memories", json={"text": "x", field: "a\x00b"}, params={"space": client.space}
    )
    assert response.status_code in (201, 422)
    if response.status_code == 201:
        assert (await client.get(f"/memories/{response.json()['id']}"))["id"]


@pytest.mark.parametrize("depth", [50, 200, 250, 300, 600, 900, 990, 1100, 3000])
async def test_deep_metadata_is_stored_or_refused(client: CheckedClient, depth: int) -> None:
    body = b'{"text": "x", "metadata": {"a": ' + b"[" * depth + b"]" * depth + b"}}"
    response = await client.web.post("/api/v1/memories", content=body, headers=JSON, params={"space": client.space})
    assert response.status_code in (201, 400, 413, 422), response.text
    if response.status_code == 201:
        memory = await client.get(f"/memories/{response.json()['id']}")
        assert json.dumps(memory["metadata"]["a"]).count("[") == depth
        await client.request("GET", "/export")
        assert (await client.get("/search"))["hits"]


async def test_names_of_python_attributes_are_unknown_fields(client: CheckedClient) -> None:
    for name in ("__class__", "model_config", "self", "who", "idempotency_key", "expected_version"):
        problem = await client.refused("PATCH", "/memories/x", 422, "invalid_input", json={name: "x"})
        assert problem["field"] == name


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({"content": 5}, ["content must be a text"]),
        ({"title": "x" * 301}, ["title is longer than 300 characters"]),
        ({"tags": "a"}, ["tags must be a list"]),
        ({"tags": ["a", 6], "category": 7}, ["category must be a text", "tags.1 must be a text"]),
    ],
)
@pytest.mark.parametrize("path", ["/memories/x", "/notes/x"])
async def test_an_invalid_optional_field_is_named(
    client: CheckedClient, path: str, body: dict[str, object], errors: list[str]
) -> None:
    is_long = "longer" in errors[0]
    expected = (413, "too_large") if is_long else (422, "invalid_input")
    problem = await client.refused("PATCH", path, *expected, json=body)
    assert sorted(problem["errors"]) == errors
    assert problem["field"] in body or problem["field"] == "tags.1"
