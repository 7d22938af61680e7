"""No query on a hot path scans a space: remember and recall find rows by keys, also under row-level security."""

from collections.abc import AsyncIterator, Awaitable, Callable

import psycopg
import pytest
from tests.fakes.build import MODEL, a_commit, a_document, a_memory, a_rewrite, an_edge, moment, revised, vectors_for
from tests.postgres import shared_server

from scrubjay.model.memory import Memory, Source, State
from scrubjay.model.query import Filter, facet
from scrubjay.storage.postgres import Address, PostgresStore
from scrubjay.text.fuzzy import grams_of
from scrubjay.text.passages import passages_of
from scrubjay.text.tokens import terms_of

MANY = 2_000
FEW = 300
_INDEXES = {
    "neighbours": "passages_thread",
    "session_neighbours": "passages_thread",
    "similar terms": "vocabulary_grams",
    "terms beginning": "vocabulary_terms",
    "memories having": "passages_words",
}


class CountedStore:
    """A filled store, and how many rows of it are read."""

    def __init__(self, store: PostgresStore, memories: list[Memory], url: str) -> None:
        self.store = store
        self.memories = memories
        self._url = url

    async def rows(self) -> dict[str, int]:
        """Return the number of rows read so far, by table."""
        # Its only connection reports its statistics at the end of the next transaction.
        await self.store.database.rows("SELECT pg_stat_force_next_flush()")
        async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as connection:
            cursor = await connection.execute(
                """SELECT relname, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables
                   WHERE schemaname = 'scrubjay'"""
            )
            return {str(table): int(count) for table, count in await cursor.fetchall()}

    async def scans(self, index: str) -> int:
        """Return how often an index was used so far."""
        await self.store.database.rows("SELECT pg_stat_force_next_flush()")
        async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as connection:
            cursor = await connection.execute(
                "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = %s", (index,)
            )
            return int((await cursor.fetchall())[0][0])

    def operations(self) -> dict[str, Callable[[], Awaitable[object]]]:
        """Return the frequent writes and queries."""
        store, memory, other = self.store, self.memories[700], self.memories[900]
        hashes = [passage.hash for passage in passages_of(memory)]
        new, same = a_memory("a new jay"), a_memory(memory.content, title=memory.title)
        rare = terms_of("acorn700 number900")
        return {
            "remember": lambda: store.commit(a_commit(new, embedded=vectors_for([new]))),
            "same text": lambda: store.commit(a_commit(same, embedded=vectors_for([same], model="new"))),
            "revise": lambda: store.commit(a_commit(a_rewrite(revised(memory, content="a jay digs", name="new")))),
            "relate": lambda: store.commit(a_commit(an_edge(memory, other))),
            "file with a write": lambda: store.commit(
                a_commit(a_memory("a job"), documents=[a_document("j", collection="jobs")])
            ),
            "document": lambda: store.document("default", "jobs", "700"),
            "documents": lambda: store.documents("default", "jobs", after="700", limit=9),
            "latest documents": lambda: store.latest_documents("default", "jobs", before=(moment(0), "700"), limit=9),
            "documents about": lambda: store.documents_about("default", "jobs", [memory.id, other.id], limit=9),
            "all documents": lambda: store.all_documents("default", after=("jobs", "700"), limit=9),
            "store a document": lambda: store.put_document(a_document("900", collection="jobs"), base=1),
            "delete a document": lambda: store.delete_document("default", "jobs", "901"),
            "due documents": lambda: store.due_documents("jobs", now=moment(1e6), limit=9),
            "touch": lambda: store.touch("default", [memory.id, other.id], at=moment(1)),
            "get": lambda: store.get("default", [memory.id, other.id]),
            "find by id": lambda: store.find("default", memory.id),
            "find by name": lambda: store.find("default", other.name),
            "find by title": lambda: store.find("default", "jay 900"),
            "find by slug": lambda: store.find("default", "the jay 900"),
            "find nothing": lambda: store.find("default", "nobody"),
            "same content": lambda: store.same_content("default", other.content),
            "find_answer": lambda: store.find_answer("default", "key", b"digest"),
            "versions": lambda: store.versions("default", memory.id, limit=9),
            "versions at": lambda: store.versions_at("default", [memory.id, other.id], at=moment(1e6)),
            "relations": lambda: store.relations("default", [memory.id]),
            "members": lambda: store.members("default", "g700"),
            "pinned": lambda: store.pinned("default"),
            "labels": lambda: store.labels("default", "name", prefix=other.name, limit=9),
            "facets": lambda: store.labels("default", "group", prefix="g700", limit=9),
            "lexical": lambda: store.lexical_candidates("default", rare, Filter(), limit=9),
            "lexical filtered": lambda: store.lexical_candidates("default", rare, Filter(kind="note"), limit=9),
            "list by group": lambda: store.list_ids("default", Filter(group="g700"), limit=9),
            "list": lambda: store.list_ids("default", Filter(), limit=9),
            "statistics": lambda: store.term_statistics("default", terms_of("jay acorn700"), state=State.LIVE),
            "neighbours": lambda: store.stored_passages("default", [700 << 16, 900 << 16], around=4),
            "passage numbers": lambda: store.passage_numbers("default", [memory.id, other.id]),
            "session_neighbours": lambda: store.session_neighbours("default", [memory.id, other.id], each=3),
            "similar terms": lambda: store.similar_terms("default", "qjay", state=State.LIVE, limit=5),
            "terms beginning": lambda: store.terms_with_prefix("default", "acorn70", state=State.LIVE, limit=5),
            "memories having": lambda: store.memories_matching("default", [rare[:1], rare[1:]], Filter(), limit=9),
            "memories having both": lambda: store.memories_matching(
                "default", [rare[:1], ("jay",)], Filter(kind="note", any_tags=("x", "y")), limit=9
            ),
            "known facets": lambda: store.known_facets("default", [facet("group", "g700")], state=State.LIVE),
            "tidy": store.tidy,
            "vectors": lambda: store.vectors("default", MODEL, hashes),
            "points of": lambda: store.points_of(MODEL, [700, 900]),
            "changes": lambda: store.changes(after=MANY - 5, limit=9),
            "changes in": lambda: store.changes_in("default", after=MANY - 5, limit=9),
            "last seq": store.last_seq,
            "last run": lambda: store.last_run("default", agent="tester"),
            "token": lambda: store.token_by_digest(b"digest"),
        }


