"""Authorization by REST: tokens, their spaces and their limits."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest
from tests.surfaces.rest.checked_client import open_client
from tests.surfaces.rest.http_stack import HttpStack, open_stack

from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.requests import RevokeTokenRequest
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


async def test_without_a_token_every_route_is_refused(stack: HttpStack) -> None:
    async with open_client(stack.address) as client:
        for method, path, inputs in [*READS, *WRITES, *OTHERS]:
            problem = await client.refused(method, path, 401, "not_admitted", **inputs)
            assert "Bearer" in problem["hint"]
        response = await client.request("GET", "/status", status=401)
        assert response.headers["www-authenticate"] == 'Bearer realm="scrubjay"'
        assert (await client.get("/healthz"))["ok"] is True
        assert (await client.get("/openapi.json"))["openapi"].startswith("3.1")


@pytest.mark.parametrize(
    "authorization", ["Bearer x", "Bearer", "", "Basic eDp5", "Bearer sj_" + "A" * 43, "Bearer a.b.c", "x" * 9000]
)
async def test_an_invalid_token_is_refused_and_not_quoted(stack: HttpStack, authorization: str) -> None:
    async with open_client(stack.address) as client:
        response = await client.request("GET", "/status", status=401, headers={"authorization": authorization})
        assert response.headers["www-authenticate"].endswith('error="invalid_token"')
        assert response.json()["reason"] == "invalid"
        assert authorization.partition(" ")[2] in ("", "x") or authorization.partition(" ")[2] not in response.text


async def test_a_token_in_the_url_is_ignored(stack: HttpStack) -> None:
    secret = (await stack.token("laptop", "work")).secret
    async with open_client(stack.address) as client:
        for name in ("token", "access_token"):
            response = await client.request("GET", "/status", status=401, params={name: secret})
            assert secret not in response.text


async def test_two_authorization_headers_are_refused(stack: HttpStack) -> None:
    secret = (await stack.token("laptop", "work")).secret
    async with open_client(stack.address) as client:
        headers = [("authorization", f"Bearer {secret}"), ("authorization", f"Bearer {secret}")]
        await client.refused("GET", "/status", 401, "not_admitted", headers=headers)


async def test_a_read_token_may_not_write(stack: HttpStack) -> None:
    secret = (await stack.token("reader", "work", access="read")).secret
    async with open_client(stack.address, token=secret) as client:
        for method, path, inputs in WRITES:
            problem = await client.refused(method, path, 403, "not_allowed", **inputs)
            assert "may write" in problem["hint"]
        assert (await client.get("/status"))["memories"] == {}


async def test_a_metrics_token_may_do_nothing_else(stack: HttpStack) -> None:
    secret = (await stack.token("prometheus", access="metrics")).secret
    async with open_client(stack.address, token=secret) as client:
        for method, path, inputs in [*READS, *WRITES]:
            await client.refused(method, path, 403, "not_allowed", **inputs)
        assert (await client.web.get("/metrics")).status_code == 200


async def test_a_forbidden_space_looks_like_a_missing_one(stack: HttpStack) -> None:
    await stack.engine.remember(Draft(text="a secret of home"), who=Caller(space="home"))
    secret = (await stack.token("laptop", "work")).secret
    async with open_client(stack.address, token=secret) as client:
        for space in ("home", "nowhere"):
            for method, path, inputs in [*READS, *WRITES]:
                params = {**inputs.get("params", {}), "space": space}
                problem = await client.refused(method, path, 403, "not_allowed", **{**inputs, "params": params})
                assert problem["detail"] == f"you may not use the space {space!r}"
                assert problem["hint"] == "You may use: work"
                assert "secret" not in str(problem)
        params = {"space": ["work", "home"]}
        await client.refused("GET", "/search", 403, "not_allowed", params=params)
        await client.refused("GET", "/search", 403, "not_allowed", params={"space": ["home", "work"]})


async def test_a_token_works_in_its_first_space_and_reads_all_of_its_own(stack: HttpStack) -> None:
    for space in ("work", "home", "attic"):
        draft = Draft(text=f"the lighthouse of {space}", name=f"lighthouse-of-{space}")
        await stack.engine.remember(draft, who=Caller(space=space))
    secret = (await stack.token("laptop", "work", "home")).secret
    async with open_client(stack.address, token=secret) as client:
        assert _spaces(await client.get("/search", params={"q": "lighthouse"})) == {"work", "home"}
        assert _spaces(await client.get("/search", params={"q": "lighthouse", "space": "home"})) == {"home"}
        result = await client.remember("written here")
        memory = await client.get(f"/memories/{result['id']}")
        assert (memory["space"], memory["source"]["agent"]) == ("work", "laptop")
        assert (await client.get("/memories/lighthouse-of-home"))["space"] == "home"
        await client.refused("GET", "/memories/lighthouse-of-attic", 404, "not_found")
        assert (await client.get("/status"))["space"] == "work"
        response = await client.request(
            "POST", "/memories", status=201, json={"text": "over there"}, params={"space": "home"}
        )
        assert response.headers["location"].endswith("?space=home")


async def test_a_guest_sees_nothing_of_the_whole_store(stack: HttpStack) -> None:
    await stack.engine.remember(Draft(text="a secret of home"), who=Caller(space="home"))
    guest, owner = (await stack.token("guest", "work")).secret, (await stack.token("owner", "*")).secret
    async with open_client(stack.address, token=guest) as client:
        result = await client.get("/status")
        assert (result["space"], result["memories"], result["versions"], result["relations"]) == (
            "work",
            {},
            0,
            0,
        )
        assert (result["data"], result["store"], result["compression"], result["daemon"]) == ("", {}, {}, {})
        assert str(stack.engine.data) not in str(result)
        await client.refused("GET", "/metrics", 403, "not_allowed")
    async with open_client(stack.address, token=owner) as client:
        result = await client.get("/status", params={"space": "home"})
        assert result["memories"] == {"live": 1}
        assert result["store"]
        assert str(stack.engine.data) not in str(result)
        assert (await client.web.get("/metrics")).status_code == 200


async def test_a_revoked_token_is_refused_on_the_next_request(stack: HttpStack) -> None:
    created = await stack.token("laptop", "work")
    async with open_client(stack.address, token=created.secret) as client:
        await client.request("GET", "/status")
        await stack.engine.revoke_token(RevokeTokenRequest(ref=created.token.id), who=Caller())
        problem = await client.refused("GET", "/status", 401, "not_admitted")
        assert problem["reason"] == "revoked"


async def test_a_token_has_limits_of_its_own(stack: HttpStack) -> None:
    small = await stack.token("small", "work", requests_per_minute=3, body_bytes=100)
    other = await stack.token("other", "work")
    async with open_client(stack.address, token=small.secret) as client:
        problem = await client.refused("POST", "/memories", 413, "too_large", json={"text": "x" * 200})
        assert problem["limit"] == 100
        await client.request("POST", "/memories", status=201, json={"text": "x"})
        await client.request("GET", "/status")
        response = await client.request("GET", "/status", status=429)
        assert int(response.headers["retry-after"]) == response.json()["retry_after"] > 0
    async with open_client(stack.address, token=other.secret) as client:
        for _ in range(5):
            await client.request("GET", "/status")


async def test_a_space_needs_a_name_and_a_write_one_space(stack: HttpStack) -> None:
    secret = (await stack.token("owner", "*")).secret
    async with open_client(stack.address, token=secret) as client:
        for spaces in (["work", "  "], ["  ", "work"], [" "]):
            problem = await client.refused("GET", "/search", 422, "invalid_input", params={"space": spaces})
            assert problem["field"] == "space"
        problem = await client.refused(
            "POST", "/memories", 422, "invalid_input", json={"text": "x"}, params={"space": ["a", "b"]}
        )
        assert problem["detail"] == "space is given 2 times"
        await client.refused("POST", "/memories", 422, "invalid_input", json={"text": "x"}, params={"space": " "})
        await client.refused("GET", "/status", 422, "invalid_input", params={"space": "x" * 301})


def _spaces(page: dict[str, list[dict[str, str]]]) -> set[str]:
    return {hit["space"] for hit in page["hits"]}
