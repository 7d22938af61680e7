"""The job `duplicates`: memories that say the same become one, by the rules of the write path."""

from collections.abc import AsyncIterator
from contextlib import suppress

from scrubjay.conflicts.duplicates import find_duplicates, merge_group
from scrubjay.curation.plan import DAILY, CurationContext, PlannedChange
from scrubjay.errors import EmbeddingUnavailable, TooLarge
from scrubjay.model.memory import State
from scrubjay.ports import Profile


class DuplicatesJob:
    """Merges each group of memories that say the same into its most trusted, oldest memory."""

    name = "duplicates"
    summary = "merge memories that say the same"
    every = DAILY

    async def plan(self, context: CurationContext) -> AsyncIterator[PlannedChange]:
        """Yield a merge for each group."""
        profile: Profile | None = None
        with suppress(EmbeddingUnavailable):
            profile = await context.engine.embedder.profile()
        groups = await find_duplicates(
            context.space, now=context.now, rules=context.rules, profile=profile, store=context.store,
            pause=context.pause,
        )  # fmt: skip
        for group in groups:
            yield PlannedChange(
                job=self.name, action="merge", ids=group.ids,
                versions=tuple(memory.version for memory in group.memories),
                why=f"they say the same, similarity {group.confidence:.2f}", before=f"{len(group.ids)} memories",
                after="1 memory",
            )  # fmt: skip

    async def apply(self, change: PlannedChange, context: CurationContext) -> str:
        """Merge a group."""
        memories = await context.read(change)
        if any(memory.state is not State.LIVE or memory.pinned for memory in memories):
            return "one of them was pinned or moved since"
        try:
            await merge_group(
                memories, origin=context.origin, most_tags=context.rules.most_tags, limits=context.engine.limits,
                embedder=context.engine.model.embedder, store=context.store, message=change.why,
            )  # fmt: skip
        except TooLarge as error:
            return error.message
        return ""
