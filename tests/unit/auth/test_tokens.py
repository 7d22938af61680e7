"""Scrubjay's own tokens: the fields of a request, revocation, and the form of secrets."""

import hashlib
import logging
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.new_files import NewStores
from tests.unit.auth.issuer import NOW

from scrubjay.auth.tokens import create, digest_of, is_secret, new_secret, revoke
from scrubjay.errors import Ambiguous, InvalidInput, NameTaken, NotFound, TooLarge
from scrubjay.model.caller import ALL_SPACES, Access
from scrubjay.model.identity import new_id
from scrubjay.model.requests import CreateTokenRequest
from scrubjay.model.timestamps import parse_moment
from scrubjay.model.token import NewToken, Token, TokenState
from scrubjay.ports import RecordStore
from scrubjay.storage.sqlite import SqliteStore


async def made(store: RecordStore, name: str = "laptop", **fields: Any) -> NewToken:
    request: dict[str, Any] = {"name": name, "spaces": ("work",), **fields}
    return await create(CreateTokenRequest(**request), tokens=store, now=NOW)


async def test_a_token_is_made_and_its_secret_shown_once(store: RecordStore) -> None:
    new = await made(
        store, " laptop ", spaces=("work", "home", "work"), access="write", expires="90d",
        requests_per_minute=60, body_bytes=1000,
    )  # fmt: skip
    assert new.token == Token(
        id=new.token.id, name="laptop", spaces=("work", "home"), access=Access.WRITE, created_at=NOW,
        expires_at=NOW + timedelta(days=90), requests_per_minute=60, body_bytes=1000,
    )  # fmt: skip
    assert is_secret(new.secret)
    assert await store.token_by_digest(digest_of(new.secret)) == new.token
    assert await store.tokens() == [new.token]


async def test_a_wish_is_modest_unless_it_says_otherwise(store: SqliteStore) -> None:
    token = (await made(store)).token
    assert (token.access, token.expires_at, token.requests_per_minute, token.body_bytes) == (Access.READ, None, 0, 0)


