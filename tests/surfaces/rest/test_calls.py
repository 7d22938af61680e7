"""The engine's verbs over HTTP, as `MemoryClient` calls them."""

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from tests.surfaces.rest.checked_client import CheckedClient, open_client
from tests.surfaces.rest.http_stack import HttpStack, open_stack
from tests.surfaces.rest.openapi_document import require_problem

from scrubjay import MemoryClient
from scrubjay.errors import NotAllowed
from scrubjay.model.caller import Access
from scrubjay.model.verbs import VERBS
from scrubjay.settings import Settings

JSON = {"content-type": "application/json"}


@pytest.fixture
async def stack(settings: Settings) -> AsyncGenerator[HttpStack]:
    async with open_stack(replace(settings, require_token=True)) as opened:
        yield opened


async def call(
    client: CheckedClient, verb: str, who: dict[str, Any] | None = None, **arguments: Any
) -> httpx2.Response:
    body = {"args": arguments, **({"who": who} if who else {})}
    return await client.web.post(f"/call/{verb}", json=body)


def frames(response: httpx2.Response) -> list[dict[str, Any]]:
    assert response.status_code == 200
    return [json.loads(line) for line in response.text.splitlines()]


async def test_a_verb_is_called_by_post_and_nothing_else(client: CheckedClient) -> None:
    for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"):
        response = await client.web.request(method, "/call/status")
        assert (response.status_code, response.headers["allow"]) == (405, "POST")
        if method != "HEAD":
            assert require_problem(response)["code"] == "method_not_allowed"


async def test_a_verb_is_done(client: CheckedClient) -> None:
    who = {"space": client.space, "agent": "tester"}
    result = (await call(client, "remember", who, text="kept")).json()["result"]
    memory = await client.get(f"/memories/{result['id']}")
    assert memory["content"] == "kept"
    status = (await client.web.post("/call/status")).json()["result"]
    assert status["daemon"]["pid"]


@pytest.mark.parametrize(
    ("verb", "body", "status", "code"),
    [
        ("nonsense", b"{}", 422, "invalid_input"),
        ("close", b"{}", 422, "invalid_input"),
        ("__init__", b"{}", 422, "invalid_input"),
        ("status", b"{", 422, "invalid_input"),
        ("status", b"[]", 422, "invalid_input"),
        ("status", b"\xff", 422, "invalid_input"),
        ("status", b"[" * 50_000, 422, "invalid_input"),
        ("status", b'{"args": []}', 422, "invalid_input"),
        ("status", b'{"args": {"x": 1}}', 422, "invalid_input"),
        ("status", b'{"who": []}', 422, "invalid_input"),
        ("status", b'{"who": {"space": ""}}', 422, "invalid_input"),
        ("status", b'{"who": {"also": [1]}}', 422, "invalid_input"),
        ("remember", b"{}", 422, "invalid_input"),
        ("remember", b'{"args": {"text": ""}}', 422, "invalid_input"),
        ("import", b'{"args": 1}\n', 422, "invalid_input"),
        ("remember", b" " * 100_001, 413, "too_large"),
        ("backup", b'{"args": {"target": "/tmp/x"}}', 403, "not_allowed"),
    ],
    ids=lambda arguments: str(arguments)[:30],
)
async def test_invalid_calls_become_problems(
    client: CheckedClient, verb: str, body: bytes, status: int, code: str
) -> None:
    response = await client.web.post(f"/call/{verb}", content=body, headers=JSON)
    assert response.status_code == status
    assert require_problem(response)["code"] == code


@pytest.mark.parametrize("version", ["0", "999", "x", ""])
async def test_another_protocol_version_is_refused(client: CheckedClient, version: str) -> None:
    response = await client.web.post("/call/status", json={}, headers={"scrubjay-protocol": version})
    assert response.status_code == 502
    assert require_problem(response)["code"] == "daemon_unavailable"


