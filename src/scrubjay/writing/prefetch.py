"""Several writes one after the other: the vectors of all are begun at once, for a model takes texts together."""

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
from scrubjay.writing.embed import Sliced, first_of, unembedded
from scrubjay.writing.pipeline import WriteContext, screened
from scrubjay.writing.rules import effective_rules_of
from scrubjay.writing.validate import validate

__all__ = ["MOST_AHEAD", "ahead"]

# Their vectors are kept until they are stored.
MOST_AHEAD = 64
# So many texts are made first; each time after that twice as many.
_FIRST = 2
# Longer texts take long enough to take apart that the event loop should not do it.
_LONG_TEXT = 20_000


@asynccontextmanager
async def ahead(
    drafts: Sequence[Draft], *, space: str, origin: Origin, context: WriteContext
) -> AsyncGenerator[WriteContext]:
    """A desk whose embedder has begun with all texts of some drafts; what is never written is given up at the end.

    They are begun as they would be stored, without secrets and without what is refused.
    """
    embedder = _Ahead(context.embedder)
    # If that cannot be done, each write will find out, and say so.
    with suppress(ScrubjayError):
        if len(drafts) > 1:
            embedder.begin(await _texts(drafts, space=space, origin=origin, context=context))
    try:
        yield replace(context, embedder=embedder)
    finally:
        await embedder.give_up()


async def _texts(drafts: Sequence[Draft], *, space: str, origin: Origin, context: WriteContext) -> list[list[str]]:
    """The texts of each draft that are to be embedded, each once."""
    rules = (await effective_rules_of(space, default=context.rules, documents=context.store)).rules
    prepare = partial(_prepared, drafts, space=space, origin=origin, limits=context.limits, rules=rules)
    is_long = sum(len(draft.text) + sum(map(len, draft.observations)) for draft in drafts) > _LONG_TEXT
    sliced = await asyncio.to_thread(prepare) if is_long else prepare()
    together = [one for some in sliced for one in some]
    texts = await unembedded(
        together, space=space, vector_store=context.store, profile=await context.embedder.profile()
    )
    found = [
        [texts.pop(passage.hash) for _, passages in some for passage in passages if passage.hash in texts]
        for some in sliced
    ]  # fmt: skip
    return [some[: first_of(some)] for some in found] if context.defers else found


def _prepared(
    drafts: Sequence[Draft], *, space: str, origin: Origin, limits: Limits, rules: Rules
) -> list[list[Sliced]]:  # fmt: skip
    """The passages of each draft; none of those that will not be stored."""
    found: list[list[Sliced]] = []
    for draft in drafts:
        try:
            checked = screened(validate(draft, limits=limits), rules)
        except ScrubjayError:
            # What is wrong with it is told by whoever writes it.
            continue
        if not checked.rejected:
            memories = compose(checked, space=space, now=origin.at)
            found.append([(memory, passages_of(memory)) for memory in memories])
    return found


class _Ahead:
    """An embedder that has begun with some texts: those of each draft apart, so that none fails for another's."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._begun: dict[str, tuple[asyncio.Task[list[Vector]], int]] = {}

    def begin(self, texts: Iterable[Sequence[str]]) -> None:
        """Have vectors made of the texts of several drafts, for whoever will ask for them."""
        before: list[asyncio.Task[list[Vector]]] = []
        for some in _growing(filter(None, texts)):
            # All of them ask in one turn of the event loop, and so share their batches.
            before = [asyncio.create_task(self._made(one, after=before)) for one in some]
            for task, one in zip(before, some, strict=True):
                self._begun.update({text: (task, at) for at, text in enumerate(one)})

    async def _made(self, texts: Sequence[str], *, after: Sequence[asyncio.Task[list[Vector]]]) -> list[Vector]:
        if after:
            await asyncio.wait(after)
        return await self._inner.embed(texts)

    async def give_up(self) -> None:
        """Make no more of what nobody has asked for."""
        tasks = {task for task, _ in self._begun.values()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def profile(self) -> Profile:
        """The model's profile."""
        return await self._inner.profile()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Vectors of texts, those that were begun and others."""
        others = [text for text in texts if text not in self._begun]
        made = dict(zip(others, await self._inner.embed(others), strict=True)) if others else {}
        for text in texts:
            if text in self._begun:
                task, at = self._begun[text]
                # Whoever stops waiting must not stop it for those that share it.
                made[text] = (await asyncio.shield(task))[at]
        return [made[text] for text in texts]

    async def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        return await self._inner.embed_query(text)

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Vectors of media."""
        return await self._inner.embed_media(items)

    async def close(self) -> None:
        """Let go of the model."""
        await self._inner.close()


def _growing(texts: Iterable[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    """Groups of drafts with ever more texts.

    The first are soon done and are stored while the next are made; and a model that is far away is asked a few times.
    """
    group, most = list[Sequence[str]](), _FIRST
    for text in texts:
        group.append(text)
        if sum(map(len, group)) >= most:
            yield group
            group, most = [], 2 * most
    if group:
        yield group
