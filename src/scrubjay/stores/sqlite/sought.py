"""What is looked for word by word: terms by their beginnings, and memories that have a word of each kind."""

from collections.abc import Sequence
from functools import partial

import apsw
import numpy as np
from numpy.typing import NDArray

from scrubjay.model.memory import State
from scrubjay.model.passage import PASSAGES_PER_MEMORY
from scrubjay.model.query import Filter
from scrubjay.ports import Having
from scrubjay.stores.sqlite.lexicon import any_of, having, passing_match, size_and_frequencies, word_of
from scrubjay.stores.sqlite.readers import Readers
from scrubjay.stores.sqlite.rows import LAST_CHARACTER, lexicon_number, space_number
from scrubjay.stores.weighing import WeighedGroup, weigh_groups

Numbers = NDArray[np.int64]
# So many terms that begin alike are looked at: a letter alone begins a tenth of them all.
_MOST_VISITED = 10_000


class Seeking:
    """The part of the port `Lexicon` that full-text search asks."""

    _readers: Readers

    async def terms_beginning(self, space: str, prefix: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        look = partial(terms_beginning, space=space, prefix=prefix, state=state, limit=limit)
        return await self._readers.run(look) if limit > 0 else []

    async def memories_having(
        self, space: str, groups: Sequence[Sequence[str]], wanted: Filter, *, limit: int
    ) -> list[Having]:
        look = partial(memories_having, space=space, groups=groups, wanted=wanted, limit=limit)
        return await self._readers.run(look) if limit > 0 else []


def terms_beginning(
    connection: apsw.Connection, space: str, prefix: str, *, state: State, limit: int
) -> list[tuple[str, int]]:
    """The terms that begin with a prefix and how many passages have each, the most common first."""
    space_no = space_number(connection, space)
    if space_no is None:
        return []
    rows = connection.execute(
        """SELECT term, passages FROM terms WHERE lexicon_no = ? AND term >= ? AND term < ?
           ORDER BY term LIMIT ?""",
        (lexicon_number(space_no, state), prefix, prefix + LAST_CHARACTER, _MOST_VISITED),
    )
    most = sorted((-int(passages), str(term)) for term, passages in rows)[:limit]
    return [(term, -passages) for passages, term in most]


def memories_having(
    connection: apsw.Connection, space: str, groups: Sequence[Sequence[str]], wanted: Filter, *, limit: int
) -> list[Having]:
    """The memories with a term of the most groups, told by their passages with the most."""
    space_no = space_number(connection, space)
    if space_no is None:
        return []
    lexicon_no = lexicon_number(space_no, wanted.state)
    total, frequencies = size_and_frequencies(connection, lexicon_no, [term for group in groups for term in group])
    rare, common = weigh_groups(groups, frequencies, total=total)
    if not rare:
        return []
    among = any_of(word_of(lexicon_no, term) for one in rare for term in one.terms)
    passing = passing_match(lexicon_no, wanted)
    found: list[Numbers] = []
    for one in (*rare, *common):
        words = any_of(word_of(lexicon_no, term) for term in one.terms)
        beside = "" if len(found) < len(rare) else f" AND {among}"
        found.append(having(connection, f"{words}{beside}{passing}", wanted))
    return _best(found, [*rare, *common], limit=limit)


def _best(found: Sequence[Numbers], weighed: Sequence[WeighedGroup], *, limit: int) -> list[Having]:
    weights = [one.weight for one in weighed]
    # A group counts once in a memory, however many of its passages have it.
    of_memories = [np.unique(numbers // PASSAGES_PER_MEMORY) for numbers in found]
    memories, groups, sums = _summed(of_memories, weights)
    best = np.lexsort((-memories, -sums, -groups))[:limit]
    passages, _, each = _summed(found, weights)
    order = np.lexsort((passages, -each, passages // PASSAGES_PER_MEMORY))
    whose, first = np.unique((passages // PASSAGES_PER_MEMORY)[order], return_index=True)
    told = passages[order][first][np.searchsorted(whose, memories[best])]
    return [
        Having(passage, count, weight)
        for passage, count, weight in zip(told.tolist(), groups[best].tolist(), sums[best].tolist(), strict=True)
    ]


def _summed(lists: Sequence[Numbers], weights: Sequence[float]) -> tuple[Numbers, Numbers, NDArray[np.float64]]:
    """Each number once, in how many lists it is, and the weights of those."""
    every = np.concatenate(lists)
    numbers, place = np.unique(every, return_inverse=True)
    each = np.repeat(weights, [len(one) for one in lists])
    size = len(numbers)
    counts = np.bincount(place, minlength=size).astype(np.int64, copy=False)
    return numbers, counts, np.bincount(place, weights=each, minlength=size).astype(np.float64, copy=False).round(9)
