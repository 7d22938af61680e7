"""Write the plan of a commit to the tables, in as few statements as possible."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scrubjay.model.change import Origin
from scrubjay.model.passage import Vector
from scrubjay.model.query import facets_of
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import Embedded, IdempotencyRecord
from scrubjay.storage.codec import Encoded
from scrubjay.storage.postgres.bodies import Bodies, training_is_due
from scrubjay.storage.postgres.commit.counts import Counts
from scrubjay.storage.postgres.commit.deltas import fold
from scrubjay.storage.postgres.commit.ids import Reserved, Sizes, ledger_row, reserve, reserved_of, sizes_of, sum_of
from scrubjay.storage.postgres.commit.plan import Planner
from scrubjay.storage.postgres.commit.read import Opening
from scrubjay.storage.postgres.commit.rows import (
    RowBatch,
    change_rows,
    content_rows,
    folded_rows,
    memory_rows,
    passage_rows,
    relation_rows,
    vector_rows,
    version_rows,
    written,
)
from scrubjay.storage.postgres.commit.runs import Runs, runs_of
from scrubjay.storage.postgres.query import Ask, Work
from scrubjay.storage.postgres.words import digest_of

_HAS_CHANGE = """SELECT 1 FROM scrubjay.changes
    WHERE space_no = scrubjay.current_space() AND place = %s AND seq = %s AND memory_id = %s::uuid AND at = %s"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The outcome of a commit: the numbers of its first and last change, and whether to train a dictionary."""

    seq: int | None = None
    first: int = 0
    answer: str | None = None
    training_due: bool = False
    taken: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class WrittenPlan:
    """A plan that is about to be written."""

    space: str
    planner: Planner
    opening: Opening
    origin: Origin
    once: IdempotencyRecord | None = None
    taken: tuple[str, ...] = ()
    fresh: dict[bytes, Vector] = field(default_factory=dict[bytes, Vector])
    embedded: Embedded | None = None

    def store_vectors(self, embedded: Embedded, *, named: Sequence[str] = ()) -> None:
        """Add vectors, and log the memories that they belong to, so that vector indexes add them.

        A memory without a vector gets one when another memory with the same text does. A memory that this commit
        writes has its own entry in the log.
        """
        self.opening.model(embedded)
        existing = self.opening.embedded()
        self.fresh = {digest: vector for digest, vector in embedded.vectors.items() if digest not in existing}
        self.embedded = embedded
        sharers = self.opening.known("sharers")
        for memory_id, stored in sharers.items():
            self.planner.known.setdefault(memory_id, stored)
        for memory_id in dict.fromkeys((*sharers, *named)):
            if memory_id in self.planner.known and memory_id not in self.planner.plan.memories:
                self.planner.embedded(memory_id)

    async def out(self, work: Work, bodies: Bodies) -> Applied:
        """Write everything."""
        plan, stored = self.planner.plan, self.planner.known
        if not plan.changes and not self.fresh and self.once is None:
            return Applied(taken=self.taken)
        newest = self.opening.rows("dictionary")
        whole = await bodies.pack(work, [row.version.memory for row in plan.versions], newest=newest)
        packed, repacked = await fold(work, bodies, plan.versions, whole, before=self.opening.line())
        runs = runs_of(self.origin, self.opening.rows("runs"), [row.author for row in plan.versions])
        new_ids = [memory_id for memory_id in plan.memories if stored[memory_id].number is None]
        document = RowBatch()
        sizes = sum_of(
            sizes_of([*packed, *(encoded for _, encoded in repacked)]),
            sizes_of([body.encoded for body, _ in repacked], sign=-1),
        )
        reserved = await self._numbers(work, document, sizes, memories=len(new_ids), runs=len(runs.fresh))
        numbers = {memory_id: number for memory_id, entry in stored.items() if (number := entry.number) is not None}
        numbers |= dict(zip(new_ids, reserved.memories, strict=True))
        runs.take_numbers(reserved.runs)
        self._put_records(document, numbers, packed, runs)
        document.put("repacked_versions", folded_rows(repacked))
        self._put_log(document, numbers, runs, reserved)
        if self.embedded is not None and self.fresh:
            model = self.opening.model(self.embedded) or await _make_model(work, self.embedded)
            document.put("vectors", vector_rows(model, self.fresh, dimension=self.embedded.dimension))
        document.finish(work)
        if plan.changes:
            last = plan.changes[-1]
            values = (reserved.last_place, reserved.seqs[-1], last.memory_id, to_micros(self.origin.at))
            work.proof = Ask(_HAS_CHANGE, values)
        due = bool(packed) and training_is_due(reserved.bodies, newest)
        return Applied(
            seq=max(reserved.seqs, default=None),
            first=min(reserved.seqs, default=0),
            training_due=due,
            taken=self.taken,
        )

    async def _numbers(self, work: Work, document: RowBatch, sizes: Sizes, *, memories: int, runs: int) -> Reserved:
        """Return the numbers that `prepare_commit` has reserved, or reserve others if those are too few."""
        changes = len(self.planner.plan.changes)
        for row in self.opening.rows("reserved"):
            reserved = reserved_of(work, row, sizes, changes=changes, memories=memories, runs=runs)
            if reserved is not None:
                document.put("space_totals", [ledger_row(sizes, changes=changes)])
                return reserved
        return await reserve(work, sizes, changes=changes, memories=memories, runs=runs)

    def _put_records(
        self, document: RowBatch, numbers: Mapping[str, int], packed: Sequence[Encoded], runs: Runs
    ) -> None:
        plan, stored, before = self.planner.plan, self.planner.known, self.planner.before
        new = {memory_id: memory for memory_id, memory in plan.memories.items() if memory_id not in before}
        revised = {memory_id: memory for memory_id, memory in plan.memories.items() if memory_id in before}
        document.put("memories", memory_rows(new, stored, numbers, indexed=plan.passages))
        document.put("revised_memories", memory_rows(revised, stored, numbers, indexed=plan.passages))
        document.put("versions", version_rows(plan.versions, packed, numbers, runs.known))
        document.put("contents", content_rows(plan.memories, numbers))
        document.put("passages", passage_rows(self.space, plan.memories, plan.passages, numbers))
        document.put("unindexed_memories", [numbers[memory_id] for memory_id in plan.passages if memory_id in before])
        related = {key: relation for key, relation in plan.relations.items() if relation is not None}
        unrelated = {key: None for key, relation in plan.relations.items() if relation is None}
        document.put("relations", relation_rows(related, numbers))
        document.put("deleted_relations", relation_rows(unrelated, numbers))
        self._put_counts(document)

    def _put_counts(self, document: RowBatch) -> None:
        """Subtract the old terms and facets of each memory from the counts, and add the new ones."""
        counts, terms, plan = Counts(self.space), self.opening.terms(), self.planner.plan
        for memory_id, passages in plan.passages.items():
            before, memory = self.planner.before.get(memory_id), plan.memories[memory_id]
            if before is not None:
                counts.remove(before.state, terms.get(memory_id, []), before.facets)
            counts.add(memory.state, [passage.terms for passage in passages], facets_of(memory))
        counts.put(document, new_words=self.opening.new_words())

    def _put_log(self, document: RowBatch, numbers: Mapping[str, int], runs: Runs, reserved: Reserved) -> None:
        at = to_micros(self.origin.at)
        runs.put(document, last_seq=max(reserved.seqs, default=0))
        document.put(
            "changes",
            change_rows(
                self.planner.plan.changes, numbers, seqs=reserved.seqs, last_place=reserved.last_place,
                run_no=runs.number, at=at,
            ),
        )  # fmt: skip
        if self.once is not None:
            document.put(
                "idempotency_keys",
                [
                    {
                        "key_digest": written(digest_of(self.once.key)),
                        "request_digest": written(self.once.digest),
                        "answer": self.once.answer,
                        "run_no": runs.number,
                        "at": at,
                    }
                ],
            )


async def _make_model(work: Work, embedded: Embedded) -> int:
    await work.do(
        "INSERT INTO scrubjay.models(name, dimension) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        embedded.model, embedded.dimension,
    )  # fmt: skip
    rows = await work.rows("SELECT no FROM scrubjay.models WHERE name = %s", embedded.model)
    return int(rows[0][0])
