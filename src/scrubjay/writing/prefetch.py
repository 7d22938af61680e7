"""Vectors for several writes in a row: all are begun at once, for a model embeds texts faster in batches."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial

from scrubjay.errors import ScrubjayError
from scrubjay.model.change import Origin
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.model.rules import Rules
from scrubjay.ports import Embedder, Profile
from scrubjay.text.passages import passages_of
from scrubjay.writing.compose import compose
from scrubjay.writing.context import Sliced, WriteContext
from scrubjay.writing.embed import count_immediate, missing_texts
from scrubjay.writing.rules import load_rules
from scrubjay.writing.screen import deny_or_screen
from scrubjay.writing.validate import validate

__all__ = ["MAX_PREFETCHED", "prefetch_vectors"]

# The vectors stay in memory until the drafts are stored.
MAX_PREFETCHED = 64
# The first group has so many texts; each later one twice as many.
_FIRST_GROUP = 2
# The event loop is free while longer texts are cut in a thread.
_LONG_TEXT = 20_000


@asynccontextmanager
async def prefetch_vectors(
    drafts: Sequence[Draft], *, space: str, origin: Origin, context: WriteContext
) -> AsyncGenerator[WriteContext]:
    """Yield a context whose embedder has begun with the texts of all drafts; unused work is cancelled at the end.

    The texts are embedded as they would be stored: without secrets, and without rejected drafts.
    """
    embedder = _PrefetchingEmbedder(context.embedder)
    # If this fails, each write fails on its own and reports why.
    with suppress(ScrubjayError):
        if len(drafts) > 1:
            embedder.begin(await _texts(drafts, space=space, origin=origin, context=context))
    try:
        yield replace(context, embedder=embedder)
    finally:
        await embedder.cancel()


async def _texts(drafts: Sequence[Draft], *, space: str, origin: Origin, context: WriteContext) -> list[list[str]]:
    """Return the texts of each draft that need a vector, each text once."""
    rules = (await load_rules(space, default=context.rules, documents=context.store)).rules
    prepare = partial(_slice_drafts, drafts, space=space, origin=origin, limits=context.limits, rules=rules)
    is_long = sum(len(draft.text) + sum(map(len, draft.observations)) for draft in drafts) > _LONG_TEXT
    by_draft = await asyncio.to_thread(prepare) if is_long else prepare()
    missing = await missing_texts(
        [sliced for records in by_draft for sliced in records],
        space=space,
        vector_store=context.store,
        profile=await context.embedder.profile(),
    )
    texts = [
        [missing.pop(passage.hash) for _, passages in records for passage in passages if passage.hash in missing]
        for records in by_draft
    ]
    return [draft_texts[: count_immediate(draft_texts)] for draft_texts in texts] if context.defers else texts


def _slice_drafts(
    drafts: Sequence[Draft], *, space: str, origin: Origin, limits: Limits, rules: Rules
) -> list[list[Sliced]]:
    """Return the records of each draft with their passages; drafts that are not stored are left out."""
    by_draft: list[list[Sliced]] = []
    for draft in drafts:
        try:
            checked = deny_or_screen(validate(draft, limits=limits), rules)
        except ScrubjayError:
            # The write itself reports the error.
            continue
        if not checked.rejected:
            memories = compose(checked, space=space, now=origin.at)
            by_draft.append([(memory, passages_of(memory)) for memory in memories])
    return by_draft


class _PrefetchingEmbedder:
    """An embedder that has begun with some texts, those of each draft apart, so that none fails for another's."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        # The task that embeds a text, and the place of the text in its result.
        self._tasks: dict[str, tuple[asyncio.Task[list[Vector]], int]] = {}

    def begin(self, texts_by_draft: Iterable[Sequence[str]]) -> None:
        """Start to embed the texts of several drafts."""
        previous: list[asyncio.Task[list[Vector]]] = []
        for group in _growing_groups(filter(None, texts_by_draft)):
            # They call the model in one turn of the event loop, and so share its batches.
            previous = [asyncio.create_task(self._embed_after(previous, texts)) for texts in group]
            for task, texts in zip(previous, group, strict=True):
                self._tasks.update({text: (task, at) for at, text in enumerate(texts)})

    async def _embed_after(self, previous: Sequence[asyncio.Task[list[Vector]]], texts: Sequence[str]) -> list[Vector]:
        if previous:
            await asyncio.wait(previous)
        return await self._inner.embed(texts)

    async def cancel(self) -> None:
        """Stop embedding texts that no write has used."""
        tasks = {task for task, _ in self._tasks.values()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def profile(self) -> Profile:
        """Return the model's profile."""
        return await self._inner.profile()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts, whether begun or not."""
        others = [text for text in texts if text not in self._tasks]
        vectors = dict(zip(others, await self._inner.embed(others), strict=True)) if others else {}
        for text in texts:
            if text in self._tasks:
                task, at = self._tasks[text]
                # A caller that stops waiting must not cancel the task for others.
                vectors[text] = (await asyncio.shield(task))[at]
        return [vectors[text] for text in texts]

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        return await self._inner.embed_query(text)

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Return the vectors of media."""
        return await self._inner.embed_media(items)

    async def close(self) -> None:
        """Close the model."""
        await self._inner.close()


def _growing_groups(texts_by_draft: Iterable[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    """Return groups of drafts with ever more texts.

    The first are soon done and stored while the next are embedded; and a remote model is called only a few times.
    """
    group, most = list[Sequence[str]](), _FIRST_GROUP
    for texts in texts_by_draft:
        group.append(texts)
        if sum(map(len, group)) >= most:
            yield group
            group, most = [], 2 * most
    if group:
        yield group