async def test_verbs_of_the_owner_are_refused_over_http(stack: HttpStack) -> None:
    owner, guest = await stack.token("owner", "*"), await stack.token("guest", "work")
    owner_only = {name for name, verb in VERBS.items() if verb.needs is Access.OWNER}
    all_spaces = {name for name, verb in VERBS.items() if verb.all_spaces}
    for secret, verbs in ((owner.secret, owner_only), (guest.secret, owner_only | all_spaces)):
        async with open_client(stack.address, token=secret) as client:
            for verb in sorted(verbs):
                response = await call(client, verb)
                assert response.status_code == 403, verb
                assert require_problem(response)["verb"] == verb
    async with open_client(stack.address, token=owner.secret) as client:
        assert frames(await call(client, "doctor", deep=False))[-1]["result"]["checks"]


async def test_a_read_token_may_call_verbs_that_read(stack: HttpStack) -> None:
    reader = await stack.token("reader", "work", access="read")
    async with open_client(stack.address, token=reader.secret) as client:
        assert (await call(client, "recall", query="x")).status_code == 200
        assert frames(await call(client, "export"))[-1] == {"result": None}
        for name, verb in VERBS.items():
            if not (verb.reads or verb.needs in (Access.READ, Access.OWNER) or verb.all_spaces):
                assert (await call(client, name)).status_code == 403, name


async def test_a_metrics_token_may_call_no_verb(stack: HttpStack) -> None:
    metrics_token = await stack.token("figures", access="metrics")
    async with open_client(stack.address, token=metrics_token.secret) as client:
        for verb in sorted(VERBS):
            assert (await call(client, verb)).status_code == 403, verb


async def test_a_caller_stays_in_the_spaces_of_its_token(stack: HttpStack) -> None:
    created = await stack.token("laptop", "work", "home")
    async with open_client(stack.address, token=created.secret) as client:
        result = (await call(client, "remember", text="kept")).json()["result"]
        assert (await client.get(f"/memories/{result['id']}"))["space"] == "work"
        who = {"space": "home", "also": ["work"]}
        results = (await call(client, "recall", who, query="kept")).json()["result"]
        assert [hit["space"] for hit in results["hits"]] == ["work"]
        for who in ({"space": "attic"}, {"space": "work", "also": ["attic"]}):
            response = await call(client, "recall", who, query="kept")
            assert response.status_code == 403
            assert require_problem(response)["field"] == "space"


async def test_the_memory_client_works_with_a_token(stack: HttpStack) -> None:
    created, reader = await stack.token("laptop", "work"), await stack.token("reader", "work", access="read")
    async with MemoryClient(url=stack.address, token=created.secret) as memory:
        result = await memory.remember("kept by our own client")
        assert (await memory.read(result.id)).memories[0].space == "work"
        lines = [line async for line in memory.export()]
        assert (await memory.import_lines(lines)).known == 1
        status = await memory.status()
        assert (status.memories, status.data, status.daemon) == ({"live": 1}, "", {})
    async with MemoryClient(url=stack.address, token=reader.secret) as memory:
        assert (await memory.recall("kept")).hits
        with pytest.raises(NotAllowed):
            await memory.remember("not by this one")


async def test_long_verbs_respond_line_by_line(client: CheckedClient) -> None:
    who = {"space": client.space}
    await client.remember("one")
    lines = [line for frame in frames(await call(client, "export", who)) for line in frame.get("lines", [])]
    other = json.dumps({"who": {"space": f"{client.space}-copy"}})
    response = await client.web.post("/call/import", content="\n".join([other, *lines]).encode(), headers=JSON)
    assert frames(response)[-1]["result"]["imported"] == 1
    response = await client.web.post("/call/import", content=f"{other}\nnonsense\n".encode(), headers=JSON)
    assert frames(response)[-1]["error"]["code"] == "invalid_input"
    assert frames(await call(client, "purge", who, ids=["one"]))[-1]["error"]["code"] == "wrong_state"
    assert all(VERBS[verb].long for verb in ("export", "import", "purge"))
