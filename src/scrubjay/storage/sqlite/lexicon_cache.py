"""The part of the lexical index that recalls have used, in memory: counts, and the passages of each word as arrays.

It is read word by word. When the change log has grown, by this process or another one, the words of new memories are
added; any other change drops all of it. Counts of accesses are written without an entry in the log, and change nothing
here.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from scrubjay.model.memory import State
from scrubjay.model.passage import PASSAGES_PER_MEMORY
from scrubjay.model.query import Facet, Filter
from scrubjay.ports import TermStatistics
from scrubjay.storage.lexical import WeightedTerm, rare_terms, weigh_terms
from scrubjay.storage.rows import STATES
from scrubjay.storage.sqlite import lexicon
from scrubjay.storage.sqlite.rows import Freshness, data_version, lexicon_number, log_state, space_number

Numbers = NDArray[np.int64]
# So many numbers of passages are cached, and at most these for one question.
_MAX_NUMBERS = 4_000_000
_MAX_NUMBERS_READ = 1_000_000
_MAX_COUNTS = 200_000
# More than what the sums of some weights differ by if they are added in another order.
_ROUNDING = 1e-6
# After more uses than these between two commits the log is read: a write has seldom more, and a recall always has.
_FEW_USES = 2
# After so many changes all is dropped, instead of reading their memories.
_MAX_CHANGES = 64
# After so many reads of missing words, a lexicon of fewer terms and fewer facets than this is read as a whole.
_MANY_MISSES = 16
_MAX_WHOLE = 20_000
_ALL_TERMS = "SELECT term, passage_count FROM terms WHERE lexicon_no = ? LIMIT ?"
_ALL_FACETS = "SELECT facet, memory_count FROM facets WHERE lexicon_no = ? LIMIT ?"
# One statement for all words, and one row for each: a row for each passage would wait for the interpreter.
_POSTINGS = """SELECT listed.value,
      (SELECT group_concat(p.rowid) FROM postings p WHERE p.postings MATCH '"' || listed.value || '"')
    FROM json_each(?) listed"""
# One statement, which sees one state. A change of a relation changes no word.
_CHANGED = f"""SELECT c.memory_no, m.space_no, m.state, m.facets, p.id, p.terms, (SELECT max(seq) FROM changes)
    FROM (SELECT DISTINCT memory_no FROM changes WHERE seq > ? AND relation IS NULL) c
    LEFT JOIN memories m ON m.no = c.memory_no
    LEFT JOIN passages p
      ON p.id >= c.memory_no * {PASSAGES_PER_MEMORY} AND p.id < (c.memory_no + 1) * {PASSAGES_PER_MEMORY}
    ORDER BY p.id"""


class MissingWords(NamedTuple):
    """Words whose passages have to be read first, and how many there are at most; None if that is not counted."""

    words: tuple[str, ...]
    passages: int | None


class LexiconCache:
    """Counts and postings of all lexicons. It is used by one thread, with one connection."""

    def __init__(
        self, freshness: Freshness, *, many_misses: int = _MANY_MISSES, few_uses: int = _FEW_USES
    ) -> None:  # fmt: skip
        self._freshness = freshness
        self._many_misses = many_misses
        self._few_uses = few_uses
        self._version = -1
        # Of the log, as far as it was read, with the newest memory; how often the cache was used since the last commit.
        self._state: tuple[int, str] | None = None
        self._newest = 0
        self._uses = 0
        self.clear()

    def clear(self) -> None:
        """Drop everything."""
        self._totals: dict[int, tuple[int, int]] = {}
        # How often a word or a facet was missing, and the lexicons that are here as a whole.
        self._misses: Counter[int] = Counter()
        self._whole: set[int] = set()
        # By the number of the lexicon.
        self._counts: defaultdict[int, dict[str, int]] = defaultdict(dict)
        self._facets: defaultdict[int, dict[Facet, int]] = defaultdict(dict)
        self._similar: dict[tuple[str, str, State, int], list[tuple[str, int]]] = {}
        self._postings: dict[str, Numbers] = {}
        self._size = 0

    def statistics(
        self, connection: apsw.Connection, space: str, terms: Sequence[str], *, state: State
    ) -> TermStatistics:
        """Return the same as `term_statistics` of the lexicon."""
        space_no = space_number(connection, space)
        if space_no is None:
            return TermStatistics(passages=0, total_length=0, frequencies={})
        lexicon_no = lexicon_number(space_no, state)
        self._refresh(connection)
        counts = self._counts[lexicon_no]
        missing = self._missing(connection, lexicon_no, terms, counts)
        if missing or lexicon_no not in self._totals:
            read = lexicon.term_statistics(connection, space, missing, state=state)
            if sum(map(len, self._counts.values())) > _MAX_COUNTS:
                return lexicon.term_statistics(connection, space, terms, state=state)
            self._totals[lexicon_no] = read.passages, read.total_length
            counts.update({term: read.frequencies.get(term, 0) for term in missing})
            self._check_state(connection)
        passages, total_length = self._totals[lexicon_no]
        frequencies = {term: count for term in terms if (count := counts.get(term))}
        return TermStatistics(passages=passages, total_length=total_length, frequencies=frequencies)

    def facets(
        self, connection: apsw.Connection, space: str, facets: Sequence[Facet], *, state: State
    ) -> dict[Facet, int]:
        """Return the same as `known_facets` of the lexicon."""
        space_no = space_number(connection, space)
        if space_no is None:
            return {}
        lexicon_no = lexicon_number(space_no, state)
        self._refresh(connection)
        counts = self._facets[lexicon_no]
        missing = self._missing(connection, lexicon_no, facets, counts)
        if missing:
            if sum(map(len, self._facets.values())) > _MAX_COUNTS:
                return lexicon.known_facets(connection, space, facets, state=state)
            read = lexicon.known_facets(connection, space, missing, state=state)
            counts.update({facet: read.get(facet, 0) for facet in missing})
            self._check_state(connection)
        return {facet: count for facet in facets if (count := counts.get(facet))}

    def similar(
        self, connection: apsw.Connection, space: str, term: str, *, state: State, limit: int
    ) -> list[tuple[str, int]] | None:
        """Return what `put_similar` has put here: comparing takes longer than all the rest."""
        self._refresh(connection)
        return self._similar.get((space, term, state, limit))

    def put_similar(
        self, space: str, term: str, read: tuple[tuple[int, str], list[tuple[str, int]]], *, state: State, limit: int
    ) -> None:
        """Add the terms that resemble a term, as `read_similar` has returned them, unless the log has grown since."""
        log, similar = read
        if log == self._state and len(self._similar) < _MAX_COUNTS:
            self._similar[space, term, state, limit] = similar

    def candidates(
        self, connection: apsw.Connection, space: str, terms: Sequence[str], filter: Filter, *, limit: int
    ) -> list[tuple[int, float]] | MissingWords | None:
        """Return the same as `lexical_candidates` of the lexicon, or the words that are missing.

        None if the passages of the words are too many, or if the filter tests their dates.
        """
        if filter.since or filter.until:
            return None
        statistics = self.statistics(connection, space, terms, state=filter.state)
        space_no = space_number(connection, space)
        if space_no is None or not statistics.frequencies:
            return []
        lexicon_no = lexicon_number(space_no, filter.state)
        weighted = weigh_terms(statistics.frequencies, total=statistics.passages)
        labels = [[lexicon.label_of(lexicon_no, facet) for facet in group] for group in filter.facet_groups]
        words = {term.term: lexicon.word_of(lexicon_no, term.term) for term in weighted}
        missing = [word for word in chain(words.values(), *labels) if word not in self._postings]
        passages = sum(term.passages for term in weighted)
        if passages > _MAX_NUMBERS_READ:
            return None
        if missing:
            # Without a state of the log there is nothing to compare theirs with.
            if self._state is None:
                return None
            return MissingWords(tuple(missing), None if labels else passages)
        passing = _passing([[self._postings[label] for label in group] for group in labels])
        postings = {term: self._postings[word] for term, word in words.items()}
        rare = rare_terms(weighted)
        best = _best(rare, weighted[len(rare) :], postings, passing, limit=limit)
        if len(best) < limit and len(rare) < len(weighted) and not filter.is_empty:
            # The filter leaves few passages with a rare term: search by the common terms too.
            best = _best(weighted, [], postings, passing, limit=limit)
        return best

    def put(self, read: tuple[tuple[int, str], Mapping[str, Numbers]]) -> None:
        """Add the passages of words, as `read_postings` has returned them, unless the log has grown since."""
        state, postings = read
        if state != self._state:
            return
        if self._size > _MAX_NUMBERS:
            self._postings, self._size = {}, 0
        self._postings.update(postings)
        self._size += sum(map(len, postings.values()))

    def _missing(
        self, connection: apsw.Connection, lexicon_no: int, names: Sequence[str], counts: Mapping[str, int]
    ) -> list[str]:
        """Return the words or facets that have to be read first: most questions have one that is new."""
        if lexicon_no in self._whole:
            return []
        missing = [name for name in names if name not in counts]
        if not missing:
            return []
        self._misses[lexicon_no] += 1
        is_due = self._misses[lexicon_no] == self._many_misses
        return [] if is_due and self._read_whole(connection, lexicon_no) else missing

    def _read_whole(self, connection: apsw.Connection, lexicon_no: int) -> bool:
        """Read a lexicon as a whole, unless it is large."""
        for statement, counts in ((_ALL_TERMS, self._counts), (_ALL_FACETS, self._facets)):
            rows: list[tuple[str, int]] = connection.execute(statement, (lexicon_no, _MAX_WHOLE)).fetchall()
            if len(rows) == _MAX_WHOLE:
                return False
            counts[lexicon_no].update(rows)
        self._whole.add(lexicon_no)
        self._check_state(connection)
        return True

    def _refresh(self, connection: apsw.Connection) -> None:
        version = self._freshness.version(connection)
        self._uses += 1
        if version == self._version:
            # Between two writes it is not used so often, and the log need not be read.
            if self._uses > self._few_uses:
                self._read_state(connection)
            return
        state = None if self._state is None else log_state(connection)
        if state is None or (state != self._state and not self._has_followed(connection, state)):
            self.clear()
            state = None
        self._version, self._state, self._uses = version, state, 0

    def _has_followed(self, connection: apsw.Connection, state: tuple[int, str]) -> bool:
        try:
            return self._follow(connection, state)
        except MemoryError:
            # Some words may have been added, and others not.
            return False

    def _follow(self, connection: apsw.Connection, state: tuple[int, str]) -> bool:
        """Add the words of new memories; return False if anything else has changed."""
        assert self._state is not None
        (seq, upkeep), (former, former_upkeep) = state, self._state
        if not 0 < seq - former <= _MAX_CHANGES or upkeep != former_upkeep:
            return False
        rows = connection.execute(_CHANGED, (former,)).fetchall()
        if any(memory <= self._newest or last != seq for memory, *_, last in rows):
            return False
        labels_of: dict[int, list[str]] = {}
        for memory, space_no, state_no, facets, passage, terms, _ in rows:
            if space_no is None:
                continue
            lexicon_no = lexicon_number(space_no, STATES[int(state_no)])
            if memory not in labels_of:
                names: list[Facet] = json.loads(facets)
                self._add(self._facets[lexicon_no], names, is_whole=lexicon_no in self._whole)
                labels_of[memory] = [lexicon.label_of(lexicon_no, name) for name in names]
                self._newest = max(self._newest, memory)
            if passage is not None:
                self._add_passage(lexicon_no, passage, terms.split(), labels_of[memory])
        # New terms may resemble what others do not.
        self._similar.clear()
        return True

    def _add_passage(self, lexicon_no: int, passage: int, terms: Sequence[str], labels: Sequence[str]) -> None:
        if (totals := self._totals.get(lexicon_no)) is not None:
            self._totals[lexicon_no] = totals[0] + 1, totals[1] + len(terms)
        distinct = set(terms)
        self._add(self._counts[lexicon_no], distinct, is_whole=lexicon_no in self._whole)
        for word in chain((lexicon.word_of(lexicon_no, term) for term in distinct), labels):
            if (numbers := self._postings.get(word)) is not None:
                # It is the newest, and so the last.
                self._postings[word] = np.append(numbers, passage)
                self._size += 1

    @staticmethod
    def _add(counts: dict[str, int], names: Iterable[str], *, is_whole: bool) -> None:
        for name in names:
            if is_whole or name in counts:
                counts[name] = counts.get(name, 0) + 1

    def _read_state(self, connection: apsw.Connection) -> None:
        """Read the state of the log that belongs to what is here; a commit in between makes all of it too old."""
        if self._state is not None:
            return
        state = log_state(connection)
        ((newest,),) = connection.execute("SELECT coalesce(max(no), 0) FROM memories").fetchall()
        # Asked again: the version of this turn may be older than what was read last.
        if data_version(connection) == self._version:
            self._state, self._newest = state, int(newest)
        else:
            self.clear()
            self._version = -1

    def _check_state(self, connection: apsw.Connection) -> None:
        """Ask again after counts were read: newer ones than the state of the log cannot be followed from there."""
        if self._state is not None and data_version(connection) != self._version:
            self._state = None


def read_postings(
    connection: apsw.Connection, words: Iterable[str]
) -> tuple[tuple[int, str], dict[str, Numbers]]:  # fmt: skip
    """Return the passages of each word, in order, and the state of the log, inside a transaction."""
    rows: list[tuple[str, str | None]] = connection.execute(_POSTINGS, (json.dumps([*words]),)).fetchall()
    return log_state(connection), {word: np.fromstring(joined or "", dtype=np.int64, sep=",") for word, joined in rows}


def read_similar(
    connection: apsw.Connection, space: str, term: str, *, state: State, limit: int
) -> tuple[tuple[int, str], list[tuple[str, int]]]:
    """Return the terms that resemble a term, and the state of the log, inside a transaction."""
    return log_state(connection), lexicon.similar_terms(connection, space, term, state=state, limit=limit)


def _passing(groups: Sequence[Sequence[Numbers]]) -> Numbers | None:
    """Return the passages that have a label of each group; None without groups."""
    passing: Numbers | None = None
    for group in groups:
        having = group[0] if len(group) == 1 else np.unique(np.concatenate(group))
        passing = having if passing is None else np.intersect1d(passing, having, assume_unique=True)
    return passing


def _best(
    rare: Sequence[WeightedTerm],
    common: Sequence[WeightedTerm],
    postings: Mapping[str, Numbers],
    passing: Numbers | None,
    *,
    limit: int,
) -> list[tuple[int, float]]:
    """Return the passages with a rare term whose terms weigh most together, newest first among equals."""
    lists = [postings[term.term] for term in rare]
    if passing is not None:
        lists = [numbers[_are_among(numbers, passing)] for numbers in lists]
    numbers, sums = lexicon.sum_weights(lists, [term.weight for term in rare])
    if common and len(sums) > limit:
        # What all common terms together do not lift among the best need not be looked up in their long lists.
        least = np.partition(sums, -limit)[-limit] - sum(term.weight for term in common) - _ROUNDING
        is_candidate = sums >= least
        numbers, sums = numbers[is_candidate], sums[is_candidate]
    for term in common:
        sums[_are_among(numbers, postings[term.term])] += term.weight
    if len(sums) > limit:
        is_candidate = sums >= np.partition(sums, -limit)[-limit]
        numbers, sums = numbers[is_candidate], sums[is_candidate]
    best = np.lexsort((-numbers, -sums))[:limit]
    return list(zip(numbers[best].tolist(), sums[best].tolist(), strict=True))


def _are_among(numbers: Numbers, others: Numbers) -> NDArray[np.bool_]:
    """Return which of some numbers are among others; both are in order."""
    if not len(others):
        return np.zeros(len(numbers), dtype=np.bool_)
    return others[np.minimum(np.searchsorted(others, numbers), len(others) - 1)] == numbers