async def test_a_grant_has_the_scope_of_its_token(store: SqliteStore) -> None:
    token = (await made(store, access="write", expires="1h", requests_per_minute=9, body_bytes=8)).token
    grant = token.grant
    assert (grant.id, grant.name, grant.spaces, grant.access) == (token.id, "laptop", ("work",), Access.WRITE)
    assert (grant.requests_per_minute, grant.body_bytes, grant.expires_at) == (9, 8, token.expires_at)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("30m", NOW + timedelta(minutes=30)),
        ("12h", NOW + timedelta(hours=12)),
        ("30D", NOW + timedelta(days=30)),
        ("2 w", NOW + timedelta(weeks=2)),
        ("2027-01-31", parse_moment("2027-01-31", field="")),
        ("2026-05-01T14:00:01+02:00", NOW + timedelta(seconds=1)),
        ("", None),
    ],
)
async def test_an_end_is_a_while_or_a_moment(text: str, end: object, store: SqliteStore) -> None:
    assert (await made(store, expires=text)).token.expires_at == end


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": " \t"}, "name"),
        ({"name": "n" * 101}, "name"),
        ({"name": "two\nlines"}, "name"),
        ({"name": "bell\x07"}, "name"),
        ({"name": "half \ud800"}, "name"),
        ({"name": 7}, "name"),
        ({"name": "01890a5d-ac96-774b-bcce-b302099a8057"}, "name"),
        ({"name": "sj_laptop"}, "name"),
        ({"spaces": ()}, "spaces"),
        ({"spaces": ("",)}, "spaces"),
        ({"spaces": (" work",)}, "spaces"),
        ({"spaces": ("wo\x00rk",)}, "spaces"),
        ({"spaces": ("w" * 101,)}, "spaces"),
        ({"spaces": "work"}, "spaces"),
        ({"spaces": (7,)}, "spaces"),
        ({"spaces": tuple(f"space {number}" for number in range(101))}, "spaces"),
        ({"spaces": ("work",), "access": "metrics"}, "spaces"),
        ({"access": "admin"}, "access"),
        ({"access": ""}, "access"),
        ({"access": None}, "access"),
        ({"expires": "0d"}, "expires"),
        ({"expires": "-1d"}, "expires"),
        ({"expires": "soon"}, "expires"),
        ({"expires": "90"}, "expires"),
        ({"expires": "1.5d"}, "expires"),
        ({"expires": "999999w"}, "expires"),
        ({"expires": "9999-12-31"}, "expires"),
        ({"expires": "2026-05-01T12:00:00Z"}, "expires"),
        ({"expires": "1999-01-01"}, "expires"),
        ({"expires": "٣d"}, "expires"),
        ({"expires": 90}, "expires"),
        ({"requests_per_minute": -1}, "requests_per_minute"),
        ({"requests_per_minute": 1 << 70}, "requests_per_minute"),
        ({"requests_per_minute": True}, "requests_per_minute"),
        ({"requests_per_minute": "60"}, "requests_per_minute"),
        ({"body_bytes": -1}, "body_bytes"),
        ({"body_bytes": 1 << 41}, "body_bytes"),
        ({"access": "owner"}, "access"),
        ({"access": "metrics", "spaces": (), "mcp_only": True}, "mcp_only"),
        ({"mcp_only": 1}, "mcp_only"),
        ({"access": "agent", "trusted_imports": True}, "trusted_imports"),
        ({"access": "write", "mcp_only": True, "trusted_imports": True}, "trusted_imports"),
        ({"trusted_imports": "yes"}, "trusted_imports"),
    ],
)
async def test_an_invalid_request_is_refused_by_field_and_nothing_is_stored(
    fields: dict[str, Any], field: str, store: SqliteStore
) -> None:
    request: dict[str, Any] = {"name": "laptop", "spaces": ("work",), **fields}
    with pytest.raises(InvalidInput) as caught:
        await create(CreateTokenRequest(**request), tokens=store, now=NOW)
    assert caught.value.fields["field"] == field
    assert await store.tokens() == []


async def test_errors_about_lengths_name_the_limits(new_store: NewStores) -> None:
    with pytest.raises(TooLarge, match="100"):
        await made(new_store(), "n" * 1000)
    with pytest.raises(TooLarge, match="100"):
        await made(new_store(), spaces=tuple(map(str, range(1000))))


async def test_every_space_and_no_space(store: SqliteStore) -> None:
    assert (await made(store, "all", spaces=("work", ALL_SPACES))).token.grant.allows_all_spaces
    assert (await made(store, "figures", spaces=(), access="metrics")).token.spaces == ()


async def test_a_live_name_is_taken_and_an_ended_one_is_free(store: RecordStore) -> None:
    first = await made(store, expires="1h")
    with pytest.raises(NameTaken) as caught:
        await made(store)
    assert caught.value.fields["token"] == first.token.id
    await revoke("laptop", tokens=store, now=NOW)
    second = await made(store, expires="1h")
    later = await create(
        CreateTokenRequest(name="laptop", spaces=("work",)), tokens=store, now=NOW + timedelta(hours=1)
    )
    states = [token.state(NOW + timedelta(hours=1)) for token in await store.tokens()]
    assert states == [TokenState.REVOKED, TokenState.EXPIRED, TokenState.LIVE]
    assert later.token.id != second.token.id


async def test_a_token_is_ended_by_id_name_or_secret(store: RecordStore) -> None:
    for name in ("one", "two", "three"):
        new = await made(store, name)
        ref = {"one": new.token.id.upper(), "two": " two ", "three": new.secret}[name]
        revoked = await revoke(ref, tokens=store, now=NOW)
        assert revoked == replace(new.token, revoked_at=NOW)
        assert await store.token(new.token.id) == revoked


