"""The authenticator: which headers it accepts, and how little its errors reveal."""

import logging
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fakes import FakeClock
from tests.new_files import NewStores
from tests.unit.auth.issuer import AUDIENCE, ISSUER, claims, document, signer, still_clock

from scrubjay.auth.authenticator import ANONYMOUS, Authenticator
from scrubjay.auth.issuer import TrustedIssuer
from scrubjay.auth.jwt import JwtVerifier
from scrubjay.auth.tokens import create, new_secret, revoke
from scrubjay.errors import NotAdmitted
from scrubjay.model.caller import OWNER, Access, Grant
from scrubjay.model.requests import CreateTokenRequest
from scrubjay.model.token import NewToken
from scrubjay.ports import RecordStore
from scrubjay.storage.sqlite import SqliteStore

TOKEN_REQUEST = CreateTokenRequest(name="laptop", spaces=("work",), expires="1h")


class AuthContext:
    """An authenticator with a store, a clock and one token."""

    def __init__(self, store: RecordStore, new: NewToken, clock: FakeClock, *, must: bool) -> None:
        self.store, self.clock = store, clock
        self.token, self.secret = new.token, new.secret
        self.authenticator = Authenticator(store, clock=clock, requires_token=must)

    async def refused(self, header: str | None) -> NotAdmitted:
        with pytest.raises(NotAdmitted) as caught:
            await self.authenticator.authenticate(header)
        return caught.value


async def context(store: RecordStore, *, must: bool = True) -> AuthContext:
    clock = still_clock()
    return AuthContext(store, await create(TOKEN_REQUEST, tokens=store, now=clock.now()), clock, must=must)


async def test_a_token_lets_its_holder_in(store: RecordStore) -> None:
    at = await context(store)
    for scheme in ("Bearer", "bearer", "BEARER", "Bearer "):
        assert await at.authenticator.authenticate(f"{scheme} {at.secret}") == at.token.grant


async def test_without_a_token_it_depends_on_the_house(store: RecordStore, new_store: NewStores) -> None:
    closed, opened = await context(store), await context(new_store(), must=False)
    error = await closed.refused(None)
    assert (error.fields["reason"], "Bearer" in error.hint) == ("missing", True)
    assert await opened.authenticator.authenticate(None) == ANONYMOUS
    assert (ANONYMOUS.id, ANONYMOUS.spaces, ANONYMOUS.access) == ("", OWNER.spaces, Access.WRITE)


async def test_all_invalid_credentials_get_the_same_answer(store: RecordStore) -> None:
    at = await context(store, must=False)
    jwt = signer().sign(claims())
    headers = [
        "", " ", "Bearer", "Bearer ", f"Basic {at.secret}", at.secret, f"Bearer {at.secret} {at.secret}",
        f"Bearer {at.secret}, Bearer {at.secret}", f"Bearer\t{at.secret}", f" Bearer {at.secret}",
        f"Bearer {at.secret}\n", f"Bearer {at.secret[:-1]}", f"Bearer {at.secret}A", f"Bearer {at.secret.swapcase()}",
        f"Bearer {new_secret()}", f"Bearer {at.token.id}", f"Bearer {at.token.name}", f"Bearer {jwt}", "Bearer a.b.c",
        "Bearer ..", f"Bearer {'a' * 9000}", f"Bearer {'a.' * 5000}", f"Bearer {'é' * 20}", "Bearer sj_", "Bearer *",
        f"Bearer {at.secret}\x00", "Bearer sj_\u017f", f"\u15f7earer {at.secret}", f"Bearer {at.secret}=",
        "x" * 100_000,
    ]  # fmt: skip
    answers = {
        (error.message, error.hint, tuple(error.fields.items()))
        for header in headers
        for error in [await at.refused(header)]
    }
    assert len(answers) == 1


async def test_the_holder_of_an_ended_token_gets_the_reason(store: RecordStore) -> None:
    at = await context(store)
    at.clock.advance(timedelta(minutes=59, seconds=59))
    assert await at.authenticator.authenticate(f"Bearer {at.secret}")
    at.clock.advance(timedelta(seconds=1))
    assert (await at.refused(f"Bearer {at.secret}")).fields["reason"] == "expired"
    await revoke("laptop", tokens=store, now=at.clock.now())
    assert (await at.refused(f"Bearer {at.secret}")).fields["reason"] == "revoked"


