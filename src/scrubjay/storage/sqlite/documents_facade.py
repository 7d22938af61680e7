"""The store's papers, over its writer and its readers."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

import apsw

from scrubjay.model.document import Document
from scrubjay.storage.sqlite import documents as collections
from scrubjay.storage.sqlite.readers import Readers
from scrubjay.storage.sqlite.records import make_space
from scrubjay.storage.sqlite.writer import Writer

# More than so many are read by a thread.
_FEW = 256


class DocumentAccess:
    """The part of the store that is the port `Papers`, and all papers for the port `Inventory`."""

    _writer: Writer
    _readers: Readers

    async def document(self, space: str, collection: str, key: str) -> Document | None:
        return self._readers.glance(partial(collections.document, space=space, collection=collection, key=key))

    async def documents(self, space: str, collection: str, *, after: str = "", limit: int) -> list[Document]:
        look = partial(collections.documents, space=space, collection=collection, after=after, limit=limit)
        return self._readers.glance(look) if limit <= _FEW else await self._readers.run(look)

    async def latest_documents(
        self, space: str, collection: str, *, before: tuple[datetime, str] | None = None, limit: int
    ) -> list[Document]:
        look = partial(collections.latest_documents, space=space, collection=collection, before=before, limit=limit)
        return self._readers.glance(look) if limit <= _FEW else await self._readers.run(look)

    async def documents_about(self, space: str, collection: str, ids: Sequence[str], *, limit: int) -> list[Document]:
        look = partial(collections.documents_about, space=space, collection=collection, ids=ids, limit=limit)
        return await self._readers.run(look)

    async def put_document(self, document: Document, *, base: int | None) -> Document:
        def job(connection: apsw.Connection) -> int:
            return collections.put_document(
                connection, document, space_no=make_space(connection, document.space), base=base
            )

        return replace(document, version=await self._writer.run(job))

    async def delete_document(self, space: str, collection: str, key: str) -> bool:
        return await self._writer.run(partial(collections.delete_document, space=space, collection=collection, key=key))

    async def due_documents(self, collection: str, *, now: datetime, limit: int) -> list[Document]:
        look = partial(collections.due_documents, collection=collection, now=now, limit=limit)
        return self._readers.glance(look) if limit <= _FEW else await self._readers.run(look)

    async def all_documents(self, space: str, *, after: tuple[str, str] = ("", ""), limit: int) -> list[Document]:
        return await self._readers.run(partial(collections.all_documents, space=space, after=after, limit=limit))

    async def import_documents(self, space: str, documents: Sequence[Document], *, renew: bool) -> int:
        def job(connection: apsw.Connection) -> int:
            space_no = make_space(connection, space)
            return collections.import_documents(connection, documents, space_no=space_no, renew=renew)

        return await self._writer.run(job)
