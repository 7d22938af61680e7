"""Counts by day: one document a day in a collection, which several servers may change."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime

from scrubjay.errors import StaleVersion
from scrubjay.model.document import Document
from scrubjay.model.memory import Json
from scrubjay.ports import DocumentStore

_MAX_ATTEMPTS = 20
_PAGE = 100

Change = Callable[[Mapping[str, Json]], Awaitable[Mapping[str, Json] | None]]
"""Makes the new value of a day from the stored one; None leaves it as it is."""


class DailyDocuments:
    """The documents of a collection, by space and day."""

    def __init__(self, store: DocumentStore, collection: str) -> None:
        self._store = store
        self._collection = collection

    async def all(self, space: str, *, since: str = "") -> AsyncIterator[Document]:
        """Yield the days of a space, or those since one, the oldest first."""
        # Before the day itself, and after all days before it.
        after = since[:-1]
        while page := await self._store.documents(space, self._collection, after=after, limit=_PAGE):
            for document in page:
                if document.key >= since:
                    yield document
            after = page[-1].key

    async def change(self, space: str, day: str, change: Change, *, at: datetime) -> bool:
        """Change a day, again if another server was faster; return whether the day is new."""
        for _ in range(_MAX_ATTEMPTS):
            stored = await self._store.document(space, self._collection, day)
            value = await change({} if stored is None else stored.value)
            if value is None:
                return False
            document = Document(space=space, collection=self._collection, key=day, value=value, at=at)
            try:
                await self._store.put_document(document, base=None if stored is None else stored.version)
            except StaleVersion:
                continue
            return stored is None
        return False

    async def delete(self, space: str, *, before: str) -> None:
        """Delete the days before a date."""
        async for document in self.all(space):
            if document.key >= before:
                return
            await self._store.delete_document(space, self._collection, document.key)
