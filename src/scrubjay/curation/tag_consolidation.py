"""The job `tags`: spellings and synonyms of one tag become that tag, in all memories of a space."""

from collections import Counter
from collections.abc import AsyncIterator

from scrubjay.curation.plan import DAILY, CurationContext, PlannedChange
from scrubjay.ports import Commit
from scrubjay.text.tags.consolidate import TagPlan, plan_tags
from scrubjay.workers import run_in_thread
from scrubjay.writing import synonyms

__all__ = ["TagsJob"]

_NAMED = 50


class TagsJob:
    """Gives memories the tags that their space uses most; what they say stays as it is."""

    name = "tags"
    summary = "replace spellings and synonyms of a tag in use by that tag"
    every = DAILY * 7

    async def plan(self, context: CurationContext) -> AsyncIterator[PlannedChange]:
        """Yield a change for each memory with a tag that another replaces."""
        if context.rules.tags == "off":
            return
        tags = await propose(context)
        if not tags.clusters:
            return
        context.notes.extend(_notes(tags, with_names=context.is_dry_run))
        replaced = tags.replaced
        async for memories in context.walk():
            for memory in memories:
                changed = tags.apply(memory.tags)
                if changed != memory.tags:
                    mapping = {tag: replaced[tag] for tag in memory.tags if tag in replaced}
                    why = ", ".join(f"{tag} is {other}" for tag, other in mapping.items())
                    yield PlannedChange(
                        job=self.name, action="retag", ids=(memory.id,), versions=(memory.version,), why=why,
                        before=", ".join(memory.tags), after=", ".join(changed), details={"tags": dict(mapping)},
                    )  # fmt: skip

    async def apply(self, change: PlannedChange, context: CurationContext) -> Commit | str:
        """Give one memory its tags."""
        (memory,) = await context.read(change)
        mapping = change.details.get("tags")
        replaced = mapping if isinstance(mapping, dict) else {}
        tags = tuple(dict.fromkeys(str(replaced.get(tag, tag)) for tag in memory.tags))
        if tags == memory.tags:
            return "it has these tags already"
        return context.commit(context.revise(memory, message=change.why, tags=tags))


def _notes(tags: TagPlan, *, with_names: bool) -> list[str]:
    """Return what a consolidation comes to; a stored report must not name tags, which a purge may have to erase."""
    before, after = tags.entropies
    counts = f"{len(tags.before):,} tags become {len(tags.after):,} in {len(tags.clusters):,} clusters"
    notes = [f"tags: {counts}, entropy {before:.2f} to {after:.2f} bits"]
    if with_names:
        for cluster in tags.clusters[:_NAMED]:
            variants = ", ".join(f"{tag} ({tags.before[tag]:,})" for tag in cluster.variants)
            notes.append(f"tags: {variants} to {cluster.tag} ({tags.before.get(cluster.tag, 0):,})")
        if len(tags.clusters) > _NAMED:
            notes.append(f"tags: and {len(tags.clusters) - _NAMED:,} more clusters")
    return notes


async def propose(context: CurationContext) -> TagPlan:
    """Return the consolidation of the tags of a space."""
    counts: Counter[str] = Counter()
    async for memories in context.walk():
        for memory in memories:
            counts.update(memory.tags)
    variants = await synonyms.load(context.space, store=context.store)
    # A large vocabulary takes a second, for which others would wait.
    return await run_in_thread(plan_tags, counts, synonyms=variants)
