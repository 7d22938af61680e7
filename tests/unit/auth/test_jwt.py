"""JWTs: valid only with the issuer's signature, for this audience and time, and for the spaces in a claim."""

import base64
import hashlib
import hmac
import json
import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.auth.issuer import (
    AUDIENCE,
    ISSUER,
    NOW,
    JwksServer,
    ManualClock,
    Reply,
    Signer,
    claims,
    document,
    signer,
    still_clock,
)

from scrubjay.auth.issuer import TrustedIssuer
from scrubjay.auth.jwt import JwtVerifier
from scrubjay.errors import KeysUnavailable, NotAdmitted, NotAllowed
from scrubjay.model.caller import Access, Grant

SECONDS = int(NOW.timestamp())


class IssuerWorld:
    """An issuer, and a verifier that trusts it."""

    def __init__(self, server: JwksServer, signer: Signer, *, spaces_claim: str = "spaces") -> None:
        self.server, self.signer = server, signer
        self.clock, self.ticking = still_clock(), ManualClock()
        trust = TrustedIssuer(issuer=ISSUER, audience=AUDIENCE, jwks=server.url, spaces_claim=spaces_claim)
        self.verifier = JwtVerifier(trust, clock=self.clock, monotonic=self.ticking)

    async def grant(self, **changed: Any) -> Grant:
        return await self.verifier.verify(self.signer.sign(claims(**changed)))

    async def refused(self, token: str) -> NotAdmitted:
        with pytest.raises(NotAdmitted) as caught:
            await self.verifier.verify(token)
        return caught.value


@pytest.fixture(scope="module")
def running() -> Iterator[JwksServer]:
    with JwksServer(signer("first")) as started:
        yield started


@pytest.fixture
def server(running: JwksServer) -> JwksServer:
    """Return the same issuer for all tests, in its initial state."""
    running.script.clear()
    running.requested_paths.clear()
    del running.signers[1:]
    return running


@pytest.fixture
def site(server: JwksServer) -> IssuerWorld:
    return IssuerWorld(server, server.signers[0])


async def test_a_good_token_becomes_a_grant(site: IssuerWorld) -> None:
    grant = await site.grant()
    assert grant == Grant(
        spaces=("work", "home"), access=Access.READ, id="jwt:ann", name="ann", expires_at=NOW + timedelta(seconds=630)
    )


@pytest.mark.parametrize(
    "algorithm", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
)
async def test_every_public_key_algorithm_is_taken(server: JwksServer, algorithm: str) -> None:
    key = signer(f"by {algorithm}", algorithm)
    site = IssuerWorld(server, key)
    server.signers.append(key)
    assert (await site.grant()).name == "ann"
    other = Signer(kid=key.kid, algorithm=algorithm, private=signer("x", algorithm).private)
    if algorithm[:2] not in ("RS", "PS"):
        await site.refused(other.sign(claims()))


# ---- signatures ----


async def test_a_token_of_another_issuer_with_our_issuers_words_is_refused(site: IssuerWorld) -> None:
    await site.refused(Signer(kid="first", algorithm="ES256", private=signer().private).sign(claims()))
    await site.refused(signer("unknown").sign(claims()))


async def test_no_signature_is_no_token(site: IssuerWorld) -> None:
    good = site.signer.sign(claims())
    head, body, signature = good.split(".")
    for algorithm in ("none", "None", "NONE", "nOnE", ""):
        header = _encoded({"alg": algorithm, "typ": "JWT", "kid": "first"})
        await site.refused(f"{header}.{body}.")
        await site.refused(f"{header}.{body}.{signature}")
    await site.refused(f"{head}.{body}.")
    await site.refused(jwt.encode(claims(), None, algorithm="none"))  # type: ignore[arg-type]


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
async def test_a_public_key_is_no_secret_to_sign_with(server: JwksServer, algorithm: str) -> None:
    key = signer("rsa", "RS256")
    server.signers.append(key)
    site = IssuerWorld(server, key)
    public = key.private.public_key()
    secrets = [
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        key.jwk["n"].encode(),
        document(key),
        b"",
    ]
    signed = f"{_encoded({'alg': algorithm, 'kid': 'rsa', 'typ': 'JWT'})}.{_encoded(claims())}"
    for secret in secrets:
        digest = hmac.new(secret, signed.encode(), getattr(hashlib, algorithm.replace("HS", "sha"))).digest()
        await site.refused(f"{signed}.{_base64(digest)}")
    assert (await site.grant()).name == "ann"


