"""What may be asked in a day, and what was: kept on a paper a day, so that a new start does not begin anew."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from scrubjay.errors import LlmUnavailable, ScrubjayError, StaleVersion
from scrubjay.model.document import Document
from scrubjay.model.memory import Json
from scrubjay.ports import Clock, DocumentStore

COLLECTION = "llm"
_KEPT = timedelta(days=30)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What was asked in a day: so many questions, so many tokens, and how many of them failed."""

    calls: int = 0
    tokens: int = 0
    failures: int = 0

    def plus(self, other: "Spent") -> "Spent":
        """Both together."""
        return Spent(
            calls=self.calls + other.calls, tokens=self.tokens + other.tokens, failures=self.failures + other.failures
        )


class Budget:
    """Counts for all servers that share a store. Days are those of UTC; a limit of 0 is none."""

    def __init__(self, *, documents: DocumentStore, clock: Clock, calls: int, tokens: int, space: str = "") -> None:
        self._documents = documents
        self._clock = clock
        self._calls = calls
        self._tokens = tokens
        self._space = space
        self._day: str = ""
        # What the store did not take, for as long as the day lasts.
        self._unfiled = Spent()
        self._counting = asyncio.Lock()

    async def admit(self) -> None:
        """Count a question before it is asked; raises LlmUnavailable when there is none left for today."""
        await self._count(Spent(calls=1), limited=True)

    async def spend(self, spent: Spent) -> None:
        """Note what an answer has cost, or that there was none."""
        await self._count(spent, limited=False)

    async def require(self) -> None:
        """Raise LlmUnavailable when there is nothing left for today."""
        self._require(await self.spent())

    async def spent(self) -> Spent:
        """What was asked today."""
        async with self._counting:
            day = self._today()
            try:
                document = await self._documents.document(self._space, COLLECTION, day)
            except ScrubjayError:
                document = None
            return _read(document).plus(self._unfiled)

    async def _count(self, spent: Spent, *, limited: bool) -> None:
        async with self._counting:
            day = self._today()
            try:
                await self._file(day, spent, limited=limited)
            except LlmUnavailable:
                raise
            except ScrubjayError as error:
                # Whatever ails the store: it is counted here until it can be filed.
                _log.warning("what was asked of the model is not filed", extra={"fields": {"error": error.code}})
                if limited:
                    self._require(self._unfiled)
                self._unfiled = self._unfiled.plus(spent)

    async def _file(self, day: str, spent: Spent, *, limited: bool) -> None:
        while True:
            existing = await self._documents.document(self._space, COLLECTION, day)
            before = _read(existing).plus(self._unfiled)
            if limited:
                self._require(before)
            value: dict[str, Json] = dict(asdict(before.plus(spent)))
            document = Document(space=self._space, collection=COLLECTION, key=day, value=value, at=self._clock.now())
            try:
                await self._documents.put_document(document, base=existing.version if existing else None)
            except StaleVersion:
                # Somebody has counted meanwhile: whoever is late counts on from there.
                continue
            self._unfiled = Spent()
            if existing is None:
                await self._forget_old_days()
            return

    def _require(self, spent: Spent) -> None:
        used_up = [
            f"{limit:,} {what}"
            for what, used, limit in (("calls", spent.calls, self._calls), ("tokens", spent.tokens, self._tokens))
            if limit and used >= limit
        ]
        if used_up:
            raise LlmUnavailable(
                f"the language model has had its {' and '.join(used_up)} for today",
                hint="Raise SCRUBJAY_LLM_DAILY_CALLS or SCRUBJAY_LLM_DAILY_TOKENS, or wait until tomorrow (UTC)",
                reason="budget",
                put_off=_until_tomorrow(self._clock.now()),
            )

    async def _forget_old_days(self) -> None:
        oldest = f"{self._clock.now() - _KEPT:%Y-%m-%d}"
        for document in await self._documents.documents(self._space, COLLECTION, limit=100):
            if document.key < oldest:
                await self._documents.delete_document(self._space, COLLECTION, document.key)

    def _today(self) -> str:
        day = f"{self._clock.now().astimezone(UTC):%Y-%m-%d}"
        if day != self._day:
            self._day, self._unfiled = day, Spent()
        return day


def _read(document: Document | None) -> Spent:
    value: Mapping[str, Json] = document.value if document else {}

    def number(name: str) -> int:
        results = value.get(name)
        return results if isinstance(results, int) else 0

    return Spent(calls=number("calls"), tokens=number("tokens"), failures=number("failures"))


def _until_tomorrow(now: datetime) -> float:
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return (midnight - now).total_seconds() + 1
