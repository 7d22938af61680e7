"""Full-text search: terms by prefix, and memories that have a term of each group."""

from collections.abc import Sequence

import apsw
import numpy as np
from numpy.typing import NDArray

from scrubjay.model.memory import State
from scrubjay.model.passage import PASSAGES_PER_MEMORY
from scrubjay.model.query import Filter
from scrubjay.ports import LexicalMatch
from scrubjay.storage.lexical import WeightedGroup, weigh_groups
from scrubjay.storage.sqlite.lexicon import any_of, match_postings, passing_match, size_and_frequencies, word_of
from scrubjay.storage.sqlite.rows import LAST_CHARACTER, lexicon_number, space_number

Numbers = NDArray[np.int64]
# The most terms that are read for a prefix: a single letter begins a tenth of all.
_MAX_VISITED = 10_000


def terms_with_prefix(
    connection: apsw.Connection, space: str, prefix: str, *, state: State, limit: int
) -> list[tuple[str, int]]:
    """Return the terms that begin with a prefix and how many passages have each, the most common first."""
    space_no = space_number(connection, space)
    if space_no is None:
        return []
    rows = connection.execute(
        """SELECT term, passage_count FROM terms WHERE lexicon_no = ? AND term >= ? AND term < ?
           ORDER BY term LIMIT ?""",
        (lexicon_number(space_no, state), prefix, prefix + LAST_CHARACTER, _MAX_VISITED),
    )
    most_common = sorted((-int(count), str(term)) for term, count in rows)[:limit]
    return [(term, -count) for count, term in most_common]


def memories_matching(
    connection: apsw.Connection, space: str, groups: Sequence[Sequence[str]], filter: Filter, *, limit: int
) -> list[LexicalMatch]:
    """Return the memories with terms of the most groups, each with its best passage."""
    space_no = space_number(connection, space)
    if space_no is None:
        return []
    lexicon_no = lexicon_number(space_no, filter.state)
    total, frequencies = size_and_frequencies(connection, lexicon_no, [term for group in groups for term in group])
    rare, common = weigh_groups(groups, frequencies, total=total)
    if not rare:
        return []
    has_rare = any_of(word_of(lexicon_no, term) for group in rare for term in group.terms)
    passing = passing_match(lexicon_no, filter)
    matches: list[Numbers] = []
    for group in (*rare, *common):
        words = any_of(word_of(lexicon_no, term) for term in group.terms)
        # The passages of a common group are read only where a rare one matches too.
        restriction = "" if len(matches) < len(rare) else f" AND {has_rare}"
        matches.append(match_postings(connection, f"{words}{restriction}{passing}", filter))
    return _best(matches, [*rare, *common], limit=limit)


def _best(matches: Sequence[Numbers], weighted: Sequence[WeightedGroup], *, limit: int) -> list[LexicalMatch]:
    weights = [group.weight for group in weighted]
    # A group counts once in a memory, however many of its passages have it.
    memory_matches = [np.unique(numbers // PASSAGES_PER_MEMORY) for numbers in matches]
    memories, groups, sums = _sum_weights(memory_matches, weights)
    best = np.lexsort((-memories, -sums, -groups))[:limit]
    passages, _, passage_sums = _sum_weights(matches, weights)
    order = np.lexsort((passages, -passage_sums, passages // PASSAGES_PER_MEMORY))
    owners, first = np.unique((passages // PASSAGES_PER_MEMORY)[order], return_index=True)
    best_passages = passages[order][first][np.searchsorted(owners, memories[best])]
    columns = (best_passages.tolist(), groups[best].tolist(), sums[best].tolist())
    return [LexicalMatch(passage, count, weight) for passage, count, weight in zip(*columns, strict=True)]


def _sum_weights(lists: Sequence[Numbers], weights: Sequence[float]) -> tuple[Numbers, Numbers, NDArray[np.float64]]:
    """Return each number once, how many lists it is in, and the summed weights of those lists."""
    numbers, positions = np.unique(np.concatenate(lists), return_inverse=True)
    repeated = np.repeat(weights, [len(members) for members in lists])
    size = len(numbers)
    counts = np.bincount(positions, minlength=size).astype(np.int64, copy=False)
    sums = np.bincount(positions, weights=repeated, minlength=size).astype(np.float64, copy=False)
    return numbers, counts, sums.round(9)
