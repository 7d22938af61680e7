"""Small translations between rows and the model, shared by the modules of this store."""

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping

import apsw

from scrubjay.model.memory import Json, State
from scrubjay.model.moment import from_micros, to_micros
from scrubjay.model.relation import Relation

STATES = (State.LIVE, State.MERGED, State.ARCHIVED, State.TRASHED)
STATE_NUMBERS = {state: number for number, state in enumerate(STATES)}


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


def marks(values: Iterable[object]) -> str:
    """As many question marks as values."""
    return ",".join("?" for _ in values)


def space_number(connection: apsw.Connection, space: str) -> int | None:
    """The number of a space, if anything was ever stored in it."""
    row = connection.execute("SELECT no FROM spaces WHERE name = ?", (space,)).fetchone()
    return None if row is None else int(row[0])


def lexicon_number(space_no: int, state: State) -> int:
    """Each state of each space has word statistics of its own."""
    return space_no * len(STATES) + STATE_NUMBERS[state]


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
