"""An issuer's keys: the usable ones, when they are fetched, and the errors if they cannot be."""

import asyncio
import gzip
import json
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.unit.auth.issuer import JwksServer, ManualClock, Reply, Signer, document, rsa_key, signer

from scrubjay.auth.jwks import FileSource, KeyRing, KeysNotFetched, WebSource, parse_jwks, source_of
from scrubjay.errors import KeysUnavailable


@pytest.fixture
def server() -> Iterator[JwksServer]:
    with JwksServer(signer("first")) as running:
        yield running


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def ring(server: JwksServer, clock: ManualClock) -> KeyRing:
    return KeyRing(source_of(server.url), monotonic=clock)


async def kid_of(ring: KeyRing, kid: str | None = "first", algorithm: str = "ES256") -> str | None:
    key = await ring.find(kid, algorithm)
    return None if key is None else key.kid


# ---- fetching ----


async def test_keys_are_fetched_once_and_kept_for_ten_minutes(
    ring: KeyRing, server: JwksServer, clock: ManualClock
) -> None:
    assert server.requested_paths == []
    for _ in range(3):
        assert await kid_of(ring) == "first"
    clock.seconds += 599
    assert await kid_of(ring) == "first"
    assert len(server.requested_paths) == 1
    clock.seconds += 1
    assert await kid_of(ring) == "first"
    assert len(server.requested_paths) == 2


async def test_callers_share_one_fetch(ring: KeyRing, server: JwksServer) -> None:
    assert await asyncio.gather(*(kid_of(ring) for _ in range(20))) == ["first"] * 20
    assert len(server.requested_paths) == 1


async def test_callers_share_a_fetch_that_fails(ring: KeyRing, server: JwksServer) -> None:
    server.script.append(Reply(status=500))
    done = await asyncio.gather(*(kid_of(ring) for _ in range(20)), return_exceptions=True)
    assert {type(error) for error in done} == {KeysUnavailable}
    assert len(server.requested_paths) == 1


async def test_a_cancelled_caller_does_not_cancel_the_others(ring: KeyRing, server: JwksServer) -> None:
    server.script.append(Reply(hang=True))
    hasty = asyncio.create_task(kid_of(ring))
    async with asyncio.timeout(PATIENCE):
        while not server.requested_paths:  # noqa: ASYNC110 - it runs in threads
            await asyncio.sleep(0.001)
    patient = asyncio.create_task(kid_of(ring))
    await asyncio.sleep(0)
    hasty.cancel()
    assert await patient == "first"


async def test_a_new_key_is_found_at_once_and_an_old_one_goes(
    ring: KeyRing, server: JwksServer, clock: ManualClock
) -> None:
    assert await kid_of(ring) == "first"
    server.signers[:] = [signer("second")]
    clock.seconds += 30
    assert await kid_of(ring, "second") == "second"
    assert await kid_of(ring, "first") is None
    assert len(server.requested_paths) == 2


async def test_made_up_names_of_keys_do_not_bother_the_issuer(
    ring: KeyRing, server: JwksServer, clock: ManualClock
) -> None:
    for number in range(100):
        assert await kid_of(ring, f"key {number}") is None
    assert len(server.requested_paths) == 1
    clock.seconds += 30
    for number in range(100):
        assert await kid_of(ring, f"key {number}") is None
    assert len(server.requested_paths) == 2


async def test_a_withdrawn_key_stops_working_within_ten_minutes(
    ring: KeyRing, server: JwksServer, clock: ManualClock
) -> None:
    assert await kid_of(ring) == "first"
    server.signers.clear()
    clock.seconds += 600
    assert await kid_of(ring) is None


# ---- failures ----


@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=500),
        Reply(status=404, body=b"{}"),
        Reply(status=204),
        Reply(status=304),
        Reply(body=b""),
        Reply(body=b"<html>hello</html>"),
        Reply(body=b"[" * 50_000),
        Reply(body=b"[]"),
        Reply(body=b"null"),
        Reply(body=b'{"keys": {}}'),
        Reply(body=b"\xff\xfe{}"),
        Reply(body=b'{"keys": []}' + b" " * 1_000_000),
        Reply(body=gzip.compress(document()), headers={"Content-Encoding": "gzip"}),
        Reply(status=302, headers={"Location": "ftp://127.0.0.1/jwks"}),
        Reply(status=302, headers={"Location": "file:///etc/passwd"}),
        Reply(status=302, headers={"Location": "http://issuer.example.org/jwks"}),
        Reply(status=302, headers={"Location": "https://127.0.0.1:1/jwks"}),
        Reply(status=302, headers={"Location": "http://u:p@127.0.0.1/jwks"}),
        Reply(status=302),
    ],
)
async def test_without_keys_no_token_can_be_verified(ring: KeyRing, server: JwksServer, reply: Reply) -> None:
    server.script.append(reply)
    with pytest.raises(KeysUnavailable) as caught:
        await kid_of(ring)
    assert caught.value.fields["retry_after"] == 5
    assert len(server.requested_paths) == 1


