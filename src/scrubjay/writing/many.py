"""`remember_many`: texts are embedded together, and each chunk of drafts is stored with one commit.

A chunk is a transaction of the store in which every draft takes the ordinary write path, so that the result is the
same as of one `remember` after the other. The next chunks are embedded while one is stored.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import islice

from scrubjay import telemetry
from scrubjay.errors import (
    Ambiguous,
    BodyDamaged,
    Conflict,
    EmbeddingUnavailable,
    InvalidInput,
    NotFound,
    ScrubjayError,
    TooLarge,
)
from scrubjay.idempotency import stored_key
from scrubjay.lazy import dataclass
from scrubjay.model.change import Origin
from scrubjay.model.draft import Draft, DraftBatch, Limits
from scrubjay.model.health import WriteNote
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.model.requests.memories import MAX_ITEMS
from scrubjay.model.results import Decision, ItemError, Remembered, RememberedItem, RememberedMany
from scrubjay.model.rules import Rules
from scrubjay.ports import Commit, Embedder, IdempotencyRecord, Profile, Progress
from scrubjay.text.passages import passages_of
from scrubjay.writing import results
from scrubjay.writing.compose import compose
from scrubjay.writing.context import (
    ScreenedDraft,
    Sliced,
    Statement,
    WriteContext,
    WriteOutcome,
)
from scrubjay.writing.embed import count_immediate, missing_texts
from scrubjay.writing.pipeline import remember
from scrubjay.writing.rules import load_rules
from scrubjay.writing.screen import deny_or_screen
from scrubjay.writing.validate import label, validate

__all__ = ["CHUNK", "MAX_ATOMIC", "HandOn", "embed_drafts", "remember_many", "write_together"]

CHUNK = 50
"""The most drafts in one commit: other writers wait that long."""
MAX_ATOMIC = 1_000
"""The most drafts that are stored all or none."""
# With more than one chunk waiting, the model has full batches, and need not pause while the next is prepared.
_AHEAD = 4
# The first and the last commits are smaller, down to this: nothing is stored while the model works on the first texts,
# and it idles while the very last are stored.
_LEAST_CHUNK = 10
# After so many turns of the event loop the model has the texts of a chunk, and works while the next are prepared.
_TURNS_TO_MODEL = 5
# The event loop is free while longer texts are cut in a thread.
_LONG_TEXT = 20_000
_MAX_REPORTED = 20
# These concern one item; after any other error, such as a full disk, the next item would fail too.
_ITEM_ERRORS = (InvalidInput, NotFound, Ambiguous, Conflict, BodyDamaged)

HandOn = Callable[[WriteOutcome], Awaitable[None]]
"""Takes the work that a write leaves for later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedDrafts:
    """Drafts with the vectors of their texts, as they would be stored: without secrets, and without rejected drafts.

    `screened` has one entry for each draft, None for an invalid one.
    """

    drafts: Sequence[Draft]
    screened: Sequence[ScreenedDraft | None]
    embedder: Embedder
    statements: tuple[Statement, ...] = ()
    # Those by which the drafts are compared with what is stored.
    vectors: tuple[Vector, ...] = ()


async def remember_many(
    batch: DraftBatch,
    *,
    space: str,
    origin: Origin,
    context: WriteContext,
    hand_on: HandOn,
    progress: Progress | None = None,
) -> RememberedMany:
    """Take drafts through the write path, in order; the error of one does not affect the others, unless atomic.

    A dry run compares each draft with the store and with the drafts of its chunk.
    """
    count = len(batch.drafts)
    if count > MAX_ITEMS:
        raise TooLarge(
            f"{count:,} items are too many; the limit is {MAX_ITEMS:,}",
            hint="Send them in parts",
            field="items",
            limit=MAX_ITEMS,
        )
    if batch.atomic and count > MAX_ATOMIC:
        raise TooLarge(
            f"{count:,} drafts are too many to store all or none; the limit is {MAX_ATOMIC:,}",
            hint="Split the batch, or leave atomic off",
            field="atomic",
            limit=MAX_ATOMIC,
        )
    request = _batch_request(batch, limits=context.limits)
    if request.key:
        # Raises KeyReused if it was another batch.
        await context.store.find_answer(space, request.key, request.digest)
    drafts = _keyed(batch.drafts, request)
    is_one = batch.atomic or (batch.dry_run and count <= MAX_ATOMIC)
    chunks = [drafts] if is_one else list(_split(drafts))
    writer = _ChunkWriter(batch=batch, request=request, space=space, origin=origin, context=context, hand_on=hand_on)
    items: list[RememberedItem] = []
    async with aclosing(_embed_chunks(chunks, space=space, origin=origin, context=context)) as embedded_chunks:
        async for embedded in embedded_chunks:
            items += await writer.write(embedded, first=len(items))
            if progress is not None:
                progress(len(items), count)
    return RememberedMany(items=tuple(items), dry_run=batch.dry_run)