async def test_a_revoked_token_is_refused_from_the_next_request_on(store: RecordStore) -> None:
    at = await context(store)
    grant = await at.authenticator.authenticate(f"Bearer {at.secret}")
    assert await at.authenticator.is_valid(grant)
    await store.revoke_token(at.token.id, at=at.clock.now())
    assert (await at.refused(f"Bearer {at.secret}")).fields["reason"] == "revoked"
    assert not await at.authenticator.is_valid(grant)


async def test_a_grant_ends_with_its_time(store: RecordStore) -> None:
    at = await context(store)
    grant = await at.authenticator.authenticate(f"Bearer {at.secret}")
    at.clock.advance(timedelta(hours=1))
    assert not await at.authenticator.is_valid(grant)


async def test_a_grant_of_a_deleted_token_is_invalid(store: SqliteStore) -> None:
    at = await context(store)
    assert not await at.authenticator.is_valid(Grant(id="01890a5d-ac96-774b-bcce-b302099a8057"))
    for grant in (OWNER, ANONYMOUS, Grant(id="jwt:ann")):
        assert await at.authenticator.is_valid(grant)


async def test_both_kinds_of_token_are_taken(tmp_path: Path, store: SqliteStore) -> None:
    issuer = signer()
    (tmp_path / "jwks.json").write_bytes(document(issuer))
    trust = TrustedIssuer(issuer=ISSUER, audience=AUDIENCE, jwks=str(tmp_path / "jwks.json"))
    at = await context(store)
    authenticator = Authenticator(
        store, clock=at.clock, requires_token=True, verifier=JwtVerifier(trust, clock=at.clock)
    )
    assert (await authenticator.authenticate(f"Bearer {at.secret}")).id == at.token.id
    foreign = await authenticator.authenticate(f"Bearer {issuer.sign(claims())}")
    assert (foreign.id, foreign.spaces) == ("jwt:ann", ("work", "home"))
    assert await authenticator.is_valid(foreign)
    at.clock.advance(timedelta(seconds=629))
    assert await authenticator.is_valid(foreign)
    at.clock.advance(timedelta(seconds=1))
    assert not await authenticator.is_valid(foreign)


_TEXTS = st.one_of(
    st.text(),
    st.text(alphabet="abcdefXYZ019._-~+/= ,").map(lambda text: f"Bearer {text}"),
    st.binary().map(lambda raw: f"Bearer sj_{raw.hex()}"),
    st.binary(max_size=40).map(lambda raw: raw.decode("latin-1")),
    st.lists(st.text(alphabet="abcXYZ019_-", max_size=20), min_size=3, max_size=3).map(
        lambda parts: f"Bearer {'.'.join(parts)}"
    ),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(header=_TEXTS)
async def test_no_invented_header_is_accepted(
    header: str, tmp_path_factory: pytest.TempPathFactory, store: SqliteStore
) -> None:
    jwks = tmp_path_factory.getbasetemp() / "made-up.json"
    jwks.write_bytes(document(signer()))
    clock = still_clock()
    verifier = JwtVerifier(TrustedIssuer(issuer=ISSUER, audience=AUDIENCE, jwks=str(jwks)), clock=clock)
    if not await store.tokens():
        await create(TOKEN_REQUEST, tokens=store, now=clock.now())
    with pytest.raises(NotAdmitted):
        await Authenticator(store, clock=clock, requires_token=False, verifier=verifier).authenticate(header)


async def test_no_credential_is_repeated_or_logged(caplog: pytest.LogCaptureFixture, store: SqliteStore) -> None:
    caplog.set_level(logging.DEBUG)
    at = await context(store)
    credentials = [at.secret[:-1], new_secret(), signer().sign(claims()), "hush-hush"]
    errors = [await at.refused(f"Bearer {token}") for token in credentials]
    await at.authenticator.authenticate(f"Bearer {at.secret}")
    await at.store.revoke_token(at.token.id, at=at.clock.now())
    errors.append(await at.refused(f"Bearer {at.secret}"))
    output = "".join(f"{error!r}{error}{error.fields}" for error in errors)
    output += "".join(f"{record.getMessage()}{vars(record)}" for record in caplog.records)
    assert not any(token in output for token in (*credentials, at.secret))
