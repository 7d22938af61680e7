"""Where HTTP is served, and who is let in there."""

import errno
import socket
from dataclasses import replace

import pytest
from tests.surfaces.rest.checked_client import visiting
from tests.surfaces.rest.http_stack import open_stack
from tests.surfaces.rest.raw_client import wired

from scrubjay.app import open_engine
from scrubjay.errors import InvalidInput
from scrubjay.model.token import TokenRequest
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.http_server import address_of, web_socket

# Of this machine, but not the address that is open to everyone on it.
ELSEWHERE = "127.0.0.2"


@pytest.fixture
def elsewhere() -> str:
    with socket.socket() as probe:
        try:
            probe.bind((ELSEWHERE, 0))
        except OSError:
            pytest.skip(f"this machine does not answer to {ELSEWHERE}")
    return f"{ELSEWHERE}:0"


@pytest.mark.parametrize("address", ["", "x", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", ":-1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        web_socket(address, must=True)
    assert caught.value.fields["setting"] == "SCRUBJAY_HTTP"


@pytest.mark.parametrize("address", ["127.0.0.1:0", "localhost:0", ":0"])
def test_an_address_tells_where_it_is(address: str) -> None:
    web = web_socket(address, must=True)
    assert web is not None
    with web:
        assert address_of(web) == f"http://127.0.0.1:{web.getsockname()[1]}"


def test_an_address_in_the_newer_way() -> None:
    try:
        web = web_socket("[::1]:0", must=True)
    except InvalidInput:
        pytest.skip("this machine has no IPv6")
    assert web is not None
    with web:
        assert address_of(web) == f"http://[::1]:{web.getsockname()[1]}"


def test_an_address_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as first:
        taken = f"127.0.0.1:{first.getsockname()[1]}"
        assert web_socket(taken, must=False) is None
        with pytest.raises(InvalidInput, match="--http off") as caught:
            web_socket(taken, must=True)
        assert isinstance(caught.value.__cause__, OSError)
        assert caught.value.__cause__.errno == errno.EADDRINUSE


async def test_elsewhere_nobody_is_served_before_there_is_a_token(settings: Settings, elsewhere: str) -> None:
    with pytest.raises(InvalidInput, match="scrubjay tokens create"):
        async with open_stack(settings, http=elsewhere):
            pass
    async with open_engine(settings) as engine:
        made = await engine.create_token(TokenRequest(name="gone", spaces=("work",)))
        await engine.revoke_token(made.token.id)
    with pytest.raises(InvalidInput, match="scrubjay tokens create"):
        async with open_stack(settings, http=elsewhere):
            pass


async def test_elsewhere_everyone_is_asked_for_a_token(
    settings: Settings, elsewhere: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_engine(settings) as engine:
        made = await engine.create_token(TokenRequest(name="laptop", spaces=("work",)))
    settings = replace(settings, hosts="memory.example.org, Other.example.org")
    async with open_stack(settings, http=elsewhere) as stack:
        assert any("TLS" in record.message for record in caplog.records)
        async with visiting(stack.address) as visitor:
            await visitor.refused("GET", "/status", 401, "not_admitted")
        async with visiting(stack.address, token=made.secret) as visitor:
            await visitor.ask("GET", "/status")
        for name, status in (("memory.example.org", 200), ("other.example.org:443", 200), ("evil.example", 403)):
            async with wired(stack.address) as raw:
                await raw.say(f"GET /healthz HTTP/1.1\r\nhost: {name}\r\n\r\n".encode())
                assert (await raw.hear()).status == status
