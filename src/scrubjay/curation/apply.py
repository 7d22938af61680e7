"""Applies planned changes: several of them share one small commit, and what has become stale is left out."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace

from scrubjay.curation.plan import CurationContext, CurationJob, Turns
from scrubjay.errors import BodyDamaged, ScrubjayError, StaleVersion, StoreError
from scrubjay.model.curation import PlannedChange
from scrubjay.model.memory import Memory
from scrubjay.ports import Commit

DONE = "done"
STALE = "it has changed since the plan"
# A commit has so many changes and characters at most: users' writes wait for it, and it shares a write to the disk.
_MAX_CHANGES = 8
_MAX_CHARACTERS = 50_000
_NOTHING: frozenset[tuple[str, int | None]] = frozenset()


async def apply_changes(
    job: CurationJob,
    changes: Sequence[PlannedChange],
    context: CurationContext,
    *,
    committed: AbstractSet[tuple[str, int | None]] = _NOTHING,
) -> list[str]:
    """Apply some changes; return the outcome of each: `done`, or why it was skipped.

    `committed` are the memories and versions that a killed run has changed already.
    """
    applying = _Applying(job, await _read_ahead(changes, context))
    turns = Turns(context.pause)
    for place, change in enumerate(changes):
        if committed.isdisjoint(zip(change.ids, change.versions, strict=True)):
            await applying.add(place, change)
        else:
            applying.outcomes[place] = DONE
        await turns.end_step()
    await applying.flush()
    return [applying.outcomes[place] for place in range(len(changes))]


async def _read_ahead(changes: Sequence[PlannedChange], context: CurationContext) -> CurationContext:
    """Read the memories of all changes at once."""
    ids = list(dict.fromkeys(memory_id for change in changes for memory_id in change.ids))
    memories: Mapping[str, Memory] = {}
    # With a damaged body among them, each change reads its own memories, and only one fails.
    with suppress(BodyDamaged):
        memories = await context.store.get(context.space, ids)
    return replace(context, read_ahead=memories)


class _Applying:
    """Changes whose commits wait to be made together, and the outcomes of all."""

    def __init__(self, job: CurationJob, context: CurationContext) -> None:
        self.outcomes: dict[int, str] = {}
        self._job = job
        self._context = context
        self._waiting: dict[int, Commit] = {}

    async def add(self, place: int, change: PlannedChange) -> None:
        """Make a change, or let its commit wait for others."""
        try:
            result = await self._job.apply(change, self._context)
        except ScrubjayError as error:
            self.outcomes[place] = _reason(error)
            return
        if isinstance(result, str):
            self.outcomes[place] = result or DONE
            return
        # The next change may read these relations, and vectors may be of another model by then.
        is_alone = bool(result.edges) or result.embedded is not None
        if is_alone:
            await self.flush()
        self._waiting[place] = result
        characters = sum(write.memory.characters for commit in self._waiting.values() for write in commit.writes)
        if is_alone or len(self._waiting) == _MAX_CHANGES or characters > _MAX_CHARACTERS:
            await self.flush()

    async def flush(self) -> None:
        """Make the commits that wait as one; if that fails, each by itself, so that only some are left out."""
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        # A request that comes now should not wait for the commit.
        await self._context.pause()
        with suppress(ScrubjayError):
            await self._commit(*waiting.values())
            self.outcomes |= dict.fromkeys(waiting, DONE)
            return
        for place, commit in waiting.items():
            try:
                await self._commit(commit)
                self.outcomes[place] = DONE
            except ScrubjayError as error:
                self.outcomes[place] = _reason(error)

    async def _commit(self, *commits: Commit) -> None:
        await self._context.store.commit(_join(commits))


def _reason(error: ScrubjayError) -> str:
    """Return why a change is left out; a store that fails is no reason, but ends the run."""
    if isinstance(error, StoreError) and not isinstance(error, BodyDamaged):
        raise error
    return STALE if isinstance(error, StaleVersion) else error.message


def _join(commits: Sequence[Commit]) -> Commit:
    return replace(
        commits[-1],
        writes=tuple(write for commit in commits for write in commit.writes),
        expected=tuple(pair for commit in commits for pair in commit.expected),
        documents=tuple(document for commit in commits for document in commit.documents),
    )
