"""Passages among their neighbours: what is said around a statement helps to find it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
_REACH = 2


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


def lay_out(passages: Sequence[StoredPassage], beside: Sequence[StoredPassage]) -> Scene:
    """The passages, those near enough to them, and the rest that stands around; in this order."""
    around = {passage.id: _Around(passage.before, passage.after) for passage in passages}
    nearest = _nearest(passages, around)
    ranked = [*passages, *(one for one in beside if one.id in nearest)]
    rows = (*ranked, *(one for one in beside if one.id not in nearest))
    lengths = np.array([passage.terms.count(" ") + bool(passage.terms) for passage in rows], dtype=np.float32)
    places = _places(rows, [around.get(one.id) or nearest[one.id] for one in ranked])
    replies = _replies(rows, places)
    spoken_for = np.minimum(1.0, _LONGEST_SPOKEN_FOR / np.maximum(lengths[: len(ranked)], 1.0))
    return Scene(
        rows=rows,
        searched=len(passages),
        beside=places,
        shares=_shares(rows, places, lengths, replies) * spoken_for[:, None],
        lengths=lengths,
        replies=replies * spoken_for,
    )


class _Around(NamedTuple):
    """Numbers of passages before and after one, nearest first."""

    before: Sequence[int]
    after: Sequence[int]


def _nearest(passages: Sequence[StoredPassage], known: Mapping[int, _Around]) -> dict[int, _Around]:
    """What stands around the nearest neighbours of passages, as far as it was read with those."""
    found: dict[int, _Around] = {}
    for passage in passages:
        row = [*reversed(passage.before), passage.id, *passage.after]
        at = len(passage.before)
        for place in range(max(0, at - _REACH), min(len(row), at + _REACH + 1)):
            number = row[place]
            if number in known:
                continue
            around = _Around(row[max(0, place - AROUND) : place][::-1], row[place + 1 : place + 1 + AROUND])
            earlier = found.get(number)
            # Several passages may stand beside it: the one from which more of its neighbours are seen counts.
            if earlier is None or len(earlier.before) + len(earlier.after) < len(around.before) + len(around.after):
                found[number] = around
    return found


def _places(rows: Sequence[StoredPassage], around: Sequence[_Around]) -> Places:
    known = {passage.id: place for place, passage in enumerate(rows)}
    numbers = [
        number for before, after in around for side in (before, after) for number in (*side, *_NOBODY[len(side) :])
    ]
    places = np.fromiter((known.get(number, -1) for number in numbers), dtype=np.intp, count=len(numbers))
    return places.reshape(len(around), len(_FADING))


def _replies(rows: Sequence[StoredPassage], places: Places) -> Floats:
    """1 for each candidate that comes right after a question of somebody else."""
    asking = np.array([*(row.asks > 0 for row in rows), False])
    who = _speakers(rows)
    askers, here = places[:, 0], who[: len(places)]
    # Whoever is not named is not somebody else. The last of `who` is nobody, for where there is no row before.
    return (asking[askers] & (who[askers] > 0) & (here > 0) & (who[askers] != here)).astype(np.float32)


def _speakers(rows: Sequence[StoredPassage]) -> Places:
    """A number for each row, the same for all that one says; 0 for who is not named, and at the end for nobody."""
    known = {who: number for number, who in enumerate(dict.fromkeys(("", *(row.who for row in rows))))}
    return np.array([*(known[row.who] for row in rows), 0], dtype=np.intp)


def _shares(rows: Sequence[StoredPassage], places: Places, lengths: Floats, replies: Floats) -> Floats:
    who = _speakers(rows)
    is_there = places >= 0
    others, here = who[places], who[: len(places), None]
    is_other = (others > 0) & (here > 0) & (others != here)
    around = np.maximum(lengths[places], 1.0)
    shares = np.where(is_there, _FADING * np.minimum(1.0, _LONGEST_NEIGHBOUR / around), 0.0)
    shares *= np.where(is_other.any(axis=1), 1.0, _ALONE)[:, None]
    asked = _REPLY * replies * np.minimum(1.0, _LONGEST_QUESTION / around[:, 0])
    shares[:, 0] = np.maximum(shares[:, 0], asked)
    return shares.astype(np.float32)
