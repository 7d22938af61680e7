"""Branches of memories, made by hand to test recall and read alone."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from tests.fakes.build import DIMENSION, MODEL, a_commit, a_rewrite, a_write
from tests.unit.write_world import SPACE, Workshop

from scrubjay.lookup.branches import CURRENT_COLLECTION, branch_id
from scrubjay.model.change import Action
from scrubjay.model.document import Document
from scrubjay.model.memory import Memory, State
from scrubjay.model.results import ReadResult
from scrubjay.ports import Embedded
from scrubjay.recalling.read import read
from scrubjay.text.passages import embedding_text, passages_of


async def make_branch(shop: Workshop, memory: Memory, name: str, content: str) -> Memory:
    """Add a branch with another content to a memory."""
    now = shop.clock.now()
    record = replace(
        memory, id=branch_id(memory.id, name), state=State.BRANCHED, branch=name, trunk=memory.id,
        forked=memory.version, version=memory.version + 1, content=content, created_at=now, updated_at=now,
    )  # fmt: skip
    await _commit(shop, record, is_new=True)
    return record


async def rewrite_branch(shop: Workshop, record: Memory, *, content: str = "", state: State | None = None) -> Memory:
    """Add a version to a branch."""
    later = replace(
        record, version=record.version + 1, updated_at=shop.clock.now(), content=content or record.content,
        state=state or record.state,
    )  # fmt: skip
    await _commit(shop, later, is_new=False)
    return later


async def switch_branch(shop: Workshop, memory: Memory, name: str) -> None:
    """Make a branch the current one of a memory."""
    document = Document(
        space=SPACE, collection=CURRENT_COLLECTION, key=memory.id, value={"current": name}, at=shop.clock.now()
    )
    await shop.store.put_document(document, base=None)


async def read_memories(
    shop: Workshop,
    *refs: str,
    branch: str = "",
    as_of: datetime | None = None,
    version: int | None = None,
    format: str = "plain",
    spaces: Sequence[str] = (SPACE,),
) -> ReadResult:
    """Read memories on a branch or as of a moment."""
    return await read(refs, format=format, version=version, branch=branch, as_of=as_of, spaces=spaces, store=shop.store)


async def _commit(shop: Workshop, record: Memory, *, is_new: bool) -> None:
    texts = {
        passage.hash: embedding_text(record, passage.observation, passage.start, passage.end)
        for passage in passages_of(record)
    }
    vectors = await shop.embedder.embed(list(texts.values()))
    embedded = Embedded(model=MODEL, dimension=DIMENSION, vectors=dict(zip(texts, vectors, strict=True)))
    write = a_write(record, action=Action.BRANCHED) if is_new else a_rewrite(record)
    await shop.store.commit(a_commit(write, embedded=embedded))
