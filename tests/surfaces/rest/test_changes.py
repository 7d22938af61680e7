"""The stream of changes as server-sent events."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.fakes import FakeClock
from tests.patience import PATIENCE
from tests.surfaces.rest.checked_client import CheckedClient, open_client
from tests.surfaces.rest.http_stack import HttpStack, open_stack
from tests.surfaces.rest.openapi_document import document, require_problem
from tests.surfaces.rest.streams import streaming

from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.requests import CreateTokenRequest, RevokeTokenRequest
from scrubjay.settings import Settings
from scrubjay.surfaces.http.limits import ConnectionLimits

HEARTBEAT_SECONDS = 0.05


@pytest.fixture
async def stack(settings: Settings) -> AsyncGenerator[HttpStack]:
    async with open_stack(settings, heartbeat_seconds=HEARTBEAT_SECONDS) as opened:
        yield opened


async def test_a_change_is_sent_as_it_happens(client: CheckedClient) -> None:
    async with streaming(client.web, params={"space": client.space}) as stream:
        headers = {"x-scrubjay-agent": "tester", "x-scrubjay-run": "tidying"}
        result = await client.post("/memories", {"text": "just now", "name": "a"}, status=201, headers=headers)
        event = await stream.event()
        assert (event["seq"], event["action"], event["id"], event["version"]) == (1, "created", result["id"], 1)
        assert (event["agent"], event["run"], event["relation"]) == ("tester", "tidying", None)
        await client.remember("another", name="b")
        await client.post("/memories/a/links", {"target": "b"}, status=201)
        await client.request("PATCH", "/memories/a", json={"title": "Other"})
        await client.request("DELETE", "/memories/a")
        await client.request("POST", "/memories/a/restore")
        await client.request("DELETE", "/memories/b")
        await client.request("POST", "/memories/b/purge")
        events = [await stream.event() for _ in range(7)]
        assert [event["seq"] for event in events] == [2, 3, 4, 5, 6, 7, 8]
        assert [event["action"] for event in events] == [
            "created", "related", "revised", "trashed", "restored", "trashed", "purged",
        ]  # fmt: skip
        assert events[1]["relation"]["source"] == result["id"]


async def test_a_client_that_reconnects_misses_nothing(client: CheckedClient) -> None:
    params = {"space": client.space}
    for number in range(5):
        await client.remember(f"text {number}")
    async with streaming(client.web, params=params, headers={"last-event-id": "2"}) as stream:
        assert [(await stream.event())["seq"] for _ in range(3)] == [3, 4, 5]
    async with streaming(client.web, params={**params, "after": 3}) as stream:
        assert [(await stream.event())["seq"] for _ in range(2)] == [4, 5]
        await client.remember("text 5")
        assert (await stream.event())["seq"] == 6
    async with streaming(client.web, params={**params, "after": 0}) as stream:
        assert [(await stream.event())["seq"] for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    # Last-Event-ID takes precedence: it is newer than the URL.
    async with streaming(client.web, params={**params, "after": 0}, headers={"last-event-id": "5"}) as stream:
        assert (await stream.event())["seq"] == 6
    async with streaming(client.web, params=params) as stream:
        await client.remember("text 6")
        assert (await stream.event())["seq"] == 7


async def test_more_changes_than_fit_on_a_page(stack: HttpStack) -> None:
    who = Caller(space="work")
    for number in range(250):
        await stack.engine.remember(Draft(text=f"text {number}", intent="new"), who=who)
    async with (
        open_client(stack.address) as client,
        streaming(client.web, params={"space": "work", "after": 0}) as stream,
    ):
        assert [(await stream.event())["seq"] for _ in range(250)] == list(range(1, 251))


async def test_a_space_numbers_its_own_changes_and_receives_no_others(client: CheckedClient) -> None:
    other = f"{client.space}-other"
    for number in range(3):
        await client.post("/memories", {"text": f"there {number}"}, status=201, params={"space": other})
    async with streaming(client.web, params={"space": client.space, "after": 0}) as stream:
        await client.post("/memories", {"text": "there 3"}, status=201, params={"space": other})
        memory = await client.remember("here")
        event = await stream.event()
        assert (event["seq"], event["id"]) == (1, memory["id"])


async def test_an_event_matches_the_example(client: CheckedClient) -> None:
    await client.remember("x")
    async with streaming(client.web, params={"space": client.space, "after": 0}) as stream:
        event = await stream.event()
    content = document()["paths"]["/api/v1/changes"]["get"]["responses"]["200"]["content"]
    example = content["text/event-stream"]["example"]
    assert set(event) == set(json.loads(example.partition("data: ")[2]))


async def test_heartbeats_are_sent_without_changes(stack: HttpStack) -> None:
    async with open_client(stack.address) as client, streaming(client.web) as stream:
        for _ in range(3):
            assert (await stream.next()).comment == "nothing new"


@pytest.mark.parametrize("after", ["1", "9223372036854775807"])
async def test_a_number_beyond_the_last_change_is_refused(client: CheckedClient, after: str) -> None:
    for inputs in ({"params": {"after": after}}, {"headers": {"last-event-id": after}}):
        problem = await client.refused("GET", "/changes", 422, "invalid_input", **inputs)
        assert problem["field"] == "after"
        assert "after=0" in problem["hint"]


@pytest.mark.parametrize("after", ["-1", "x", "1.5", "9223372036854775808", "9" * 5000, ""])
async def test_after_must_be_a_number(client: CheckedClient, after: str) -> None:
    problem = await client.refused("GET", "/changes", 422, "invalid_input", params={"after": after})
    assert problem["field"] == "after"


@pytest.mark.parametrize("last", ["-1", "x", "1.5", "²", "9" * 31])
async def test_the_last_event_is_a_number(client: CheckedClient, last: str) -> None:
    headers = {"last-event-id": last.encode("latin-1")}
    problem = await client.refused("GET", "/changes", 422, "invalid_input", headers=headers)
    assert problem["field"] == "Last-Event-ID"


async def test_head_does_not_wait_for_a_stream_to_end(client: CheckedClient) -> None:
    for path in ("/changes", "/export"):
        response = await client.request("HEAD", path, status=405)
        assert response.headers["allow"] == "GET"


async def test_a_stream_ends_when_its_token_is_revoked(settings: Settings) -> None:
    async with open_stack(replace(settings, require_token=True), heartbeat_seconds=HEARTBEAT_SECONDS) as stack:
        created = await stack.token("laptop", "work")
        async with open_client(stack.address, token=created.secret) as client:
            async with streaming(client.web) as stream:
                await client.remember("seen")
                assert (await stream.event())["seq"] == 1
                await stack.engine.revoke_token(RevokeTokenRequest(ref=created.token.id), who=Caller())
                assert all(result.data is None for result in await stream.end())
            async with streaming(client.web) as stream:
                await stream.response.aread()
                assert require_problem(stream.response)["status"] == 401


async def test_a_stream_sends_nothing_after_its_token_is_revoked(settings: Settings) -> None:
    # With a heartbeat of an hour, the stream ends at the change that it must not send.
    async with open_stack(replace(settings, require_token=True), heartbeat_seconds=3600) as stack:
        created = await stack.token("laptop", "work")
        async with open_client(stack.address, token=created.secret) as client, streaming(client.web) as stream:
            await stack.engine.revoke_token(RevokeTokenRequest(ref=created.token.id), who=Caller())
            await stack.engine.remember(Draft(text="not for you"), who=Caller(space="work"))
            assert await stream.end() == []


async def test_a_stream_ends_when_its_token_expires(settings: Settings) -> None:
    clock = FakeClock(step=timedelta(0))
    async with open_stack(
        replace(settings, require_token=True), heartbeat_seconds=HEARTBEAT_SECONDS, clock=clock
    ) as stack:
        created = await stack.engine.create_token(
            CreateTokenRequest(name="laptop", spaces=("work",), access="write", expires="1h"), who=Caller()
        )
        async with open_client(stack.address, token=created.secret) as client, streaming(client.web) as stream:
            clock.advance(timedelta(minutes=59))
            assert (await stream.next()).comment == "nothing new"
            clock.advance(timedelta(minutes=1))
            await stream.end()


async def test_a_stream_ends_when_the_store_is_unavailable(stack: HttpStack, caplog: pytest.LogCaptureFixture) -> None:
    """The client reconnects, to this server or another; the request did not fail."""
    async with open_client(stack.address) as client, streaming(client.web) as stream:
        await stack.store.close()
        assert all(result.data is None for result in await stream.end())
        problem = await client.web.get("/readyz")
        assert (problem.status_code, problem.json()["code"], problem.headers["retry-after"]) == (503, "store_busy", "1")
    assert "a request failed" not in caplog.text


async def test_a_stream_ends_when_the_server_stops(settings: Settings) -> None:
    async with asyncio.timeout(PATIENCE):
        async with open_stack(settings, heartbeat_seconds=3600, limits=ConnectionLimits(close_seconds=20)) as stack:
            client = CheckedClient(stack.address)
            context = streaming(client.web)
            stream = await context.__aenter__()
        assert await stream.end() == []
        await context.__aexit__(None, None, None)
        await client.web.aclose()


async def test_a_closed_stream_no_longer_counts(settings: Settings) -> None:
    async with open_stack(settings, heartbeat_seconds=3600) as stack, open_client(stack.address) as client:
        for _ in range(70):
            async with streaming(client.web):
                pass


async def test_streams_are_limited_for_each_caller(settings: Settings) -> None:
    async with open_stack(replace(settings, require_token=True), heartbeat_seconds=3600) as stack:
        first, other = await stack.token("one", "work"), await stack.token("other", "work")
        async with open_client(stack.address, token=first.secret) as client, asyncio.TaskGroup() as group:
            done = asyncio.Event()
            started = [asyncio.Event() for _ in range(64)]

            async def read(is_open: asyncio.Event) -> None:
                async with streaming(client.web):
                    is_open.set()
                    await done.wait()

            for is_open in started:
                group.create_task(read(is_open))
            for is_open in started:
                await asyncio.wait_for(is_open.wait(), PATIENCE)
            response = await client.request("GET", "/changes", status=429)
            assert response.headers["retry-after"] == "30"
            async with open_client(stack.address, token=other.secret) as other_client, streaming(other_client.web):
                pass
            done.set()
