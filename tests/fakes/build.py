"""Small builders, so that a test names only the fields that matter to it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TypedDict, Unpack

import numpy as np

from scrubjay.model.change import Action, Origin
from scrubjay.model.document import Document
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Flag, Json, Memory, Merged, Metadata, Observation, Source, State, Tier
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter, facet, facets_of
from scrubjay.model.relation import LINK, Relation
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import Commit, Edge, Embedded, IdempotencyRecord, Write
from scrubjay.text.passages import passages_of

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
MODEL = "fake-64"
DIMENSION = 64

_made = count(1)


class MemoryFields(TypedDict, total=False):
    """The fields that a test may set on a memory."""

    id: str
    name: str
    created_at: datetime
    updated_at: datetime
    title: str
    kind: str
    category: str
    project: str
    scope: str
    content: str
    observations: tuple[Observation, ...]
    entity: str
    group: str
    tags: tuple[str, ...]
    tier: Tier
    pinned: bool
    relevance: float
    expires_at: datetime | None
    valid_until: datetime | None
    remind_at: datetime | None
    state: State
    merged_into: str
    merged: tuple[Merged, ...]
    flags: tuple[Flag, ...]
    version: int
    branch: str
    trunk: str
    forked: int
    resolution: str
    source: Source
    metadata: Metadata
    last_accessed: datetime | None
    last_confirmed: datetime | None
    last_reviewed: datetime | None
    access_count: int


def a_memory(
    text: str = "something worth keeping", *, space: str = "default", **fields: Unpack[MemoryFields]
) -> Memory:
    """Return a new memory with a name and a time of its own."""
    number = next(_made)
    made = moment(number / 1000)
    memory = Memory(id=new_id(), space=space, name=f"memory-{number}", content=text, created_at=made, updated_at=made)
    return replace(memory, **fields)


def revised(memory: Memory, **fields: Unpack[MemoryFields]) -> Memory:
    """Return the next version of a memory, a second later."""
    later = memory.updated_at + timedelta(seconds=1)
    return replace(replace(memory, version=memory.version + 1, updated_at=later), **fields)


def a_write(memory: Memory, *, base: int | None = None, action: Action | None = None, message: str = "") -> Write:
    """Return a memory as a write: a new memory unless `base` is given."""
    chosen = action or (Action.CREATED if base is None else Action.REVISED)
    return Write(memory=memory, base=base, action=chosen, passages=passages_of(memory), message=message)


def a_rewrite(memory: Memory, *, action: Action | None = None, message: str = "") -> Write:
    """Return a revised memory as a write on the version before it."""
    return a_write(memory, base=memory.version - 1, action=action, message=message)


def an_origin(*, at: datetime = START, run: str = "", agent: str = "tester", undoes: str = "") -> Origin:
    """Return the origin of a change, in a run of its own unless one is named."""
    return Origin(at=at, run=run or f"run-{next(_made)}", agent=agent, undoes=undoes)


def a_commit(
    *parts: Memory | Write | Edge,
    space: str = "",
    origin: Origin | None = None,
    embedded: Embedded | None = None,
    documents: Sequence[Document] = (),
    once: IdempotencyRecord | None = None,
) -> Commit:
    """Return a commit of writes and edges; a bare memory is a new one. The space is that of the first memory."""
    writes = tuple(a_write(part) if isinstance(part, Memory) else part for part in parts if not isinstance(part, Edge))
    edges = tuple(part for part in parts if isinstance(part, Edge))
    first = writes[0].memory if writes else None
    return Commit(
        space=space or (first.space if first else "default"),
        origin=origin or an_origin(at=first.updated_at if first else START),
        writes=writes,
        edges=edges,
        embedded=embedded,
        documents=tuple(documents),
        once=once,
    )


def a_document(
    key: str = "writing",
    *,
    space: str = "default",
    collection: str = "rules",
    value: Mapping[str, Json] | None = None,
    due: datetime | None = None,
) -> Document:
    """Return a document in its first version."""
    return Document(space=space, collection=collection, key=key, value=value or {}, at=START, due=due)


def an_edge(
    source: Memory,
    target: Memory,
    *,
    type: str = LINK,
    text: str = "",
    strength: float = 0.5,
    metadata: Mapping[str, Json] | None = None,
    present: bool = True,
) -> Edge:
    """Return an edge that sets a relation, or removes it with `present=False`."""
    relation = Relation(
        source=source.id,
        target=target.id,
        created_at=START,
        type=type,
        text=text,
        strength=strength,
        metadata=metadata or {},
    )
    return Edge(relation=relation, present=present)


def vectors_for(memories: Iterable[Memory], *, model: str = MODEL, dimension: int = DIMENSION) -> Embedded:
    """Return vectors for every passage of some memories."""
    hashes = {passage.hash for memory in memories for passage in passages_of(memory)}
    return Embedded(
        model=model, dimension=dimension, vectors={key: vector_of(key, dimension=dimension) for key in hashes}
    )


def vector_of(seed: bytes, *, dimension: int = DIMENSION) -> Vector:
    """Return a unit vector that depends only on the seed."""
    drawn = np.random.default_rng(list(seed)).standard_normal(dimension)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def a_point(number: int, memory: Memory, *, vector: Vector | None = None) -> Point:
    """Return a memory as one point of a vector index."""
    return Point(
        id=number,
        space=memory.space,
        vector=vector_of(number.to_bytes(8, "big")) if vector is None else vector,
        facets=(*facets_of(memory), facet("state", memory.state)),
        at=to_micros(memory.date),
    )


def point_passes(point: Point, filter: Filter) -> bool:
    """Return whether a point passes a filter."""
    labels = set(point.facets)
    return (
        facet("state", filter.state) in labels
        and all(labels.intersection(group) for group in filter.facet_groups)
        and (filter.since is None or point.at >= to_micros(filter.since))
        and (filter.until is None or point.at < to_micros(filter.until))
    )


def moment(seconds: float) -> datetime:
    """Return the time so many seconds after START."""
    return START + timedelta(seconds=seconds)
