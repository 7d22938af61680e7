"""Bearer tokens: stored by the digest of their secrets, revoked for good, and part of no space."""

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fakes.build import a_commit, a_memory, an_origin, moment

from scrubjay.errors import Conflict
from scrubjay.model.caller import ALL_SPACES, Access
from scrubjay.model.identity import new_id
from scrubjay.model.token import Token, TokenState
from scrubjay.ports import RecordStore


class TokensSuite:
    """The port `Tokens`. Needs the fixture `store`: an empty store."""

    async def test_a_new_store_has_no_tokens(self, store: RecordStore) -> None:
        assert await store.tokens() == []
        assert await store.token_by_digest(_digest("x")) is None
        assert await store.token(new_id()) is None
        assert await store.revoke_token(new_id(), at=moment(1)) is None

    async def test_a_token_is_kept_whole(self, store: RecordStore) -> None:
        full = _a_token(
            "büro 🏠",
            spaces=("work", "дом", "with space"),
            access=Access.WRITE,
            requests_per_minute=7,
            body_bytes=1 << 40,
        )
        bare = replace(_a_token("bare", access=Access.METRICS, spaces=()), expires_at=None)
        bound = replace(_a_token("bound", access=Access.AGENT), mcp_only=True)
        trusted = replace(_a_token("trusted", access=Access.WRITE), trusted_imports=True)
        for token in (full, bare, bound, trusted):
            await store.add_token(token, _digest(token.name))
            assert await store.token_by_digest(_digest(token.name)) == token
            assert await store.token(token.id) == token

    async def test_only_the_whole_digest_finds_a_token(self, store: RecordStore) -> None:
        token = _a_token("laptop")
        digest = _digest("laptop")
        await store.add_token(token, digest)
        for other in (b"", digest[:-1], digest + b"\x00", digest[::-1], digest.hex().encode(), _digest("LAPTOP")):
            assert await store.token_by_digest(other) is None
        for other in ("", token.id.upper(), token.id[:-1], f"{token.id} ", token.name, "%", "*"):
            assert await store.token(other) is None

    async def test_tokens_are_listed_oldest_first(self, store: RecordStore) -> None:
        made = [replace(_a_token(f"number {minute}"), created_at=moment(minute)) for minute in (3, 1, 2)]
        for token in made:
            await store.add_token(token, _digest(token.name))
        assert await store.tokens() == sorted(made, key=lambda memory: memory.created_at)

    async def test_two_tokens_may_share_a_name(self, store: RecordStore) -> None:
        first, second = _a_token("laptop"), _a_token("laptop")
        await store.add_token(first, _digest("one"))
        await store.add_token(second, _digest("two"))
        assert await store.token_by_digest(_digest("two")) == second
        assert len(await store.tokens()) == 2

    async def test_an_id_or_a_digest_is_taken_once(self, store: RecordStore) -> None:
        token = _a_token("laptop")
        await store.add_token(token, _digest("one"))
        with pytest.raises(Conflict):
            await store.add_token(token, _digest("two"))
        with pytest.raises(Conflict):
            await store.add_token(_a_token("thief", spaces=(ALL_SPACES,)), _digest("one"))
        assert await store.tokens() == [token]
        assert await store.token_by_digest(_digest("one")) == token

    async def test_a_revoked_token_is_known_as_such_at_once(self, store: RecordStore) -> None:
        token, other = _a_token("laptop"), _a_token("phone")
        await store.add_token(token, _digest("laptop"))
        await store.add_token(other, _digest("phone"))
        revoked = await store.revoke_token(token.id, at=moment(5))
        assert revoked == replace(token, revoked_at=moment(5))
        assert await store.token_by_digest(_digest("laptop")) == revoked
        assert await store.token(token.id) == revoked
        assert await store.token_by_digest(_digest("phone")) == other
        assert revoked is not None
        assert revoked.state(moment(0)) is TokenState.REVOKED

    async def test_a_revoked_token_keeps_its_time(self, store: RecordStore) -> None:
        token = _a_token("laptop")
        await store.add_token(token, _digest("laptop"))
        first = await store.revoke_token(token.id, at=moment(5))
        assert await store.revoke_token(token.id, at=moment(9)) == first
        assert await store.tokens() == [first]

    async def test_many_may_add_and_revoke_at_once(self, store: RecordStore) -> None:
        made = [_a_token(f"number {number}") for number in range(20)]
        await asyncio.gather(*(store.add_token(token, _digest(token.name)) for token in made))
        await asyncio.gather(*(store.revoke_token(token.id, at=moment(1)) for token in made[::2]))
        results = {token.id: token.revoked_at for token in await store.tokens()}
        assert results == {token.id: moment(1) if place % 2 == 0 else None for place, token in enumerate(made)}

    async def test_tokens_are_no_memories(self, store: RecordStore, tmp_path: Path) -> None:
        memory, token = a_memory("tea"), _a_token("laptop", spaces=("default",))
        await store.commit(a_commit(memory))
        before = await store.last_seq()
        await store.add_token(token, _digest("laptop"))
        await store.revoke_token(token.id, at=moment(1))
        assert await store.last_seq() == before
        await store.purge("default", [memory.id], origin=an_origin())
        assert [token.id for token in await store.tokens()] == [token.id]
        await store.backup(tmp_path / "copy")
        assert await store.check(deep=True) == []


def _a_token(
    name: str,
    *,
    spaces: tuple[str, ...] = ("work",),
    access: Access = Access.READ,
    requests_per_minute: int = 0,
    body_bytes: int = 0,
) -> Token:
    return Token(
        id=new_id(),
        name=name,
        spaces=spaces,
        access=access,
        created_at=moment(0),
        expires_at=moment(60),
        requests_per_minute=requests_per_minute,
        body_bytes=body_bytes,
    )


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
