"""What the description says of texts, numbers and times is what the server goes by."""

import re
import sys
from typing import Any, cast

import pytest
from tests.surfaces.rest.checked_client import Visitor
from tests.surfaces.rest.openapi_document import document
from tests.surfaces.rest.raw_client import wired

from scrubjay.surfaces.daemon.serve import Running
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.app import rest_app
from scrubjay.surfaces.rest.openapi import described

FIELDS = document()["components"]["schemas"]


def pattern(model: str, field: str) -> re.Pattern[str]:
    return re.compile(FIELDS[model]["properties"][field]["pattern"])


def test_blank_is_the_same_for_the_description_and_for_us() -> None:
    name, line = pattern("ReviseAsked", "name"), pattern("ReviseAsked", "title")
    everything = [chr(number) for number in range(sys.maxunicode + 1) if not 0xD800 <= number <= 0xDFFF]
    assert [item for item in everything if bool(name.search(item)) != bool(item.strip("\x00").strip())] == []
    assert [item for item in everything if not line.search(item)] == ["\x00"]
    assert name.search(" a ")
    assert not name.search("a\x00")


@pytest.mark.parametrize("blank", ["\t", "\x1f", "\x85", "\u3000 \u2003"])
async def test_a_name_that_cannot_be_seen_is_none(visitor: Visitor, blank: str) -> None:
    memory = (await visitor.remember("text"))["id"]
    await visitor.refused("PATCH", f"/memories/{memory}", 422, "invalid_input", json={"name": blank})
    for space in ([blank], ["work", blank]):
        await visitor.refused("GET", "/search", 422, "invalid_input", params={"space": space})
    await visitor.refused("GET", "/status", 422, "invalid_input", params={"space": blank})


async def test_a_space_that_is_left_empty_is_not_given(visitor: Visitor) -> None:
    await visitor.remember("only here")
    for spaces in ([visitor.space, ""], ["", visitor.space]):
        results = await visitor.get("/search", params={"space": spaces})
        assert [hit["space"] for hit in results["hits"]] == [visitor.space]


@pytest.mark.parametrize("field", ["text", "title", "kind", "name", "category", "project", "scope", "session_hint"])
async def test_what_has_a_nul_is_not_kept(visitor: Visitor, field: str) -> None:
    body = {"text": "a text", field: "a\x00b"}
    assert not pattern("RememberAsked", field).search(body[field])
    problem = await visitor.refused("POST", "/memories", 422, "invalid_input", json=body)
    assert problem["field"] == field


async def test_three_point_zero_is_a_whole_number(visitor: Visitor) -> None:
    memory = (await visitor.remember("text"))["id"]
    body = b'{"ids": ["%s"], "version": 1.0}' % memory.encode()
    json = {"content-type": "application/json"}
    results = (await visitor.ask("POST", "/memories/read", content=body, headers=json)).json()
    assert results["memories"][0]["version"] == 1
    for wrong in (b"1.5", b'"1"', b"true", b"1e300"):
        sent = body.replace(b"1.0", wrong)
        await visitor.refused("POST", "/memories/read", 422, "invalid_input", content=sent, headers=json)


async def test_of_what_is_revised_only_a_time_may_be_null(visitor: Visitor) -> None:
    memory = (await visitor.remember("text"))["id"]
    for field, reported in FIELDS["ReviseAsked"]["properties"].items():
        is_nullable = {"type": "null"} in reported.get("anyOf", [])
        assert is_nullable == (field in {"expires_at", "remind_at"})
        if is_nullable:
            await visitor.ask("PATCH", f"/memories/{memory}", json={field: None})
            await visitor.refused("PATCH", f"/memories/{memory}", 422, "invalid_input", json={field: ""})
        else:
            await visitor.refused("PATCH", f"/memories/{memory}", 422, "invalid_input", json={field: None})


@pytest.mark.parametrize("size", [65_530, 66_000, 100_000])
async def test_an_address_has_an_end(served: Running, size: int) -> None:
    async with wired(served.http) as raw:
        reply = await raw.ask("GET", f"/api/v1/search?q={'x' * size}")
    assert (reply.status, reply.problem["code"]) == (431, "request_header_fields_too_large")


async def test_the_example_of_an_export_can_be_imported(visitor: Visitor) -> None:
    reported = await visitor.post("/import", content=examples.LINES.encode())
    assert (reported["imported"], reported["relations"]) == (2, 1)
    example = document()["paths"]["/api/v1/memories/{id}"]["get"]["parameters"][0]["schema"]["examples"][0]
    assert (await visitor.get(f"/memories/{example}"))["name"] == "how-to-reach-sarah"


async def test_an_import_of_nothing_is_a_mistake(visitor: Visitor) -> None:
    problem = await visitor.refused("POST", "/import", 422, "invalid_input")
    assert "the body is empty" in problem["detail"]


def test_a_token_is_described_as_it_is_asked_for() -> None:
    token: dict[str, list[str]] = {"bearer": []}
    for must, expected in ((False, [{}, token]), (True, [token])):
        reported = cast("dict[str, Any]", described(rest_app(), must=must))
        securities = {path: way["security"] for path, ways in reported["paths"].items() for way in ways.values()}
        assert [securities.pop(path) for path in ("/healthz", "/readyz")] == [[], []]
        assert all(security == expected for security in securities.values())
