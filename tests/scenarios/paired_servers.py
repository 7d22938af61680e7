"""Two servers that get the same requests: one also serves other tenants, the other never did."""

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
import pytest

from scrubjay.app import open_store
from scrubjay.auth.tokens import digest_of, new_secret
from scrubjay.client.connect import Connection
from scrubjay.health import daily
from scrubjay.model.caller import Access, Caller
from scrubjay.model.identity import new_id
from scrubjay.model.requests import CreateTokenRequest, RevokeTokenRequest
from scrubjay.model.token import Token
from scrubjay.recalling import access_log, usage
from scrubjay.settings import Settings
from tests.backends import Choice, backend
from tests.patience import PATIENCE
from tests.scenarios.tenant_data import ID, WORD, HttpRequest, KnownRefs, Tenant
from tests.surfaces.background_daemon import background_daemon
from tests.unit.embedding.embedding_server import EmbeddingServer

# Longer than a request takes, so that no clock is set back.
_STEP = timedelta(seconds=5)
# These headers differ between any two requests.
_VOLATILE_HEADERS = frozenset({"date", "content-length", "x-request-id"})
_CURSOR = re.compile(r"\bW[yz][A-Za-z0-9_-]{6,}=*")
# The cursor of a recall: six bytes of its question, the time of the first page, and four bytes of each shown id.
_PAGE = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{8}AAZ[A-Za-z0-9_-]{13,}={0,2}")
_PAGE_HEAD = 14
# The hash of a question in a cursor, and of a mentioned name: both may be ids.
_HASH = re.compile(r'(?<=")[0-9a-f]{12}(?=")|(?<=~)[0-9a-f]{16}|(?<=c-)[0-9a-f]{16}')
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|\+00:00)?)?|(?<=\"timestamp\":)\d+")
# Reads are counted later, the runs of a skill for every reader of its space, and the tokens of an answer depend on the
# digits of its ids.
_COUNTED = re.compile(
    r',(?:\\n|\s)*\\*"(?:access_count|last_accessed|accessed|runs|success_rate|last_run)\\*": *'
    r'(?:[\d.]+|null|\\*"[^"\\]*\\*")|(?<="tokens":)\s*\d+'
)
# The compressed size of a text depends on the digits of its times, and what a program takes on the machine; some
# answers leave out a field that is 0.
_SIZED = re.compile(
    r',?\\*"(?:compression|avg_ratio|total_original|total_compressed|savings_mb|database_size_mb|'
    r'execution_time_ms|memory_used_mb|mean_ms)\\*": *-?[\d.e-]+'
)
# How much of a line fits into the tokens of an answer depends on the digits of its ids too.
_CUT = re.compile(r"(?:^|(?<=[\\\n]))[^\\\n]*… \[")
# The number of progress messages depends on the time that a job takes.
_PROGRESS = re.compile(r'\{"progress": *\[\d+, *\d+\]\}\n')
# When a job in the background runs is left to each server.
_JOB = re.compile(r'\{[^{}]*"kind\\*": *\\*"conflicts\\*"(?:[^{}]|\{[^{}]*\})*\}')
_JOB_STATE = re.compile(r',? *\\*"(?:state|tries|outcome|version)\\*": *(?:\d+|\\*"[^"\\]*\\*")')
# It sees what was written until then.
_COMPARED = re.compile(r"compared \d+ memor(?:y|ies)")
# Whether the name of a memory that is an id resembles another id is left to chance.
_SUGGESTED = re.compile(r'Did you mean <id \d+>\? |(?<="suggestions":\[)"<id \d+>"(?=\])')
_TAIL = 6
_ENDED = re.compile(rf"-([0-9a-f]{{{_TAIL}}})")
_OWNER = "everywhere"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer, with every byte that the caller sees."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def text(self) -> str:
        """The whole answer, with its cursors decoded."""
        text = "\n".join(f"{name}: {value}" for name, value in self.headers) + "\n" + self.body.decode()
        return text + "".join(map(_decode_cursor, _CURSOR.findall(text)))

    @property
    def is_refusal(self) -> bool:
        """Whether the server denies access, on any surface."""
        return self.status == 403 or (self.status == 200 and b'"code":"not_allowed"' in self.body.replace(b" ", b""))