async def embed_drafts(
    drafts: Sequence[Draft], *, space: str, origin: Origin, context: WriteContext
) -> EmbeddedDrafts:  # fmt: skip
    """Embed the texts of drafts in full batches of the model."""
    rules = (await load_rules(space, default=context.rules, documents=context.store)).rules
    prepare = partial(_slice_drafts, drafts, space=space, origin=origin, limits=context.limits, rules=rules)
    is_long = sum(len(draft.text) + sum(map(len, draft.observations)) for draft in drafts) > _LONG_TEXT
    screened, by_draft = await asyncio.to_thread(prepare) if is_long else prepare()
    try:
        profile = await context.embedder.profile()
        missing = await missing_texts(
            [sliced for _, records in by_draft for sliced in records], space=space, vector_store=context.store,
            profile=profile,
        )  # fmt: skip
    except EmbeddingUnavailable:
        # Each write reports it.
        return EmbeddedDrafts(drafts=drafts, screened=screened, embedder=context.embedder)
    vectors = await _embed(by_draft, missing, context=context)
    firsts = {records[0][1][0].hash: records for _, records in by_draft if records[0][1]}
    stored = await context.store.vectors(space, profile.model, [digest for digest in firsts if digest not in missing])
    first_vectors = stored | {digest: vectors[text] for digest, text in missing.items() if text in vectors}
    return EmbeddedDrafts(
        drafts=drafts,
        screened=screened,
        embedder=_ReadyEmbedder(context.embedder, vectors=vectors),
        statements=tuple(
            Statement(first_vectors.get(records[0][1][0].hash) if records[0][1] else None, draft.session_hint)
            for draft, records in by_draft
            if draft.intent == "continue" or (draft.intent == "auto" and rules.gate == "merge")
        ),
        vectors=() if rules.gate == rules.conflicts == "off" else tuple(first_vectors.values()),
    )


@asynccontextmanager
async def write_together(
    embedded: EmbeddedDrafts, *, space: str, context: WriteContext
) -> AsyncGenerator[WriteContext]:  # fmt: skip
    """Yield a context whose writes become one commit at the end of the block, or none after an error.

    Jobs of these writes must not be waited for in the block: they could not write.
    """
    notes: list[WriteNote] = []
    async with context.in_flight.register(space, *embedded.statements):
        with telemetry.hold_counts():
            async with context.store.transaction(space) as store:
                index = context.index
                with suppress(EmbeddingUnavailable):
                    index = await context.open_index(store, space, embedded.vectors)
                effective = await load_rules(space, default=context.rules, documents=store)
                yield replace(
                    # Other writers wait for the transaction: the pairs of a batch are read by the next scan.
                    context, store=store, index=index, embedder=embedded.embedder, pairs=None,
                    in_transaction=True, effective=effective, note=notes.append,
                )  # fmt: skip
        # Of a transaction that was taken back nothing is counted.
        for note in notes:
            context.note(note)
        await context.index.after_commit()


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChunkWriter:
    """Stores the chunks of one batch."""

    batch: DraftBatch
    request: results.KeyedRequest
    space: str
    origin: Origin
    context: WriteContext
    hand_on: HandOn

    async def write(self, embedded: EmbeddedDrafts, *, first: int) -> list[RememberedItem]:
        """Store a chunk with one commit, and hand on the jobs that it leaves."""
        items: list[RememberedItem] = []
        outcomes: list[WriteOutcome] = []
        with suppress(_DryRun):
            async with write_together(embedded, space=self.space, context=self.context) as context:
                if first == 0 and self.request.key:
                    once = IdempotencyRecord(key=self.request.key, digest=self.request.digest, answer="{}")
                    await context.store.commit(Commit(space=self.space, origin=self.origin, once=once))
                chunk = zip(embedded.drafts, embedded.screened, strict=True)
                for index, (draft, screened) in enumerate(chunk, first):
                    items.append(await self._remember(draft, screened, index, outcomes, context=context))
                    # Let other requests read meanwhile.
                    await asyncio.sleep(0)
                if self.batch.atomic:
                    _require_all(items)
                if self.batch.dry_run:
                    raise _DryRun
        if self.batch.dry_run:
            ids = {memory_id for item in items if item.result for memory_id in item.result.ids}
            stored = await self.context.store.get(self.space, sorted(ids))
            return [replace(item, result=item.result and _as_dry_run(item.result, stored)) for item in items]
        for outcome in outcomes:
            await self.hand_on(outcome)
        return items

    async def _remember(
        self,
        draft: Draft,
        screened: ScreenedDraft | None,
        index: int,
        outcomes: list[WriteOutcome],
        *,
        context: WriteContext,
    ) -> RememberedItem:
        # A microsecond apart, so that they keep their order.
        origin = replace(self.origin, at=self.origin.at + timedelta(microseconds=index))
        try:
            outcome = await remember(draft, space=self.space, origin=origin, context=context, screened=screened)
        except _ITEM_ERRORS as error:
            field_name = str(error.fields.get("field", ""))
            details = ItemError(code=error.code, message=error.message, hint=error.hint, field=field_name)
            return RememberedItem(index=index, error=details)
        outcomes.append(outcome)
        if self.request.key and screened is not None and not self.batch.drafts[index].idempotency_key:
            # Also of a draft that changes nothing: the same batch gets the same answer.
            once = results.request_of(screened.valid).record(outcome.answer)
            await context.store.commit(Commit(space=self.space, origin=origin, once=once))
        return RememberedItem(index=index, result=outcome.answer)


