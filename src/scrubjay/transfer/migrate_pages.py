"""Read a whole store page by page, so that a store of any size fits into memory."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from scrubjay.errors import BodyDamaged
from scrubjay.model.document import Document
from scrubjay.model.version import MemoryHistory
from scrubjay.ports import Inventory

Key = TypeVar("Key", str, bytes, tuple[str, str])
Value = TypeVar("Value")
ReportProgress = Callable[[str, int, int], None]
"""Called with the stage of the work, how much of it is done, and how much there is."""
DocumentKey = tuple[str, str]
"""The collection and the key of a document."""

IDS = 1_000
DOCUMENTS = 500
# The most memories, and the most bytes, that are read at once and written in one commit.
_MEMORIES = 200
_BYTES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedMemory:
    """A memory that cannot be read, and why."""

    space: str
    memory_id: str
    why: str

    def __str__(self) -> str:
        return f"{self.space}: {self.why}"


@dataclass(frozen=True, slots=True)
class IdPage:
    """Ids of a space in order, and the id before them."""

    after: str
    ids: tuple[str, ...]


async def id_pages(store: Inventory, space: str) -> AsyncIterator[IdPage]:
    """Yield the ids of all memories of a space."""
    after = ""
    while ids := await store.ids(space, after=after, limit=IDS):
        yield IdPage(after, tuple(ids))
        after = ids[-1]


async def existing_ids(store: Inventory, space: str, page: IdPage) -> set[str]:
    """Return the ids of a page that a store has too."""
    ids_of_page, existing, after = set(page.ids), set[str](), page.after
    # The same page of a copy has the same ids; another store may need several pages to cover as much.
    while ids := await store.ids(space, after=after, limit=IDS):
        existing |= ids_of_page.intersection(ids)
        after = ids[-1]
        if after >= page.ids[-1]:
            break
    return existing


async def document_page(store: Inventory, space: str, *, after: DocumentKey) -> dict[DocumentKey, Document]:
    """Return the next documents of a space, in order."""
    return {
        (document.collection, document.key): document
        for document in await store.all_documents(space, after=after, limit=DOCUMENTS)
    }


async def history_pages(
    store: Inventory, space: str, ids: Sequence[str], damaged: dict[str, str]
) -> AsyncIterator[list[MemoryHistory]]:
    """Yield memories with their whole history; those that cannot be read are left out and added to `damaged`."""
    for start in range(0, len(ids), _MEMORIES):
        remaining = list(ids[start : start + _MEMORIES])
        while remaining:
            try:
                page = await store.histories(space, remaining, most_bytes=_BYTES)
            except BodyDamaged as error:
                memory_id = str(error.fields.get("memory_id"))
                if memory_id not in remaining:
                    raise
                damaged[memory_id] = error.message
                remaining.remove(memory_id)
                continue
            if not page:
                break
            yield page
            remaining = remaining[remaining.index(page[-1].memory.id) + 1 :]


def common_range(
    ours: dict[Key, Value], theirs: dict[Key, Value], *, limit: int
) -> tuple[dict[Key, Value], dict[Key, Value], Key | None]:
    """Return two pages as far as both go, and the key to continue after, if any."""
    ends = [list(page)[-1] for page in (ours, theirs) if len(page) == limit]
    if not ends:
        return ours, theirs, None
    end = min(ends)
    first, second = ({key: value for key, value in page.items() if key <= end} for page in (ours, theirs))
    return first, second, end


def ignore_progress(stage: str, done: int, total: int) -> None:
    """Ignore the progress."""
    del stage, done, total
