"""Stores with some of everything in them, and their whole content for comparison."""

import hashlib
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

from tests.fakes.build import (
    a_commit,
    a_document,
    a_memory,
    a_rewrite,
    an_edge,
    an_origin,
    moment,
    revised,
    vectors_for,
)
from tests.postgres import a_database, address_of, stamp

from scrubjay.errors import StoreError
from scrubjay.model.caller import Access
from scrubjay.model.document import Document
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Flag, Memory, Merged, Observation, Source, State, Tier
from scrubjay.model.relation import Relation
from scrubjay.model.token import Token
from scrubjay.model.version import MemoryHistory
from scrubjay.ports import IdempotencyRecord, RecordStore
from scrubjay.storage.postgres import PostgresStore
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.transfer.compare import Comparison, ReportProgress, ignore_progress
from scrubjay.transfer.migrate import Migration, MigrationResult, migrate_store

File = TypeVar("File", bound=SqliteStore)
Database = TypeVar("Database", bound=PostgresStore)


async def fill_store(store: RecordStore) -> list[Memory]:
    """Write two spaces: every state, several versions, relations, vectors of two models, answers, documents, tokens."""
    tea = a_memory(
        "green tea 🍵\n\u2028 …", name="tea", title="Tea", tags=("drink",), metadata={"cups": [1, {"big": None}]},
        pinned=True, tier=Tier.SEMANTIC, relevance=0.125, branch="side", expires_at=moment(1e6), group="g",
        entity="Ann", source=Source(session="s", agent="ann", at=moment(-5)), last_confirmed=moment(7),
        # After the end of its observation, which so has no passage, however many memories were made before.
        created_at=moment(4), updated_at=moment(4),
        observations=(
            Observation(text="hot", recorded_at=moment(1), valid_until=moment(2), source=Source(session="x")),
        ),
        flags=(Flag.THIN, Flag.SUSPICIOUS),
        merged=(Merged(id=new_id(), at=moment(3), source=Source(agent="bob"), statements=("iced", "with mint")),),
    )  # fmt: skip
    jay = a_memory("a scrub jay hides acorns")
    rest = [a_memory(f"number {number}", state=state) for number, state in enumerate(State)]
    await store.commit(
        a_commit(
            tea, jay, *rest, embedded=vectors_for([tea, jay, rest[0]]), origin=an_origin(run="first", agent="ann"),
            once=IdempotencyRecord(key="made", digest=b"d", answer='{"id": 1}'),
        )
    )  # fmt: skip
    second = revised(tea, content="black tea")
    await store.commit(a_commit(a_rewrite(second, message="why"), origin=an_origin(run="second", agent="bob")))
    third = revised(second, title="Black tea", state=State.LIVE)
    await store.commit(a_commit(a_rewrite(third), embedded=vectors_for([third], model="two", dimension=8)))
    await store.commit(a_commit(an_edge(tea, jay, type="likes", text="drinks", strength=0.9, metadata={"a": [1]})))
    await store.commit(a_commit(an_edge(jay, tea), an_edge(rest[3], rest[0])))
    job = a_document("j", collection="jobs", value={"about": {"memory_id": jay.id}, "n": [1, None]}, due=moment(7))
    await store.commit(a_commit(documents=[job]))
    await store.put_document(a_document(value={"similarity": 0.5}), base=None)
    await store.put_document(a_document(value={"similarity": 0.25}), base=1)
    await store.put_document(a_document(space="quiet"), base=None)
    await store.touch("default", [tea.id, tea.id, jay.id], at=moment(99))
    others = [a_memory(f"elsewhere {number}", space="дом") for number in range(3)]
    await store.commit(
        a_commit(*others, embedded=vectors_for(others), once=IdempotencyRecord(key="made", digest=b"e", answer=""))
    )
    for name, revoked in (("laptop", None), ("lost", moment(5))):
        token = Token(
            id=new_id(), name=name, spaces=("default", "дом"), access=Access.WRITE, created_at=moment(1),
            expires_at=moment(1e7), revoked_at=revoked, requests_per_minute=7,
        )  # fmt: skip
        await store.add_token(token, hashlib.sha256(f"{name} {token.id}".encode()).digest())
    return [tea, jay, *rest, *others]


class StoreFactory:
    """Opens new stores to migrate from and to, and closes them at the end."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._count = 0

    async def file(self, kind: type[File] = SqliteStore) -> File:
        """Open a new SQLite store."""
        self._count += 1
        store = await kind.open(self._folder / f"{self._count}.db", readers=1)
        self._stack.push_async_callback(store.close)
        return store

    async def database(self, kind: type[Database] = PostgresStore) -> Database:
        """Open a new PostgreSQL store."""
        name = await self._stack.enter_async_context(a_database())
        await stamp(name)
        store = await kind.open(address_of(name))
        self._stack.push_async_callback(store.close)
        return store


async def run_migration(
    source: RecordStore, target: RecordStore, *, merging: bool = False, report: ReportProgress = ignore_progress
) -> tuple[MigrationResult, Comparison]:
    """Migration a store."""
    migration = Migration(source=source, target=target, now=lambda: moment(1000), merging=merging, report=report)
    return await migrate_store(migration)


Everything = dict[str, tuple[list[MemoryHistory], list[Relation], dict[str, dict[bytes, bytes]], list[Document]]]


async def everything(store: RecordStore) -> tuple[Everything, dict[str, bytes], list[Token]]:
    """Return the whole content of a store."""
    spaces: Everything = {}
    for space in await store.spaces():
        ids = await store.ids(space, limit=10_000)
        vectors = {
            model: {
                key: vector.tobytes()
                for key, vector in (await store.stored_vectors(space, model, limit=10_000)).items()
            }
            for model in await store.models()
        }
        memories = await store.get(space, ids)
        histories = [
            MemoryHistory(memory=memories[memory_id], versions=tuple(await store.versions(space, memory_id, limit=999)))
            for memory_id in ids
        ]
        relations = sorted(await store.relations(space, ids), key=lambda relation: relation.key)
        documents = [
            document
            for collection in ("jobs", "rules")
            for document in await store.documents(space, collection, limit=999)
        ]
        spaces[space] = (histories, relations, vectors, documents)
    return spaces, await store.token_digests(), await store.tokens()


class ConnectionLost(StoreError):
    """The connection to a store broke."""


class FailingStore:
    """A store that fails after so many calls of the methods that a migration uses."""

    calls_left = 1 << 30

    def __getattribute__(self, name: str) -> object:
        if name in _COUNTED:
            if self.calls_left == 0:
                raise ConnectionLost("the connection broke", hint="Restore it")
            self.calls_left -= 1
        return super().__getattribute__(name)


class FailingSqlite(FailingStore, SqliteStore):
    pass


class FailingPostgres(FailingStore, PostgresStore):
    pass


_COUNTED = {
    "ids", "histories", "stored_vectors", "relations", "answers", "adopt", "vectors", "store_vectors", "commit",
    "import_answers", "token_digests", "add_token", "all_documents", "import_documents",
}  # fmt: skip
