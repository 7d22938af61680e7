"""Carrying a plan into the tables, in as few statements as it takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scrubjay.model.change import Origin
from scrubjay.model.moment import to_micros
from scrubjay.model.passage import Vector
from scrubjay.model.query import facets_of
from scrubjay.ports import Embedded, Once
from scrubjay.stores.codec import Encoded
from scrubjay.stores.postgres.asking import Ask, Work
from scrubjay.stores.postgres.bodies import Bodies, training_is_due
from scrubjay.stores.postgres.counting import Counts
from scrubjay.stores.postgres.folding import fold
from scrubjay.stores.postgres.keeping import (
    Document,
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
from scrubjay.stores.postgres.opening import Opening
from scrubjay.stores.postgres.planning import Planner
from scrubjay.stores.postgres.reserving import Reserved, Sizes, ledger_row, reserve, reserved_of, sizes_of, sum_of
from scrubjay.stores.postgres.runs import Runs, runs_of
from scrubjay.stores.postgres.words import digest_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What became of a commit: the numbers of its first and last change, and whether to learn a dictionary."""

    seq: int | None = None
    first: int = 0
    answer: str | None = None
    training_due: bool = False
    taken: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Carried:
    """A plan on its way into the tables."""

    space: str
    planner: Planner
    opening: Opening
    origin: Origin
    once: Once | None = None
    taken: tuple[str, ...] = ()
    fresh: dict[bytes, Vector] = field(default_factory=dict[bytes, Vector])
    embedded: Embedded | None = None

    def shelve(self, embedded: Embedded, *, named: Sequence[str] = ()) -> None:
        """Add vectors, and log which memories have them now so that indexes take them in.

        A memory that was stored without a vector gets one when another with the same text does. What was written
        in the same commit has its own entry in the log.
        """
        self.opening.model(embedded)
        there = self.opening.embedded()
        self.fresh = {digest: vector for digest, vector in embedded.vectors.items() if digest not in there}
        self.embedded = embedded
        sharers = self.opening.known("sharers")
        for memory_id, known in sharers.items():
            self.planner.known.setdefault(memory_id, known)
        for memory_id in dict.fromkeys((*sharers, *named)):
            if memory_id in self.planner.known and memory_id not in self.planner.plan.memories:
                self.planner.embedded(memory_id)

    async def out(self, work: Work, bodies: Bodies) -> Applied:
        """Write everything down."""
        plan, known = self.planner.plan, self.planner.known
        if not plan.changes and not self.fresh and self.once is None:
            return Applied(taken=self.taken)
        newest = self.opening.rows("dictionary")
        whole = await bodies.pack(work, [row.version.memory for row in plan.versions], newest=newest)
        packed, changed = await fold(work, bodies, plan.versions, whole, before=self.opening.line())
        runs = runs_of(self.origin, self.opening.rows("runs"), [row.author for row in plan.versions])
        new = [one for one in plan.memories if known[one].number is None]
        document = Document()
        sizes = sum_of(
            sizes_of([*packed, *(one for _, one in changed)]), sizes_of([body.encoded for body, _ in changed], sign=-1)
        )
        reserved = await self._numbers(work, document, sizes, memories=len(new), runs=len(runs.fresh))
        numbers = {one: number for one, found in known.items() if (number := found.number) is not None}
        numbers |= dict(zip(new, reserved.memories, strict=True))
        runs.take_numbers(reserved.runs)
        self._put_records(document, numbers, packed, runs)
        document.put("folded", folded_rows(changed))
        self._put_log(document, numbers, runs, reserved)
        if self.embedded is not None and self.fresh:
            model = self.opening.model(self.embedded) or await _make_model(work, self.embedded)
            document.put("vectors", vector_rows(model, self.fresh, dimension=self.embedded.dimension))
        document.finish(work)
        if plan.changes:
            last = plan.changes[-1]
            values = (reserved.last_place, reserved.seqs[-1], last.memory_id, to_micros(self.origin.at))
            work.proof = Ask(_HAPPENED, values)
        due = bool(packed) and training_is_due(reserved.bodies, newest)
        return Applied(
            seq=max(reserved.seqs, default=None),
            first=min(reserved.seqs, default=0),
            training_due=due,
            taken=self.taken,
        )

    async def _numbers(self, work: Work, document: Document, sizes: Sizes, *, memories: int, runs: int) -> Reserved:
        """The numbers that the opening took, or others if those are too few."""
        changes = len(self.planner.plan.changes)
        for row in self.opening.rows("reserved"):
            found = reserved_of(work, row, sizes, changes=changes, memories=memories, runs=runs)
            if found is not None:
                document.put("ledger", [ledger_row(sizes, changes=changes)])
                return found
        return await reserve(work, sizes, changes=changes, memories=memories, runs=runs)

    def _put_records(
        self, document: Document, numbers: Mapping[str, int], packed: Sequence[Encoded], runs: Runs
    ) -> None:
        plan, known, before = self.planner.plan, self.planner.known, self.planner.before
        new = {one: memory for one, memory in plan.memories.items() if one not in before}
        old = {one: memory for one, memory in plan.memories.items() if one in before}
        document.put("memories", memory_rows(new, known, numbers, indexed=plan.passages))
        document.put("revised", memory_rows(old, known, numbers, indexed=plan.passages))
        document.put("versions", version_rows(plan.versions, packed, numbers, runs.known))
        document.put("contents", content_rows(plan.memories, numbers))
        document.put("passages", passage_rows(self.space, plan.memories, plan.passages, numbers))
        document.put("unindexed", [numbers[one] for one in plan.passages if one in before])
        related = {key: relation for key, relation in plan.relations.items() if relation is not None}
        unrelated = {key: None for key, relation in plan.relations.items() if relation is None}
        document.put("relations", relation_rows(related, numbers))
        document.put("unrelated", relation_rows(unrelated, numbers))
        self._put_counts(document)

    def _put_counts(self, document: Document) -> None:
        """What is found by other words from now on changes the counts of both."""
        counts, terms, plan = Counts(self.space), self.opening.terms(), self.planner.plan
        for one, passages in plan.passages.items():
            before, memory = self.planner.before.get(one), plan.memories[one]
            if before is not None:
                counts.remove(before.state, terms.get(one, []), before.facets)
            counts.add(memory.state, [passage.terms for passage in passages], facets_of(memory))
        counts.put(document, new_words=self.opening.new_words())

    def _put_log(self, document: Document, numbers: Mapping[str, int], runs: Runs, reserved: Reserved) -> None:
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
                "once",
                [
                    {
                        "key_digest": written(digest_of(self.once.key)),
                        "digest": written(self.once.digest),
                        "answer": self.once.answer,
                        "run_no": runs.number,
                        "at": at,
                    }
                ],
            )


_HAPPENED = """SELECT 1 FROM scrubjay.changes
    WHERE space_no = scrubjay.here() AND place = %s AND seq = %s AND memory_id = %s::uuid AND at = %s"""


async def _make_model(work: Work, embedded: Embedded) -> int:
    await work.do(
        "INSERT INTO scrubjay.models(name, dimension) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        embedded.model, embedded.dimension,
    )  # fmt: skip
    rows = await work.rows("SELECT no FROM scrubjay.models WHERE name = %s", embedded.model)
    return int(rows[0][0])