@dataclass(kw_only=True)
class TenantServer:
    """A server, its tokens, and the references that its tenants have learned."""

    settings: Settings
    url: str
    http: httpx2.Client
    secrets: dict[str, str] = field(default_factory=dict[str, str])
    refs: dict[str, KnownRefs] = field(default_factory=dict[str, KnownRefs])
    owners: dict[str, str] = field(default_factory=dict[str, str])
    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def knowledge(self, tenant: Tenant) -> KnownRefs:
        """Return the references that a tenant has learned here."""
        return self.refs.setdefault(tenant.mark, KnownRefs())

    def send(self, request: HttpRequest, *, token: str, number: int = 0) -> Answer:
        """Send a request with a token by its name; an empty name means no token."""
        response = self.http.request(
            request.method,
            request.path,
            params=list(request.query),
            headers={**request.headers, **self.bearer(token), "x-request-id": f"step-{number:08}"},
            content=request.content,
        )
        headers = sorted((name, value) for name, value in response.headers.items() if name not in _VOLATILE_HEADERS)
        body = self._sort_export(response.content) if request.path.endswith("/export") else response.content
        return Answer(status=response.status_code, headers=tuple(headers), body=body)

    def _sort_export(self, body: bytes) -> bytes:
        """Return an export with its lines in an order that both servers share: the ids of branches sort by chance."""
        lines = body.decode().splitlines(keepends=True)
        if not any(line.startswith('{"lines"') for line in lines):
            return "".join((*lines[:1], *sorted(lines[1:], key=self._with_known_ids))).encode()
        frames = [json.loads(line) for line in lines]
        for frame in frames:
            if "lines" in frame:
                frame["lines"].sort(key=self._with_known_ids)
        return "".join(f"{json.dumps(frame)}\n" for frame in frames).encode()

    def _with_known_ids(self, line: str) -> str:
        line = ID.sub(lambda match: f"<id {self.numbers.get(match[0], '')}>", line)
        return _COUNTED.sub("", _ENDED.sub("", _TIME.sub("", line)))

    def settle(self) -> None:
        """Wait until imported memories are embedded, because an import does not wait."""
        request = HttpRequest(method="POST", path="/call/doctor", headers={"content-type": "application/json"}, body={})
        end = time.monotonic() + PATIENCE
        while b'"name":"vectors","ok":true' not in self.send(request, token=_OWNER).body:
            assert time.monotonic() < end

    def bearer(self, token: str) -> dict[str, str]:
        """Return the header with a token."""
        return {"authorization": f"Bearer {self.secrets[token]}"} if token else {}

    def plain(self, text: str) -> str:
        """Return a text in a form that both servers share: ids by the order of their first use, and no times."""
        text = _PAGE.sub(lambda match: _describe_page(match[0]), text)
        text = _HASH.sub("hash", _CURSOR.sub(lambda match: _decode_cursor(match[0]), text))
        text = ID.sub(lambda match: f"<id {self.numbers.setdefault(match[0], len(self.numbers))}>", text)
        tails = {memory_id[-_TAIL:]: number for memory_id, number in reversed(self.numbers.items())}
        text = _ENDED.sub(lambda match: f"-<tail {tails[match[1]]}>" if match[1] in tails else match[0], text)
        text = _SUGGESTED.sub("", _COMPARED.sub("compared", _CUT.sub("… [", text)))
        text = _JOB.sub(lambda match: _JOB_STATE.sub("", match[0]), text)
        return _SIZED.sub("", _COUNTED.sub("", _PROGRESS.sub("", _TIME.sub("<time>", text))))

    def require_clean(self, answer: Answer, *, tenant: Tenant, readable: Sequence[str]) -> None:
        """Require that an answer reveals nothing of other spaces, except what the tenant has written itself."""
        text = answer.text.casefold()
        foreign = {match[0] for match in WORD.finditer(text) if match[1] not in readable} - tenant.own_words
        assert not foreign, f"foreign words {sorted(foreign)[:5]} in {answer}"
        for memory_id in set(ID.findall(text)) - tenant.own_ids:
            owner = self.owners.get(memory_id, tenant.mark)
            assert owner in readable, f"an id of {owner}, {memory_id}, in {answer}"
            if len(readable) == 1:
                self.owners[memory_id] = owner

    def make_tokens(
        self, requests: Sequence[CreateTokenRequest], *, revoked: Sequence[str] = (), expired: str = ""
    ) -> None:
        """Create tokens as the owner, and revoke or expire some of them at once."""

        async def create() -> None:
            connection = Connection(settings=self.settings)
            service = await connection.open()
            try:
                for request in requests:
                    self.secrets[request.name] = (await service.call(request, who=Caller())).secret
                for name in revoked:
                    await service.call(RevokeTokenRequest(ref=name), who=Caller())
            finally:
                await connection.close()
            if expired:
                self.secrets[expired] = await _add_expired_token(self.settings, expired)

        asyncio.run(create())


