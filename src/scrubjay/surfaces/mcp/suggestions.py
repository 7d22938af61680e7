"""What somebody may have meant who wrote a name that nobody has."""

from collections.abc import Iterable

from rapidfuzz import process

_CLOSE_ENOUGH = 60
_SUGGESTIONS = 3
# Enough to recognise what was written; the rest would only be repeated back.
LONGEST_SHOWN = 80


def nearest(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names most like a wrong one, the likeliest first."""
    found = process.extract(name[:LONGEST_SHOWN], list(names), limit=_SUGGESTIONS, score_cutoff=_CLOSE_ENOUGH)
    return tuple(one for one, _, _ in found)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A hint that names what is near, or else everything there is."""
    known = list(names)
    near = nearest(name, known)
    return f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(known)}"


def shown(value: object) -> str:
    """A value as it may stand in a message: quoted, and not too long."""
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}… ({len(text):,} characters)"
