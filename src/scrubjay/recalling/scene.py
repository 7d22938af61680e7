"""Passages among their neighbours: what is said around a statement helps to find it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrubjay.model.passage import StoredPassage
from scrubjay.recalling.candidates import AROUND

Floats = NDArray[np.float32]
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
class Scene:
    """Rows of a store, of which the first `len(beside)` are candidates.

    `beside` has the places of the rows around each candidate, -1 where there is none, and `shares` what a word counts
    in each of them. `lengths` are the rows' own numbers of terms. `replies` says how far a candidate answers the row
    before it. The first `searched` were found by a search, the other candidates stand near them.
    """

    rows: tuple[StoredPassage, ...]
    searched: int
    beside: Places
    shares: Floats
    lengths: Floats
    replies: Floats

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


def lay_out(passages: Sequence[StoredPassage], beside: Sequence[StoredPassage], *, is_asked: bool = True) -> Scene:
    """The passages, those right beside them, and the rest that stands around; in this order.

    Unless it is a question that they are laid out for, nobody answers anybody.
    """
    found = len(passages)
    around, numbers = _windows(passages)
    # Whoever was searched for is a candidate anyway; of the others each once, from where most is seen around it.
    seen = (around >= 0).sum(axis=1)
    order = np.lexsort((-seen, numbers))
    ids = np.array([passage.id for passage in passages], dtype=np.int64)
    places = order[np.unique(numbers[order], return_index=True)[1]]
    places = places[~np.isin(numbers[places], ids) & (numbers[places] >= 0)]
    known = {passage.id: passage for passage in beside}
    places = np.array([place for place in places.tolist() if int(numbers[place]) in known], dtype=np.intp)
    nearest = [known.pop(int(number)) for number in numbers[places]]
    rows = (*passages, *nearest, *known.values())
    lengths = np.array([passage.terms.count(" ") + bool(passage.terms) for passage in rows], dtype=np.float32)
    neighbours = _places_of(np.concatenate([around[:found], around[places]]), rows)
    who = _speakers(rows) if is_asked else np.zeros(len(rows) + 1, dtype=np.intp)
    replies = _replies(rows, neighbours, who)
    spoken_for = np.minimum(1.0, _LONGEST_SPOKEN_FOR / np.maximum(lengths[: len(neighbours)], 1.0))
    return Scene(
        rows=rows,
        searched=found,
        beside=neighbours,
        shares=_shares(neighbours, who, lengths, replies) * spoken_for[:, None],
        lengths=lengths,
        replies=replies * spoken_for,
    )


def _windows(passages: Sequence[StoredPassage]) -> tuple[Places, Places]:
    """The numbers around each passage, then around the ones right before and after each, and whose they are.

    Nearest first, those before and then those after; -1 where there is nobody or nobody was read.
    """
    lines = [
        (*_NOBODY[len(one.before) :], *reversed(one.before), one.id, *one.after, *_NOBODY[len(one.after) :])
        for one in passages
    ]
    line = np.array(lines, dtype=np.int64).reshape(len(lines), 2 * AROUND + 1)
    line = np.pad(line, ((0, 0), (AROUND, AROUND)), constant_values=-1)
    before, after = -np.arange(1, AROUND + 1), np.arange(1, AROUND + 1)
    columns = np.concatenate([before, after])
    centres = [2 * AROUND, *(2 * AROUND + step * side for step in range(1, _REACH + 1) for side in (-1, 1))]
    around = np.concatenate([line[:, centre + columns] for centre in centres])
    return around, np.concatenate([line[:, centre] for centre in centres])


def _places_of(numbers: Places, rows: Sequence[StoredPassage]) -> Places:
    """Where in the rows passages stand; -1 for those that are not there."""
    if not rows:
        return numbers
    ids = np.array([row.id for row in rows], dtype=np.int64)
    order = np.argsort(ids)
    at = np.minimum(np.searchsorted(ids, numbers, sorter=order), len(ids) - 1)
    return np.where(ids[order[at]] == numbers, order[at], -1)


def _replies(rows: Sequence[StoredPassage], places: Places, who: Places) -> Floats:
    """1 for each candidate that comes right after a question of somebody else."""
    asking = np.array([*(row.asks > 0 for row in rows), False])
    askers, here = places[:, 0], who[: len(places)]
    # Whoever is not named is not somebody else. The last of `who` is nobody, for where there is no row before.
    return (asking[askers] & (who[askers] > 0) & (here > 0) & (who[askers] != here)).astype(np.float32)


def _speakers(rows: Sequence[StoredPassage]) -> Places:
    """A number for each row, the same for all that one says; 0 for who is not named, and at the end for nobody."""
    known = {who: number for number, who in enumerate(dict.fromkeys(("", *(row.who for row in rows))))}
    return np.array([*(known[row.who] for row in rows), 0], dtype=np.intp)


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