@dataclass(frozen=True, kw_only=True)
class ServerPair:
    """A busy server with several tenants, and a quiet one with only the tenant under test."""

    busy: TenantServer
    quiet: TenantServer
    clock: Path

    @classmethod
    @contextmanager
    def open(cls, folder: Path, *, on: str = "sqlite") -> Generator[Self]:
        """Start both, each in a folder of its own and on the same kind of backend."""
        with ExitStack() as stack:
            # Reads are counted a moment later, and the order of nodes depends on the counts: they wait until the end.
            patches = stack.enter_context(pytest.MonkeyPatch.context())
            patches.setattr(access_log, "_DELAY", 3_600.0)
            patches.setattr(usage, "_DELAY", 3_600.0)
            patches.setattr(daily, "_DELAY", 3_600.0)
            model = stack.enter_context(EmbeddingServer())
            clock = folder / "clock"
            _set(clock, datetime.now(UTC))
            busy, quiet = (
                stack.enter_context(_start_server(folder / name, model.url, stack.enter_context(backend(on)), clock))
                for name in ("busy", "quiet")
            )
            yield cls(busy=busy, quiet=quiet, clock=clock)

    def advance_clock(self) -> None:
        """Set both clocks on: what was written before has the same age on both, however long each of them took."""
        _set(self.clock, datetime.fromisoformat(self.clock.read_text()) + _STEP)

    @property
    def both(self) -> tuple[TenantServer, TenantServer]:
        return self.busy, self.quiet

    def require_equal_answers(self, requests: Sequence[HttpRequest], answers: Sequence[Answer]) -> None:
        """Require the same answers of both servers to a tenant with the same data on both."""
        compared = [
            (server.plain(request.text), answer.status, server.plain(answer.text))
            for server, request, answer in zip(self.both, requests, answers, strict=True)
        ]
        assert compared[0] == compared[1], f"{requests[0]}\n{_first_difference(str(compared[0]), str(compared[1]))}"

    def forget_tenants(self) -> None:
        """Forget the references of earlier tenants, before new ones come."""
        for server in self.both:
            server.refs.clear()
            server.numbers.clear()


def _set(clock: Path, moment: datetime) -> None:
    """Write a moment in one step, since the servers read the file all the time."""
    new = clock.with_suffix(".new")
    new.write_text(moment.isoformat())
    new.replace(clock)


@contextmanager
def _start_server(home: Path, model: str, choice: Choice, clock: Path) -> Generator[TenantServer]:
    settings = Settings(
        home=str(home), embedder="openai", embedding_model="hashes", embedding_url=model,
        vector_index="auto" if choice else "scan", readers=1, require_token=True, requests_per_minute=0,
        # Reads are counted later, and would decide between hits of nearly the same score.
        recall_weights="accessed=0", clock_file=str(clock), **choice,
    )  # fmt: skip
    with (
        background_daemon(settings) as running,
        httpx2.Client(base_url=running.http, timeout=PATIENCE, trust_env=False, verify=False) as http,
    ):
        server = TenantServer(settings=settings, url=running.http, http=http)
        server.make_tokens([CreateTokenRequest(name=_OWNER, spaces=("*",), access="write")])
        # A thread creates the routes at the first request, and two such threads in one process share their warnings.
        http.get("/healthz")
        yield server


async def _add_expired_token(settings: Settings, name: str) -> str:
    """Store an expired token and return its secret; the engine creates none."""
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


def _first_difference(first: str, second: str) -> str:
    """Return the surroundings of the first difference, because the answers are too long to show."""
    at = next(
        (at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    return "\n".join(text[max(0, at - 300) : at + 300] for text in (first, second))


def _describe_page(cursor: str) -> str:
    """Return how many hits the cursor of a recall counts as shown; their ids differ between the servers."""
    return f"<cursor after {(len(base64.urlsafe_b64decode(cursor)) - _PAGE_HEAD) // 4}>"


def _decode_cursor(cursor: str) -> str:
    """Return the contents of a cursor."""
    try:
        return json.dumps(json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))))
    except (ValueError, binascii.Error):
        return cursor
