"""Read a space page by page, so that a space of any size fits into memory, and write it as an export."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from datetime import datetime

from scrubjay.errors import BodyDamaged, InvalidInput
from scrubjay.model.document import STATISTICS, Document
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import to_iso
from scrubjay.model.transfer import SECTIONS
from scrubjay.model.version import Version
from scrubjay.ports import MemoryHistory, Progress, RecordStore
from scrubjay.ports.commit import StoredAnswer
from scrubjay.transfer.lines import Item, StoredVector, damage_line, header, write_line

# The most items that are read at once and written in one commit, and the most bytes of memories.
_PAGE = 200
_BYTES = 4 << 20


def require_sections(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of optional sections; raise InvalidInput for an unknown one."""
    for name in names:
        if name not in SECTIONS:
            raise InvalidInput(
                f"an export has no section {name!r}", hint=f"The sections are {', '.join(SECTIONS)}", field="include"
            )
    return tuple(section for section in SECTIONS if section in names)


async def export_lines(
    *, space: str, store: RecordStore, now: datetime, include: Sequence[str] = (), progress: Progress | None = None
) -> AsyncIterator[str]:
    """Yield the optional sections, every memory in every state with all its versions, and every relation.

    Damaged versions are left out, and named in the last line.
    """
    damaged: dict[str, str] = {}
    yield header(space, to_iso(now), sections=include)
    total, done = await count_ids(store, space), 0
    if "vectors" in include:
        async for line in _lines(vector_pages(store, space, await store.models())):
            yield line
    async for ids in id_pages(store, space):
        async for line in _lines(history_pages(store, space, ids, damaged=damaged)):
            yield line
        for memory_id in [memory_id for memory_id in ids if memory_id in damaged]:
            sound, damaged[memory_id] = await _sound_versions(store, space, memory_id, why=damaged[memory_id])
            if sound is not None:
                yield write_line(sound)
        done += len(ids)
        if progress is not None:
            progress(done, max(done, total))
    async for line in _lines(relation_pages(store, space, id_pages(store, space))):
        yield line
    for section, pages in (("answers", answer_pages), ("documents", lasting_documents)):
        if section in include:
            async for line in _lines(pages(store, space)):
                yield line
    if damaged:
        yield damage_line(damaged, space=space)


async def count_ids(store: RecordStore, space: str) -> int:
    """Return the number of memories of a space, in every state."""
    return sum([len(ids) async for ids in id_pages(store, space)])


async def id_pages(store: RecordStore, space: str) -> AsyncIterator[Sequence[str]]:
    """Yield the ids of all memories of a space, in order."""
    after = ""
    while ids := await store.ids(space, after=after, limit=_PAGE):
        yield ids
        after = ids[-1]


async def vector_pages(store: RecordStore, space: str, models: Iterable[str]) -> AsyncIterator[Sequence[StoredVector]]:
    """Yield the vectors of some models, in the order of the models and the hashes of the texts."""
    for model in sorted(models):
        after = b""
        while page := await store.stored_vectors(space, model, after=after, limit=_PAGE):
            yield [StoredVector(model=model, digest=digest, vector=vector) for digest, vector in page.items()]
            after = list(page)[-1]


async def history_pages(
    store: RecordStore, space: str, ids: Sequence[str], *, damaged: dict[str, str] | None = None
) -> AsyncIterator[Sequence[MemoryHistory]]:
    """Yield memories with all their versions; missing ones are left out.

    Memories that cannot be read are added to `damaged`, with the reason; without it, they raise BodyDamaged.
    """
    remaining = list(ids)
    while remaining:
        try:
            page = await store.histories(space, remaining, most_bytes=_BYTES)
        except BodyDamaged as error:
            memory_id = str(error.fields.get("memory_id"))
            if damaged is None or memory_id not in remaining:
                raise
            damaged[memory_id] = error.message
            remaining.remove(memory_id)
            continue
        if not page:
            break
        yield page
        remaining = remaining[remaining.index(page[-1].memory.id) + 1 :]


async def _sound_versions(
    store: RecordStore, space: str, memory_id: str, *, why: str
) -> tuple[MemoryHistory | None, str]:
    """Return a memory with the versions of it that can be read, and what it lost."""
    newest_first: list[Version] = []
    lost: list[int] = []
    before: int | None = None
    while before is None or before > 1:
        try:
            versions = await store.versions(space, memory_id, limit=1, before=before)
        except BodyDamaged as error:
            before = int(str(error.fields["version"]))
            lost.append(before)
            continue
        if not versions:
            break
        newest_first += versions
        before = versions[0].number
    if not newest_first:
        return None, f"left out: {why}"
    sound = MemoryHistory(memory=newest_first[0].memory, versions=tuple(newest_first[::-1]))
    return sound, f"without version {', '.join(map(str, sorted(lost)))}: {why}"


async def relation_pages(
    store: RecordStore, space: str, pages: AsyncIterable[Sequence[str]]
) -> AsyncIterator[Sequence[Relation]]:
    """Yield the relations whose source is one of the memories, in order."""
    async for ids in pages:
        sources = set(ids)
        relations = [relation for relation in await store.relations(space, ids) if relation.source in sources]
        relations.sort(key=lambda relation: relation.key)
        for start in range(0, len(relations), _PAGE):
            yield relations[start : start + _PAGE]


async def answer_pages(store: RecordStore, space: str) -> AsyncIterator[Sequence[StoredAnswer]]:
    """Yield the answers under idempotency keys; each store has its own order."""
    after: str | bytes | None = None
    while page := await store.answers(space, after=after, limit=_PAGE):
        yield page
        after = page[-1].key


async def document_pages(store: RecordStore, space: str) -> AsyncIterator[Sequence[Document]]:
    """Yield the documents of all collections, in the order of collection and key."""
    after = ("", "")
    while page := await store.all_documents(space, after=after, limit=_PAGE):
        yield page
        after = (page[-1].collection, page[-1].key)


async def lasting_documents(store: RecordStore, space: str) -> AsyncIterator[Sequence[Document]]:
    """Yield the documents without statistics: the questions of users, and what was written by whom."""
    async for page in document_pages(store, space):
        yield [document for document in page if document.collection not in STATISTICS]


async def _lines(pages: AsyncIterable[Sequence[Item]]) -> AsyncIterator[str]:
    async for page in pages:
        for item in page:
            yield write_line(item)
