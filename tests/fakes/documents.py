"""The papers of the fake store."""

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import datetime

from scrubjay.errors import StaleVersion
from scrubjay.model.document import Document
from scrubjay.model.timestamps import to_micros
from tests.fakes.state import Housed


class FakeDocuments(Housed):
    """The port `Papers`, and all papers for the port `Inventory`."""

    async def document(self, space: str, collection: str, key: str) -> Document | None:
        """One paper."""
        return deepcopy(self._house.room(space).documents.get((collection, key)))

    async def documents(self, space: str, collection: str, *, after: str = "", limit: int) -> list[Document]:
        """The papers of a drawer."""
        return [one for one in self._all(space) if one.collection == collection and one.key > after][:limit]

    async def latest_documents(
        self, space: str, collection: str, *, before: tuple[datetime, str] | None = None, limit: int
    ) -> list[Document]:
        """The papers of a drawer, the latest first."""
        found = [one for one in self._all(space) if one.collection == collection]
        found = [one for one in found if before is None or (one.at, one.key) < before]
        return sorted(found, key=lambda one: (one.at, one.key), reverse=True)[:limit]

    async def documents_about(self, space: str, collection: str, ids: Sequence[str], *, limit: int) -> list[Document]:
        """The papers of a drawer about some memories."""
        found = await self.latest_documents(space, collection, limit=len(self._house.room(space).documents))
        return [one for one in found if subjects_of(one) & set(ids)][:limit]

    async def put_document(self, document: Document, *, base: int | None) -> Document:
        """Keep a paper as the version after another."""
        before = self._house.room(document.space).documents.get((document.collection, document.key))
        current = before.version if before else None
        if current != base:
            raise StaleVersion(
                f"the paper {document.key!r} is at version {current}, not {base}",
                hint="Read it again and repeat the change",
                collection=document.collection,
                key=document.key,
                expected=base,
                current=current,
            )
        filed = written(document, version=1 if base is None else base + 1)
        self._put(document.space, [filed])
        return deepcopy(filed)

    async def delete_document(self, space: str, collection: str, key: str) -> bool:
        """Throw a paper away."""
        return self._house.room(space).documents.pop((collection, key), None) is not None

    async def due_documents(self, collection: str, *, now: datetime, limit: int) -> list[Document]:
        """The papers of all spaces that are due."""
        found = [
            (to_micros(one.due), space, one.key, one)
            for space in self._house.rooms
            for one in self._all(space)
            if one.collection == collection and one.due is not None and one.due <= now
        ]
        return [document for *_, document in sorted(found, key=lambda one: one[:3])][:limit]

    async def all_documents(self, space: str, *, after: tuple[str, str] = ("", ""), limit: int) -> list[Document]:
        """The papers of all drawers."""
        return [one for one in self._all(space) if (one.collection, one.key) > after][:limit]

    async def import_documents(self, space: str, documents: Sequence[Document], *, renew: bool) -> int:
        """Keep papers of another store."""
        kept = self._house.room(space).documents
        given = [written(replace(document, space=space), version=document.version) for document in documents]
        fresh = [
            one
            for one in given
            if (one.collection, one.key) not in kept or (renew and kept[one.collection, one.key] != one)
        ]
        self._put(space, fresh)
        return len(fresh)

    def _all(self, space: str) -> list[Document]:
        return [deepcopy(one) for _, one in sorted(self._house.room(space).documents.items())]

    def _put(self, space: str, documents: Sequence[Document]) -> None:
        room = self._house.room(space).copy()
        room.documents |= {(document.collection, document.key): document for document in documents}
        self._house.rooms[space] = room


def written(document: Document, *, version: int) -> Document:
    """A paper as a store keeps it: what becomes of the value afterwards is not its matter."""
    return replace(document, version=version, value=json.loads(json.dumps(dict(document.value))))


def subjects_of(document: Document) -> set[str]:
    """The memories that a paper is about."""
    about = document.value.get("about")
    named = [about.get(name) for name in ("memory_id", "other_id")] if isinstance(about, dict) else []
    return {one for one in named if isinstance(one, str)}
