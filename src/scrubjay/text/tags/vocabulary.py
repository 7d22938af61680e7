"""The tags that are in use, so that those most like another one are found at once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from math import log, sqrt

from scrubjay.text.grams import grams_of
from scrubjay.text.tags.spelling import fold_tag, initials

__all__ = ["TagVocabulary"]

# Sets that remember their order: what is found must not depend on how strings are hashed.
_Tags = dict[str, None]


class TagVocabulary:
    """Finds tags by what they have in common with another: letters, words, initials."""

    def __init__(self, tags: Sequence[str] = ()) -> None:
        self._marks: dict[str, frozenset[str]] = {}
        self._having: dict[str, _Tags] = {}
        self._short: dict[str, _Tags] = {}
        self.follow(tags)

    def __len__(self) -> int:
        return len(self._marks)

    def __contains__(self, tag: object) -> bool:
        return tag in self._marks

    def follow(self, tags: Sequence[str]) -> None:
        """Be these tags, and no others; what stays costs next to nothing."""
        wanted = set(tags)
        for gone in [mark for mark in self._marks if mark not in wanted]:
            for mark in self._marks.pop(gone):
                _take(self._having, mark, gone)
            for letters in _initials_of(gone):
                _take(self._short, letters, gone)
        for tag in tags:
            if tag not in self._marks:
                self._marks[tag] = marks = _marks_of(tag)
                for mark in marks:
                    self._having.setdefault(mark, {})[tag] = None
                for letters in _initials_of(tag):
                    self._short.setdefault(letters, {})[tag] = None

    def nearest(self, tag: str, *, limit: int) -> list[str]:
        """Those that have most in common with a tag, after those that are short or long for it."""
        shares = self._shares(tag)
        best = nlargest(limit, shares, key=lambda one: (shares[one], one))
        return [fromkey for fromkey in dict.fromkeys([*self._abbreviated(tag, limit=limit), *best]) if fromkey != tag]

    def _shares(self, tag: str) -> Mapping[str, float]:
        found: dict[str, float] = {}
        for mark in sorted(_marks_of(tag)):
            if having := self._having.get(mark):
                weight = log(1 + len(self._marks) / len(having))
                for one in having:
                    found[one] = found.get(one, 0.0) + weight
        return {one: share / sqrt(len(self._marks[one])) for one, share in found.items()}

    def _abbreviated(self, tag: str, *, limit: int) -> Iterable[str]:
        fold = fold_tag(tag)
        if len(fold.words) == 1:
            return sorted(self._short.get(fold.words[0], ()))[:limit]
        numbers = "".join(fold.numbers)
        return [one for one in sorted({letters + numbers for letters in _initials_of(tag)}) if one in self._marks]


def _marks_of(tag: str) -> frozenset[str]:
    """What it is found by: signs keep words and stems apart from letters."""
    fold = fold_tag(tag)
    return frozenset((*grams_of(fold.key), *(f"={part}" for part in fold.parts), *(f"~{stem}" for stem in fold.stems)))


def _initials_of(tag: str) -> Iterator[str]:
    words = fold_tag(tag).words
    return iter(dict.fromkeys(initials(words) if len(words) > 1 else ()))


def _take(shelves: dict[str, _Tags], name: str, tag: str) -> None:
    vector_store = shelves[name]
    del vector_store[tag]
    if not vector_store:
        del shelves[name]