async def test_after_a_failure_the_issuer_is_not_called_again_so_soon(
    ring: KeyRing, server: JwksServer, clock: ManualClock
) -> None:
    server.script.append(Reply(status=503))
    for _ in range(5):
        with pytest.raises(KeysUnavailable):
            await kid_of(ring)
    assert len(server.requested_paths) == 1
    clock.seconds += 5
    assert await kid_of(ring) == "first"


async def test_keys_that_are_known_go_on_for_a_day(ring: KeyRing, server: JwksServer, clock: ManualClock) -> None:
    assert await kid_of(ring) == "first"
    server.script.extend(Reply(status=500) for _ in range(3))
    clock.seconds += 600
    for _ in range(5):
        assert await kid_of(ring) == "first"
    assert len(server.requested_paths) == 2
    clock.seconds += 30
    assert await kid_of(ring) == "first"
    assert len(server.requested_paths) == 3
    clock.seconds += 86_400 - 630
    with pytest.raises(KeysUnavailable):
        await kid_of(ring)
    clock.seconds += 30
    assert await kid_of(ring) == "first"


async def test_an_unknown_key_of_an_issuer_that_is_away_is_not_called_bad(
    ring: KeyRing, server: JwksServer, clock: ManualClock
) -> None:
    assert await kid_of(ring) == "first"
    server.signers.append(signer("second"))
    server.script.append(Reply(status=500))
    clock.seconds += 30
    for _ in range(3):
        with pytest.raises(KeysUnavailable) as caught:
            await kid_of(ring, "second")
        assert caught.value.fields["retry_after"] == 30
        assert await kid_of(ring) == "first"
    clock.seconds += 30
    assert await kid_of(ring, "second") == "second"


async def test_a_redirect_on_the_same_kind_of_address_is_followed(ring: KeyRing, server: JwksServer) -> None:
    server.script.append(Reply(status=302, headers={"Location": "/elsewhere"}))
    assert await kid_of(ring) == "first"
    assert server.requested_paths == ["/jwks", "/elsewhere"]


async def test_redirects_come_to_an_end(ring: KeyRing, server: JwksServer) -> None:
    server.script.extend(Reply(status=307, headers={"Location": server.url}) for _ in range(20))
    with pytest.raises(KeysUnavailable):
        await kid_of(ring)
    assert len(server.requested_paths) == 4


async def test_a_server_that_never_answers_is_not_waited_for(server: JwksServer) -> None:
    server.script.append(Reply(hang=True))
    with pytest.raises(KeysNotFetched, match="within"):
        await WebSource(server.url, seconds=0.05).fetch()


async def test_a_server_that_is_not_there(clock: ManualClock) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/jwks"
        with pytest.raises(KeysUnavailable):
            await kid_of(KeyRing(source_of(url), monotonic=clock))


