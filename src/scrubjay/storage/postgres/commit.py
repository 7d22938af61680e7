"""Commits: read the state that a plan needs in one message, and write the plan in one more, with the COMMIT."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from scrubjay.lazy import dataclass
from scrubjay.model.change import Origin
from scrubjay.model.memory import Json, State
from scrubjay.model.passage import Passage
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import Commit, Embedded
from scrubjay.storage.body_cache import WHOLE_VERSIONS, StoredVersion, extend_chain
from scrubjay.storage.codec import Encoded
from scrubjay.storage.plan import (
    Author,
    CommitPlan,
    Dependencies,
    History,
    RelationKey,
    Runs,
    StoredMemory,
    StoredRun,
    StoredState,
    dependencies_of,
    dependencies_of_histories,
    first_answer,
    plan_adoption,
    plan_commit,
    plan_runs,
    plan_vectors,
    run_names,
)
from scrubjay.storage.postgres.bodies import Body, PostgresBodies, encoded_of, training_is_due
from scrubjay.storage.postgres.database import Database, Rows, SqlQuery, Transaction
from scrubjay.storage.postgres.documents import write_documents
from scrubjay.storage.postgres.rows import digest_of, from_hex, relation_of, to_hex, words_of
from scrubjay.storage.postgres.tables import (
    BodySizes,
    RepackedVersion,
    ReservedNumbers,
    RowBatch,
    reserve,
    reserved_of,
    sizes_of,
    sum_sizes,
    totals_row,
)
from scrubjay.storage.rows import STATES, canonical_ids, key_of

# Up to this many versions take less time than to start a thread.
_FEW_VERSIONS = 16
_HAS_CHANGE = """SELECT 1 FROM scrubjay.changes
    WHERE space_no = scrubjay.current_space() AND place = %s AND seq = %s AND memory_id = %s::uuid AND at = %s"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedCommit:
    """The outcome of a commit: the numbers of its first and last change, and whether to train a dictionary."""

    seq: int | None = None
    first: int = 0
    answer: str | None = None
    training_due: bool = False
    adopted: tuple[str, ...] = ()


async def apply_commit(database: Database, commit: Commit, *, bodies: PostgresBodies) -> AppliedCommit:
    """Apply a commit as a whole, or raise an error and apply nothing."""
    query = CommitQuery(dependencies_of(commit), runs=run_names(commit.origin))
    query.request_new_words(commit.space, ((write.memory.state, write.passages) for write in commit.writes))
    revised_ids = [write.memory.id for write in commit.writes if write.base is not None]
    if revised_ids:
        query.request_terms(revised_ids)
        query.request_last_versions()
    if commit.once is not None:
        query.request_answer(commit.once.key)
    changes = len(commit.writes) + 2 * len(commit.edges)
    query.reserve_numbers(changes=changes, memories=len(commit.writes) - len(revised_ids), runs=1)

    async def job(transaction: Transaction) -> AppliedCommit:
        query.take_result(transaction)
        if commit.once is not None:
            answer = first_answer(query.answer(), key=commit.once.key, digest=commit.once.digest)
            if answer is not None:
                return AppliedCommit(answer=answer)
        plan = plan_commit(commit, query.state())
        await write_documents(transaction, commit.documents)
        return await write_plan(transaction, plan, query, space=commit.space, bodies=bodies)

    return await database.write(job, space=commit.space, prefetch=query.queries, create_space=True)


async def adopt(
    database: Database, space: str, histories: Sequence[History], *, origin: Origin, bodies: PostgresBodies
) -> AppliedCommit:
    """Store memories with their history; leave those alone that are stored already."""
    authors = [
        (version.run or origin.run, version.agent)
        for memory_history, _ in histories
        for version in memory_history.versions
    ]
    query = CommitQuery(dependencies_of_histories(histories), runs=run_names(origin, authors))
    query.request_new_words(space, ((memory_history.memory.state, passages) for memory_history, passages in histories))

    async def job(transaction: Transaction) -> AppliedCommit:
        query.take_result(transaction)
        plan = plan_adoption(histories, query.state(), origin=origin)
        return await write_plan(transaction, plan, query, space=space, bodies=bodies)

    return await database.write(job, space=space, prefetch=query.queries, create_space=True)


