"""Who may do what by REST: tokens, the spaces they open, and how much they may ask."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest
from tests.surfaces.rest.checked_client import visiting
from tests.surfaces.rest.http_stack import HttpStack, open_stack

from scrubjay.model.draft import Caller, Draft
from scrubjay.settings import Settings

READS: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", "/search", {}),
    ("POST", "/search", {"json": {}}),
    ("POST", "/memories/read", {"json": {"ids": ["x"]}}),
    ("GET", "/memories/x", {}),
    ("GET", "/memories/x/versions", {}),
    ("GET", "/memories/x/diff", {"params": {"from": 1, "to": 1}}),
    ("GET", "/memories/x/links", {}),
    ("GET", "/tags", {}),
    ("POST", "/tags/preview", {"json": {"tags": ["x"]}}),
    ("GET", "/status", {}),
    ("GET", "/export", {}),
    ("GET", "/changes", {}),
]
WRITES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/memories", {"json": {"text": "x"}}),
    ("PATCH", "/memories/x", {"json": {"title": "y"}}),
    ("DELETE", "/memories/x", {}),
    ("POST", "/memories/x/restore", {}),
    ("POST", "/memories/x/purge", {}),
    ("POST", "/memories/forget", {"json": {"ids": ["x"]}}),
    ("POST", "/memories/restore", {"json": {"ids": ["x"]}}),
    ("POST", "/memories/purge", {"json": {"ids": ["x"]}}),
    ("POST", "/memories/x/revert", {"json": {"to": 1}}),
    ("POST", "/memories/x/links", {"json": {"target": "y"}}),
    ("DELETE", "/memories/x/links", {"params": {"target": "y"}}),
    ("POST", "/tags/synonyms", {"json": {"tag": "x", "variants": ["y"]}}),
    ("DELETE", "/tags/synonyms", {"params": {"variant": "y"}}),
    ("POST", "/undo", {"json": {}}),
    ("POST", "/import", {"content": b"{}"}),
]

OTHERS: list[tuple[str, str, dict[str, Any]]] = [("GET", "/metrics", {}), ("GET", "/nowhere", {})]


@pytest.fixture
async def stack(settings: Settings) -> AsyncGenerator[HttpStack]:
    async with open_stack(replace(settings, require_token=True)) as opened:
        yield opened


async def test_without_a_token_nothing_is_open(stack: HttpStack) -> None:
    async with visiting(stack.address) as visitor:
        for method, path, inputs in [*READS, *WRITES, *OTHERS]:
            problem = await visitor.refused(method, path, 401, "not_admitted", **inputs)
            assert "Bearer" in problem["hint"]
        response = await visitor.ask("GET", "/status", status=401)
        assert response.headers["www-authenticate"] == 'Bearer realm="scrubjay"'
        assert (await visitor.get("/healthz"))["ok"] is True
        assert (await visitor.get("/openapi.json"))["openapi"].startswith("3.1")


@pytest.mark.parametrize(
    "shown", ["Bearer x", "Bearer", "", "Basic eDp5", "Bearer sj_" + "A" * 43, "Bearer a.b.c", "x" * 9000]
)
async def test_a_token_that_opens_nothing_is_refused_and_not_told_again(stack: HttpStack, shown: str) -> None:
    async with visiting(stack.address) as visitor:
        response = await visitor.ask("GET", "/status", status=401, headers={"authorization": shown})
        assert response.headers["www-authenticate"].endswith('error="invalid_token"')
        assert response.json()["reason"] == "invalid"
        assert shown.partition(" ")[2] in ("", "x") or shown.partition(" ")[2] not in response.text


async def test_a_token_in_the_address_opens_nothing(stack: HttpStack) -> None:
    secret = (await stack.token("laptop", "work")).secret
    async with visiting(stack.address) as visitor:
        for name in ("token", "access_token"):
            response = await visitor.ask("GET", "/status", status=401, params={name: secret})
            assert secret not in response.text


async def test_two_tokens_are_none(stack: HttpStack) -> None:
    secret = (await stack.token("laptop", "work")).secret
    async with visiting(stack.address) as visitor:
        headers = [("authorization", f"Bearer {secret}"), ("authorization", f"Bearer {secret}")]
        await visitor.refused("GET", "/status", 401, "not_admitted", headers=headers)


async def test_who_may_read_may_not_write(stack: HttpStack) -> None:
    secret = (await stack.token("reader", "work", access="read")).secret
    async with visiting(stack.address, token=secret) as visitor:
        for method, path, inputs in WRITES:
            problem = await visitor.refused(method, path, 403, "not_allowed", **inputs)
            assert "may write" in problem["hint"]
        assert (await visitor.get("/status"))["memories"] == {}


async def test_who_may_see_figures_sees_nothing_else(stack: HttpStack) -> None:
    secret = (await stack.token("prometheus", access="metrics")).secret
    async with visiting(stack.address, token=secret) as visitor:
        for method, path, inputs in [*READS, *WRITES]:
            await visitor.refused(method, path, 403, "not_allowed", **inputs)
        assert (await visitor.web.get("/metrics")).status_code == 200


async def test_a_space_that_is_not_open_is_as_one_that_is_not_there(stack: HttpStack) -> None:
    await stack.engine.remember(Draft(text="a secret of home"), who=Caller(space="home"))
    secret = (await stack.token("laptop", "work")).secret
    async with visiting(stack.address, token=secret) as visitor:
        for space in ("home", "nowhere"):
            for method, path, inputs in [*READS, *WRITES]:
                params = {**inputs.get("params", {}), "space": space}
                problem = await visitor.refused(method, path, 403, "not_allowed", **{**inputs, "params": params})
                assert problem["detail"] == f"you may not use the space {space!r}"
                assert problem["hint"] == "You may use: work"
                assert "secret" not in str(problem)
        params = {"space": ["work", "home"]}
        await visitor.refused("GET", "/search", 403, "not_allowed", params=params)
        await visitor.refused("GET", "/search", 403, "not_allowed", params={"space": ["home", "work"]})


async def test_a_token_works_in_its_first_space_and_reads_all_of_its_own(stack: HttpStack) -> None:
    for space in ("work", "home", "attic"):
        await stack.engine.remember(Draft(text=f"the lighthouse of {space}"), who=Caller(space=space))
    secret = (await stack.token("laptop", "work", "home")).secret
    async with visiting(stack.address, token=secret) as visitor:
        assert _spaces(await visitor.get("/search", params={"q": "lighthouse"})) == {"work", "home"}
        assert _spaces(await visitor.get("/search", params={"q": "lighthouse", "space": "home"})) == {"home"}
        reported = await visitor.remember("written here")
        results = await visitor.get(f"/memories/{reported['id']}")
        assert (results["space"], results["source"]["agent"]) == ("work", "laptop")
        assert (await visitor.get("/memories/the-lighthouse-of-home"))["space"] == "home"
        await visitor.refused("GET", "/memories/the-lighthouse-of-attic", 404, "not_found")
        assert (await visitor.get("/status"))["space"] == "work"
        response = await visitor.ask(
            "POST", "/memories", status=201, json={"text": "over there"}, params={"space": "home"}
        )
        assert response.headers["location"].endswith("?space=home")


async def test_a_guest_sees_nothing_of_the_whole_store(stack: HttpStack) -> None:
    await stack.engine.remember(Draft(text="a secret of home"), who=Caller(space="home"))
    guest, owner = (await stack.token("guest", "work")).secret, (await stack.token("owner", "*")).secret
    async with visiting(stack.address, token=guest) as visitor:
        reported = await visitor.get("/status")
        assert (reported["space"], reported["memories"], reported["versions"], reported["relations"]) == (
            "work",
            {},
            0,
            0,
        )
        assert (reported["data"], reported["store"], reported["compression"], reported["daemon"]) == ("", {}, {}, {})
        assert str(stack.engine.data) not in str(reported)
        await visitor.refused("GET", "/metrics", 403, "not_allowed")
    async with visiting(stack.address, token=owner) as visitor:
        reported = await visitor.get("/status", params={"space": "home"})
        assert reported["memories"] == {"live": 1}
        assert reported["data"] == str(stack.engine.data)
        assert reported["store"]
        assert (await visitor.web.get("/metrics")).status_code == 200


async def test_a_revoked_token_opens_nothing_from_the_next_request_on(stack: HttpStack) -> None:
    made = await stack.token("laptop", "work")
    async with visiting(stack.address, token=made.secret) as visitor:
        await visitor.ask("GET", "/status")
        await stack.engine.revoke_token(made.token.id)
        problem = await visitor.refused("GET", "/status", 401, "not_admitted")
        assert problem["reason"] == "revoked"


async def test_a_token_has_limits_of_its_own(stack: HttpStack) -> None:
    small = await stack.token("small", "work", requests_per_minute=3, body_bytes=100)
    other = await stack.token("other", "work")
    async with visiting(stack.address, token=small.secret) as visitor:
        problem = await visitor.refused("POST", "/memories", 413, "too_large", json={"text": "x" * 200})
        assert problem["limit"] == 100
        await visitor.ask("POST", "/memories", status=201, json={"text": "x"})
        await visitor.ask("GET", "/status")
        response = await visitor.ask("GET", "/status", status=429)
        assert int(response.headers["retry-after"]) == response.json()["retry_after"] > 0
    async with visiting(stack.address, token=other.secret) as visitor:
        for _ in range(5):
            await visitor.ask("GET", "/status")


async def test_a_space_needs_a_name_and_a_write_one_space(stack: HttpStack) -> None:
    secret = (await stack.token("owner", "*")).secret
    async with visiting(stack.address, token=secret) as visitor:
        for spaces in (["work", "  "], ["  ", "work"], [" "]):
            problem = await visitor.refused("GET", "/search", 422, "invalid_input", params={"space": spaces})
            assert problem["field"] == "space"
        problem = await visitor.refused(
            "POST", "/memories", 422, "invalid_input", json={"text": "x"}, params={"space": ["a", "b"]}
        )
        assert problem["detail"] == "space is given 2 times"
        await visitor.refused("POST", "/memories", 422, "invalid_input", json={"text": "x"}, params={"space": " "})
        await visitor.refused("GET", "/status", 422, "invalid_input", params={"space": "x" * 301})


def _spaces(page: dict[str, list[dict[str, str]]]) -> set[str]:
    return {hit["space"] for hit in page["hits"]}
