"""Names that look like a reference nobody answers to."""

from collections.abc import Iterable

from rapidfuzz import fuzz, process

from scrubjay.text.slug import slug

_CLOSE_ENOUGH = 60


def most_alike(ref: str, names: Iterable[str], *, limit: int) -> tuple[str, ...]:
    """The names that are most like a reference; of those that are as like, the first of the alphabet first."""
    # In which order a store hands them out may depend on who else is in it.
    candidates = sorted(set(names))
    best = process.extract(slug(ref), candidates, scorer=fuzz.WRatio, limit=limit, score_cutoff=_CLOSE_ENOUGH)
    return tuple(name for name, _, _ in best)