async def test_the_key_decides_the_algorithm_and_not_the_token(site: IssuerWorld, server: JwksServer) -> None:
    server.signers.append(signer("rsa", "RS256"))
    body = _encoded(claims())
    for kid, algorithm in (
        ("first", "RS256"),
        ("rsa", "ES256"),
        ("first", "ES384"),
        ("first", "EdDSA"),
        ("first", "x"),
    ):
        signature = site.signer.sign(claims()).split(".")[2]
        await site.refused(f"{_encoded({'alg': algorithm, 'kid': kid})}.{body}.{signature}")


async def test_a_token_that_was_tampered_with_is_refused(site: IssuerWorld) -> None:
    head, _, signature = site.signer.sign(claims()).split(".")
    await site.refused(f"{head}.{_encoded(claims(scope='scrubjay:write'))}.{signature}")
    await site.refused(f"{head}.{_encoded(claims(sub='bob'))}.{signature}")
    better = _encoded({"alg": "ES256", "kid": "first", "jku": "https://issuer.example.org"})
    await site.refused(f"{better}.{_encoded(claims())}.{signature}")


async def test_a_token_brings_no_key_of_its_own(site: IssuerWorld) -> None:
    thief = signer("thief")
    for headers in ({"jwk": thief.jwk}, {"jku": site.server.url}, {"x5u": site.server.url}, {"kid": "first"}):
        await site.refused(thief.sign(claims(), **headers))
    assert set(site.server.requested_paths) <= {"/jwks"}


@pytest.mark.parametrize("headers", [{"crit": ["exp"]}, {"crit": []}, {"crit": "b64"}, {"b64": False, "crit": ["b64"]}])
async def test_an_unsupported_critical_header_is_refused(site: IssuerWorld, headers: dict[str, Any]) -> None:
    body = _encoded(claims())
    signed = f"{_encoded({'alg': 'ES256', 'kid': 'first', **headers})}.{body}"
    algorithm = jwt.get_algorithm_by_name("ES256")
    await site.refused(f"{signed}.{_base64(algorithm.sign(signed.encode(), site.signer.private))}")


# ---- claims ----


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://other.example.org/"},
        {"iss": ISSUER.rstrip("/")},
        {"iss": [ISSUER]},
        {"iss": None},
        {"aud": "other"},
        {"aud": ["other"]},
        {"aud": []},
        {"aud": [AUDIENCE, 7]},
        {"aud": {AUDIENCE: 1}},
        {"aud": None},
        {"sub": None},
        {"sub": ""},
        {"sub": "a" * 256},
        {"sub": "two\nlines"},
        {"sub": "half \ud800"},
        {"exp": None},
        {"exp": str(SECONDS + 600)},
        {"exp": True},
        {"exp": [SECONDS + 600]},
        {"exp": float("inf")},
        {"exp": float("nan")},
        {"exp": 10**400},
        {"exp": -1},
        {"nbf": SECONDS + 31},
        {"nbf": "now"},
        {"nbf": float("nan")},
        {"iat": SECONDS + 31},
        {"iat": SECONDS + 10, "exp": SECONDS},
        {"iat": "now"},
    ],
)
async def test_claims_that_do_not_fit_are_refused_without_a_word(site: IssuerWorld, changed: dict[str, Any]) -> None:
    token = _signed_raw(site.signer, claims(**changed))
    error = await site.refused(token)
    assert error.fields == {"reason": "invalid"}


