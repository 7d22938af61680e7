"""The stream of changes as server-sent events."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.fakes import FakeClock
from tests.surfaces.rest.checked_client import Visitor, visiting
from tests.surfaces.rest.http_stack import HttpStack, open_stack
from tests.surfaces.rest.openapi_document import require_problem
from tests.surfaces.rest.streams import LONGEST, streaming

from scrubjay.model.draft import Caller, Draft
from scrubjay.model.token import TokenRequest
from scrubjay.settings import Settings
from scrubjay.surfaces.http.server import ConnectionLimits
from scrubjay.surfaces.rest import examples

BEAT = 0.05


@pytest.fixture
async def stack(settings: Settings) -> AsyncGenerator[HttpStack]:
    async with open_stack(settings, beat=BEAT) as opened:
        yield opened


async def test_a_change_is_told_as_it_happens(visitor: Visitor) -> None:
    async with streaming(visitor.web, params={"space": visitor.space}) as stream:
        headers = {"x-scrubjay-agent": "tester", "x-scrubjay-run": "tidying"}
        reported = await visitor.post("/memories", {"text": "just now", "name": "a"}, status=201, headers=headers)
        event = await stream.event()
        assert (event["seq"], event["action"], event["id"], event["version"]) == (1, "created", reported["id"], 1)
        assert (event["agent"], event["run"], event["relation"]) == ("tester", "tidying", None)
        await visitor.remember("another", name="b")
        await visitor.post("/memories/a/links", {"target": "b"}, status=201)
        await visitor.ask("PATCH", "/memories/a", json={"title": "Other"})
        await visitor.ask("DELETE", "/memories/a")
        await visitor.ask("POST", "/memories/a/restore")
        await visitor.ask("DELETE", "/memories/b")
        await visitor.ask("POST", "/memories/b/purge")
        events = [await stream.event() for _ in range(7)]
        assert [event["seq"] for event in events] == [2, 3, 4, 5, 6, 7, 8]
        assert [event["action"] for event in events] == [
            "created", "related", "revised", "trashed", "restored", "trashed", "purged",
        ]  # fmt: skip
        assert events[1]["relation"]["source"] == reported["id"]


async def test_who_comes_back_misses_nothing(visitor: Visitor) -> None:
    params = {"space": visitor.space}
    for number in range(5):
        await visitor.remember(f"text {number}")
    async with streaming(visitor.web, params=params, headers={"last-event-id": "2"}) as stream:
        assert [(await stream.event())["seq"] for _ in range(3)] == [3, 4, 5]
    async with streaming(visitor.web, params={**params, "after": 3}) as stream:
        assert [(await stream.event())["seq"] for _ in range(2)] == [4, 5]
        await visitor.remember("text 5")
        assert (await stream.event())["seq"] == 6
    async with streaming(visitor.web, params={**params, "after": 0}) as stream:
        assert [(await stream.event())["seq"] for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    # What a client says that comes back is newer than the address it was given first.
    async with streaming(visitor.web, params={**params, "after": 0}, headers={"last-event-id": "5"}) as stream:
        assert (await stream.event())["seq"] == 6
    async with streaming(visitor.web, params=params) as stream:
        await visitor.remember("text 6")
        assert (await stream.event())["seq"] == 7


async def test_more_changes_than_fit_on_a_page(stack: HttpStack) -> None:
    who = Caller(space="work")
    for number in range(250):
        await stack.engine.remember(Draft(text=f"text {number}", intent="new"), who=who)
    async with (
        visiting(stack.address) as visitor,
        streaming(visitor.web, params={"space": "work", "after": 0}) as stream,
    ):
        assert [(await stream.event())["seq"] for _ in range(250)] == list(range(1, 251))


async def test_a_space_counts_its_own_changes_and_hears_of_no_others(visitor: Visitor) -> None:
    other = f"{visitor.space}-other"
    for number in range(3):
        await visitor.post("/memories", {"text": f"there {number}"}, status=201, params={"space": other})
    async with streaming(visitor.web, params={"space": visitor.space, "after": 0}) as stream:
        await visitor.post("/memories", {"text": "there 3"}, status=201, params={"space": other})
        here = await visitor.remember("here")
        event = await stream.event()
        assert (event["seq"], event["id"]) == (1, here["id"])


async def test_an_event_is_as_the_example_shows_it(visitor: Visitor) -> None:
    await visitor.remember("x")
    async with streaming(visitor.web, params={"space": visitor.space, "after": 0}) as stream:
        assert set(await stream.event()) == set(examples.CHANGE)


async def test_a_sign_of_life_when_nothing_happens(stack: HttpStack) -> None:
    async with visiting(stack.address) as visitor, streaming(visitor.web) as stream:
        for _ in range(3):
            assert (await stream.next()).remark == "nothing new"


@pytest.mark.parametrize("after", ["1", "9223372036854775807"])
async def test_what_has_not_happened_yet_cannot_be_known(visitor: Visitor, after: str) -> None:
    for inputs in ({"params": {"after": after}}, {"headers": {"last-event-id": after}}):
        problem = await visitor.refused("GET", "/changes", 422, "invalid_input", **inputs)
        assert problem["field"] == "after"
        assert "after=0" in problem["hint"]


@pytest.mark.parametrize("after", ["-1", "x", "1.5", "9223372036854775808", "9" * 5000, ""])
async def test_a_place_is_a_number(visitor: Visitor, after: str) -> None:
    problem = await visitor.refused("GET", "/changes", 422, "invalid_input", params={"after": after})
    assert problem["field"] == "after"


@pytest.mark.parametrize("last", ["-1", "x", "1.5", "²", "9" * 31])
async def test_the_last_event_is_a_number(visitor: Visitor, last: str) -> None:
    headers = {"last-event-id": last.encode("latin-1")}
    problem = await visitor.refused("GET", "/changes", 422, "invalid_input", headers=headers)
    assert problem["field"] == "Last-Event-ID"


async def test_head_does_not_wait_for_a_stream_to_end(visitor: Visitor) -> None:
    for path in ("/changes", "/export"):
        response = await visitor.ask("HEAD", path, status=405)
        assert response.headers["allow"] == "GET"


async def test_a_stream_ends_when_its_token_is_revoked(settings: Settings) -> None:
    async with open_stack(replace(settings, require_token=True), beat=BEAT) as stack:
        made = await stack.token("laptop", "work")
        async with visiting(stack.address, token=made.secret) as visitor:
            async with streaming(visitor.web) as stream:
                await visitor.remember("seen")
                assert (await stream.event())["seq"] == 1
                await stack.engine.revoke_token(made.token.id)
                assert all(reported.data is None for reported in await stream.end())
            async with streaming(visitor.web) as stream:
                await stream.response.aread()
                assert require_problem(stream.response)["status"] == 401


async def test_a_stream_tells_nothing_more_once_its_token_is_revoked(settings: Settings) -> None:
    # The beat is an hour: what ends it is the change that it must not tell.
    async with open_stack(replace(settings, require_token=True), beat=3600) as stack:
        made = await stack.token("laptop", "work")
        async with visiting(stack.address, token=made.secret) as visitor, streaming(visitor.web) as stream:
            await stack.engine.revoke_token(made.token.id)
            await stack.engine.remember(Draft(text="not for you"), who=Caller(space="work"))
            assert await stream.end() == []


async def test_a_stream_ends_when_its_token_expires(settings: Settings) -> None:
    clock = FakeClock(step=timedelta(0))
    async with open_stack(replace(settings, require_token=True), beat=BEAT, clock=clock) as stack:
        made = await stack.engine.create_token(
            TokenRequest(name="laptop", spaces=("work",), access="write", expires="1h")
        )
        async with visiting(stack.address, token=made.secret) as visitor, streaming(visitor.web) as stream:
            clock.advance(timedelta(minutes=59))
            assert (await stream.next()).remark == "nothing new"
            clock.advance(timedelta(minutes=1))
            await stream.end()


async def test_a_stream_ends_when_the_store_is_gone(stack: HttpStack, caplog: pytest.LogCaptureFixture) -> None:
    """Its reader comes back, to this server or another; nothing is wrong with the request."""
    async with visiting(stack.address) as visitor, streaming(visitor.web) as stream:
        await stack.engine.store.close()
        assert all(reported.data is None for reported in await stream.end())
        problem = await visitor.web.get("/readyz")
        assert (problem.status_code, problem.json()["code"], problem.headers["retry-after"]) == (503, "store_busy", "1")
    assert "a request failed" not in caplog.text


async def test_a_stream_ends_when_the_server_does(settings: Settings) -> None:
    async with asyncio.timeout(LONGEST):
        async with open_stack(settings, beat=3600, patience=ConnectionLimits(close_seconds=20)) as stack:
            visitor = Visitor(stack.address)
            context = streaming(visitor.web)
            stream = await context.__aenter__()
        assert await stream.end() == []
        await context.__aexit__(None, None, None)
        await visitor.web.aclose()


async def test_a_reader_that_leaves_gives_its_place_to_another(settings: Settings) -> None:
    async with open_stack(settings, beat=3600) as stack, visiting(stack.address) as visitor:
        for _ in range(70):
            async with streaming(visitor.web):
                pass


async def test_one_caller_has_so_many_streams_and_others_have_theirs(settings: Settings) -> None:
    async with open_stack(replace(settings, require_token=True), beat=3600) as stack:
        item, other = await stack.token("one", "work"), await stack.token("other", "work")
        async with visiting(stack.address, token=item.secret) as visitor, asyncio.TaskGroup() as group:
            done = asyncio.Event()
            begun = [asyncio.Event() for _ in range(64)]

            async def read(mark: asyncio.Event) -> None:
                async with streaming(visitor.web):
                    mark.set()
                    await done.wait()

            for mark in begun:
                group.create_task(read(mark))
            for mark in begun:
                await asyncio.wait_for(mark.wait(), LONGEST)
            response = await visitor.ask("GET", "/changes", status=429)
            assert response.headers["retry-after"] == "30"
            async with visiting(stack.address, token=other.secret) as another, streaming(another.web):
                pass
            done.set()
