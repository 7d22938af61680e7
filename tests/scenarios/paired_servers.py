"""Two servers that are asked the same: on one of them others are busy, on the other they never were."""

import asyncio
import base64
import binascii
import json
import re
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

import httpx2

from scrubjay.app import open_store
from scrubjay.auth.tokens import digest_of, new_secret
from scrubjay.client.connect import Connection
from scrubjay.model.grant import Access
from scrubjay.model.identity import new_id
from scrubjay.model.token import Token, TokenRequest
from scrubjay.settings import Settings
from tests.backends import Choice, backend
from tests.scenarios.tenant_data import ID, WORD, HttpRequest, KnownRefs, Tenant
from tests.surfaces.background_daemon import background_daemon
from tests.unit.embedding.embedding_server import EmbeddingServer

_SECONDS = 30.0
# They differ with every request, whatever is asked.
_OF_THE_MOMENT = frozenset({"date", "content-length", "x-request-id"})
_CURSOR = re.compile(r"\bW[yz][A-Za-z0-9_-]{6,}=*")
# Of a recall: six bytes of its question, the moment of the first page, and four bytes of every id that was shown.
_PAGE = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{8}AAZ[A-Za-z0-9_-]{13,}={0,2}")
_PAGE_HEAD = 14
# Of a question in a cursor, and of a name that is mentioned: both may be an id.
_HASH = re.compile(r'(?<=")[0-9a-f]{12}(?=")|(?<=~)[0-9a-f]{16}|(?<=c-)[0-9a-f]{16}')
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|\+00:00)?)?|(?<=\"timestamp\":)\d+")
# Readings are counted a while later, and what an answer costs depends on the digits of its ids.
_COUNTED = re.compile(
    r',(?:\\n|\s)*\\*"(?:access_count|last_accessed|accessed)\\*": *(?:\d+|\\*"[^"\\]*\\*")|(?<="tokens":)\s*\d+'
)
# How small a text becomes depends on the digits of its times.
_SIZED = re.compile(
    r'\\*"(?:compression|avg_ratio|total_original|total_compressed|savings_mb|database_size_mb)\\*": *-?[\d.e-]+'
)
# How often it is told how far something has come depends on how long it takes.
_PROGRESS = re.compile(r'\{"progress": *\[\d+, *\d+\]\}\n')
_TAIL = 6
_ENDED = re.compile(rf"-([0-9a-f]{{{_TAIL}}})")
_OWNER = "everywhere"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer, to the last byte that its caller sees."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def text(self) -> str:
        """All of it, with what its cursors say."""
        text = "\n".join(f"{name}: {value}" for name, value in self.headers) + "\n" + self.body.decode()
        return text + "".join(map(_unpacked, _CURSOR.findall(text)))

    @property
    def is_refusal(self) -> bool:
        """Whether it says that this is not open to the caller, on whatever surface."""
        return self.status == 403 or (self.status == 200 and b'"code":"not_allowed"' in self.body.replace(b" ", b""))


@dataclass(kw_only=True)
class ServerPair:
    """One server: who holds which token there, and what they have learned."""

    settings: Settings
    url: str
    http: httpx2.Client
    secrets: dict[str, str] = field(default_factory=dict[str, str])
    known: dict[str, KnownRefs] = field(default_factory=dict[str, KnownRefs])
    owners: dict[str, str] = field(default_factory=dict[str, str])
    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def knowledge(self, tenant: Tenant) -> KnownRefs:
        """What somebody knows of its own things here."""
        return self.known.setdefault(tenant.mark, KnownRefs())

    def send(self, ask: HttpRequest, *, token: str, number: int = 0) -> Answer:
        """Ask with a token by its name; an empty name is no token."""
        response = self.http.request(
            ask.method,
            ask.path,
            params=list(ask.query),
            headers={**ask.headers, **self.bearer(token), "x-request-id": f"step-{number:08}"},
            content=ask.content,
        )
        headers = sorted((name, value) for name, value in response.headers.items() if name not in _OF_THE_MOMENT)
        return Answer(status=response.status_code, headers=tuple(headers), body=response.content)

    def settle(self) -> None:
        """Wait until all that was imported is embedded, which nobody who imports waits for."""
        ask = HttpRequest(method="POST", path="/call/doctor", headers={"content-type": "application/json"}, body={})
        end = time.monotonic() + _SECONDS
        while b'"name":"vectors","ok":true' not in self.send(ask, token=_OWNER).body:
            assert time.monotonic() < end

    def bearer(self, token: str) -> dict[str, str]:
        """The header that shows a token."""
        return {"authorization": f"Bearer {self.secrets[token]}"} if token else {}

    def plain(self, text: str) -> str:
        """A text as every world tells it: ids by the order in which they came up, and no times."""
        text = _PAGE.sub(lambda found: _shown(found[0]), text)
        text = _HASH.sub("hash", _CURSOR.sub(lambda found: _unpacked(found[0]), text))
        text = ID.sub(lambda found: f"<id {self.numbers.setdefault(found[0], len(self.numbers))}>", text)
        tails = {item[-_TAIL:]: number for item, number in reversed(self.numbers.items())}
        text = _ENDED.sub(lambda found: f"-<tail {tails[found[1]]}>" if found[1] in tails else found[0], text)
        return _SIZED.sub("", _COUNTED.sub("", _PROGRESS.sub("", _TIME.sub("<time>", text))))

    def require_clean(self, told: Answer, *, tenant: Tenant, readable: Sequence[str]) -> None:
        """Nothing of a space that is not open to the caller, unless the caller itself has said it."""
        text = told.text.casefold()
        foreign = {results[0] for results in WORD.finditer(text) if results[1] not in readable} - tenant.own_words
        assert not foreign, f"foreign words {sorted(foreign)[:5]} in {told}"
        for item in set(ID.findall(text)) - tenant.own_ids:
            owner = self.owners.get(item, tenant.mark)
            assert owner in readable, f"an id of {owner}, {item}, in {told}"
            if len(readable) == 1:
                self.owners[item] = owner

    def make_tokens(self, wishes: Sequence[TokenRequest], *, revoked: Sequence[str] = (), expired: str = "") -> None:
        """Have the owner make tokens, and end some of them at once."""

        async def make() -> None:
            connection = Connection(settings=self.settings)
            engine = await connection.open()
            try:
                for wish in wishes:
                    self.secrets[wish.name] = (await engine.create_token(wish)).secret
                for name in revoked:
                    await engine.revoke_token(name)
            finally:
                await connection.close()
            if expired:
                self.secrets[expired] = await _expired(self.settings, expired)

        asyncio.run(make())


