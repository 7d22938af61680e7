"""Branches of memories, made by hand: recall and read are asked about them, not those who make them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from tests.fakes.build import DIMENSION, MODEL, a_commit, a_rewrite, a_write
from tests.unit.write_world import SPACE, Workshop

from scrubjay.lookup.branches import COLLECTION, branch_id
from scrubjay.model.change import Action
from scrubjay.model.document import Document
from scrubjay.model.memory import Memory, State
from scrubjay.model.results import ReadResult
from scrubjay.ports import Embedded
from scrubjay.recalling.read import read
from scrubjay.text.passages import embedding_text, passages_of


async def branched(shop: Workshop, memory: Memory, name: str, content: str) -> Memory:
    """A branch of a memory that says something else."""
    now = shop.clock.now()
    line = replace(
        memory, id=branch_id(memory.id, name), state=State.BRANCHED, branch=name, trunk=memory.id,
        forked=memory.version, version=memory.version + 1, content=content, created_at=now, updated_at=now,
    )  # fmt: skip
    await _commit(shop, line, is_new=True)
    return line


async def rewritten(shop: Workshop, line: Memory, *, content: str = "", state: State | None = None) -> Memory:
    """The next version of a branch."""
    later = replace(
        line, version=line.version + 1, updated_at=shop.clock.now(), content=content or line.content,
        state=state or line.state,
    )  # fmt: skip
    await _commit(shop, later, is_new=False)
    return later


async def switched(shop: Workshop, memory: Memory, name: str) -> None:
    """Have a memory stand on a branch for whoever names none."""
    document = Document(space=SPACE, collection=COLLECTION, key=memory.id, value={"current": name}, at=shop.clock.now())
    await shop.store.put_document(document, base=None)


async def told(
    shop: Workshop,
    *refs: str,
    branch: str = "",
    as_of: datetime | None = None,
    version: int | None = None,
    format: str = "plain",
    spaces: Sequence[str] = (SPACE,),
) -> ReadResult:
    """What `read` tells of a branch or of a moment."""
    return await read(refs, format=format, version=version, branch=branch, as_of=as_of, spaces=spaces, store=shop.store)


async def _commit(shop: Workshop, line: Memory, *, is_new: bool) -> None:
    texts = {
        passage.hash: embedding_text(line, passage.observation, passage.start, passage.end)
        for passage in passages_of(line)
    }
    vectors = await shop.embedder.embed(list(texts.values()))
    embedded = Embedded(model=MODEL, dimension=DIMENSION, vectors=dict(zip(texts, vectors, strict=True)))
    write = a_write(line, action=Action.BRANCHED) if is_new else a_rewrite(line)
    await shop.store.commit(a_commit(write, embedded=embedded))