async def test_several_audiences_may_include_us(site: IssuerWorld) -> None:
    assert (await site.grant(aud=["other", AUDIENCE])).name == "ann"


async def test_a_token_ends_half_a_minute_after_its_time(site: IssuerWorld) -> None:
    token = site.signer.sign(claims(exp=SECONDS + 60))
    site.clock.set(NOW + timedelta(seconds=89))
    grant = await site.verifier.verify(token)
    assert grant.expires_at == NOW + timedelta(seconds=90)
    site.clock.set(NOW + timedelta(seconds=90))
    error = await site.refused(token)
    assert error.fields["reason"] == "expired"


async def test_clocks_may_differ_by_half_a_minute(site: IssuerWorld) -> None:
    assert await site.grant(nbf=SECONDS + 30, iat=SECONDS + 30)
    assert await site.grant(nbf=None, iat=None)
    assert await site.grant(exp=SECONDS + 600.5, iat=SECONDS - 0.5)


async def test_a_token_for_ever_is_a_token_for_long(site: IssuerWorld) -> None:
    grant = await site.grant(exp=253_402_300_799)
    assert grant.expires_at is not None
    assert grant.expires_at.year == 9999


@pytest.mark.parametrize(
    ("changes", "access"),
    [
        ({"scope": "scrubjay:read"}, Access.READ),
        ({"scope": "a scrubjay:write scrubjay:read"}, Access.WRITE),
        ({"scope": None, "scp": ["scrubjay:write"]}, Access.WRITE),
        ({"scope": None, "scp": "scrubjay:read b"}, Access.READ),
        ({"scope": "scrubjay:metrics"}, Access.METRICS),
        ({"scope": ["scrubjay:read", 7, None]}, Access.READ),
    ],
)
async def test_scopes_say_how_far_a_token_goes(site: IssuerWorld, changes: dict[str, Any], access: Access) -> None:
    grant = await site.grant(**changes)
    assert grant.access is access
    assert grant.spaces == (() if access is Access.METRICS else ("work", "home"))


@pytest.mark.parametrize(
    "changes",
    [
        {"scope": None},
        {"scope": "openid"},
        {"scope": "scrubjay"},
        {"scope": "SCRUBJAY:READ"},
        {"scope": "scrubjay:reader"},
        {"scope": {"scrubjay:read": True}},
        {"scope": 7},
        {"spaces": None},
        {"spaces": []},
        {"spaces": ""},
        {"spaces": "*"},
        {"spaces": ["work", "*"]},
        {"spaces": [7]},
        {"spaces": {"work": 1}},
        {"spaces": ["  "]},
        {"spaces": [" work"]},
        {"spaces": ["wo\x00rk"]},
        {"spaces": ["w" * 101]},
        {"spaces": [f"space {number}" for number in range(101)]},
    ],
)
async def test_a_valid_token_without_access_gets_a_clear_error(site: IssuerWorld, changes: dict[str, Any]) -> None:
    with pytest.raises(NotAllowed) as caught:
        await site.grant(**changes)
    assert caught.value.fields["claim"] in ("scope", "spaces")


async def test_spaces_may_be_words_and_a_claim_of_any_name(server: JwksServer) -> None:
    site = IssuerWorld(server, server.signers[0], spaces_claim="https://example.org/spaces")
    grant = await site.grant(**{"https://example.org/spaces": "work home work"})
    assert grant.spaces == ("work", "home")


async def test_every_subject_may_have_a_space_of_its_own(server: JwksServer) -> None:
    site = IssuerWorld(server, server.signers[0], spaces_claim="sub")
    assert (await site.grant(sub="ann")).spaces == ("ann",)
    assert (await site.grant(sub="ann bob")).spaces == ("ann bob",)
    for sub in ("*", " ann"):
        with pytest.raises(NotAllowed):
            await site.grant(sub=sub)


# ---- shapes ----


