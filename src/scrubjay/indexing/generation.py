"""A generation of the index in use, and when it is time for the next one."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.follower import Follower
from scrubjay.indexing.generations import condemn, is_condemned
from scrubjay.indexing.protocol import DiskIndex, IndexKind, Source
from scrubjay.ports import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """When the index is built, and where."""

    # Up to this many points are built here and now, in about the time a child process takes to start.
    inline_up_to: int = 2_000
    # Points put since the last build are scanned at every search: a new build is due when they are a
    # quarter of all, within these bounds.
    optimise_from: int = 10_000
    optimise_at: int = 50_000
    # From this many changes on a new build is faster than following the log, and holds up no search.
    rebuild_when_behind: int = 10_000
    # How often a failure leads to another build before the scan is left to answer alone.
    attempts: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A generation, and the follower that keeps it in step."""

    index: DiskIndex
    follower: Follower
    generation: Path

    async def require_complete(self, store: Source, model: str) -> None:
        """Raise IndexUnavailable if a process that was killed has left points missing."""
        if not self.index.was_cut_off:
            return
        expected, held = await store.point_count(model), self.index.points
        # Somebody may have written between the two counts: then they say nothing.
        if expected != held and await self.follower.lag() == 0:
            raise IndexUnavailable("the vector index has lost points", points=held, expected=expected)

    def is_due(self, policy: Policy) -> bool:
        """Whether it is time for the next generation."""
        added = self.index.added
        if added < policy.optimise_from:
            return is_condemned(self.generation)
        return added >= min(policy.optimise_at, self.index.points // 4) or is_condemned(self.generation)


def load_live(generation: Path, *, store: Source, kind: IndexKind, profile: Profile) -> Live:
    """Open a generation; raises IndexUnavailable when it cannot be used."""
    index = kind.load(generation, store_id=store.store_id, model=profile.model, dimension=profile.dimension)
    # What an index deletes stays in its files until they are built anew.
    follower = Follower(store, index, profile.model, on_purge=partial(condemn, generation))
    return Live(index=index, follower=follower, generation=generation)
