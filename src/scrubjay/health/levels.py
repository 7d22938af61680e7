"""The sizes of a space now, from counts that the store keeps and the latest conflicts."""

import asyncio
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Self

from scrubjay.detection.statement import find_statements, load_current, needs_decision
from scrubjay.errors import BodyDamaged
from scrubjay.lazy import dataclass
from scrubjay.model.conflict import PENDING_COLLECTION, parse_conflict
from scrubjay.model.curation import ARROW, RUNS, CurationRun, RunState
from scrubjay.model.memory import Flag, Json, State, Tier
from scrubjay.model.query import facet
from scrubjay.ports import RecordStore
from scrubjay.workers import offload

FLOW = timedelta(days=30)
"""The flow between tiers is that of so many days."""
_RUNS = 40
# A space with more tags has a problem that does not depend on the last digit of a figure.
_MAX_TAGS = 50_000
# Of so many conflicts the memories are read; older ones count as they are stored.
_MAX_READ = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """Live memories, those that say too little, different tags, their entropy in bits, and pending conflicts."""

    memories: int = 0
    thin: int = 0
    tags: int = 0
    tag_entropy: float = 0.0
    conflicts: int = 0

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Self:
        """Read stored sizes; a damaged one is 0."""

        def number(name: str) -> int:
            count = value.get(name)
            return count if isinstance(count, int) else 0

        entropy = value.get("tag_entropy")
        return cls(
            memories=number("memories"), thin=number("thin"), tags=number("tags"), conflicts=number("conflicts"),
            tag_entropy=float(entropy) if isinstance(entropy, int | float) else 0.0,
        )  # fmt: skip

    @property
    def as_json(self) -> dict[str, Json]:
        """The sizes as they are stored."""
        return {**asdict(self)}


async def curation_runs(space: str, *, store: RecordStore) -> list[CurationRun]:
    """Return the latest runs of curation."""
    return [CurationRun.from_document(document) for document in await store.latest_documents(space, RUNS, limit=_RUNS)]


def tier_flow(runs: Sequence[CurationRun], *, since: datetime) -> dict[str, int]:
    """Return how many memories went from each tier to another, without the runs that were taken back."""
    flow: Counter[str] = Counter()
    for run in runs:
        if run.started_at >= since and run.state not in (RunState.UNDOING, RunState.UNDONE):
            flow.update(
                {step: count for steps in run.counts.values() for step, count in steps.items() if ARROW in step}
            )
    return dict(sorted(flow.items()))


async def measure(space: str, *, store: RecordStore, now: datetime) -> Levels:
    """Return the sizes of a space."""
    tiers = await store.facet_values(space, "tier", state=State.LIVE, limit=len(Tier))
    thin = facet("flag", Flag.THIN)
    flagged = await store.known_facets(space, [thin], state=State.LIVE)
    tags = [count for _, count in await store.facet_values(space, "tag", state=State.LIVE, limit=_MAX_TAGS)]
    return Levels(
        memories=sum(count for _, count in tiers), thin=flagged.get(thin, 0), tags=len(tags),
        tag_entropy=_entropy(tags), conflicts=await _count_conflicts(space, store=store, now=now),
    )  # fmt: skip


async def _count_conflicts(space: str, *, store: RecordStore, now: datetime) -> int:
    """Count the pending conflicts, without the latest ones in which nothing is left to decide.

    Those stay stored while a side is in the trash or superseded, because it may return.
    """
    count = await store.document_count(space, PENDING_COLLECTION)
    latest = await store.latest_documents(space, PENDING_COLLECTION, limit=_MAX_READ) if count else []
    conflicts = [conflict for document in latest if (conflict := parse_conflict(document)) is not None]
    ids = dict.fromkeys(side for conflict in conflicts for side in (conflict.memory, conflict.other))
    try:
        memories = await load_current(ids, space=space, store=store)
    except BodyDamaged:
        return count
    for conflict in conflicts:
        sides = [memories[side].characters for side in (conflict.memory, conflict.other) if side in memories]
        statements = await offload(sum(sides), find_statements, conflict, memories)
        if statements is None or not needs_decision(*statements, now=now):
            count -= 1
        # Others may go on between two of them.
        await asyncio.sleep(0)
    return count


def _entropy(counts: Sequence[int]) -> float:
    """Return the entropy of a distribution in bits: how much a tag tells of where a memory is filed."""
    total = sum(counts)
    return round(sum(count / total * math.log2(total / count) for count in counts if count), 3) if total else 0.0
