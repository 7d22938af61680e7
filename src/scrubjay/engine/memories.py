"""Writing, finding and putting away memories."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from scrubjay.engine.dependencies import Dependencies
from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.draft import Caller, Draft, Edit, Selection
from scrubjay.model.memory import Json
from scrubjay.model.query import Question, SearchText, TextsFound
from scrubjay.model.relation import LINK
from scrubjay.model.results import Outcome, ReadResult, Recalled, Related, Remembered, Written
from scrubjay.recalling import fulltext
from scrubjay.recalling import pipeline as recalling
from scrubjay.recalling import read as reading
from scrubjay.writing import delete, pipeline, relate, revise
from scrubjay.writing.batch import Batch, write_batch


class Memories(Dependencies):
    """Writing, finding and putting away memories."""

    __slots__ = ()

    async def remember(self, draft: Draft, *, who: Caller) -> Remembered:
        """Store a text, once, under every entity it is about."""
        kept = await pipeline.remember(draft, space=who.space, origin=self._origin(who), context=self._write_context)
        await self._hand_on(kept)
        return kept.answer

    async def recall(self, question: Question, *, who: Caller, cursor: str = "") -> Recalled:
        """Find what answers a question."""
        found = await recalling.recall(
            question, cursor=cursor, spaces=who.spaces, now=self.clock.now(), context=self._recall_context
        )
        self.access_log.note((hit.space, hit.id) for hit in (*found.pinned, *found.hits))
        return found

    async def search_text(self, asked: SearchText, *, who: Caller) -> TextsFound:
        """Find the memories that have words, beginnings of words and phrases."""
        return await fulltext.search_text(
            asked,
            spaces=who.spaces,
            now=self.clock.now(),
            limits=self.limits,
            store=self.store,
            text_caches=self.text_caches,
        )

    async def read(
        self,
        refs: Sequence[str],
        *,
        who: Caller,
        format: str = "markdown",
        version: int | None = None,
        branch: str = "",
        as_of: datetime | None = None,
    ) -> ReadResult:
        """Whole memories by id, name or title, as they are or as they were."""
        found = await reading.read(
            refs, format=format, version=version, branch=branch, as_of=as_of, spaces=who.spaces, store=self.store
        )
        self.access_log.note((memory.space, memory.id) for memory in found.memories)
        return found

    async def revise(self, ref: str, edit: Edit, *, who: Caller) -> Written:
        """Change a memory; the state before stays a version."""
        done = await revise.revise(ref, edit, space=who.space, origin=self._origin(who), context=self._write_context)
        await self.index.after_commit()
        return done

    async def write_batch(
        self, batch: Batch, *, who: Caller, embed: bool = True
    ) -> tuple[ConflictDetails, ...]:  # fmt: skip
        """Several writes at once, all of them or none; nothing is merged, and nothing weighed."""
        told = await write_batch(
            batch, space=who.space, origin=self._origin(who), context=self._write_context, embed=embed
        )
        await self.index.after_commit()
        return told

    async def forget(self, selection: Selection, *, who: Caller) -> Outcome:
        """Put memories into the trash."""
        done = await delete.forget(selection, space=who.space, origin=self._origin(who), store=self.store)
        await self.index.after_commit()
        return done

    async def restore(self, selection: Selection, *, who: Caller) -> Outcome:
        """Take memories out of the trash."""
        done = await delete.restore(
            selection,
            space=who.space,
            origin=self._origin(who),
            store=self.store,
            conflict_checker=self._conflict_checker,
        )
        await self.index.after_commit()
        return done

    async def purge(self, selection: Selection, *, who: Caller) -> Outcome:
        """Destroy what is in the trash."""
        done = await delete.purge(selection, space=who.space, origin=self._origin(who), store=self.store)
        if done.done and not done.dry_run:
            self.answers.clear()
            await self.index.after_purge()
        return done

    async def relate(
        self,
        source: str,
        target: str,
        *,
        who: Caller,
        relation: str = LINK,
        text: str = "",
        strength: float = 0.5,
        metadata: Mapping[str, Json] | None = None,
    ) -> Related:
        """Set an edge between two memories."""
        done = await relate.relate(
            source, target, relation=relation, text=text, strength=strength, metadata=metadata or {},
            space=who.space, origin=self._origin(who), store=self.store, limits=self.limits, rules=self.default_rules,
        )  # fmt: skip
        # It has nothing to say to the index, which would seem to be behind until somebody writes or asks.
        await self.index.after_commit()
        return done

    async def unrelate(self, source: str, target: str, *, who: Caller, relation: str = LINK) -> Related:
        """Remove an edge."""
        done = await relate.unrelate(
            source, target, relation=relation, space=who.space, origin=self._origin(who), store=self.store,
            limits=self.limits,
        )  # fmt: skip
        await self.index.after_commit()
        return done