async def store_vectors(
    database: Database,
    space: str,
    embedded: Embedded,
    *,
    memory_ids: Sequence[str],
    origin: Origin,
    bodies: PostgresBodies,
) -> AppliedCommit:
    """Store vectors that were made later than their texts."""
    dependencies = Dependencies(memory_ids=canonical_ids(memory_ids), embedded=embedded)
    query = CommitQuery(dependencies, runs=run_names(origin))
    query.reserve_numbers(changes=len(memory_ids), memories=0, runs=1)

    async def job(transaction: Transaction) -> AppliedCommit:
        query.take_result(transaction)
        plan = plan_vectors(embedded, query.state(), memory_ids=memory_ids, origin=origin)
        return await write_plan(transaction, plan, query, space=space, bodies=bodies)

    return await database.write(job, space=space, prefetch=query.queries, create_space=True)


async def touch(database: Database, space: str, ids: Sequence[str], *, at: datetime) -> None:
    """Count one access to each memory."""

    async def job(transaction: Transaction) -> None:
        await transaction.execute(
            """UPDATE scrubjay.memories SET access_count = access_count + 1,
                 last_accessed = greatest(%s, last_accessed)
               WHERE space_no = scrubjay.current_space() AND id = ANY(%s::uuid[])""",
            to_micros(at), canonical_ids(ids),
        )  # fmt: skip

    await database.write(job, space=space)


async def label(database: Database, key: tuple[str, str, int], *, before: str, message: str) -> bool:
    """Replace the message of a version, unless it has changed."""
    space, memory_id, number = key

    async def job(transaction: Transaction) -> bool:
        changed = await transaction.execute(
            """UPDATE scrubjay.versions v SET message = %s FROM scrubjay.memories m
               WHERE m.space_no = scrubjay.current_space() AND m.id = %s::uuid AND v.space_no = m.space_no
                 AND v.memory_no = m.no AND v.number = %s AND v.message = %s""",
            message, memory_id, number, before,
        )  # fmt: skip
        return bool(changed)

    return await database.write(job, space=space)


# ---- read ----


