"""Requirements of the two revisions of the protocol that the SDK's clients do not check."""

import json
from collections.abc import Mapping

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY
from tests.surfaces.mcp.mcp_server import ERAS, HELLO, READY, open_server, request

from scrubjay.model.memory import Json
from scrubjay.settings import Settings
from scrubjay.surfaces.mcp.messages import RejectedMessage, parse_message

NEWER: Mapping[str, Json] = {PROTOCOL_VERSION_META_KEY: "2026-07-28", CLIENT_CAPABILITIES_META_KEY: {}}


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe", "ping"])
async def test_methods_dropped_by_the_newer_revision_are_unknown(settings: Settings, method: str) -> None:
    async with open_server(settings) as server, server.raw() as raw:
        assert "result" in await raw.ask(request("tools/list", 1, _meta=dict(NEWER)))
        refused = await raw.ask(request(method, 2, _meta=dict(NEWER)))
        assert (refused["id"], refused["error"]["code"]) == (2, -32601)


@pytest.mark.parametrize(
    ("meta", "is_rejected"), [(NEWER, False), ({}, True), ({PROTOCOL_VERSION_META_KEY: None}, True)]
)
def test_only_the_newer_revision_has_no_params_for_initialize(meta: Mapping[str, Json], is_rejected: bool) -> None:
    line = json.dumps(request("initialize", _meta=dict(meta)))
    assert isinstance(parse_message(line.encode()), RejectedMessage) is is_rejected


@pytest.mark.parametrize("era", ERAS)
async def test_change_notifications_are_announced_for_resources_only(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        able = client.server_capabilities
        assert able.tools is not None
        assert able.prompts is not None
        assert able.resources is not None
        assert (able.tools.list_changed, able.prompts.list_changed) in ((None, None), (False, False))
        assert able.resources.list_changed is True


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("uri", ["test://nothing", "memory://default/nobody", "memory://other/tea"])
async def test_an_unreadable_resource_is_named_by_its_address(settings: Settings, era: str, uri: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        assert caught.value.data["uri"] == uri


async def test_an_invalid_subscription_is_named_by_its_address(settings: Settings) -> None:
    uri = "memory://default/nobody"
    async with open_server(settings) as server, server.raw() as raw:
        await raw.ask(HELLO)
        refused = await raw.ask(READY, request("resources/subscribe", uri=uri))
        assert refused["error"]["data"]["uri"] == uri
