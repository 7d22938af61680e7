"""Small translations between what stores keep and the model, shared by every store."""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime

from scrubjay.model.change import Action, Change
from scrubjay.model.grant import Access
from scrubjay.model.memory import Json, Memory, State, Tier
from scrubjay.model.passage import Passage
from scrubjay.model.query import Facet, facets_of
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import from_micros, to_micros
from scrubjay.model.token import Token

# By the number that is stored: a new one is added at the end.
STATES = (State.LIVE, State.MERGED, State.ARCHIVED, State.TRASHED, State.WAITING, State.BRANCHED)
STATE_NUMBERS = {state: number for number, state in enumerate(STATES)}
TIER_NUMBERS = {tier: number for number, tier in enumerate(Tier)}


def id_bytes(memory_id: str) -> bytes:
    """An id as 16 bytes; what is no id matches nothing."""
    try:
        return uuid.UUID(memory_id).bytes
    except ValueError:
        return b""


def id_text(data: bytes) -> str:
    """An id from its 16 bytes; cut by hand, because a UUID object costs more than reading the row."""
    digits = data.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def key_of(text: str) -> int:
    """A 64-bit key to look a text up by; 0 stands for the empty text."""
    if not text:
        return 0
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True) or 1


def index_key_of(memory: Memory, passages: Sequence[Passage], *, facets: Sequence[Facet] | None = None) -> bytes:
    """Changes when anything does that a memory is found by; `facets` are those of the memory, if they are known."""
    digest = hashlib.blake2b(digest_size=12)
    about = (memory.state, to_micros(memory.date), memory.thread, facets_of(memory) if facets is None else facets)
    digest.update(repr(about).encode("utf-8", "surrogatepass"))
    for passage in passages:
        where = (passage.observation, passage.start, passage.end, passage.hash)
        digest.update(repr((where, passage.terms, passage.who, passage.asks)).encode())
    return digest.digest()


def first_within(most: int, sized: Sequence[tuple[str, int]]) -> list[str]:
    """The first of some things that have no more than so many bytes together; at least one."""
    taken, total = list[str](), 0
    for name, size in sized:
        total += size
        if taken and total > most:
            break
        taken.append(name)
    return taken


def micros_of(moment: datetime | None) -> int | None:
    """A moment that need not be, as stores keep it."""
    return None if moment is None else to_micros(moment)


def moment_of(micros: int | None) -> datetime | None:
    """The moment that was kept, if there was one."""
    return None if micros is None else from_micros(micros)


TokenRow = tuple[str, str, Sequence[str], str, int, int | None, int | None, int, int]


def token_of(row: TokenRow) -> Token:
    """A token from its columns."""
    token_id, name, spaces, access, created_at, expires_at, revoked_at, requests_per_minute, body_bytes = row
    return Token(
        id=token_id,
        name=name,
        spaces=tuple(spaces),
        access=Access(access),
        created_at=from_micros(created_at),
        expires_at=moment_of(expires_at),
        revoked_at=moment_of(revoked_at),
        requests_per_minute=requests_per_minute,
        body_bytes=body_bytes,
    )


ChangeRow = tuple[int, int, str, str, int, str, int, int | None, int, int, str, str, str | None]


def change_of(row: ChangeRow) -> Change:
    """An entry of the log from its columns."""
    seq, place, space, memory_id, number, action, version, base, before, at, agent, run, relation = row
    return Change(
        seq=seq,
        place=place,
        space=space,
        memory_id=memory_id,
        number=number,
        action=Action(action),
        version=version,
        base=base,
        passages_before=before,
        at=from_micros(at),
        agent=agent,
        run=run,
        relation=None if relation is None else relation_from_text(relation),
    )


def relation_to_text(relation: Relation) -> str:
    """A relation for the change log."""
    return json.dumps(
        {
            "source": relation.source,
            "target": relation.target,
            "type": relation.type,
            "text": relation.text,
            "strength": relation.strength,
            "metadata": dict(relation.metadata),
            "created_at": to_micros(relation.created_at),
        },
        ensure_ascii=False,
    )


def relation_from_text(text: str) -> Relation:
    """The relation that the change log tells of."""
    given: dict[str, Json] = json.loads(text)
    metadata = given["metadata"]
    return Relation(
        source=str(given["source"]),
        target=str(given["target"]),
        type=str(given["type"]),
        text=str(given["text"]),
        strength=float(str(given["strength"])),
        metadata=metadata if isinstance(metadata, Mapping) else {},
        created_at=from_micros(int(str(given["created_at"]))),
    )
