"""The daily budget of the language model: one stored document per day, so that a restart does not reset the count."""

import asyncio
import logging
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

from scrubjay.errors import LlmUnavailable, ScrubjayError, StaleVersion
from scrubjay.model.document import LLM_USE, Document
from scrubjay.model.health import LlmUsage
from scrubjay.model.memory import Json
from scrubjay.ports import Clock, DocumentStore

_RETENTION = timedelta(days=400)
_log = logging.getLogger(__name__)


class Budget:
    """Counts for all servers that share a store. Days are UTC days; 0 means no limit."""

    def __init__(self, *, documents: DocumentStore, clock: Clock, calls: int, tokens: int, space: str = "") -> None:
        self._documents = documents
        self._clock = clock
        self._max_calls = calls
        self._max_tokens = tokens
        self._space = space
        self._day: str = ""
        # Today's use that could not be stored yet.
        self._unsaved = LlmUsage()
        self._counting = asyncio.Lock()

    async def start_call(self) -> None:
        """Count a call before it starts; raises LlmUnavailable when today's budget is used up."""
        await self._add(LlmUsage(calls=1), is_limited=True)

    async def record(self, usage: LlmUsage) -> None:
        """Count the cost of an answer, or a failure."""
        await self._add(usage, is_limited=False)

    async def require_available(self) -> None:
        """Raise LlmUnavailable when today's budget is used up."""
        self._require_available(await self.usage())

    async def usage(self) -> LlmUsage:
        """Return today's use."""
        async with self._counting:
            day = self._today()
            try:
                document = await self._documents.document(self._space, LLM_USE, day)
            except ScrubjayError:
                document = None
            return _read(document).plus(self._unsaved)

    async def _add(self, usage: LlmUsage, *, is_limited: bool) -> None:
        async with self._counting:
            day = self._today()
            try:
                await self._save(day, usage, is_limited=is_limited)
            except LlmUnavailable:
                raise
            except ScrubjayError as error:
                # The budget also holds while the store fails.
                _log.warning("the use of the language model was not saved", extra={"fields": {"error": error.code}})
                if is_limited:
                    self._require_available(self._unsaved)
                self._unsaved = self._unsaved.plus(usage)

    async def _save(self, day: str, usage: LlmUsage, *, is_limited: bool) -> None:
        while True:
            existing = await self._documents.document(self._space, LLM_USE, day)
            before = _read(existing).plus(self._unsaved)
            if is_limited:
                self._require_available(before)
            value: dict[str, Json] = dict(asdict(before.plus(usage)))
            document = Document(space=self._space, collection=LLM_USE, key=day, value=value, at=self._clock.now())
            try:
                await self._documents.put_document(document, base=existing.version if existing else None)
            except StaleVersion:
                # Another server has counted meanwhile: read its count and add to it.
                continue
            self._unsaved = LlmUsage()
            if existing is None:
                await self._delete_old_days()
            return

    def _require_available(self, usage: LlmUsage) -> None:
        exhausted = [
            f"{limit:,} {unit}"
            for unit, count, limit in (
                ("calls", usage.calls, self._max_calls),
                ("tokens", usage.tokens, self._max_tokens),
            )
            if limit and count >= limit
        ]
        if exhausted:
            raise LlmUnavailable(
                f"the language model has used up its budget of {' and '.join(exhausted)} for today",
                hint="Raise SCRUBJAY_LLM_DAILY_CALLS or SCRUBJAY_LLM_DAILY_TOKENS, or wait until tomorrow (UTC)",
                reason="budget",
                put_off=_seconds_until_tomorrow(self._clock.now()),
            )

    async def _delete_old_days(self) -> None:
        oldest = f"{self._clock.now() - _RETENTION:%Y-%m-%d}"
        for document in await self._documents.documents(self._space, LLM_USE, limit=100):
            if document.key < oldest:
                await self._documents.delete_document(self._space, LLM_USE, document.key)

    def _today(self) -> str:
        day = f"{self._clock.now().astimezone(UTC):%Y-%m-%d}"
        if day != self._day:
            self._day, self._unsaved = day, LlmUsage()
        return day


def _read(document: Document | None) -> LlmUsage:
    return LlmUsage.from_json(document.value) if document else LlmUsage()


def _seconds_until_tomorrow(now: datetime) -> float:
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return (midnight - now).total_seconds() + 1
