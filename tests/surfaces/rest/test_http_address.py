"""The address of the HTTP server, and the token that other addresses require."""

import errno
import socket
from dataclasses import replace

import pytest
from tests.surfaces.rest.checked_client import open_client
from tests.surfaces.rest.http_stack import open_stack
from tests.surfaces.rest.raw_client import open_raw_client

from scrubjay.app import open_engine
from scrubjay.errors import InvalidInput
from scrubjay.model.caller import Caller
from scrubjay.model.requests import CreateTokenRequest, RevokeTokenRequest
from scrubjay.settings import Settings
from scrubjay.surfaces.http.address import bind_http, http_address

# An address of this machine that requires a token.
OTHER_ADDRESS = "127.0.0.2"


@pytest.fixture
def other_address() -> str:
    with socket.socket() as probe:
        try:
            probe.bind((OTHER_ADDRESS, 0))
        except OSError:
            pytest.skip(f"this machine does not answer to {OTHER_ADDRESS}")
    return f"{OTHER_ADDRESS}:0"


@pytest.mark.parametrize("address", ["", "x", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", ":-1"])
def test_an_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        bind_http(address, required=True)
    assert caught.value.fields["setting"] == "SCRUBJAY_HTTP"


@pytest.mark.parametrize("address", ["127.0.0.1:0", "localhost:0", ":0"])
def test_the_address_of_a_socket_is_a_url(address: str) -> None:
    web = bind_http(address, required=True)
    assert web is not None
    with web:
        assert http_address(web) == f"http://127.0.0.1:{web.getsockname()[1]}"


def test_an_ipv6_address_is_in_brackets() -> None:
    try:
        web = bind_http("[::1]:0", required=True)
    except InvalidInput:
        pytest.skip("this machine has no IPv6")
    assert web is not None
    with web:
        assert http_address(web) == f"http://[::1]:{web.getsockname()[1]}"


def test_a_port_in_use_is_an_error_only_if_required() -> None:
    with socket.create_server(("127.0.0.1", 0)) as first:
        address_in_use = f"127.0.0.1:{first.getsockname()[1]}"
        assert bind_http(address_in_use, required=False) is None
        with pytest.raises(InvalidInput, match="--http off") as caught:
            bind_http(address_in_use, required=True)
        assert isinstance(caught.value.__cause__, OSError)
        assert caught.value.__cause__.errno == errno.EADDRINUSE


async def test_another_address_is_not_served_before_a_token_exists(settings: Settings, other_address: str) -> None:
    with pytest.raises(InvalidInput, match="scrubjay tokens create"):
        async with open_stack(settings, http=other_address):
            pass
    async with open_engine(settings) as engine:
        created = await engine.create_token(CreateTokenRequest(name="gone", spaces=("work",)), who=Caller())
        await engine.revoke_token(RevokeTokenRequest(ref=created.token.id), who=Caller())
    with pytest.raises(InvalidInput, match="scrubjay tokens create"):
        async with open_stack(settings, http=other_address):
            pass


async def test_another_address_requires_a_token_of_every_client(
    settings: Settings, other_address: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_engine(settings) as engine:
        created = await engine.create_token(CreateTokenRequest(name="laptop", spaces=("work",)), who=Caller())
    settings = replace(settings, hosts="memory.example.org, Other.example.org")
    async with open_stack(settings, http=other_address) as stack:
        assert any("TLS" in record.message for record in caplog.records)
        async with open_client(stack.address) as client:
            await client.refused("GET", "/status", 401, "not_admitted")
        async with open_client(stack.address, token=created.secret) as client:
            await client.request("GET", "/status")
        for name, status in (("memory.example.org", 200), ("other.example.org:443", 200), ("evil.example", 403)):
            async with open_raw_client(stack.address) as raw:
                await raw.send(f"GET /healthz HTTP/1.1\r\nhost: {name}\r\n\r\n".encode())
                assert (await raw.receive_response()).status == status