class _DryRun(Exception):
    """Rolls back a transaction."""


class _ReadyEmbedder:
    """An embedder that has the vectors of some texts."""

    def __init__(self, inner: Embedder, *, vectors: dict[str, Vector]) -> None:
        self._inner = inner
        self._vectors = vectors

    async def profile(self) -> Profile:
        """Return the model's profile."""
        return await self._inner.profile()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts; embed those that are missing."""
        missing = [text for text in texts if text not in self._vectors]
        made = dict(zip(missing, await self._inner.embed(missing), strict=True)) if missing else {}
        return [self._vectors[text] if text in self._vectors else made[text] for text in texts]

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        return await self._inner.embed_query(text)

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Return the vectors of media."""
        return await self._inner.embed_media(items)

    async def close(self) -> None:
        """Close the model."""
        await self._inner.close()


def _split(drafts: Sequence[Draft]) -> Iterator[Sequence[Draft]]:
    """Yield chunks of drafts, each at most twice the one before, and half of what is left unless that is little."""
    start, most = 0, _LEAST_CHUNK
    while left := len(drafts) - start:
        half = (left + 1) // 2
        size = min(half, most) if half >= _LEAST_CHUNK else left
        yield drafts[start : start + size]
        start += size
        most = min(CHUNK, 2 * most)


async def _embed_chunks(
    chunks: Sequence[Sequence[Draft]], *, space: str, origin: Origin, context: WriteContext
) -> AsyncGenerator[EmbeddedDrafts]:
    """Yield the chunks in order; the next ones are embedded meanwhile."""
    waiting = iter(chunks)
    tasks: deque[asyncio.Task[EmbeddedDrafts]] = deque()

    def begin_next() -> None:
        for chunk in islice(waiting, 1):
            tasks.append(asyncio.create_task(embed_drafts(chunk, space=space, origin=origin, context=context)))

    try:
        for _ in range(_AHEAD):
            begin_next()
            for _ in range(_TURNS_TO_MODEL):
                await asyncio.sleep(0)
        while tasks:
            embedded = await tasks[0]
            tasks.popleft()
            begin_next()
            yield embedded
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _embed(
    by_draft: Sequence[tuple[Draft, Sequence[Sliced]]], missing: dict[bytes, str], *, context: WriteContext
) -> dict[str, Vector]:
    """Return the vectors of the missing texts; a text that the model refuses concerns its own draft only."""
    remaining = dict(missing)
    by_text: list[list[str]] = []
    for _, records in by_draft:
        hashes = [passage.hash for _, passages in records for passage in passages]
        texts = [remaining.pop(digest) for digest in hashes if digest in remaining]
        by_text.append(texts[: count_immediate(texts)] if context.defers else texts)
    # They call the model in one turn of the event loop, and so share its batches.
    requested = [texts for texts in by_text if texts]
    made = await asyncio.gather(*(context.embedder.embed(texts) for texts in requested), return_exceptions=True)
    vectors: dict[str, Vector] = {}
    for texts, draft_vectors in zip(requested, made, strict=True):
        # The write itself reports the error.
        if not isinstance(draft_vectors, BaseException):
            vectors.update(zip(texts, draft_vectors, strict=True))
        elif not isinstance(draft_vectors, ScrubjayError):
            raise draft_vectors
    return vectors


