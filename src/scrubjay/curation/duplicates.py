"""The job `duplicates`: memories that say the same become one, by the rules of the write path and a model's veto."""

from collections.abc import AsyncIterator
from contextlib import suppress

from scrubjay.conflicts.duplicates import (
    SameMemories,
    find_duplicates,
    plan_merge,
    without_additions,
    without_refused,
)
from scrubjay.curation.plan import DAILY, CurationContext, PlannedChange, Turns
from scrubjay.errors import EmbeddingUnavailable, TooLarge
from scrubjay.model.memory import State
from scrubjay.ports import Commit, Profile
from scrubjay.workers import offload

# A model reads the pairs of so many groups in one batch.
_PAGE = 16


class DuplicatesJob:
    """Merges each group of memories that say the same into its most trusted, oldest memory.

    No person looks on: what would add words to that memory stays by itself, unless `with_additions` is set, and so does
    what the model that reads both does not find the same.
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
            pause=context.pause, read=context.readable,
        )  # fmt: skip
        turns = Turns(context.pause)
        for start in range(0, len(groups), _PAGE):
            page: list[SameMemories] = []
            for similar in groups[start : start + _PAGE]:
                await turns.end_step()
                if (group := await self._without_additions(similar, context)) is not None:
                    page.append(group)
            for group in await without_refused(page, reader=context.engine.pairs):
                yield PlannedChange(
                    job=self.name, action="merge", ids=group.ids,
                    versions=tuple(memory.version for memory in group.memories),
                    why=f"they say the same, similarity {group.confidence:.2f}", before=f"{len(group.ids)} memories",
                    after="1 memory",
                )  # fmt: skip

    async def _without_additions(self, group: SameMemories, context: CurationContext) -> SameMemories | None:
        if self._with_additions:
            return group
        characters = sum(memory.characters for memory in group.memories)
        return await offload(characters, without_additions, group, at=context.now, most_tags=context.rules.most_tags)

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