class CommitQuery:
    """The request to `prepare_commit` for the state that a plan needs, and its result."""

    def __init__(self, dependencies: Dependencies, *, runs: Sequence[str]) -> None:
        # The database has digests of names and types.
        self._names = {digest_of(name): name for name in dependencies.names}
        self._request: dict[str, Json | list[str] | list[int]] = {
            "memory_ids": list(dependencies.memory_ids),
            "run_keys": [key_of(name) for name in runs],
        }
        self._result: dict[str, Rows] = {}
        if self._names:
            self._request["name_digests"] = [to_hex(digest) for digest in self._names]
        if dependencies.relations:
            self._request["relations"] = [
                {"source": source, "type_digest": to_hex(digest_of(kind)), "target": target}
                for source, kind, target in dependencies.relations
                if source and target
            ]
        if dependencies.embedded is not None:
            self._request["model"] = dependencies.embedded.model
            self._request["hashes"] = [to_hex(digest) for digest in dependencies.embedded.vectors]

    @property
    def queries(self) -> list[SqlQuery]:
        """The query for the whole request."""
        return [SqlQuery("SELECT scrubjay.prepare_commit(%s::jsonb)", (json.dumps(self._request),))]

    def take_result(self, transaction: Transaction) -> None:
        """Take the result from the transaction that the query began."""
        self._result = transaction.prefetched[0][0][0]

    def rows(self, name: str) -> Rows:
        """Return a part of the result, nothing if it was not requested."""
        return self._result.get(name) or []

    def request_terms(self, ids: Sequence[str]) -> None:
        """Request the terms that memories have now."""
        self._request["revised_ids"] = canonical_ids(ids)

    def request_last_versions(self) -> None:
        """Request the last stored versions of the same memories."""
        self._request["last_versions"] = WHOLE_VERSIONS

    def request_new_words(self, space: str, indexed: Iterable[tuple[State, Sequence[Passage]]]) -> None:
        """Request the words of passages that the vocabulary does not contain."""
        words: dict[int, None] = {}
        for state, passages in indexed:
            by_term = words_of(space, state, (term for passage in passages for term in passage.terms))
            words |= dict.fromkeys(by_term.values())
        self._request["words"] = list(words)

    def request_answer(self, key: str) -> None:
        """Request the stored result under an idempotency key."""
        self._request["idempotency_key"] = to_hex(digest_of(key))

    def reserve_numbers(self, *, changes: int, memories: int, runs: int) -> None:
        """Reserve at most so many numbers; changes of memories that share a text are added."""
        self._request["reserve"] = {"changes": changes, "memories": memories, "runs": runs}

    def state(self) -> StoredState:
        """Return the state that a plan depends on."""
        model = self.rows("model")
        return StoredState(
            memories=self._memories("memories"),
            names={self._names[from_hex(digest)]: str(memory_id) for digest, memory_id in self.rows("name_holders")},
            relations=self._relations(),
            dimension=int(model[0][1]) if model else None,
            embedded={from_hex(row[0]) for row in self.rows("embedded")},
            sharers=self._memories("sharers"),
        )

    def runs(self, origin: Origin, authors: Sequence[Author] = ()) -> Runs:
        """Return the runs of a commit."""
        stored = [
            StoredRun(int(number), str(name), str(agent), undoes and int(undoes), bool(undone), int(last_seq))
            for number, name, agent, undoes, undone, last_seq in self.rows("runs")
        ]
        return plan_runs(origin, stored, authors)

    def answer(self) -> tuple[bytes, str] | None:
        """Return the stored result under the idempotency key, with the digest of its request."""
        rows = self.rows("answer")
        return (from_hex(rows[0][0]), str(rows[0][1])) if rows else None

    def texts(self) -> dict[str, list[str]]:
        """Return the terms of each passage, joined by spaces, by the id of the memory."""
        by_memory: dict[str, list[str]] = {}
        for memory_id, terms in self.rows("terms"):
            by_memory.setdefault(str(memory_id), []).append(str(terms))
        return by_memory

    def last_versions(self) -> dict[str, list[StoredVersion]]:
        """Return the last versions of the revised memories, oldest first; none of memories with large bodies."""
        rows = self.rows("last_versions")
        large = {row[0] for row in rows if row[-1] is None}
        versions: dict[str, list[StoredVersion]] = {}
        for memory_no, memory_id, number, encoding, dictionary, sha256, size, body in rows:
            if memory_no not in large:
                encoded = encoded_of((encoding, dictionary, from_hex(sha256), size, from_hex(body)))
                versions.setdefault(str(memory_id), []).append(StoredVersion(number, encoded))
        return versions

    def new_words(self) -> set[int]:
        """Return the words that the vocabulary does not contain."""
        return {int(row[0]) for row in self.rows("new_words")}

    def _memories(self, part: str) -> dict[str, StoredMemory]:
        return {
            str(memory_id): StoredMemory(
                number=int(number),
                version=int(version),
                state=STATES[int(state)],
                passages=int(passages),
                index_key=from_hex(index_key),
                # A name that is not requested is of no interest to the plan.
                name=self._names.get(from_hex(name_digest), ""),
                facets=tuple(json.loads(facets)),
            )
            for number, memory_id, version, state, passages, index_key, name_digest, facets in self.rows(part)
        }

    def _relations(self) -> dict[RelationKey, Relation]:
        relations = (relation_of(row) for row in self.rows("relations"))
        return {relation.key: relation for relation in relations}


# ---- write ----


