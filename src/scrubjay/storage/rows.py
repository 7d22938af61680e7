"""Translations between the columns of a store and the model, shared by every store."""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from scrubjay.errors import InvalidInput, StaleVersion
from scrubjay.model.caller import Access
from scrubjay.model.change import Action, Change
from scrubjay.model.document import Document
from scrubjay.model.memory import Json, Memory, State, Tier
from scrubjay.model.passage import Passage
from scrubjay.model.query import Facet, facets_of
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import from_micros, to_micros
from scrubjay.model.token import Token

# In the order of their stored numbers: a new state goes to the end.
STATES = (State.LIVE, State.MERGED, State.ARCHIVED, State.TRASHED, State.WAITING, State.BRANCHED)
STATE_NUMBERS = {state: number for number, state in enumerate(STATES)}
_ID_DIGITS = 32
TIER_NUMBERS = {tier: number for number, tier in enumerate(Tier)}


def id_bytes(memory_id: str) -> bytes:
    """Return an id as 16 bytes, or no bytes for a malformed id, which match nothing."""
    digits = memory_id.replace("-", "")
    try:
        # A UUID object costs ten times as much; it is needed for unusual spellings only.
        raw = bytes.fromhex(digits) if len(digits) == _ID_DIGITS else b""
        return raw if len(raw) == _ID_DIGITS // 2 else uuid.UUID(memory_id).bytes
    except ValueError:
        return b""


def id_text(data: bytes) -> str:
    """Return an id from its 16 bytes; sliced, because a UUID object costs more than reading the row."""
    digits = data.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


# A commit looks up the same few ids several times.
@lru_cache(maxsize=1000)
def canonical_id(memory_id: str) -> str:
    """Return an id as stores spell it; empty for a malformed one."""
    raw = id_bytes(memory_id)
    return id_text(raw) if raw else ""


def canonical_ids(ids: Sequence[str]) -> list[str]:
    """Return ids as stores spell them, each once, without malformed ones."""
    return [memory_id for memory_id in dict.fromkeys(map(canonical_id, ids)) if memory_id]


def require_id(memory_id: str) -> str:
    """Return an id as stores spell it; raises InvalidInput for a malformed one."""
    canonical = canonical_id(memory_id)
    if not canonical:
        raise InvalidInput(f"{memory_id[:80]!r} is not an id", field="id")
    return canonical


def key_of(text: str) -> int:
    """Return a 64-bit key to look up a text by; 0 for the empty text."""
    if not text:
        return 0
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True) or 1


def index_key_of(memory: Memory, passages: Sequence[Passage], *, facets: Sequence[Facet] | None = None) -> bytes:
    """Return a digest of everything that a memory is found by; `facets` are those of the memory, if computed."""
    digest = hashlib.blake2b(digest_size=12)
    fields = (memory.state, to_micros(memory.date), memory.thread, facets_of(memory) if facets is None else facets)
    digest.update(repr(fields).encode("utf-8", "surrogatepass"))
    for passage in passages:
        position = (passage.observation, passage.start, passage.end, passage.hash)
        digest.update(repr((position, passage.who, passage.asks)).encode())
        # Terms have no spaces, and a long text has a hundred thousand of them.
        digest.update(" ".join(passage.terms).encode("utf-8", "surrogatepass"))
    return digest.digest()


def first_within(max_bytes: int, sizes: Sequence[tuple[str, int]]) -> list[str]:
    """Return the first names whose sizes are at most `max_bytes` together; at least one."""
    names, total = list[str](), 0
    for name, size in sizes:
        total += size
        if names and total > max_bytes:
            break
        names.append(name)
    return names


def micros_of(moment: datetime | None) -> int | None:
    """Return an optional time as stores keep it."""
    return None if moment is None else to_micros(moment)


def moment_of(micros: int | None) -> datetime | None:
    """Return an optional time from its stored form."""
    return None if micros is None else from_micros(micros)


COLUMNS_OF_TOKENS = (
    "id, name, spaces, access, created_at, expires_at, revoked_at, requests_per_minute, body_bytes, mcp_only, "
    "trusted_imports"
)
TokenRow = tuple[str, str, Sequence[str], str, int, int | None, int | None, int, int, int, int]


def token_of(row: TokenRow) -> Token:
    """Return the token of a row."""
    token_id, name, spaces, access, created_at, expires_at, revoked_at, *limits, mcp_only, trusted_imports = row
    requests_per_minute, body_bytes = limits
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
        mcp_only=bool(mcp_only),
        trusted_imports=bool(trusted_imports),
    )


ChangeRow = tuple[int, int, str, str, int, str, int, int | None, int, int, str, str, str | None]


def change_of(row: ChangeRow) -> Change:
    """Return the log entry of a row."""
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
    """Return a relation as the change log stores it."""
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
    """Return the relation of a change log entry."""
    fields: dict[str, Json] = json.loads(text)
    metadata = fields["metadata"]
    return Relation(
        source=str(fields["source"]),
        target=str(fields["target"]),
        type=str(fields["type"]),
        text=str(fields["text"]),
        strength=float(str(fields["strength"])),
        metadata=metadata if isinstance(metadata, Mapping) else {},
        created_at=from_micros(int(str(fields["created_at"]))),
    )


# space, collection, key, value, version, at, due
DocumentRow = tuple[str, str, str, str, int, int, int | None]


def document_of(row: DocumentRow) -> Document:
    """Return the document of a row."""
    space, collection, key, value, version, at, due = row
    return Document(
        space=space,
        collection=collection,
        key=key,
        value=json.loads(value),
        version=version,
        at=from_micros(at),
        due=moment_of(due),
    )


def value_text(document: Document) -> str:
    """Return the value of a document as JSON in ASCII, which every database accepts."""
    return json.dumps(dict(document.value), separators=(",", ":"))


def subjects_of(document: Document) -> tuple[str, str]:
    """Return the ids of the one or two memories that a document is about, and is purged with; empty for none."""
    about = document.value.get("about")
    ids = [about.get(name) for name in ("memory_id", "other_id")] if isinstance(about, dict) else [None, None]
    first, second = (memory_id if isinstance(memory_id, str) else "" for memory_id in ids)
    return first, second


def require_own(record: Memory | Document, space: str) -> None:
    """Raise InvalidInput for a memory or document of another space than its commit."""
    if record.space != space:
        raise InvalidInput("a commit writes to one space only", space=space)


def stale_document(document: Document, *, base: int | None, current: int | None) -> StaleVersion:
    """Return the error for a document that is not at the version that its change was made from."""
    return StaleVersion(
        f"the document {document.key!r} is at version {current}, not {base}",
        hint="Read it again and apply your change to the new version",
        collection=document.collection,
        key=document.key,
        expected=base,
        current=current,
    )
