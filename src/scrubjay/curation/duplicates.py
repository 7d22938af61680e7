"""The job `duplicates`: memories that say the same become one, by the rules of the write path."""

from collections.abc import AsyncIterator
from contextlib import suppress

from scrubjay.conflicts.duplicates import find_duplicates, plan_merge, without_additions
from scrubjay.curation.plan import DAILY, CurationContext, PlannedChange, Turns
from scrubjay.errors import EmbeddingUnavailable, TooLarge
from scrubjay.model.memory import State
from scrubjay.ports import Commit, Profile
from scrubjay.workers import offload


class DuplicatesJob:
    """Merges each group of memories that say the same into its most trusted, oldest memory.

    No person looks on: what would add words to that memory stays by itself, unless `with_additions` is set.
    """

    name = "duplicates"
    summary = "merge memories that say the same"
    every = DAILY

    def __init__(self, *, with_additions: bool = False) -> None:
        self._with_additions = with_additions

    async def plan(self, context: CurationContext) -> AsyncIterator[PlannedChange]:
        """Yield a merge for each group."""
        profile: Profile | None = None
        with suppress(EmbeddingUnavailable):
            profile = await context.engine.embedder.profile()
        groups = await find_duplicates(
            context.space, now=context.now, rules=context.rules, profile=profile, store=context.store,
            pause=context.pause,
        )  # fmt: skip
        turns = Turns(context.pause)
        for similar in groups:
            await turns.end_step()
            group = similar
            if not self._with_additions:
                characters = sum(memory.characters for memory in similar.memories)
                group = await offload(
                    characters, without_additions, similar, at=context.now, most_tags=context.rules.most_tags
                )
            if group is None:
                continue
            yield PlannedChange(
                job=self.name, action="merge", ids=group.ids,
                versions=tuple(memory.version for memory in group.memories),
                why=f"they say the same, similarity {group.confidence:.2f}", before=f"{len(group.ids)} memories",
                after="1 memory",
            )  # fmt: skip

    async def apply(self, change: PlannedChange, context: CurationContext) -> Commit | str:
        """Merge a group."""
        memories = await context.read(change)
        if any(memory.state is not State.LIVE or memory.pinned for memory in memories):
            return "one of them was pinned or moved since"
        try:
            return await plan_merge(
                memories, origin=context.origin, most_tags=context.rules.most_tags, limits=context.engine.limits,
                embedder=context.engine.model.embedder, store=context.store, message=change.why,
            )  # fmt: skip
        except TooLarge as error:
            return error.message
