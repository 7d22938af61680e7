"""The documents of the fake store."""

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import datetime

from scrubjay.errors import StaleVersion
from scrubjay.model.document import Document
from scrubjay.model.timestamps import to_micros
from tests.fakes.state import FakePart


class FakeDocuments(FakePart):
    """The port `DocumentStore`, and all documents for the port `Inventory`."""

    async def document(self, space: str, collection: str, key: str) -> Document | None:
        """Return one document."""
        return deepcopy(self._state.space(space).documents.get((collection, key)))

    async def documents(self, space: str, collection: str, *, after: str = "", limit: int) -> list[Document]:
        """Return the documents of a collection."""
        return [
            document for document in self._all(space) if document.collection == collection and document.key > after
        ][:limit]

    async def latest_documents(
        self, space: str, collection: str, *, before: tuple[datetime, str] | None = None, limit: int
    ) -> list[Document]:
        """Return the documents of a collection, the latest first."""
        documents = [document for document in self._all(space) if document.collection == collection]
        documents = [document for document in documents if before is None or (document.at, document.key) < before]
        return sorted(documents, key=lambda document: (document.at, document.key), reverse=True)[:limit]

    async def documents_about(self, space: str, collection: str, ids: Sequence[str], *, limit: int) -> list[Document]:
        """Return the documents of a collection about some memories."""
        documents = await self.latest_documents(space, collection, limit=len(self._state.space(space).documents))
        return [document for document in documents if subjects_of(document) & set(ids)][:limit]

    async def put_document(self, document: Document, *, base: int | None) -> Document:
        """Store a document as the version after `base`."""
        before = self._state.space(document.space).documents.get((document.collection, document.key))
        current = before.version if before else None
        if current != base:
            raise StaleVersion(
                f"the document {document.key!r} is at version {current}, not {base}",
                hint="Read it again and apply your change to the new version",
                collection=document.collection,
                key=document.key,
                expected=base,
                current=current,
            )
        filed = copy_document(document, version=1 if base is None else base + 1)
        self._put(document.space, [filed])
        return deepcopy(filed)

    async def delete_document(self, space: str, collection: str, key: str) -> bool:
        """Delete a document."""
        return self._state.space(space).documents.pop((collection, key), None) is not None

    async def due_documents(self, collection: str, *, now: datetime, limit: int) -> list[Document]:
        """Return the documents of all spaces that are due."""
        due = [
            (to_micros(document.due), space, document.key, document)
            for space in self._state.spaces
            for document in self._all(space)
            if document.collection == collection and document.due is not None and document.due <= now
        ]
        return [document for *_, document in sorted(due, key=lambda pair: pair[:3])][:limit]

    async def all_documents(self, space: str, *, after: tuple[str, str] = ("", ""), limit: int) -> list[Document]:
        """Return the documents of all collections."""
        return [document for document in self._all(space) if (document.collection, document.key) > after][:limit]

    async def import_documents(self, space: str, documents: Sequence[Document], *, renew: bool) -> int:
        """Store documents of another store."""
        stored = self._state.space(space).documents
        entries = [copy_document(replace(document, space=space), version=document.version) for document in documents]
        fresh = [
            document
            for document in entries
            if (document.collection, document.key) not in stored
            or (renew and stored[document.collection, document.key] != document)
        ]
        self._put(space, fresh)
        return len(fresh)

    def _all(self, space: str) -> list[Document]:
        return [deepcopy(document) for _, document in sorted(self._state.space(space).documents.items())]

    def _put(self, space: str, documents: Sequence[Document]) -> None:
        space_state = self._state.space(space).copy()
        space_state.documents |= {(document.collection, document.key): document for document in documents}
        self._state.spaces[space] = space_state


def copy_document(document: Document, *, version: int) -> Document:
    """Return a copy of a document, so that a later change of the value does not change the stored one."""
    return replace(document, version=version, value=json.loads(json.dumps(dict(document.value))))


def subjects_of(document: Document) -> set[str]:
    """Return the ids of the memories that a document is about."""
    about = document.value.get("about")
    named = [about.get(name) for name in ("memory_id", "other_id")] if isinstance(about, dict) else []
    return {result for result in named if isinstance(result, str)}