async def test_failures_are_logged_without_secrets(
    server: JwksServer, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    server.script.append(Reply(status=500))
    with pytest.raises(KeysUnavailable), caplog.at_level(logging.WARNING, "scrubjay"):
        await kid_of(KeyRing(source_of(f"{server.url}?key=hush"), monotonic=clock))
    (record,) = caplog.records
    assert "500" in str(vars(record)["fields"])
    assert "hush" not in str(vars(record))


async def test_a_file_is_read_again_when_it_changes(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "jwks.json"
    path.write_bytes(document(signer("first")))
    ring = KeyRing(FileSource(path), monotonic=clock)
    assert await kid_of(ring) == "first"
    path.write_bytes(document(signer("second")))
    clock.seconds += 30
    assert await kid_of(ring, "second") == "second"
    path.unlink()
    clock.seconds += 600
    assert await kid_of(ring, "second") == "second"
    path.write_bytes(b" " * 1_000_001)
    with pytest.raises(KeysNotFetched):
        await FileSource(path).fetch()
    with pytest.raises(KeysNotFetched):
        await FileSource(tmp_path).fetch()


# ---- usable keys ----


@pytest.mark.parametrize(
    ("algorithm", "fits"),
    [
        ("RS256", ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")),
        ("ES256", ("ES256",)),
        ("ES384", ("ES384",)),
        ("ES512", ("ES512",)),
        ("EdDSA", ("EdDSA",)),
    ],
)
def test_a_key_is_good_for_its_own_kind_of_signature(algorithm: str, fits: tuple[str, ...]) -> None:
    (key,) = parse_jwks(document(signer("k", algorithm)))
    assert (key.kid, key.algorithms) == ("k", fits)


def jwk(algorithm: str = "ES256", **changed: Any) -> dict[str, Any]:
    return {**signer("k", algorithm).jwk, **changed}


@pytest.mark.parametrize(
    "entry",
    [
        {"kty": "oct", "kid": "k", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA"},
        {"kty": "oct", "kid": "k", "k": "c2VjcmV0", "alg": "HS256"},
        jwk("RS256", alg="HS256"),
        jwk("RS256", alg="ES256"),
        jwk("ES256", alg="RS256"),
        jwk("ES256", alg="none"),
        jwk("ES256", alg=["ES256"]),
        jwk("ES256", use="enc"),
        jwk("ES256", key_ops=["sign"]),
        jwk("ES256", key_ops="verify"),
        jwk("ES256", crv="P-384"),
        jwk("ES256", crv="secp256k1"),
        jwk("ES256", crv=["P-256"]),
        jwk("ES256", kty=["EC"]),
        jwk("ES256", kid=7),
        jwk("ES256", kid="k" * 2000),
        jwk("ES256", x="!!!"),
        jwk("ES256", x="AAAA"),
        jwk("ES256", y=None),
        jwk("EdDSA", crv="X25519"),
        jwk("EdDSA", crv="Ed448"),
        jwk("EdDSA", x="AAAA"),
        jwk("RS256", n="AQAB"),
        jwk("RS256", n="é"),
        jwk("RS256", n=7),
        jwk("RS256", e=""),
        {},
        {"kty": None},
        7,
        "key",
        None,
        [],
    ],
)  # fmt: skip
def test_unusable_keys_are_skipped(entry: object) -> None:
    good = signer("good")
    keys = parse_jwks(json.dumps({"keys": [entry, good.jwk]}).encode())
    assert [key.kid for key in keys] == ["good"]


def test_a_weak_key_is_passed_over() -> None:
    weak = Signer(kid="weak", algorithm="RS256", private=rsa_key(bits=1024))
    assert parse_jwks(document(weak)) == ()


def test_a_private_key_that_is_shown_by_mistake_is_not_taken_in() -> None:
    pair = signer("k", "EdDSA")
    from jwt.algorithms import OKPAlgorithm

    private = OKPAlgorithm.to_jwk(pair.private, as_dict=True)  # type: ignore[arg-type]
    (key,) = parse_jwks(json.dumps({"keys": [{**private, "kid": "k"}]}).encode())
    assert not hasattr(key.material, "sign")


def test_a_set_without_end_is_cut() -> None:
    entry = json.dumps(signer("k").jwk)
    assert len(parse_jwks(f'{{"keys": [{",".join([entry] * 500)}]}}'.encode())) == 100


async def test_a_token_that_names_no_key_is_taken_if_there_is_but_one(server: JwksServer, clock: ManualClock) -> None:
    ring = KeyRing(source_of(server.url), monotonic=clock)
    assert await kid_of(ring, None) == "first"
    assert await kid_of(ring, None, "RS256") is None
    server.signers.append(signer("other kind", "EdDSA"))
    clock.seconds += 600
    assert await kid_of(ring, None) == "first"
    server.signers.append(signer("second"))
    clock.seconds += 600
    assert await kid_of(ring, None) is None


async def test_two_keys_of_one_name_are_none_unless_their_kinds_differ(server: JwksServer, clock: ManualClock) -> None:
    server.signers[:] = [signer("same"), signer("same", "EdDSA")]
    ring = KeyRing(source_of(server.url), monotonic=clock)
    assert await kid_of(ring, "same", "EdDSA") == "same"
    server.signers.append(signer("same", "EdDSA"))
    clock.seconds += 600
    assert await kid_of(ring, "same", "EdDSA") is None
