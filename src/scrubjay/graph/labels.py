"""Labels of entities, found by a part and by what is nearly the same, without a look at all of them."""

import sys
from array import array
from collections.abc import Iterable, Iterator

import numpy as np

from scrubjay.text.fuzzy import close_labels, close_lengths, grams_of

__all__ = ["APART", "Labels"]

# Keeps the labels of one entity apart: no text that is stored has it.
APART = "\x00"
_GRAM = 3
# So few labels are all scored. Of more those that share the most trigrams: so many at most, found in as many entries.
_MOST_SCORED = 2_000
_MOST_ENTRIES = 50_000
# Labels that nobody has any more stay in the lists until there are so many of them, and more than the others.
_MOST_GONE = 1_000
# What is kept beside the texts themselves: for one that has labels, for a label, for each of its trigrams.
_ENTRY_BYTES = 100
_LABEL_BYTES = 350
_NUMBER_BYTES = 5
_OWNER_BYTES = 40
_EMPTY_BYTES = 1_000


class Labels:
    """Who has which labels, and for each trigram the labels that have it."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._size = _EMPTY_BYTES
        self._clear()

    def _clear(self) -> None:
        self._numbers: dict[str, int] = {}
        self._labels: list[str] = []
        self._lengths: array[int] = array("I")
        self._owners: list[set[str]] = []
        self._having: dict[str, array[int]] = {}

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return self._size

    @property
    def ids(self) -> list[str]:
        """All who have labels."""
        return list(self._texts)

    def put(self, memory_id: str, text: str | None) -> None:
        """Set or remove the labels of one, each apart from the next."""
        before = self._texts.get(memory_id)
        if text == before:
            return
        if before is not None:
            del self._texts[memory_id]
            self._size -= _own_size(memory_id, before)
            self._drop(memory_id, before.split(APART))
        if text is not None:
            self._texts[memory_id] = text
            self._size += _own_size(memory_id, text)
            self._add(memory_id, text.split(APART))
        if len(self._labels) > max(_MOST_GONE, 2 * len(self._numbers)):
            self._begin_anew()

    def same(self, sought: str) -> set[str]:
        """Who has exactly this label."""
        number = self._numbers.get(sought)
        return set() if number is None else set(self._owners[number])

    def containing(self, sought: str) -> set[str]:
        """Who has a label that this text is part of."""
        found = set[str]()
        for number in self._perhaps(sought):
            if sought in self._labels[number]:
                found |= self._owners[number]
        return found

    def nearly(self, sought: str, *, but: set[str], limit: int) -> list[str]:
        """Who has one of the labels that differ in a letter or two, the most alike first; but not these."""
        # A label whose owners are all known already would take the place of another.
        candidates = [self._labels[at] for at in self._alike(sought) if not self._owners[at] <= but]
        best = close_labels(sought, candidates, limit=limit)
        owners = (owner for label in best for owner in self._owners[self._numbers[label]])
        return list(dict.fromkeys(owner for owner in owners if owner not in but))

    def _perhaps(self, sought: str) -> Iterable[int]:
        """Labels of which some contain a text, and no others do."""
        if len(sought) >= _GRAM:
            having = (self._having.get(sought[at : at + _GRAM]) for at in range(len(sought) - _GRAM + 1))
            return min((one if one is not None else _NOBODY for one in having), key=len)
        some = [numbers for gram, numbers in self._having.items() if sought in gram]
        return dict.fromkeys(number for numbers in some for number in numbers)

    def _alike(self, sought: str) -> Iterable[int]:
        """The labels with the largest share of trigrams in common; rare ones are counted first."""
        if len(self._numbers) <= _MOST_SCORED:
            return self._numbers.values()
        some = list(self._telling(sought))
        if not some:
            return ()
        shared = np.bincount(np.concatenate(some))
        numbers = np.flatnonzero(shared)
        lengths = np.array(self._lengths, dtype=np.uint32)[numbers]
        # Nobody has the labels without a length any more.
        shortest, longest = close_lengths(len(sought))
        fits = (lengths >= max(1, shortest)) & (lengths <= longest)
        numbers, lengths = numbers[fits], lengths[fits]
        if len(numbers) > _MOST_SCORED:
            share = shared[numbers] / (len(sought) + lengths)
            numbers = numbers[np.argsort(-share, kind="stable")[:_MOST_SCORED]]
        return numbers.tolist()

    def _telling(self, sought: str) -> "Iterator[np.ndarray[tuple[int], np.dtype[np.uint32]]]":
        entries = 0
        for numbers in sorted((self._having[gram] for gram in grams_of(sought) if gram in self._having), key=len):
            # Of those that would be too many the latest.
            yield np.array(numbers[-(_MOST_ENTRIES - entries) :], dtype=np.uint32)
            entries += len(numbers)
            if entries >= _MOST_ENTRIES:
                return

    def _add(self, memory_id: str, labels: Iterable[str]) -> None:
        for label in filter(None, labels):
            number = self._numbers.get(label)
            if number is None:
                number = self._numbers[label] = len(self._labels)
                self._labels.append(label)
                self._lengths.append(len(label))
                self._owners.append(set())
                self._size += _label_size(label)
                for gram in grams_of(label):
                    self._having.setdefault(gram, array("I")).append(number)
            self._owners[number].add(memory_id)

    def _drop(self, memory_id: str, labels: Iterable[str]) -> None:
        for label in filter(None, labels):
            number = self._numbers[label]
            self._owners[number].discard(memory_id)
            if not self._owners[number]:
                del self._numbers[label]
                self._size -= _label_size(label)
                self._labels[number], self._lengths[number] = "", 0

    def _begin_anew(self) -> None:
        self._size -= sum(map(_label_size, self._numbers))
        self._clear()
        for memory_id, text in self._texts.items():
            self._add(memory_id, text.split(APART))


_NOBODY = array("I")


def _own_size(memory_id: str, text: str) -> int:
    owned = _OWNER_BYTES * (1 + text.count(APART))
    return sys.getsizeof(memory_id) + sys.getsizeof(text) + _ENTRY_BYTES + owned


def _label_size(label: str) -> int:
    return sys.getsizeof(label) + _LABEL_BYTES + _NUMBER_BYTES * len(label)
