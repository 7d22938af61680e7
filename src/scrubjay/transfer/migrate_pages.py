"""Reading a whole store page by page, so that any size fits into memory."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from scrubjay.errors import BodyDamaged
from scrubjay.model.document import Document
from scrubjay.model.version import MemoryHistory
from scrubjay.ports import Inventory

Stage = Callable[[str, int, int], None]
"""Told which part of the work is under way, and how much of how much of it is done."""

DocumentKey = tuple[str, str]
"""The drawer and the key of a paper."""

IDS = 1_000
DOCUMENTS = 500
# What is read at once, and written in one commit.
_MEMORIES = 200
_BYTES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A memory that cannot be read, and why."""

    space: str
    memory_id: str
    why: str

    def __str__(self) -> str:
        return f"{self.space}: {self.why}"


@dataclass(frozen=True, slots=True)
class Page:
    """Ids of a space in order, and the one before them."""

    after: str
    ids: tuple[str, ...]


async def id_pages(store: Inventory, space: str) -> AsyncIterator[Page]:
    """Ids of all memories of a space."""
    after = ""
    while ids := await store.ids(space, after=after, limit=IDS):
        yield Page(after, tuple(ids))
        after = ids[-1]


async def known_among(store: Inventory, space: str, page: Page) -> set[str]:
    """Which ids of a page a store has too."""
    wanted, found, after = set(page.ids), set[str](), page.after
    # The same page of a copy has the same ids; of another store it may take several to cover as much.
    while ids := await store.ids(space, after=after, limit=IDS):
        found |= wanted.intersection(ids)
        after = ids[-1]
        if after >= page.ids[-1]:
            break
    return found


async def document_page(store: Inventory, space: str, *, after: DocumentKey) -> dict[DocumentKey, Document]:
    """The next papers of a space, in order."""
    return {
        (document.collection, document.key): document
        for document in await store.all_documents(space, after=after, limit=DOCUMENTS)
    }


async def history_pages(
    store: Inventory, space: str, ids: Sequence[str], damaged: dict[str, str]
) -> AsyncIterator[list[MemoryHistory]]:
    """Memories with their whole past; those that cannot be read are noted and left out."""
    for start in range(0, len(ids), _MEMORIES):
        waiting = list(ids[start : start + _MEMORIES])
        while waiting:
            try:
                page = await store.histories(space, waiting, most_bytes=_BYTES)
            except BodyDamaged as error:
                memory_id = str(error.fields.get("memory_id"))
                if memory_id not in waiting:
                    raise
                damaged[memory_id] = error.message
                waiting.remove(memory_id)
                continue
            if not page:
                break
            yield page
            waiting = waiting[waiting.index(page[-1].memory.id) + 1 :]


def unheard(stage: str, done: int, total: int) -> None:
    """Progress that nobody wants to know."""
    del stage, done, total
