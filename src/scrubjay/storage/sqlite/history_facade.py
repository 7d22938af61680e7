"""What the store was, over its readers."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from scrubjay.model.relation import Relation
from scrubjay.model.version import Version
from scrubjay.storage.sqlite import history
from scrubjay.storage.sqlite.bodies import Bodies
from scrubjay.storage.sqlite.readers import Readers

_SMALL = 16 * 1024


class HistoryReads:
    """The part of the port `Records` that tells of the past."""

    _bodies: Bodies
    _readers: Readers

    async def versions(self, space: str, memory_id: str, *, limit: int, before: int | None = None) -> list[Version]:
        look = partial(history.versions, space=space, memory_id=memory_id, limit=limit, before=before)
        return await self._readers.run(partial(look, bodies=self._bodies))

    async def version(self, space: str, memory_id: str, number: int) -> Version | None:
        look = partial(history.version, space=space, memory_id=memory_id, number=number, bodies=self._bodies)
        # What is small is told sooner than a reading thread would wake up, also by way of some others.
        is_small, found = self._readers.glance(partial(look, most=_SMALL))
        return found if is_small else (await self._readers.run(look))[1]

    async def version_at(self, space: str, memory_id: str, *, at: datetime) -> Version | None:
        look = partial(history.version_at, space=space, memory_id=memory_id, at=at, bodies=self._bodies)
        return await self._readers.run(look)

    async def versions_at(self, space: str, ids: Sequence[str], *, at: datetime) -> dict[str, Version]:
        look = partial(history.versions_at, space=space, ids=ids, at=at, bodies=self._bodies)
        return await self._readers.run(look) if ids else {}

    async def relations_at(self, space: str, ids: Sequence[str], *, at: datetime) -> list[Relation]:
        return await self._readers.run(partial(history.relations_at, space=space, ids=ids, at=at))
