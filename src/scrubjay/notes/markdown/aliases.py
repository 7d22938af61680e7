"""The other names of a note: `aliases` in its frontmatter, by which it is linked and found as by its title."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from scrubjay.errors import NoteUnreadable
from scrubjay.model.memory import Json
from scrubjay.notes.markdown.frontmatter import read_head
from scrubjay.notes.markdown.yaml_values import Entry, Scalar

__all__ = ["ALIASES", "MOST_ALIASES", "aliases_among", "aliases_in", "aliases_of", "texts_of", "with_aliases"]

ALIASES = "aliases"
"""Where a memory's metadata keeps its other names."""
MOST_ALIASES = 64
_KEYS = (ALIASES, "alias")


def aliases_of(metadata: Mapping[str, Json]) -> tuple[str, ...]:
    """The other names that a memory has."""
    reported = metadata.get(ALIASES)
    return (
        tuple(item for item in reported[:MOST_ALIASES] if isinstance(item, str)) if isinstance(reported, list) else ()
    )


def aliases_in(extra: str) -> tuple[str, ...]:
    """The other names that lines of frontmatter tell."""
    if "alias" not in extra.casefold():
        return ()
    try:
        return aliases_among(read_head(extra).entries)
    except NoteUnreadable:
        return ()


def aliases_among(entries: Sequence[Entry]) -> tuple[str, ...]:
    """The other names that a frontmatter tells."""
    return _first(text for key in _KEYS for text in texts_of(entries, key))


def with_aliases(metadata: Mapping[str, Json], *, before: str, after: str) -> dict[str, Json]:
    """Metadata with the other names of frontmatter that was changed; those that came from elsewhere stay."""
    old = set(aliases_in(before))
    now = _first((*aliases_in(after), *(alias for alias in aliases_of(metadata) if alias not in old)))
    if not isinstance(metadata.get(ALIASES, []), list):
        # What somebody keeps there that is no list of names is not ours.
        return dict(metadata)
    rest: dict[str, Json] = {name: value for name, value in metadata.items() if name != ALIASES}
    if now:
        rest[ALIASES] = list(now)
    return rest


def texts_of(entries: Iterable[Entry], key: str) -> Iterator[str]:
    """The texts under a key, in whichever way they are listed; a key is known in every case."""
    for entry in entries:
        if entry.key.casefold() != key:
            continue
        values = (entry.value,) if isinstance(entry.value, Scalar) else entry.value
        for item in values if isinstance(values, tuple) else ():
            if not item.is_null:
                parts = item.text.split(",") if isinstance(entry.value, Scalar) else (item.text,)
                yield from (part.strip() for part in parts if part.strip())


def _first(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))[:MOST_ALIASES]