async def write_plan(
    transaction: Transaction, plan: CommitPlan, query: CommitQuery, *, space: str, bodies: PostgresBodies
) -> AppliedCommit:
    """Write a plan, as the last statement of the transaction."""
    adopted = tuple(memory.id for memory in plan.memories.values())
    if plan.is_empty:
        return AppliedCommit(adopted=adopted)
    newest = query.rows("dictionary")
    packed, repacked = await _encode_versions(transaction, plan, query.last_versions(), bodies=bodies, newest=newest)
    runs = query.runs(plan.origin, plan.authors) if plan.is_logged else Runs(plan.origin)
    batch = RowBatch()
    sizes = sum_sizes(
        sizes_of([*packed, *(version.packed for version in repacked)]),
        sizes_of([version.before for version in repacked], sign=-1),
    )
    reserved = await _numbers(transaction, batch, plan, query, sizes, runs=len(runs.new))
    numbers = {memory_id: stored.number for memory_id, stored in plan.after.items() if stored.number is not None}
    numbers |= dict(zip(plan.new_ids, reserved.memories, strict=True))
    runs.numbers |= dict(zip(runs.new, reserved.runs, strict=True))
    batch.put_memories(plan, numbers, space=space, new_words=query.new_words())
    batch.put_versions(plan, packed, repacked, numbers, runs)
    batch.put_counts(plan.count(query.texts()), space=space)
    batch.put_relations(plan, numbers)
    if plan.is_logged:
        batch.put_log(plan, numbers, runs, reserved)
    if plan.embedded is not None and plan.vectors:
        model = query.rows("model")
        model_no = int(model[0][0]) if model else await _make_model(transaction, plan.embedded)
        batch.put_vectors(model_no, plan.vectors)
    batch.write_last(transaction)
    if plan.changes:
        last = plan.changes[-1]
        values = (reserved.last_place, reserved.seqs[-1], last.memory_id, to_micros(plan.origin.at))
        transaction.proof = SqlQuery(_HAS_CHANGE, values)
    return AppliedCommit(
        seq=max(reserved.seqs, default=None),
        first=min(reserved.seqs, default=0),
        training_due=bool(packed) and training_is_due(reserved.bodies, newest),
        adopted=adopted,
    )


async def _numbers(
    transaction: Transaction, batch: RowBatch, plan: CommitPlan, query: CommitQuery, sizes: BodySizes, *, runs: int
) -> ReservedNumbers:
    """Return the numbers that `prepare_commit` has reserved, or reserve others if those are too few."""
    changes, memories = len(plan.changes), len(plan.new_ids)
    for row in query.rows("reserved"):
        reserved = reserved_of(transaction, row, sizes, changes=changes, memories=memories, runs=runs)
        if reserved is not None:
            batch.put("space_totals", [totals_row(sizes, changes=changes)])
            return reserved
    return await reserve(transaction, sizes, changes=changes, memories=memories, runs=runs)


async def _encode_versions(
    transaction: Transaction,
    plan: CommitPlan,
    stored: Mapping[str, Sequence[StoredVersion]],
    *,
    bodies: PostgresBodies,
    newest: Rows,
) -> tuple[list[Encoded], list[RepackedVersion]]:
    """Return new versions as they are to be stored, and the versions before them that become differences."""
    memories = [entry.version.memory for entries in plan.versions.values() for entry in entries]
    if not memories:
        return [], []
    whole = await bodies.pack(transaction, memories, newest=newest)
    loaded = [*whole, *(version.encoded for versions in stored.values() for version in versions)]
    await bodies.load_dictionaries(transaction, [Body(encoded, "", 0) for encoded in loaded])

    def extend_chains() -> tuple[list[Encoded], list[RepackedVersion]]:
        in_order, packed, repacked = iter(whole), list[Encoded](), list[RepackedVersion]()
        for memory_id, entries in plan.versions.items():
            old = stored.get(memory_id, [])
            new = [StoredVersion(entry.version.number, next(in_order)) for entry in entries]
            chain = extend_chain(
                old, new, plain=lambda version: bodies.plain(Body(version.encoded, "", version.number))
            )
            packed += chain[len(old) :]
            repacked += [
                RepackedVersion(memory_id, version.number, version.encoded, delta)
                for version, delta in zip(old, chain, strict=False)
                if delta is not version.encoded
            ]
        return packed, repacked

    return extend_chains() if len(memories) <= _FEW_VERSIONS else await asyncio.to_thread(extend_chains)


async def _make_model(transaction: Transaction, embedded: Embedded) -> int:
    await transaction.execute(
        "INSERT INTO scrubjay.models(name, dimension) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        embedded.model, embedded.dimension,
    )  # fmt: skip
    rows = await transaction.rows("SELECT no FROM scrubjay.models WHERE name = %s", embedded.model)
    return int(rows[0][0])
