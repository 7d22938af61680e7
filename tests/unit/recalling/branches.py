"""Branches of memories, made by hand to test recall and read alone."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from tests.fakes.build import DIMENSION, MODEL, a_commit, a_rewrite, a_write
from tests.unit.harness import SPACE, Harness

from scrubjay.lookup.branches import CURRENT_COLLECTION, branch_id
from scrubjay.model.change import Action
from scrubjay.model.document import Document
from scrubjay.model.memory import Memory, State
from scrubjay.model.requests import ReadRequest
from scrubjay.model.results import ReadResult
from scrubjay.ports import Embedded
from scrubjay.recalling.read import read
from scrubjay.text.passages import embedding_text, passages_of


async def make_branch(harness: Harness, memory: Memory, name: str, content: str) -> Memory:
    """Add a branch with another content to a memory."""
    now = harness.clock.now()
    record = replace(
        memory, id=branch_id(memory.id, name), state=State.BRANCHED, branch=name, trunk=memory.id,
        forked=memory.version, version=memory.version + 1, content=content, created_at=now, updated_at=now,
    )  # fmt: skip
    await _commit(harness, record, is_new=True)
    return record


async def rewrite_branch(harness: Harness, record: Memory, *, content: str = "", state: State | None = None) -> Memory:
    """Add a version to a branch."""
    later = replace(
        record, version=record.version + 1, updated_at=harness.clock.now(), content=content or record.content,
        state=state or record.state,
    )  # fmt: skip
    await _commit(harness, later, is_new=False)
    return later


async def switch_branch(harness: Harness, memory: Memory, name: str) -> None:
    """Make a branch the current one of a memory."""
    document = Document(
        space=SPACE, collection=CURRENT_COLLECTION, key=memory.id, value={"current": name}, at=harness.clock.now()
    )
    await harness.store.put_document(document, base=None)


async def read_memories(
    harness: Harness,
    *refs: str,
    branch: str = "",
    as_of: datetime | None = None,
    version: int | None = None,
    format: str = "plain",
    spaces: Sequence[str] = (SPACE,),
) -> ReadResult:
    """Read memories on a branch or as of a moment."""
    return await read(
        ReadRequest.of(ids=refs, format=format, version=version, branch=branch, as_of=as_of),
        spaces=spaces,
        now=harness.clock.now(),
        store=harness.store,
    )


async def _commit(harness: Harness, record: Memory, *, is_new: bool) -> None:
    texts = {
        passage.hash: embedding_text(record, passage.observation, passage.start, passage.end)
        for passage in passages_of(record)
    }
    vectors = await harness.embedder.embed(list(texts.values()))
    embedded = Embedded(model=MODEL, dimension=DIMENSION, vectors=dict(zip(texts, vectors, strict=True)))
    write = a_write(record, action=Action.BRANCHED) if is_new else a_rewrite(record)
    await harness.store.commit(a_commit(write, embedded=embedded))
