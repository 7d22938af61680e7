"""The server applies what the description says about texts, numbers and times."""

import re
import sys
from typing import Any, cast

import pytest
from tests.surfaces.rest.checked_client import CheckedClient
from tests.surfaces.rest.openapi_document import document, lines_to_import
from tests.surfaces.rest.raw_client import open_raw_client

from scrubjay.surfaces.daemon.serve import RunningDaemon
from scrubjay.surfaces.rest.app import make_bare_app
from scrubjay.surfaces.rest.openapi import describe_app

FIELDS = document()["components"]["schemas"]


def pattern(model: str, field: str) -> re.Pattern[str]:
    return re.compile(FIELDS[model]["properties"][field]["pattern"])


def test_the_description_and_the_server_agree_on_blank_characters() -> None:
    name, line = pattern("ReviseBody", "name"), pattern("ReviseBody", "title")
    everything = [chr(number) for number in range(sys.maxunicode + 1) if not 0xD800 <= number <= 0xDFFF]
    assert [item for item in everything if bool(name.search(item)) != bool(item.strip("\x00").strip())] == []
    assert [item for item in everything if not line.search(item)] == ["\x00"]
    assert name.search(" a ")
    assert not name.search("a\x00")


@pytest.mark.parametrize("blank", ["\t", "\x1f", "\x85", "\u3000 \u2003"])
async def test_a_blank_name_is_refused(client: CheckedClient, blank: str) -> None:
    memory = (await client.remember("text"))["id"]
    await client.refused("PATCH", f"/memories/{memory}", 422, "invalid_input", json={"name": blank})
    for space in ([blank], ["work", blank]):
        await client.refused("GET", "/search", 422, "invalid_input", params={"space": space})
    await client.refused("GET", "/status", 422, "invalid_input", params={"space": blank})


async def test_an_empty_space_counts_as_omitted(client: CheckedClient) -> None:
    await client.remember("only here")
    for spaces in ([client.space, ""], ["", client.space]):
        results = await client.get("/search", params={"space": spaces})
        assert [hit["space"] for hit in results["hits"]] == [client.space]


@pytest.mark.parametrize("field", ["text", "title", "kind", "name", "category", "project", "scope", "session_hint"])
async def test_a_nul_is_refused(client: CheckedClient, field: str) -> None:
    body = {"text": "a text", field: "a\x00b"}
    assert not pattern("RememberBody", field).search(body[field])
    problem = await client.refused("POST", "/memories", 422, "invalid_input", json=body)
    assert problem["field"] == field


async def test_three_point_zero_is_a_whole_number(client: CheckedClient) -> None:
    memory = (await client.remember("text"))["id"]
    body = b'{"ids": ["%s"], "version": 1.0}' % memory.encode()
    json = {"content-type": "application/json"}
    results = (await client.request("POST", "/memories/read", content=body, headers=json)).json()
    assert results["memories"][0]["version"] == 1
    for wrong in (b"1.5", b'"1"', b"true", b"1e300"):
        sent = body.replace(b"1.0", wrong)
        await client.refused("POST", "/memories/read", 422, "invalid_input", content=sent, headers=json)


async def test_only_times_may_be_null_in_a_revision(client: CheckedClient) -> None:
    memory = (await client.remember("text"))["id"]
    for field, result in FIELDS["ReviseBody"]["properties"].items():
        is_nullable = {"type": "null"} in result.get("anyOf", [])
        assert is_nullable == (field in {"expires_at", "remind_at"})
        if is_nullable:
            await client.request("PATCH", f"/memories/{memory}", json={field: None})
            await client.refused("PATCH", f"/memories/{memory}", 422, "invalid_input", json={field: ""})
        else:
            await client.refused("PATCH", f"/memories/{memory}", 422, "invalid_input", json={field: None})


@pytest.mark.parametrize("size", [65_530, 66_000, 100_000])
async def test_a_long_url_is_refused(served: RunningDaemon, size: int) -> None:
    async with open_raw_client(served.http) as raw:
        reply = await raw.request("GET", f"/api/v1/search?q={'x' * size}")
    assert (reply.status, reply.problem["code"]) == (431, "request_header_fields_too_large")


async def test_the_example_of_an_export_can_be_imported(client: CheckedClient) -> None:
    result = await client.post("/import", content=lines_to_import())
    assert (result["imported"], result["relations"]) == (2, 1)
    example = document()["paths"]["/api/v1/memories/{id}"]["get"]["parameters"][0]["schema"]["examples"][0]
    assert (await client.get(f"/memories/{example}"))["name"] == "how-to-reach-sarah"


async def test_an_empty_import_is_refused(client: CheckedClient) -> None:
    problem = await client.refused("POST", "/import", 422, "invalid_input")
    assert "the body is empty" in problem["detail"]


def test_the_description_says_whether_a_token_is_required() -> None:
    token: dict[str, list[str]] = {"bearer": []}
    for requires_token, expected in ((False, [{}, token]), (True, [token])):
        result = cast("dict[str, Any]", describe_app(make_bare_app(), requires_token=requires_token))
        by_path = {
            path: operation["security"]
            for path, operations in result["paths"].items()
            for operation in operations.values()
        }
        assert [by_path.pop(path) for path in ("/healthz", "/readyz")] == [[], []]
        assert all(security == expected for security in by_path.values())