def _slice_drafts(
    drafts: Sequence[Draft], *, space: str, origin: Origin, limits: Limits, rules: Rules
) -> tuple[list[ScreenedDraft | None], list[tuple[Draft, list[Sliced]]]]:
    """Screen drafts, and cut the records of those that are stored into passages."""
    screened = [_screen(draft, limits=limits, rules=rules, origin=origin) for draft in drafts]
    stored = [entry.draft for entry in screened if entry is not None and not entry.draft.rejected]
    return screened, [
        (
            draft,
            [(memory, passages_of(memory, with_terms=False)) for memory in compose(draft, space=space, now=origin.at)],
        )
        for draft in stored
    ]


def _screen(draft: Draft, *, limits: Limits, rules: Rules, origin: Origin) -> ScreenedDraft | None:
    """Validate and screen a draft; the write itself reports an error."""
    try:
        valid = validate(draft, limits=limits, origin=origin)
        return ScreenedDraft(valid=valid, draft=deny_or_screen(valid, rules), rules=rules)
    except ScrubjayError:
        return None


def _batch_request(batch: DraftBatch, *, limits: Limits) -> results.KeyedRequest:
    """Return the request of a batch, identified by its drafts in their order."""
    key = label(batch.idempotency_key, field="idempotency_key", limits=limits)
    if not key or batch.dry_run:
        return results.KeyedRequest()
    digest = hashlib.sha256(b"atomic" if batch.atomic else b"")
    for draft in batch.drafts:
        digest.update(results.digest_of(draft) + draft.idempotency_key.encode("utf-8", "surrogatepass") + b"\0")
    return results.KeyedRequest(key=stored_key(key), digest=digest.digest())


def _keyed(drafts: Sequence[Draft], request: results.KeyedRequest) -> Sequence[Draft]:
    """Give drafts without a key one of their own, made from the key of the batch: so a repeated batch continues."""
    if not request.key:
        return drafts
    prefix = hashlib.sha256(request.key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return [
        draft if draft.idempotency_key else replace(draft, idempotency_key=f"{prefix}.{index}")
        for index, draft in enumerate(drafts)
    ]


def _require_all(items: Sequence[RememberedItem]) -> None:
    """Raise an error that names each item that cannot be stored."""
    problems: list[tuple[int, ItemError]] = []
    for item in items:
        if item.error is not None:
            problems.append((item.index, item.error))
        elif item.result is not None and item.result.action == "rejected":
            problems.append((item.index, ItemError(code=InvalidInput.code, message=item.result.warnings[0])))
    if not problems:
        return
    lines = [f"item {index}{f' ({error.field})' if error.field else ''}: {error.message}" for index, error in problems]
    more = f"; and {len(lines) - _MAX_REPORTED} more" if len(lines) > _MAX_REPORTED else ""
    raise InvalidInput(
        f"{len(lines)} of {len(items)} drafts cannot be stored, so that none is: "
        f"{'; '.join(lines[:_MAX_REPORTED])}{more}",
        hint="Correct these, or leave atomic off",
        field="items",
        items=tuple(lines),
    )


def _as_dry_run(answer: Remembered, stored: Container[str]) -> Remembered:
    """Return the answer to a write that was rolled back, without ids of memories that are not stored."""
    is_revision = answer.action in ("merged", "updated")
    skipped = Decision(stage="commit", outcome="skipped", why="dry run")
    return replace(
        answer,
        id=answer.id if answer.id in stored else "",
        ids=tuple(memory_id for memory_id in answer.ids if memory_id in stored),
        merged_into=answer.merged_into if answer.merged_into in stored else "",
        version=answer.version - 1 if is_revision else answer.version,
        trace=tuple(skipped if decision.stage == "commit" else decision for decision in answer.trace),
    )
