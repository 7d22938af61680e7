"""The next page goes on where the last one ended, also when others write in between.

A cursor tells what was shown and when the first page was: what is new since then waits for the next question, and
nothing is shown twice. It needs nothing kept on any server.
"""

import base64
import binascii
import hashlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import require_text
from scrubjay.model.memory import Memory
from scrubjay.model.query import Question
from scrubjay.model.timestamps import from_micros, to_micros

_HEAD = struct.Struct(">6sq")
_MARK_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What earlier pages showed, and the moment of the first of them; None on the first."""

    shown: frozenset[bytes] = frozenset()
    since: datetime | None = None

    def has(self, memory: Memory) -> bool:
        """Whether a memory, or its group, was on an earlier page, or came after the first."""
        is_new = self.since is not None and memory.created_at > self.since
        return is_new or _mark(memory.group or memory.id) in self.shown

    def has_id(self, memory_id: str) -> bool:
        """The same as far as its id tells."""
        return bool(self.shown) and _mark(memory_id) in self.shown


def page_of(cursor: str, question: Question, *, spaces: Sequence[str]) -> Page:
    """What a cursor says; raises InvalidInput for one of another question."""
    if not require_text(cursor, field="cursor"):
        return Page()
    foreign = InvalidInput(
        "the cursor does not belong to this question", hint="Ask again without a cursor", field="cursor"
    )
    try:
        data = base64.urlsafe_b64decode(cursor.encode())
        fingerprint, micros = _HEAD.unpack_from(data)
        since = from_micros(micros)
    except (ValueError, TypeError, OverflowError, binascii.Error, struct.error):
        raise foreign from None
    marks = data[_HEAD.size :]
    if fingerprint != _fingerprint(question, spaces) or len(marks) % _MARK_BYTES:
        raise foreign
    shown = frozenset(marks[at : at + _MARK_BYTES] for at in range(0, len(marks), _MARK_BYTES))
    return Page(shown=shown, since=since)


def cursor_after(
    page: Page, told: Iterable[Memory], question: Question, *, spaces: Sequence[str], now: datetime
) -> str:
    """The cursor of the page that comes after one on which these were told."""
    shown = page.shown.union(_mark(memory.group or memory.id) for memory in told)
    head = _HEAD.pack(_fingerprint(question, spaces), to_micros(page.since or now))
    return base64.urlsafe_b64encode(head + b"".join(sorted(shown))).decode()


def _mark(key: str) -> bytes:
    return hashlib.blake2b(key.encode(), digest_size=_MARK_BYTES).digest()


def _fingerprint(question: Question, spaces: Sequence[str]) -> bytes:
    # How it is spelled elsewhere is no part of what was asked.
    wanted = replace(question.filter, also={})
    asked: Sequence[object] = (
        question.query, wanted, question.contains, tuple(spaces), question.as_of, question.branch,
    )  # fmt: skip
    return hashlib.blake2b(repr(asked).encode("utf-8", "replace"), digest_size=6).digest()
