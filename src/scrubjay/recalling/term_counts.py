"""How often texts have some words, counted in all of them at once: most words are none of those."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
_SPACE, _LINE = b" \n"
# A word is recognised by so many of its bytes, which a number can hold; a shorter one leaves the rest of it empty.
_HEAD = 8
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(_HEAD + 1)], dtype=np.uint64)
# A prime: some hundred sought words are spread over so many slots, so that few others come to stand in theirs.
_SLOTS = 4093


class Spoken:
    """The words of some texts. In a text they stand apart by one space."""

    def __init__(self, texts: Sequence[str]) -> None:
        # In one piece, one line a text: to split each costs more than all the rest.
        self._data = "\n".join(texts).encode("utf-8", "surrogatepass") + b"\n"
        self._ends = np.flatnonzero(np.frombuffer(self._data, dtype=np.uint8) <= _SPACE)
        self._starts = np.concatenate(([0], self._ends[:-1] + 1))
        lasts = np.flatnonzero(np.frombuffer(self._data, dtype=np.uint8)[self._ends] == _LINE)
        # The words of a text come before this place among all the words.
        self._until = lasts + 1 if texts else lasts[:0]

    @property
    def lengths(self) -> Floats:
        """How many words each text has."""
        counts = np.diff(self._until, prepend=0)
        is_empty = self._starts[self._until - 1] == self._ends[self._until - 1]
        return np.where((counts == 1) & is_empty, 0, counts).astype(np.float32)

    def count(self, words: Sequence[str]) -> Floats:
        """How often each word stands in each text: a row for each word."""
        known = {word.encode("utf-8", "surrogatepass"): row for row, word in enumerate(words)}
        places = self._alike(known)
        starts, ends = self._starts[places].tolist(), self._ends[places].tolist()
        spelled = (self._data[start:end] for start, end in zip(starts, ends, strict=True))
        rows = np.array([known.get(one, -1) for one in spelled], dtype=np.intp)
        texts = np.searchsorted(self._until, places, side="right")
        size = len(self._until)
        cells = (rows * size + texts)[rows >= 0]
        return np.bincount(cells, minlength=len(words) * size).reshape(len(words), size).astype(np.float32)

    def _alike(self, known: Iterable[bytes]) -> NDArray[np.intp]:
        """The places of words that may be one of some: by their first bytes, not by all of them."""
        # Each number begins one byte after the one before.
        numbers = np.ndarray(len(self._data), dtype="<u8", buffer=self._data + bytes(_HEAD), strides=(1,))
        heads = numbers[self._starts] & _MASKS[np.minimum(self._ends - self._starts, _HEAD)]
        sought = np.array([int.from_bytes(word[:_HEAD], "little") for word in known], dtype=np.uint64)
        is_sought = np.zeros(_SLOTS, dtype=np.bool_)
        is_sought[sought % _SLOTS] = True
        return np.flatnonzero(is_sought[heads % _SLOTS])