async def test_to_end_it_again_changes_nothing(store: RecordStore) -> None:
    new = await made(store)
    first = await revoke("laptop", tokens=store, now=NOW)
    for ref in ("laptop", new.token.id, new.secret):
        assert await revoke(ref, tokens=store, now=NOW + timedelta(days=1)) == first


async def test_of_several_with_one_name_the_live_one_is_meant(store: RecordStore) -> None:
    await made(store, expires="1h")
    later = NOW + timedelta(hours=2)
    live = await create(CreateTokenRequest(name="laptop", spaces=("work",)), tokens=store, now=later)
    assert (await revoke("laptop", tokens=store, now=later)).id == live.token.id


async def test_two_live_tokens_of_one_name_are_ambiguous(store: RecordStore, new_store: NewStores) -> None:
    twins = [replace((await made(new_store())).token, id=new_id()) for _ in range(2)]
    for number, token in enumerate(twins):
        await store.add_token(token, bytes([number]) * 32)
    with pytest.raises(Ambiguous) as caught:
        await revoke("laptop", tokens=store, now=NOW)
    assert set(caught.value.fields["ids"] or ()) == {token.id for token in twins}  # type: ignore[arg-type]
    assert (await revoke(twins[0].id, tokens=store, now=NOW)).id == twins[0].id
    assert (await revoke("laptop", tokens=store, now=NOW)).id == twins[1].id
    assert (await revoke("laptop", tokens=store, now=NOW)).revoked_at == NOW


async def test_an_unknown_token_cannot_be_revoked(store: RecordStore) -> None:
    await made(store)
    for ref in ("", "lapdog", new_id(), "*", "x" * 10_000):
        with pytest.raises(NotFound):
            await revoke(ref, tokens=store, now=NOW)
    with pytest.raises(NotFound, match="laptop"):
        await revoke("laptp", tokens=store, now=NOW)


async def test_a_secret_is_never_repeated(caplog: pytest.LogCaptureFixture, store: SqliteStore) -> None:
    caplog.set_level(logging.DEBUG)
    stranger = new_secret()
    new = await made(store)
    assert new.secret not in repr(new) + str(new) + repr(new.token)
    with pytest.raises(NotFound) as caught:
        await revoke(stranger, tokens=store, now=NOW)
    assert stranger not in repr(caught.value) + str(caught.value) + repr(caught.value.fields)
    await revoke(new.secret, tokens=store, now=NOW)
    logged = "\n".join(f"{record.getMessage()} {vars(record)}" for record in caplog.records)
    assert "token created" in logged
    assert "token revoked" in logged
    assert new.secret not in logged
    assert stranger not in logged


# ---- secrets ----


def test_secrets_are_spelled_alike_and_are_all_different() -> None:
    secrets = {new_secret() for _ in range(200)}
    assert len(secrets) == 200
    assert {len(secret) for secret in secrets} == {52}
    assert all(secret.startswith("sj_") and is_secret(secret) for secret in secrets)
    assert all(secret.isascii() and set(secret) <= set("_-").union(map(chr, range(48, 123))) for secret in secrets)


@given(place=st.integers(0, 51), letter=st.characters())
def test_one_wrong_letter_is_noticed(place: int, letter: str) -> None:
    secret = new_secret()
    changed = secret[:place] + letter + secret[place + 1 :]
    assert is_secret(changed) is (changed == secret)


@given(st.text())
def test_no_other_text_is_a_secret(text: str) -> None:
    assert not is_secret(text)
    assert not is_secret(f"sj_{text}")


def test_blanks_around_a_secret_make_it_another_text() -> None:
    secret = new_secret()
    assert not any(is_secret(text) for text in (f"{secret}\n", f" {secret}", secret[:-1], secret + "A", secret.upper()))


def test_only_a_digest_is_stored() -> None:
    secret = new_secret()
    assert digest_of(secret) == hashlib.sha256(secret.encode()).digest()
    assert secret.encode() not in digest_of(secret)
