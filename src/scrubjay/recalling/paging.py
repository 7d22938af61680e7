"""Cursors: the next page continues after the last one, even if others write in between.

A cursor records which memories were shown and when the first page was made: newer memories wait for the next question,
and none is shown twice. No server keeps any state for it.
"""

import base64
import binascii
import hashlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.checks import require_text
from scrubjay.model.memory import Memory
from scrubjay.model.requests import RecallRequest
from scrubjay.model.timestamps import from_micros, to_micros

_HEADER = struct.Struct(">6sq")
_MARK_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePosition:
    """Marks of the memories on earlier pages, and the time of the first page; None on the first."""

    shown: frozenset[bytes] = frozenset()
    since: datetime | None = None

    def excludes(self, memory: Memory) -> bool:
        """Return whether a memory or its group was on an earlier page, or is newer than the first page."""
        is_new = self.since is not None and memory.created_at > self.since
        return is_new or self.excludes_id(memory.group or memory.id)

    def excludes_id(self, memory_id: str) -> bool:
        """Return whether a memory with this id was on an earlier page."""
        return bool(self.shown) and _mark(memory_id) in self.shown


def parse_cursor(cursor: str, question: RecallRequest, *, spaces: Sequence[str]) -> PagePosition:
    """Return the position that a cursor encodes; raise InvalidInput if it is of another question."""
    if not require_text(cursor, field="cursor"):
        return PagePosition()
    invalid = InvalidInput(
        "the cursor does not belong to this question", hint="Ask again without a cursor", field="cursor"
    )
    try:
        data = base64.urlsafe_b64decode(cursor.encode())
        fingerprint, micros = _HEADER.unpack_from(data)
        since = from_micros(micros)
    except (ValueError, TypeError, OverflowError, binascii.Error, struct.error):
        raise invalid from None
    marks = data[_HEADER.size :]
    if fingerprint != _fingerprint(question, spaces) or len(marks) % _MARK_BYTES:
        raise invalid
    shown = frozenset(marks[start : start + _MARK_BYTES] for start in range(0, len(marks), _MARK_BYTES))
    return PagePosition(shown=shown, since=since)


def next_cursor(
    position: PagePosition, shown: Iterable[Memory], question: RecallRequest, *, spaces: Sequence[str], now: datetime
) -> str:
    """Return the cursor for the page after the one that shows these memories."""
    marks = position.shown.union(_mark(memory.group or memory.id) for memory in shown)
    header = _HEADER.pack(_fingerprint(question, spaces), to_micros(position.since or now))
    return base64.urlsafe_b64encode(header + b"".join(sorted(marks))).decode()


def _mark(key: str) -> bytes:
    return hashlib.blake2b(key.encode(), digest_size=_MARK_BYTES).digest()


def _fingerprint(question: RecallRequest, spaces: Sequence[str]) -> bytes:
    # Alternative spellings depend on the space and are no part of the question.
    plain_filter = replace(question.filter, also={}) if question.filter.also else question.filter
    identity: Sequence[object] = (
        question.query, plain_filter, question.contains, tuple(spaces), question.as_of, question.branch,
        question.from_project,
    )  # fmt: skip
    return hashlib.blake2b(repr(identity).encode("utf-8", "replace"), digest_size=6).digest()
