"""Clients get notifications of changes in their own space and of the resources they watch, from any writer."""

import asyncio
import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from mcp.client.client import Client
from mcp.client.session import IncomingMessage
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated, Subscription
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import ResourceListChangedNotification, ResourceUpdatedNotification
from tests.patience import PATIENCE
from tests.surfaces.mcp.mcp_server import HELLO, READY, McpServer, call, open_server

from scrubjay.app import open_engine
from scrubjay.client import MemoryClient
from scrubjay.model.caller import Caller
from scrubjay.settings import Settings


class NotificationLog:
    """The notifications of a client of the older revision, in order."""

    def __init__(self) -> None:
        self.received: asyncio.Queue[str] = asyncio.Queue()

    def receive(self, message: IncomingMessage) -> None:
        if isinstance(message, ResourceListChangedNotification):
            self.received.put_nowait("list")
        elif isinstance(message, ResourceUpdatedNotification):
            self.received.put_nowait(message.params.uri)

    async def next(self) -> str:
        return await asyncio.wait_for(self.received.get(), PATIENCE)


@asynccontextmanager
async def _older(server: McpServer, space: str = "default") -> AsyncGenerator[tuple[Client, NotificationLog]]:
    inbox = NotificationLog()
    async with server.client("legacy", context=server.context(space=space), on_message=inbox.receive) as client:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            yield client, inbox


async def _subscribe(client: Client, uri: str) -> None:
    await client.subscribe_resource(uri)  # pyright: ignore[reportDeprecated]


async def _unsubscribe(client: Client, uri: str) -> None:
    await client.unsubscribe_resource(uri)  # pyright: ignore[reportDeprecated]


async def _next(subscription: Subscription) -> object:
    return await asyncio.wait_for(anext(aiter(subscription)), PATIENCE)


async def test_an_older_client_is_notified_of_the_list_and_of_its_subscriptions(settings: Settings) -> None:
    async with (
        open_server(settings) as server,
        _older(server) as (client, inbox),
        _older(server, "other") as (_, stranger),
    ):
        await call(client, "remember", text="tea", name="tea")
        assert await inbox.next() == "list"
        await _subscribe(client, "memory://default/tea")
        await server.context().memory.revise("tea", text="green tea")
        server.changes.nudge()
        assert [await inbox.next(), await inbox.next()] == ["list", "memory://default/tea"]
        await call(client, "revise", id="tea", name="green-tea")
        assert [await inbox.next(), await inbox.next()] == ["list", "memory://default/tea"]
        await _unsubscribe(client, "memory://default/tea")
        await call(client, "remember", text="milk", name="milk")
        assert await inbox.next() == "list"
        await call(client, "relate", source="milk", target="green-tea")
        await call(client, "remember", text="sugar", name="sugar")
        assert await inbox.next() == "list"
        assert inbox.received.empty()
        assert stranger.received.empty()


async def test_a_relation_is_a_change_of_both_its_ends(settings: Settings) -> None:
    async with open_server(settings) as server, _older(server) as (client, inbox):
        for name in ("tea", "milk"):
            await call(client, "remember", text=name, name=name)
            assert await inbox.next() == "list"
        for name in ("tea", "milk"):
            await _subscribe(client, f"memory://default/{name}")
        await call(client, "relate", source="tea", target="milk")
        assert {await inbox.next(), await inbox.next()} == {"memory://default/tea", "memory://default/milk"}


async def test_the_knowledge_graph_changes_with_everything(settings: Settings) -> None:
    graph = "memory://knowledge-graph"
    async with open_server(settings) as server, _older(server) as (client, inbox), server.client("auto") as newer:
        await _subscribe(client, graph)
        async with newer.listen(resource_subscriptions=[graph]) as changes:
            await call(client, "remember", text="tea")
            assert [await inbox.next(), await inbox.next()] == ["list", graph]
            assert await _next(changes) == ResourceUpdated(uri=graph)


async def test_no_client_subscribes_to_resources_of_another_space(settings: Settings) -> None:
    async with open_server(settings) as server, _older(server) as (client, _):
        await server.context(space="other").memory.remember("x", name="x")
        for uri, code in (("memory://other/x", -31025), ("memory://default/nobody", -31001), ("file:///x", -32602)):
            with pytest.raises(MCPError) as caught:
                await _subscribe(client, uri)
            assert caught.value.code == code


async def test_subscriptions_are_bounded(settings: Settings) -> None:
    async with open_server(settings) as server, _older(server) as (client, _):
        memory_id = (await server.context().memory.remember("x")).id
        # One memory has many addresses: each letter of its id may be percent-encoded.
        for number in range(1_000):
            await _subscribe(client, f"memory://default/{_spelled(memory_id, number)}")
        with pytest.raises(MCPError, match="Unsubscribe from some"):
            await _subscribe(client, f"memory://default/{_spelled(memory_id, 1_000)}")


def _spelled(text: str, number: int) -> str:
    return "".join(f"%{ord(letter):02X}" if number >> at & 1 else letter for at, letter in enumerate(text))


async def test_a_newer_client_gets_the_requested_notifications(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await call(client, "remember", text="tea", name="tea")
        uris = ["memory://default/tea", "memory://other/x", "memory://default/nobody"]
        async with client.listen(resources_list_changed=True, resource_subscriptions=uris) as changes:
            assert changes.honored is not None
            assert changes.honored.resource_subscriptions == ["memory://default/tea"]
            await server.context(space="other").memory.remember("x", name="x")
            await call(client, "revise", id="tea", text="green tea")
            events = {await _next(changes), await _next(changes)}
            assert events == {ResourcesListChanged(), ResourceUpdated(uri="memory://default/tea")}
        async with client.listen(resource_subscriptions=["memory://default/tea"]) as changes:
            await call(client, "remember", text="milk", name="milk")
            await call(client, "relate", source="tea", target="milk")
            assert await _next(changes) == ResourceUpdated(uri="memory://default/tea")


async def test_writes_of_another_process_are_notified(settings: Settings) -> None:
    async with open_server(settings) as server, _older(server) as (_, inbox), open_engine(settings) as elsewhere:
        await MemoryClient.over(elsewhere, Caller()).remember("from elsewhere")
        assert await inbox.next() == "list"


async def test_streams_end_gracefully_when_the_server_leaves(settings: Settings) -> None:
    async with (
        open_server(settings) as server,
        server.client("auto") as client,
        client.listen(resources_list_changed=True) as changes,
    ):
        await server.changes.close()
        async for _ in changes:
            raise AssertionError


async def test_a_client_that_does_not_read_holds_up_no_other(settings: Settings) -> None:
    async with open_server(settings) as server, server.raw() as idle, _older(server) as (client, inbox):
        await idle.ask(HELLO)
        await idle.send(READY)
        for number in range(200):
            await call(client, "remember", text=f"note {number}")
        assert await inbox.next() == "list"
