"""Host and Origin: who is meant, and who asks."""

import pytest
from starlette.datastructures import Headers

from scrubjay.errors import NotAllowed
from scrubjay.surfaces.http.origin import LOOPBACK, OriginCheck


def checked(guard: OriginCheck, *headers: tuple[str, str]) -> str:
    """The header that is refused; empty when none is."""
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    try:
        guard.check(Headers(raw=raw))
    except NotAllowed as error:
        return str(error.fields["header"])
    return ""


HERE = OriginCheck(hosts=LOOPBACK, port=7272)
EVERYWHERE = OriginCheck(hosts=(*LOOPBACK, "memory.example.org"), port=7272, numbers=True)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:7272", "localhost", "LocalHost:1", "[::1]", "[::1]:7272", "localhost:"]
)
def test_these_are_us(host: str) -> None:
    assert checked(HERE, ("host", host)) == ""


@pytest.mark.parametrize(
    "host",
    [
        "", " ", "evil.example", "127.0.0.1.evil.example", "127.0.0.2", "0.0.0.0", "[::]", "::1", "[::1", "::1]",
        "localhost.", "a@localhost", "localhost@evil.example", "localhost/x", "localhost?x", "localhost#x",
        "localhost:x", "localhost:999999", "localhost, evil.example", "localhost localhost", "http://localhost",
        "localhost\x00", "\uff4cocalhost", "[localhost]", "[127.0.0.1]x",
    ],
)  # fmt: skip
def test_these_are_not(host: str) -> None:
    raw = Headers(raw=[(b"host", host.encode("utf-8"))])
    with pytest.raises(NotAllowed) as caught:
        HERE.check(raw)
    assert caught.value.fields["header"] == "Host"


def test_without_a_host_or_with_two_it_is_nobody() -> None:
    assert checked(HERE) == "Host"
    assert checked(HERE, ("host", "localhost"), ("host", "localhost")) == "Host"
    assert checked(HERE, ("host", "localhost"), ("host", "evil.example")) == "Host"


@pytest.mark.parametrize("origin", ["http://127.0.0.1:7272", "http://localhost:7272", "http://[::1]:7272"])
def test_our_own_pages_are_let_in(origin: str) -> None:
    assert checked(HERE, ("host", "localhost"), ("origin", origin)) == ""


@pytest.mark.parametrize(
    "origin",
    [
        "null", "", "http://evil.example", "http://127.0.0.1", "http://127.0.0.1:7273", "http://localhost:x", "file://",
        "http://[::1", "http://127.0.0.2:7272", "http://localhost.evil.example:7272", "localhost:7272", "*",
    ],
)  # fmt: skip
def test_pages_of_others_are_not(origin: str) -> None:
    assert checked(HERE, ("host", "localhost"), ("origin", origin)) == "Origin"


def test_of_two_origins_each_must_be_ours() -> None:
    own, other = ("origin", "http://localhost:7272"), ("origin", "http://evil.example")
    assert checked(HERE, ("host", "localhost"), own, other) == "Origin"
    assert checked(HERE, ("host", "localhost"), own, own) == ""


def test_who_listens_everywhere_is_known_by_any_number_and_by_its_names() -> None:
    for host in ("192.168.1.5", "[fe80::1]:7272", "memory.example.org", "memory.example.org:443"):
        assert checked(EVERYWHERE, ("host", host)) == ""
    assert checked(EVERYWHERE, ("host", "evil.example")) == "Host"


def test_a_page_at_another_number_is_not_ours() -> None:
    host = ("host", "192.168.1.5:7272")
    assert checked(EVERYWHERE, host, ("origin", "http://192.168.1.5:7272")) == ""
    # Behind a proxy we are known by another port.
    assert checked(EVERYWHERE, host, ("origin", "https://memory.example.org")) == ""
    assert checked(EVERYWHERE, host, ("origin", "http://203.0.113.9")) == "Origin"
    assert checked(EVERYWHERE, host, ("origin", "http://192.168.1.6:7272")) == "Origin"


def test_what_is_refused_is_told_in_part(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(NotAllowed) as caught:
        HERE.check(Headers(raw=[(b"host", b"x" * 10_000)]))
    assert len(str(caught.value)) < 400
    assert "SCRUBJAY_HOSTS" in caught.value.hint