@dataclass(frozen=True, kw_only=True)
class Twins:
    """A world with others in it, and one without."""

    busy: ServerPair
    quiet: ServerPair

    @classmethod
    @contextmanager
    def open(cls, folder: Path, *, on: str = "sqlite") -> Generator[Self]:
        """Both, each in a folder of its own and on the same kind of backend."""
        with ExitStack() as stack:
            model = stack.enter_context(EmbeddingServer())
            busy, quiet = (
                stack.enter_context(_world(folder / name, model.url, stack.enter_context(backend(on))))
                for name in ("busy", "quiet")
            )
            yield cls(busy=busy, quiet=quiet)

    @property
    def both(self) -> tuple[ServerPair, ServerPair]:
        return self.busy, self.quiet

    def require_alike(self, requests: Sequence[HttpRequest], told: Sequence[Answer]) -> None:
        """Whoever has the same things in both worlds gets the same answers."""
        seen = [
            (world.plain(ask.text), item.status, world.plain(item.text))
            for world, ask, item in zip(self.both, requests, told, strict=True)
        ]
        assert seen[0] == seen[1], f"{requests[0]}\n{_first_difference(str(seen[0]), str(seen[1]))}"

    def begin(self) -> None:
        """Others come: what was known of the things of those before is of no use to them."""
        for world in self.both:
            world.known.clear()
            world.numbers.clear()


@contextmanager
def _world(home: Path, model: str, choice: Choice) -> Generator[ServerPair]:
    settings = Settings(
        home=str(home), embedder="openai", embedding_model="hashes", embedding_url=model,
        vector_index="auto" if choice else "scan", readers=1, require_token=True, requests_per_minute=0,
        # Readings are counted a while later, and would decide between two that are nearly as good.
        recall_weights="accessed=0", **choice,
    )  # fmt: skip
    with (
        background_daemon(settings) as running,
        httpx2.Client(base_url=running.http, timeout=_SECONDS, trust_env=False, verify=False) as http,
    ):
        world = ServerPair(settings=settings, url=running.http, http=http)
        world.make_tokens([TokenRequest(name=_OWNER, spaces=("*",), access="write")])
        # Its routes are made in a thread, and two of these at once in one process share their warnings.
        http.get("/healthz")
        yield world


async def _expired(settings: Settings, name: str) -> str:
    """The secret of a token whose time is over: none can be made so, it has to have been made earlier."""
    store = await open_store(settings)
    secret, now = new_secret(), datetime.now(UTC)
    token = Token(
        id=new_id(), name=name, spaces=("*",), access=Access.WRITE, created_at=now - timedelta(days=2),
        expires_at=now - timedelta(days=1),
    )  # fmt: skip
    try:
        await store.add_token(token, digest_of(secret))
    finally:
        await store.close()
    return secret


def _first_difference(one: str, other: str) -> str:
    """Where two answers part, with what is around it: they are too long to be shown whole."""
    at = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return "\n".join(text[max(0, at - 300) : at + 300] for text in (one, other))


def _shown(cursor: str) -> str:
    """How many hits a cursor of a recall says were shown; which, it tells by what differs from world to world."""
    return f"<cursor after {(len(base64.urlsafe_b64decode(cursor)) - _PAGE_HEAD) // 4}>"


def _unpacked(cursor: str) -> str:
    """What a cursor says."""
    try:
        return json.dumps(json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))))
    except (ValueError, binascii.Error):
        return cursor
