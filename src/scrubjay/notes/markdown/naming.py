"""Names of note files: safe on every system, readable, and ending in the id."""

import hashlib
import re
import unicodedata

from scrubjay.text.slug import slug

__all__ = ["SUFFIX", "file_name", "id_in", "link_target"]

SUFFIX = ".md"
_MAX_BYTES = 200
_MAX_ID = 64
_CATEGORY_BYTES = 60
_UUID = re.compile(r"(?<![0-9a-z])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$", re.IGNORECASE)
_SAFE_ID = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")


def file_name(*, category: str, title: str, id: str) -> str:
    """Return `{category}-{slug}-{id}.md`: up to 200 bytes, in lower case, without empty parts."""
    own = _safe_id(id)
    room = _MAX_BYTES - len(SUFFIX) - len(own) - 2
    group = _cut(slug(category), min(room, _CATEGORY_BYTES))
    words = _cut(slug(title), room - len(group.encode()))
    return "-".join(part for part in (group, words or ("" if group else "note"), own) if part) + SUFFIX


def id_in(name: str) -> str:
    """Return the id at the end of a file name, or an empty text."""
    match = _UUID.search(link_target(name))
    return match[0].lower() if match else ""


def link_target(path: str) -> str:
    """Return the target of a link to a file: its path without `.md`."""
    return path[: -len(SUFFIX)] if path[-len(SUFFIX) :].lower() == SUFFIX else path


def _safe_id(memory_id: str) -> str:
    """Return the id if every system accepts it in a file name, else a hash of it."""
    own = memory_id.lower() if _UUID.fullmatch(memory_id) else memory_id
    if len(own) <= _MAX_ID and _SAFE_ID.fullmatch(own):
        return own
    return hashlib.sha256(own.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _cut(text: str, max_bytes: int) -> str:
    """Cut a text to a number of bytes without splitting a character."""
    whole = unicodedata.normalize("NFC", text).encode("utf-8", "replace")
    return whole[: max(max_bytes, 0)].decode("utf-8", "ignore").strip("-")
