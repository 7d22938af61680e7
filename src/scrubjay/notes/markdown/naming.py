"""Names of note files: safe on every system, readable, and ending in the id unless they are those of titles."""

import hashlib
import re
import unicodedata
from pathlib import PurePosixPath

from scrubjay.model.memory import Memory
from scrubjay.text.slug import slug

__all__ = [
    "PATH_KEY", "SUFFIX", "default_path", "file_name", "id_in", "link_target", "safe_path", "stem_of",
    "with_suffix",
]  # fmt: skip

SUFFIX = ".md"
PATH_KEY = "vault_path"
"""The key in a memory's metadata for the path of a file that a user has named."""
_MAX_BYTES = 200
_MAX_ID = 64
_CATEGORY_BYTES = 60
_UUID = re.compile(r"(?<![0-9a-z])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$", re.IGNORECASE)
_SUFFIX_LENGTH = 6
_RESERVED = frozenset({"templates", "attachments"})
# What some system refuses in a name, and what ends the target of a link in Obsidian.
_UNSAFE = re.compile(r'[\\/:*?"<>|#^\[\]\x00-\x1f\x7f]|%(?=[0-9a-fu])', re.IGNORECASE)
_DEVICES = re.compile(r"con|prn|aux|nul|clock\$|conin\$|conout\$|(?:com|lpt)[0-9¹²³]", re.IGNORECASE)
_SAFE_ID = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")


def file_name(*, category: str, title: str, id: str) -> str:
    """Return `{category}-{slug}-{id}.md`: up to 200 bytes, in lower case, without empty parts."""
    own = _safe_id(id)
    room = _MAX_BYTES - len(SUFFIX) - len(own) - 2
    group = _cut(slug(category), min(room, _CATEGORY_BYTES))
    words = _cut(slug(title), room - len(group.encode()))
    return "-".join(part for part in (group, words or ("" if group else "note"), own) if part) + SUFFIX


def default_path(memory: Memory, *, by_title: bool) -> str:
    """Return the path of a memory's new file: the one that a user gave it, else its title, or a name with its id."""
    own = memory.metadata.get(PATH_KEY)
    if isinstance(own, str) and own == safe_path(own):
        return own
    if not by_title:
        return file_name(category=memory.category, title=memory.label, id=memory.trunk or memory.id)
    folders = [part for part in memory.category.split("/") if part]
    return safe_path("/".join((*folders, f"{memory.label.replace('/', ' ')}{SUFFIX}")))


def safe_path(path: str) -> str:
    """Return a path that every system allows and that Obsidian can link: the given one if it is such a path."""
    *folders, name = path.split("/")
    parts = [part for folder in folders if (part := _safe_name(folder))]
    # Notes in these folders are no notes.
    if parts and parts[0].casefold() in _RESERVED:
        parts[0] += " notes"
    stem = _cut_name(_safe_name(link_target(name)) or "note", _MAX_BYTES - len(SUFFIX))
    return "/".join([*(_cut_name(part, _CATEGORY_BYTES * 3) for part in parts), stem + SUFFIX])


def with_suffix(path: str, key: str) -> str:
    """Return a path with a short suffix of a key, for a name that is taken."""
    tail = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_SUFFIX_LENGTH]
    return f"{link_target(path)} {tail}{SUFFIX}"


def id_in(name: str) -> str:
    """Return the id at the end of a file name, or an empty text."""
    match = _UUID.search(link_target(name))
    return match[0].lower() if match else ""


def link_target(path: str) -> str:
    """Return the target of a link to a file: its path without `.md`."""
    return path[: -len(SUFFIX)] if path[-len(SUFFIX) :].lower() == SUFFIX else path


def stem_of(path: str) -> str:
    """Return the name of a file without its folder and `.md`."""
    return PurePosixPath(link_target(path)).name


def _safe_id(memory_id: str) -> str:
    """Return the id if every system accepts it in a file name, else a hash of it."""
    own = memory_id.lower() if _UUID.fullmatch(memory_id) else memory_id
    if len(own) <= _MAX_ID and _SAFE_ID.fullmatch(own):
        return own
    return hashlib.sha256(own.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _safe_name(name: str) -> str:
    plain = " ".join(_UNSAFE.sub(" ", unicodedata.normalize("NFC", name)).split()).strip(". ")
    return f"{plain}_" if _DEVICES.fullmatch(plain.partition(".")[0].rstrip()) else plain


def _cut_name(name: str, max_bytes: int) -> str:
    return name.encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore").rstrip(". ")


def _cut(text: str, max_bytes: int) -> str:
    """Cut a text to a number of bytes without splitting a character."""
    whole = unicodedata.normalize("NFC", text).encode("utf-8", "replace")
    return whole[: max(max_bytes, 0)].decode("utf-8", "ignore").strip("-")
