"""Apply commits: read all that the plan needs, plan, and write the plan in as few statements as possible."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from scrubjay.model.change import Origin
from scrubjay.model.memory import State
from scrubjay.model.passage import Passage, Vector
from scrubjay.model.query import facets_of
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import Commit, Embedded, IdempotencyRecord, MemoryHistory
from scrubjay.storage.body_cache import encode_deltas
from scrubjay.storage.codec import Encoded
from scrubjay.storage.postgres.bodies import Body, PostgresBodies, training_is_due
from scrubjay.storage.postgres.commit.plan import Planner, VersionRow
from scrubjay.storage.postgres.commit.read import CommitQuery
from scrubjay.storage.postgres.commit.rows import (
    BodySizes,
    Counts,
    ReservedNumbers,
    RowBatch,
    Runs,
    change_rows,
    content_rows,
    memory_rows,
    passage_rows,
    relation_rows,
    repacked_rows,
    reserve,
    reserved_of,
    run_names,
    runs_of,
    sizes_of,
    sum_sizes,
    totals_row,
    vector_rows,
    version_rows,
)
from scrubjay.storage.postgres.database import Database, SqlQuery, Transaction
from scrubjay.storage.postgres.documents import write_documents
from scrubjay.storage.postgres.rows import canonical_id, canonical_ids, digest_of, result_of, to_hex

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
    query = _query_of(commit)

    async def job(transaction: Transaction) -> AppliedCommit:
        query.take_result(transaction)
        once = commit.once
        if once is not None:
            answer = result_of(query.rows("answer"), key=once.key, digest=once.digest)
            if answer is not None:
                return AppliedCommit(answer=answer)
        planner = Planner(query.memories(), query.names(), query.relations())
        for memory_id, version in commit.expected:
            planner.check_version(canonical_id(memory_id), version)
        for write in commit.writes:
            planner.write(write, author=(commit.origin.run, commit.origin.agent))
        for edge in commit.edges:
            planner.edge(edge)
        writer = PlanWriter(space=commit.space, planner=planner, query=query, origin=commit.origin, once=once)
        if commit.embedded is not None:
            writer.add_vectors(commit.embedded)
        await write_documents(transaction, commit.documents, space=commit.space)
        return await writer.write(transaction, bodies)

    return await database.write(job, space=commit.space, prefetch=query.queries, create_space=True)


async def adopt(
    database: Database,
    space: str,
    histories: Sequence[tuple[MemoryHistory, tuple[Passage, ...]]],
    *,
    origin: Origin,
    bodies: PostgresBodies,
) -> AppliedCommit:
    """Store memories with their history; leave those alone that are stored already."""
    authors = [
        (version.run or origin.run, version.agent)
        for memory_history, _ in histories
        for version in memory_history.versions
    ]
    query = CommitQuery()
    query.request_memories([memory_history.memory.id for memory_history, _ in histories])
    query.request_names([memory_history.memory.name for memory_history, _ in histories])
    query.request_runs(run_names(origin, authors))
    query.request_new_words(space, ((memory_history.memory.state, passages) for memory_history, passages in histories))

    async def job(transaction: Transaction) -> AppliedCommit:
        query.take_result(transaction)
        planner = Planner(query.memories(), query.names(), {})
        adopted = [
            memory_history.memory.id
            for memory_history, passages in histories
            if planner.adopt(memory_history, passages, origin=origin)
        ]
        writer = PlanWriter(space=space, planner=planner, query=query, origin=origin, adopted=tuple(adopted))
        return await writer.write(transaction, bodies)

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
    query = CommitQuery()
    query.request_memories(memory_ids)
    query.request_runs(run_names(origin))
    query.request_vectors(embedded)
    query.reserve_numbers(changes=len(memory_ids), memories=0, runs=1)

    async def job(transaction: Transaction) -> AppliedCommit:
        query.take_result(transaction)
        writer = PlanWriter(space=space, planner=Planner(query.memories(), {}, {}), query=query, origin=origin)
        writer.add_vectors(embedded, memory_ids=canonical_ids(memory_ids))
        return await writer.write(transaction, bodies)

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


@dataclass(slots=True, kw_only=True)
class PlanWriter:
    """Writes a plan."""

    space: str
    planner: Planner
    query: CommitQuery
    origin: Origin
    once: IdempotencyRecord | None = None
    adopted: tuple[str, ...] = ()
    new_vectors: dict[bytes, Vector] = field(default_factory=dict[bytes, Vector])
    embedded: Embedded | None = None

    def add_vectors(self, embedded: Embedded, *, memory_ids: Sequence[str] = ()) -> None:
        """Add vectors, and log the memories that they belong to, so that vector indexes add them.

        A memory without a vector gets one when another memory with the same text does. A memory that this commit
        writes has its own entry in the log.
        """
        self.query.model(embedded)
        existing = self.query.embedded()
        self.new_vectors = {digest: vector for digest, vector in embedded.vectors.items() if digest not in existing}
        self.embedded = embedded
        sharers = self.query.memories("sharers")
        for memory_id, stored in sharers.items():
            self.planner.stored.setdefault(memory_id, stored)
        for memory_id in dict.fromkeys((*sharers, *memory_ids)):
            if memory_id in self.planner.stored and memory_id not in self.planner.plan.memories:
                self.planner.log_embedded(memory_id)

    async def write(self, transaction: Transaction, bodies: PostgresBodies) -> AppliedCommit:
        """Write everything."""
        plan, stored = self.planner.plan, self.planner.stored
        if not plan.changes and not self.new_vectors and self.once is None:
            return AppliedCommit(adopted=self.adopted)
        newest = self.query.rows("dictionary")
        whole = await bodies.pack(transaction, [row.version.memory for row in plan.versions], newest=newest)
        packed, repacked = await _encode_versions(
            transaction, bodies, plan.versions, whole, before=self.query.last_versions()
        )
        runs = runs_of(self.origin, self.query.rows("runs"), [row.author for row in plan.versions])
        new_ids = [memory_id for memory_id in plan.memories if stored[memory_id].number is None]
        batch = RowBatch()
        sizes = sum_sizes(
            sizes_of([*packed, *(encoded for _, encoded in repacked)]),
            sizes_of([body.encoded for body, _ in repacked], sign=-1),
        )
        reserved = await self._numbers(transaction, batch, sizes, memories=len(new_ids), runs=len(runs.new))
        numbers = {memory_id: number for memory_id, row in stored.items() if (number := row.number) is not None}
        numbers |= dict(zip(new_ids, reserved.memories, strict=True))
        runs.assign_numbers(reserved.runs)
        self._put_records(batch, numbers, packed, runs)
        batch.put("repacked_versions", repacked_rows(repacked))
        self._put_log(batch, numbers, runs, reserved)
        if self.embedded is not None and self.new_vectors:
            model = self.query.model(self.embedded) or await _make_model(transaction, self.embedded)
            batch.put("vectors", vector_rows(model, self.new_vectors, dimension=self.embedded.dimension))
        batch.write_last(transaction)
        if plan.changes:
            last = plan.changes[-1]
            values = (reserved.last_place, reserved.seqs[-1], last.memory_id, to_micros(self.origin.at))
            transaction.proof = SqlQuery(_HAS_CHANGE, values)
        return AppliedCommit(
            seq=max(reserved.seqs, default=None),
            first=min(reserved.seqs, default=0),
            training_due=bool(packed) and training_is_due(reserved.bodies, newest),
            adopted=self.adopted,
        )

    async def _numbers(
        self, transaction: Transaction, batch: RowBatch, sizes: BodySizes, *, memories: int, runs: int
    ) -> ReservedNumbers:
        """Return the numbers that `prepare_commit` has reserved, or reserve others if those are too few."""
        changes = len(self.planner.plan.changes)
        for row in self.query.rows("reserved"):
            reserved = reserved_of(transaction, row, sizes, changes=changes, memories=memories, runs=runs)
            if reserved is not None:
                batch.put("space_totals", [totals_row(sizes, changes=changes)])
                return reserved
        return await reserve(transaction, sizes, changes=changes, memories=memories, runs=runs)

    def _put_records(self, batch: RowBatch, numbers: Mapping[str, int], packed: Sequence[Encoded], runs: Runs) -> None:
        plan, stored, before = self.planner.plan, self.planner.stored, self.planner.before
        new = {memory_id: memory for memory_id, memory in plan.memories.items() if memory_id not in before}
        revised = {memory_id: memory for memory_id, memory in plan.memories.items() if memory_id in before}
        batch.put("memories", memory_rows(new, stored, numbers, indexed=plan.passages))
        batch.put("revised_memories", memory_rows(revised, stored, numbers, indexed=plan.passages))
        batch.put("versions", version_rows(plan.versions, packed, numbers, runs.numbers))
        batch.put("contents", content_rows(plan.memories, numbers))
        batch.put("passages", passage_rows(self.space, plan.memories, plan.passages, numbers))
        batch.put("unindexed_memories", [numbers[memory_id] for memory_id in plan.passages if memory_id in before])
        related = {key: relation for key, relation in plan.relations.items() if relation is not None}
        unrelated = {key: None for key, relation in plan.relations.items() if relation is None}
        batch.put("relations", relation_rows(related, numbers))
        batch.put("deleted_relations", relation_rows(unrelated, numbers))
        # The old terms and facets of each memory are subtracted from the counts, and the new ones added.
        counts, terms = Counts(self.space), self.query.terms()
        for memory_id, passages in plan.passages.items():
            former, memory = before.get(memory_id), plan.memories[memory_id]
            if former is not None:
                counts.remove(former.state, terms.get(memory_id, []), former.facets)
            counts.add(memory.state, [passage.terms for passage in passages], facets_of(memory))
        counts.put(batch, new_words=self.query.new_words())

    def _put_log(self, batch: RowBatch, numbers: Mapping[str, int], runs: Runs, reserved: ReservedNumbers) -> None:
        at = to_micros(self.origin.at)
        runs.put(batch, last_seq=max(reserved.seqs, default=0))
        batch.put(
            "changes",
            change_rows(
                self.planner.plan.changes, numbers, seqs=reserved.seqs, last_place=reserved.last_place,
                run_no=runs.number, at=at,
            ),
        )  # fmt: skip
        if self.once is not None:
            batch.put(
                "idempotency_keys",
                [
                    {
                        "key_digest": to_hex(digest_of(self.once.key)),
                        "request_digest": to_hex(self.once.digest),
                        "answer": self.once.answer,
                        "run_no": runs.number,
                        "at": at,
                    }
                ],
            )


def _query_of(commit: Commit) -> CommitQuery:
    query = CommitQuery()
    ends = [end for edge in commit.edges for end in (edge.relation.source, edge.relation.target)]
    expected = [memory_id for memory_id, _ in commit.expected]
    query.request_memories([*(write.memory.id for write in commit.writes), *ends, *expected])
    query.request_runs(run_names(commit.origin))
    live = [write.memory.name for write in commit.writes if write.memory.state is State.LIVE]
    if live:
        query.request_names(live)
    query.request_new_words(commit.space, ((write.memory.state, write.passages) for write in commit.writes))
    if any(write.base is not None for write in commit.writes):
        query.request_terms([write.memory.id for write in commit.writes])
        query.request_last_versions()
    if commit.edges:
        query.request_relations(commit.edges)
    if commit.embedded is not None:
        query.request_vectors(commit.embedded)
    if commit.once is not None:
        query.request_answer(commit.once.key)
    changes = len(commit.writes) + 2 * len(commit.edges)
    query.reserve_numbers(changes=changes, memories=sum(write.base is None for write in commit.writes), runs=1)
    return query


async def _encode_versions(
    transaction: Transaction,
    bodies: PostgresBodies,
    versions: Sequence[VersionRow],
    packed: Sequence[Encoded],
    *,
    before: Sequence[Body],
) -> tuple[list[Encoded], list[tuple[Body, Encoded]]]:
    """Return new versions as they are to be stored, and the versions before them that become differences."""
    await bodies.load_dictionaries(transaction, [*before, *(Body(encoded, "", 0) for encoded in packed)])
    if len(versions) <= _FEW_VERSIONS:
        return _extend_chains(bodies, versions, packed, before)
    return await asyncio.to_thread(_extend_chains, bodies, versions, packed, before)


def _extend_chains(
    bodies: PostgresBodies, versions: Sequence[VersionRow], packed: Sequence[Encoded], before: Sequence[Body]
) -> tuple[list[Encoded], list[tuple[Body, Encoded]]]:
    new, repacked = list(packed), list[tuple[Body, Encoded]]()
    stored: dict[str, list[Body]] = {}
    for body in before:
        stored.setdefault(body.memory_id, []).append(body)
    positions: dict[str, list[int]] = {}
    for position, row in enumerate(versions):
        positions.setdefault(row.memory_id, []).append(position)
    for memory_id, its_positions in positions.items():
        old = stored.get(memory_id, [])
        chain = [*old, *(Body(new[at], memory_id, versions[at].version.number) for at in its_positions)]
        if any(body.version >= newer.version for body, newer in pairwise(chain)):
            continue
        encoded = encode_deltas(
            [*((body.stored_version, bodies.plain(body)) for body in chain[:-1]), (chain[-1].stored_version, None)]
        )
        for position, body_encoded in zip(its_positions, encoded[len(old) :], strict=True):
            new[position] = body_encoded
        repacked += [(body, delta) for body, delta in zip(old, encoded, strict=False) if delta is not body.encoded]
    return new, repacked


async def _make_model(transaction: Transaction, embedded: Embedded) -> int:
    await transaction.execute(
        "INSERT INTO scrubjay.models(name, dimension) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        embedded.model, embedded.dimension,
    )  # fmt: skip
    rows = await transaction.rows("SELECT no FROM scrubjay.models WHERE name = %s", embedded.model)
    return int(rows[0][0])
