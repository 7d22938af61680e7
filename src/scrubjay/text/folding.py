"""Texts as they are compared where every letter counts but its case, its accents and its width do not."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from scrubjay.text.scripts import folded_script, same_letters

__all__ = ["FoldedText", "fold", "fold_in_place"]


class FoldedText(NamedTuple):
    """A folded text, and of each of its characters the place where it stands in the text itself; the end comes last."""

    text: str
    places: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where in the text itself a part of the folded one stands, with the marks that follow its last letter."""
        return self.places[start], self.places[end]


def fold(text: str) -> str:
    """A text with one spelling for what looks or sounds the same."""
    return text.lower() if text.isascii() else same_letters(folded_script(text).casefold())


def fold_in_place(text: str) -> FoldedText:
    """The same letter by letter, so that what is found in it can be shown."""
    if text.isascii():
        return FoldedText(text.lower(), range(len(text) + 1))
    parts = [_fold_one(sign) for sign in text]
    places = [at for at, part in enumerate(parts) for _ in part]
    return FoldedText("".join(parts), [*places, len(text)])


@lru_cache(maxsize=8192)
def _fold_one(sign: str) -> str:
    return same_letters(folded_script(sign).casefold())