@pytest.fixture
async def counted(name: str) -> AsyncIterator[CountedStore]:
    """A store whose tables only it has analyzed."""
    url = shared_server().url(name)
    store = await PostgresStore.open(Address(url=url))
    memories = [
        a_memory(
            f"jay number{number} hides acorn{number}",
            title=f"Jay {number}",
            group=f"g{number}",
            source=Source(session=f"s{number // 20}", at=moment(number)),
        )
        for number in range(MANY)
    ]
    for start in range(0, MANY, 500):
        part = memories[start : start + 500]
        await store.commit(a_commit(*part, embedded=vectors_for(part)))
    jobs = [
        a_document(str(number), collection="jobs", value={"about": {"memory_id": memory.id}}, due=moment(number))
        for number, memory in enumerate(memories)
    ]
    await store.import_documents("default", jobs, renew=False)
    await store.close()
    first = await PostgresStore.open(Address(url=url, connections=1))
    yield CountedStore(first, memories, url)
    await first.close()


async def test_no_operation_reads_more_than_it_must(counted: CountedStore) -> None:
    scans_by_operation: dict[str, dict[str, int]] = {}
    for name, operation in counted.operations().items():
        before = await counted.rows()
        await operation()
        read = {table: count - before[table] for table, count in (await counted.rows()).items()}
        scans_by_operation[name] = {table: count for table, count in read.items() if count > FEW}
    assert {name: read for name, read in scans_by_operation.items() if read} == {}
    uses: dict[str, int] = {}
    for name, index in _INDEXES.items():
        before = await counted.scans(index)
        assert await counted.operations()[name]()
        uses[name] = await counted.scans(index) - before
    # Twice for each passage; once for each trigram, and for each group of terms.
    expected = {"neighbours": 4, "session_neighbours": 4, "similar terms": len(grams_of("qjay"))}
    assert uses == {**expected, "terms beginning": 1, "memories having": 2}
