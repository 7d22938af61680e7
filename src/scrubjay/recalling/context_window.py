"""Passages among their neighbours: what is said around a statement helps to find it."""

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrubjay.model.passage import StoredPassage
from scrubjay.recalling.candidates import AROUND
from scrubjay.recalling.term_counts import Floats, Spoken

Places = NDArray[np.intp]
# What a word counts that was said so many passages before, and after, where several people speak; among the passages
# of one alone it counts less, since nobody answers anybody.
_BEFORE = (0.75, 0.45, 0.3, 0.15)
_AFTER = (0.6, 0.36, 0.24, 0.12)
_FADING = np.array((*_BEFORE, *_AFTER), dtype=np.float32)
_ALONE = 0.6
# Of a long neighbour as much counts as of one with so many terms: glued on whole, it would drown what it stands beside.
_LONGEST_NEIGHBOUR = 8.0
# A long passage speaks for itself: beyond so many terms, what is around it counts less.
_LONGEST_SPOKEN_FOR = 40.0
# Whoever speaks right after another's question answers it: the question's words are nearly the answer's own.
_REPLY, _LONGEST_QUESTION = 1.2, 12.0
_NOBODY = (-1,) * AROUND
# Neighbours so near to a candidate may be what was looked for, with no word of the question in them.
_REACH = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextWindow:
    """Rows of a store, of which the first `len(beside)` are candidates.

    `beside` has the places of the rows around each candidate, -1 where there is none, and `shares` what a word counts
    in each of them. `numbers` are the rows' ids, `lengths` their own numbers of terms, which `spoken` has; `who` says
    each of them, by a place in `speakers`. `replies` says how far a candidate answers the row before it. The first
    `searched` were found by a search, the other candidates stand near them.
    """

    rows: tuple[StoredPassage, ...]
    numbers: Places
    searched: int
    beside: Places
    shares: Floats
    spoken: Spoken
    lengths: Floats
    replies: Floats
    who: Places
    speakers: tuple[str, ...]

    @property
    def candidates(self) -> tuple[StoredPassage, ...]:
        """The rows that may be answers."""
        return self.rows[: len(self.beside)]

    @property
    def weighed_lengths(self) -> Floats:
        """How long each candidate is with what is around it."""
        return self.lengths[: len(self.beside)] + (self.shares * self.lengths[self.beside]).sum(axis=1)

    @property
    def questions(self) -> list[StoredPassage]:
        """The rows that candidates reply to."""
        return [self.rows[place] for place in set(self.beside[self.replies > 0, 0].tolist())]


def lay_out(
    passages: Sequence[StoredPassage], beside: Sequence[StoredPassage], *, is_asked: bool = True
) -> ContextWindow:
    """The passages, those right beside them, and the rest that stands around; in this order.

    Unless it is a question that they are laid out for, nobody answers anybody.
    """
    found = len(passages)
    around, centres = _windows(passages)
    known = {passage.id: passage for passage in beside}
    places = _best_seen(around, centres, known)
    nearest = [known.pop(number) for number in centres[places].tolist()]
    rows = (*passages, *nearest, *known.values())
    numbers = np.array([row.id for row in rows], dtype=np.int64)
    spoken = Spoken([row.terms for row in rows])
    lengths = spoken.lengths
    neighbours = _places_of(np.concatenate([around[:found], around[places]]), numbers)
    who, speakers = _speakers(rows)
    heard = who if is_asked else np.zeros_like(who)
    replies = _replies(rows, neighbours, heard)
    spoken_for = np.minimum(1.0, _LONGEST_SPOKEN_FOR / np.maximum(lengths[: len(neighbours)], 1.0))
    return ContextWindow(
        rows=rows,
        numbers=numbers,
        searched=found,
        beside=neighbours,
        shares=_shares(neighbours, heard, lengths, replies) * spoken_for[:, None],
        spoken=spoken,
        lengths=lengths,
        replies=replies * spoken_for,
        who=who[:-1],
        speakers=speakers,
    )


def _windows(passages: Sequence[StoredPassage]) -> tuple[Places, Places]:
    """The numbers around each passage, then around the ones right before and after each, and whose they are.

    Nearest first, those before and then those after; -1 where there is nobody or nobody was read.
    """
    lines = [
        (
            *_NOBODY[len(passage.before) :],
            *reversed(passage.before),
            passage.id,
            *passage.after,
            *_NOBODY[len(passage.after) :],
        )
        for passage in passages
    ]
    line = np.full((len(lines), 4 * AROUND + 1), -1, dtype=np.int64)
    line[:, AROUND : 3 * AROUND + 1] = np.array(lines, dtype=np.int64).reshape(len(lines), 2 * AROUND + 1)
    before, after = -np.arange(1, AROUND + 1), np.arange(1, AROUND + 1)
    columns = np.concatenate([before, after])
    centres = [2 * AROUND, *(2 * AROUND + step * side for step in range(1, _REACH + 1) for side in (-1, 1))]
    around = np.concatenate([line[:, centre + columns] for centre in centres])
    return around, np.concatenate([line[:, centre] for centre in centres])


def _best_seen(around: Places, centres: Places, wanted: Container[int]) -> list[int]:
    """Of each number that is wanted one window, from where most is seen around it; in the order of the numbers."""
    best: dict[int, tuple[int, int]] = {}
    seen = (around >= 0).sum(axis=1).tolist()
    for place, (number, count) in enumerate(zip(centres.tolist(), seen, strict=True)):
        if number in wanted and (number not in best or count > best[number][0]):
            best[number] = count, place
    return [best[number][1] for number in sorted(best)]


def _places_of(sought: Places, numbers: Places) -> Places:
    """Where among some numbers others stand; -1 for those that are not there."""
    if not len(numbers):
        return sought
    order = np.argsort(numbers)
    at = order[np.minimum(np.searchsorted(numbers, sought, sorter=order), len(numbers) - 1)]
    return np.where(numbers[at] == sought, at, -1)


def _replies(rows: Sequence[StoredPassage], places: Places, who: Places) -> Floats:
    """1 for each candidate that comes right after a question of somebody else."""
    asking = np.array([*[row.asks for row in rows], 0]) > 0
    askers, here = places[:, 0], who[: len(places)]
    # Whoever is not named is not somebody else. The last of `who` is nobody, for where there is no row before.
    return (asking[askers] & (who[askers] > 0) & (here > 0) & (who[askers] != here)).astype(np.float32)


def _speakers(rows: Sequence[StoredPassage]) -> tuple[Places, tuple[str, ...]]:
    """Who says each row, as a place among all who speak; 0 is for who is not named, and at the end for nobody."""
    said_by = [row.who for row in rows]
    speakers = tuple(dict.fromkeys(("", *said_by)))
    known = {who: place for place, who in enumerate(speakers)}
    return np.array([*map(known.__getitem__, said_by), 0], dtype=np.intp), speakers


def _shares(places: Places, who: Places, lengths: Floats, replies: Floats) -> Floats:
    is_there = places >= 0
    others, here = who[places], who[: len(places), None]
    is_other = (others > 0) & (here > 0) & (others != here)
    around = np.maximum(lengths[places], 1.0)
    shares = np.where(is_there, _FADING * np.minimum(1.0, _LONGEST_NEIGHBOUR / around), 0.0)
    shares *= np.where(is_other.any(axis=1), 1.0, _ALONE)[:, None]
    asked = _REPLY * replies * np.minimum(1.0, _LONGEST_QUESTION / around[:, 0])
    shares[:, 0] = np.maximum(shares[:, 0], asked)
    return shares.astype(np.float32)
