"""Settings of a trusted issuer, and the URLs that keys may come from."""

from pathlib import Path

import pytest

from scrubjay.auth.issuer import TrustedIssuer, issuer_from_settings, redact, url_problem
from scrubjay.errors import InvalidInput

URL = "https://issuer.example.org/jwks"


def test_no_issuer_is_no_trust() -> None:
    assert issuer_from_settings(issuer="", audience="", jwks="", spaces_claim="spaces") is None


def test_the_three_belong_together() -> None:
    inputs = {"issuer": "i", "audience": "a", "jwks": URL}
    assert issuer_from_settings(**inputs, spaces_claim="sub") == TrustedIssuer(
        issuer="i", audience="a", jwks=URL, spaces_claim="sub"
    )
    for name, value in inputs.items():
        for only in ({**inputs, name: ""}, {**dict.fromkeys(inputs, ""), name: value}):
            with pytest.raises(InvalidInput, match="together") as caught:
                issuer_from_settings(**only, spaces_claim="spaces")
            assert str(caught.value.fields["setting"]).startswith("SCRUBJAY_JWT_")


def test_spaces_need_a_claim() -> None:
    with pytest.raises(InvalidInput) as caught:
        issuer_from_settings(issuer="i", audience="a", jwks=URL, spaces_claim="")
    assert caught.value.fields["setting"] == "SCRUBJAY_JWT_SPACES_CLAIM"


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "https://10.0.0.1:8443/k?a=b",
        "http://127.0.0.1:9/jwks",
        "http://localhost/jwks",
        "http://[::1]:1/",
        "HTTPS://A/",
    ],
)
def test_keys_come_by_https_or_from_this_machine(url: str) -> None:
    assert url_problem(url) == ""


@pytest.mark.parametrize(
    "url",
    [
        "http://issuer.example.org/jwks",
        "http://127.0.0.1.example.org/jwks",
        "http://localhost.example.org/",
        "http://10.0.0.1/",
        "ftp://127.0.0.1/jwks",
        "file:///etc/passwd",
        "https://",
        "https:///jwks",
        "https://name:word@issuer.example.org/",
        "https://issuer.example.org:99999/",
        "https://issuer.example.org:0/",
        "https://[::1/",
        "://",
        "",
    ],
)
def test_keys_come_from_nowhere_else(url: str) -> None:
    assert url_problem(url)
    if "://" in url:
        with pytest.raises(InvalidInput) as caught:
            TrustedIssuer(issuer="i", audience="a", jwks=url)
        assert caught.value.fields["setting"] == "SCRUBJAY_JWT_JWKS"
        assert "word" not in str(caught.value).replace("a password", "")


def test_a_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="neither"):
        TrustedIssuer(issuer="i", audience="a", jwks=str(tmp_path / "jwks.json"))
    with pytest.raises(InvalidInput, match="neither"):
        TrustedIssuer(issuer="i", audience="a", jwks=str(tmp_path))
    (tmp_path / "jwks.json").write_text("{}")
    assert TrustedIssuer(issuer="i", audience="a", jwks=str(tmp_path / "jwks.json"))


def test_an_address_is_shown_without_possible_secrets() -> None:
    assert redact("https://name:word@host:8443/jwks?key=hush#part") == "https://host:8443/jwks"
    assert redact("https://[::1/hush") == "the URL of the keys"
    assert redact("/etc/jwks.json") == "/etc/jwks.json"