@pytest.mark.parametrize(
    "token",
    [
        "..",
        "a.b.c",
        "e30.e30.e30",
        "e30.e30.",
        ".e30.",
        "W10.e30.AAAA",
        "bnVsbA.e30.AAAA",
        "==.==.==",
        "a" * 3000 + "." + "b" * 3000 + ".c",
        ".".join(["e30"] * 3000),
    ],
)
async def test_a_text_that_only_looks_like_a_token_is_refused(site: IssuerWorld, token: str) -> None:
    await site.refused(token)


async def test_json_that_is_nested_without_end_is_refused(site: IssuerWorld) -> None:
    deep = _base64(b"[" * 5000)
    await site.refused(f"{deep}.{deep}.AAAA")
    await site.refused(f"{_encoded({'alg': 'ES256', 'kid': 'first'})}.{deep}.AAAA")
    nested = "[" * 3000 + "]" * 3000
    await site.refused(_signed_text(site.signer, f'{{"sub": {nested}}}'))
    for body in ("[]", "null", '"text"', "7", "not JSON", "\ud83d"):
        await site.refused(_signed_text(site.signer, body))


@pytest.mark.parametrize("kid", [7, None, [], {}, "", "k" * 5000, "first\n"])
async def test_a_key_must_be_named_by_its_name(site: IssuerWorld, server: JwksServer, kid: object) -> None:
    server.signers.append(signer("second"))
    signed = f"{_encoded({'alg': 'ES256', 'kid': kid})}.{_encoded(claims())}"
    await site.refused(f"{signed}.AAAA")


@settings(deadline=None)
@given(
    header=st.dictionaries(
        st.sampled_from(["alg", "kid", "typ", "crit", "b64", "cty"]),
        st.one_of(
            st.none(), st.booleans(), st.integers(), st.text(), st.just("ES256"), st.just("first"), st.lists(st.text())
        ),
    ),
    body=st.binary(),
    signature=st.binary(max_size=100),
)
async def test_no_token_that_was_made_up_is_taken(
    running: JwksServer, header: dict[str, object], body: bytes, signature: bytes
) -> None:
    site = IssuerWorld(running, running.signers[0])
    await site.refused(f"{_encoded(header)}.{_base64(body)}.{_base64(signature)}")


# ---- keys that come and go ----


async def test_keys_are_rotated_without_a_restart(site: IssuerWorld, server: JwksServer) -> None:
    second = signer("second")
    assert await site.grant()
    await site.refused(second.sign(claims()))
    server.signers.append(second)
    site.ticking.seconds += 30
    assert (await site.verifier.verify(second.sign(claims()))).name == "ann"
    assert await site.grant()


async def test_without_keys_a_token_is_neither_good_nor_bad(site: IssuerWorld, server: JwksServer) -> None:
    server.script.append(Reply(status=500))
    with pytest.raises(KeysUnavailable) as caught:
        await site.grant()
    assert caught.value.fields["retry_after"] == 5
    site.ticking.seconds += 5
    assert (await site.grant()).name == "ann"


async def test_no_token_is_repeated_or_logged(site: IssuerWorld, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    good, bad = site.signer.sign(claims()), signer("first").sign(claims())
    await site.verifier.verify(good)
    error = await site.refused(bad)
    assert error.__cause__ is None
    output = f"{error!r}{error}{error.fields}" + "".join(
        f"{record.getMessage()}{vars(record)}" for record in caplog.records
    )
    for part in (*good.split("."), *bad.split(".")):
        assert part not in output


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _encoded(value: object) -> str:
    return _base64(json.dumps(value).encode())


def _signed_text(key: Signer, body: str) -> str:
    signed = f"{_encoded({'alg': key.algorithm, 'kid': key.kid})}.{_base64(body.encode('utf-8', 'surrogatepass'))}"
    return f"{signed}.{_base64(jwt.get_algorithm_by_name(key.algorithm).sign(signed.encode(), key.private))}"


def _signed_raw(key: Signer, body: dict[str, Any]) -> str:
    """Sign by hand: the library does not write everything that a strange issuer might."""
    return _signed_text(key, json.dumps(body))
