"""Aliases of a note, from its frontmatter: links and searches accept them like the title."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from scrubjay.errors import NoteUnreadable
from scrubjay.model.memory import Json
from scrubjay.notes.markdown.frontmatter import parse_frontmatter
from scrubjay.notes.markdown.yaml_values import FrontmatterEntry, Scalar

__all__ = ["ALIASES", "MAX_ALIASES", "aliases_among", "aliases_in", "aliases_of", "texts_of", "with_aliases"]

ALIASES = "aliases"
"""The metadata key that holds the aliases of a memory."""
MAX_ALIASES = 64
_KEYS = (ALIASES, "alias")


def aliases_of(metadata: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the aliases of a memory."""
    names = metadata.get(ALIASES)
    return tuple(name for name in names[:MAX_ALIASES] if isinstance(name, str)) if isinstance(names, list) else ()


def aliases_in(extra: str) -> tuple[str, ...]:
    """Return the aliases in lines of frontmatter."""
    if "alias" not in extra.casefold():
        return ()
    try:
        return aliases_among(parse_frontmatter(extra).entries)
    except NoteUnreadable:
        return ()


def aliases_among(entries: Sequence[FrontmatterEntry]) -> tuple[str, ...]:
    """Return the aliases among the entries of a frontmatter."""
    return _unique(text for key in _KEYS for text in texts_of(entries, key))


def with_aliases(metadata: Mapping[str, Json], *, before: str, after: str) -> dict[str, Json]:
    """Return metadata with the aliases of changed frontmatter; aliases from other sources stay."""
    old = set(aliases_in(before))
    now = _unique((*aliases_in(after), *(alias for alias in aliases_of(metadata) if alias not in old)))
    if not isinstance(metadata.get(ALIASES, []), list):
        # A value that is not a list belongs to the user.
        return dict(metadata)
    rest: dict[str, Json] = {name: value for name, value in metadata.items() if name != ALIASES}
    if now:
        rest[ALIASES] = list(now)
    return rest


def texts_of(entries: Iterable[FrontmatterEntry], key: str) -> Iterator[str]:
    """Yield the texts under a key, as a list or separated by commas; the case of the key does not matter."""
    for entry in entries:
        if entry.key.casefold() != key:
            continue
        values = (entry.value,) if isinstance(entry.value, Scalar) else entry.value
        for item in values if isinstance(values, tuple) else ():
            if not item.is_null:
                parts = item.text.split(",") if isinstance(entry.value, Scalar) else (item.text,)
                yield from (part.strip() for part in parts if part.strip())


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))[:MAX_ALIASES]
