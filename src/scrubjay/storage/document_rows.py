"""Papers as every store keeps them: their columns, what they are about, and the error when one has moved on."""

import json

from scrubjay.errors import InvalidInput, StaleVersion
from scrubjay.model.document import Document
from scrubjay.model.timestamps import from_micros
from scrubjay.storage.rows import moment_of

# space, drawer, key, value, version, at, due
DocumentRow = tuple[str, str, str, str, int, int, int | None]


def document_of(row: DocumentRow) -> Document:
    """A paper from its columns."""
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
    """What is written on a paper, in letters that every database takes."""
    return json.dumps(dict(document.value), separators=(",", ":"))


def subjects_of(document: Document) -> tuple[str, str]:
    """The memories that a paper is about, with which it is purged; empty where there is none."""
    about = document.value.get("about")
    named = [about.get(name) for name in ("memory_id", "other_id")] if isinstance(about, dict) else [None, None]
    first, second = (one if isinstance(one, str) else "" for one in named)
    return first, second


def require_own(document: Document, space: str) -> None:
    """A commit files papers in its own space alone."""
    if document.space != space:
        raise InvalidInput("a commit writes to one space only", space=space)


def stale_document(document: Document, *, base: int | None, current: int | None) -> StaleVersion:
    """The error for a paper that is not at the version that its change was made from."""
    return StaleVersion(
        f"the paper {document.key!r} is at version {current}, not {base}",
        hint="Read it again and apply your change to what you find",
        collection=document.collection,
        key=document.key,
        expected=base,
        current=current,
    )
