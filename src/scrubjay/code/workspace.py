"""The files of programs and their stored results: documents of the store, so that no path leads anywhere.

They are private to one agent in one space, are encrypted where the store is, and are purged with the space. The oldest
results go first; a file stays until it is deleted.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from typing import cast
from weakref import WeakValueDictionary

from scrubjay.errors import InvalidInput, NotFound, StaleVersion, TooLarge
from scrubjay.lazy import dataclass
from scrubjay.model.caller import Caller
from scrubjay.model.document import Document
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Json
from scrubjay.ports import Clock, DocumentStore

_PREFIX = "code_"
_PAGE = 100
_FILES = "code_files"
_RESULTS = "code_results"
_MAX_FILES = 200
_MAX_RESULTS = 20
_MAX_NAME = 100
_OWNER_DIGITS = 16
_HANDLE = "result-"
_INDEX = "index"
# Each time one of the programs that run at once succeeds.
_ATTEMPTS = 100
# A file is two documents, its text and its size: programs of one agent write and delete one after the other. Those of
# another server may not wait, and then a file may be missing that is listed.
_writing: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """The files and results of one caller."""

    documents: DocumentStore
    clock: Clock
    who: Caller
    quota: int

    async def read(self, name: str) -> str:
        """Return the text of a file."""
        document = await self._document(_FILES, _key(name))
        if document is None:
            listed = ", ".join(await self.sizes()) or "none"
            raise NotFound(f"there is no file {name[:_MAX_NAME]!r}", hint=f"There are: {listed[:500]}")
        return str(document.value["text"])

    async def write(self, name: str, text: str) -> int:
        """Store a file, in the place of one with the same name; returns its size in bytes."""
        key, size = _key(name), len(text.encode("utf-8", "replace"))
        async with self._lock():
            # Its room is taken first, so that programs that run at once cannot all find the same room free.
            await self._take_room(name, size)
            await self._put(_FILES, key, lambda _: {"text": text})
            if (await self.sizes()).get(name, 0) < size:
                # A program of another server has written or deleted the same file meanwhile.
                try:
                    await self._take_room(name, size)
                except TooLarge:
                    await self._delete(name)
                    raise
        return size

    async def sizes(self) -> dict[str, int]:
        """Return the sizes of the files in bytes, by name."""
        index = await self._document(_FILES, _INDEX)
        return cast("dict[str, int]", dict(index.value)) if index else {}

    async def delete(self, name: str) -> bool:
        """Delete a file; returns whether it was there."""
        async with self._lock():
            return await self._delete(name)

    def _lock(self) -> asyncio.Lock:
        return _writing.setdefault((self.who.space, self.who.agent), asyncio.Lock())

    async def _delete(self, name: str) -> bool:
        key = _key(name)
        await self._put(
            _FILES, _INDEX, lambda sizes: {other: used for other, used in sizes.items() if other != name}
        )  # fmt: skip
        return await self.documents.delete_document(self.who.space, self._collection(_FILES), key)

    async def _take_room(self, name: str, size: int) -> None:
        def change(sizes: Mapping[str, Json]) -> dict[str, Json]:
            after = {**sizes, name: size}
            used = sum(cast("dict[str, int]", after).values())
            if used > self.quota or len(after) > _MAX_FILES:
                raise TooLarge(
                    f"the workspace has room for {self.quota:,} bytes in {_MAX_FILES} files, and {used:,} bytes in "
                    f"{len(after)} files are too much",
                    hint="Delete files with delete_file",
                )
            return after

        await self._put(_FILES, _INDEX, change)

    async def store_result(self, value: Json) -> str:
        """Store a result for reading on, in the place of the oldest one if there are many; returns its handle."""
        collection, handle = self._collection(_RESULTS), f"{_HANDLE}{new_id()}"
        await self._put(_RESULTS, handle, lambda _: {"value": value})
        # Handles are in the order of time.
        stored = await self.documents.documents(self.who.space, collection, limit=10 * _MAX_RESULTS)
        for old in stored[:-_MAX_RESULTS]:
            await self.documents.delete_document(self.who.space, collection, old.key)
        return handle

    async def result(self, handle: str) -> Json:
        """Return a stored result."""
        document = await self._document(_RESULTS, handle) if handle.startswith(_HANDLE) else None
        if document is None:
            raise NotFound(
                f"there is no stored result {handle[:_MAX_NAME]!r}",
                hint=f"The last {_MAX_RESULTS} are kept: run the code again",
                field="handle",
            )
        return document.value["value"]

    def _collection(self, kind: str) -> str:
        """Return the collection of one agent. Its name may be any text, and that of a collection is short."""
        owner = hashlib.sha256(self.who.agent.encode("utf-8", "replace")).hexdigest()[:_OWNER_DIGITS]
        return f"{kind}.{owner}"

    async def _document(self, kind: str, key: str) -> Document | None:
        return await self.documents.document(self.who.space, self._collection(kind), key)

    async def _put(self, kind: str, key: str, change: Callable[[Mapping[str, Json]], dict[str, Json]]) -> None:
        """Change a document; once more if another program of the agent has changed it meanwhile."""
        for attempt in range(_ATTEMPTS):
            before = await self._document(kind, key)
            document = Document(
                space=self.who.space, collection=self._collection(kind), key=key,
                value=change(before.value if before else {}), version=before.version if before else 1,
                at=self.clock.now(),
            )  # fmt: skip
            try:
                await self.documents.put_document(document, base=before.version if before else None)
            except StaleVersion:
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                return


async def empty_workspaces(documents: DocumentStore, space: str) -> None:
    """Delete the files and results of all agents in a space."""
    after = (_PREFIX, "")
    while page := await documents.all_documents(space, after=after, limit=_PAGE):
        for document in page:
            if not document.collection.startswith(_PREFIX):
                return
            await documents.delete_document(space, document.collection, document.key)
        after = (page[-1].collection, page[-1].key)


def _key(name: str) -> str:
    """Return the key of a file. Its name is a plain one, since there are no folders."""
    if not name or len(name) > _MAX_NAME or not name.isprintable() or name in (".", ".."):
        raise InvalidInput(f"{name[:_MAX_NAME]!r} is no name of a file", hint="Use up to 100 printable characters")
    if "/" in name or "\\" in name:
        raise InvalidInput(
            f"{name[:_MAX_NAME]!r} is a path, and the workspace has no folders",
            hint="Name the file alone, such as analysis.json",
        )
    return f"file.{name}"
