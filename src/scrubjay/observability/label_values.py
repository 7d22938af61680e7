"""The values that a label may have. Each is a series for ever, so nobody outside may make one up."""

from collections.abc import Iterable

OTHER = "other"


class Words:
    """The known words and, up to a number, those that come along; whatever else is `OTHER`."""

    def __init__(self, known: Iterable[str] = (), *, most: int = 0) -> None:
        self._words = set(known)
        self._most = most

    def known(self, word: str) -> str:
        """The word, if it may be used."""
        if word in self._words:
            return word
        if len(self._words) < self._most:
            self._words.add(word)
            return word
        return OTHER
