"""The store's papers, over its writer and its readers."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

import apsw

from scrubjay.model.paper import Paper
from scrubjay.stores.sqlite import papers as drawers
from scrubjay.stores.sqlite.readers import Readers
from scrubjay.stores.sqlite.records import make_space
from scrubjay.stores.sqlite.writer import Writer

# More than so many are read by a thread.
_FEW = 256


class Filing:
    """The part of the store that is the port `Papers`, and all papers for the port `Inventory`."""

    _writer: Writer
    _readers: Readers

    async def paper(self, space: str, drawer: str, key: str) -> Paper | None:
        return self._readers.glance(partial(drawers.paper, space=space, drawer=drawer, key=key))

    async def papers(self, space: str, drawer: str, *, after: str = "", limit: int) -> list[Paper]:
        look = partial(drawers.papers, space=space, drawer=drawer, after=after, limit=limit)
        return self._readers.glance(look) if limit <= _FEW else await self._readers.run(look)

    async def latest_papers(
        self, space: str, drawer: str, *, before: tuple[datetime, str] | None = None, limit: int
    ) -> list[Paper]:
        look = partial(drawers.latest_papers, space=space, drawer=drawer, before=before, limit=limit)
        return self._readers.glance(look) if limit <= _FEW else await self._readers.run(look)

    async def papers_about(self, space: str, drawer: str, ids: Sequence[str], *, limit: int) -> list[Paper]:
        look = partial(drawers.papers_about, space=space, drawer=drawer, ids=ids, limit=limit)
        return await self._readers.run(look)

    async def file_paper(self, paper: Paper, *, base: int | None) -> Paper:
        def job(connection: apsw.Connection) -> int:
            return drawers.file_paper(connection, paper, space_no=make_space(connection, paper.space), base=base)

        return replace(paper, version=await self._writer.run(job))

    async def discard_paper(self, space: str, drawer: str, key: str) -> bool:
        return await self._writer.run(partial(drawers.discard_paper, space=space, drawer=drawer, key=key))

    async def due_papers(self, drawer: str, *, now: datetime, limit: int) -> list[Paper]:
        look = partial(drawers.due_papers, drawer=drawer, now=now, limit=limit)
        return self._readers.glance(look) if limit <= _FEW else await self._readers.run(look)

    async def all_papers(self, space: str, *, after: tuple[str, str] = ("", ""), limit: int) -> list[Paper]:
        return await self._readers.run(partial(drawers.all_papers, space=space, after=after, limit=limit))

    async def keep_papers(self, space: str, papers: Sequence[Paper], *, renew: bool) -> int:
        def job(connection: apsw.Connection) -> int:
            space_no = make_space(connection, space)
            return drawers.keep_papers(connection, papers, space_no=space_no, renew=renew)

        return await self._writer.run(job)
