"""Labels that are nearly what somebody wrote."""

from collections.abc import Sequence

from rapidfuzz import fuzz, process

__all__ = ["close_labels", "close_lengths"]

# In hundredths: a letter or two are wrong, not the word.
_CLOSE_ENOUGH = 78


def close_labels(sought: str, labels: Sequence[str], *, limit: int) -> list[str]:
    """The labels that differ from one in a letter or two, the most alike first."""
    found = process.extract(sought, labels, scorer=fuzz.ratio, limit=limit, score_cutoff=_CLOSE_ENOUGH)
    return [label for label, _, _ in found]


def close_lengths(length: int) -> tuple[int, int]:
    """How short and how long a label may be that is nearly one of this length: letters too many are wrong, too."""
    shorter, longer = _CLOSE_ENOUGH, 200 - _CLOSE_ENOUGH
    return -(-length * shorter // longer), length * longer // shorter
