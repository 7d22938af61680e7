"""Lexical search in the fake store: it reads every passage."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import StoredPassage, passage_id
from scrubjay.model.query import Facet, Filter, facet, facets_of
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import LexicalMatch, Neighbours, TermStatistics
from scrubjay.text.fuzzy import grams_of
from tests.fakes.state import FakePart, stored


class FakeLexicon(FakePart):
    """The port `Lexicon`."""

    async def lexical_candidates(
        self, space: str, terms: Sequence[str], filter: Filter, *, limit: int
    ) -> list[tuple[int, float]]:
        """Return passages that have some of the terms, those with more and rarer ones first."""
        requested = set(terms)
        statistics = await self.term_statistics(space, terms, state=filter.state)
        worth = {
            term: math.log(1 + statistics.passages / count) for term, count in statistics.frequencies.items() if count
        }
        results = [
            (
                passage_id(entry.number, passage.ordinal),
                sum(worth[term] for term in requested.intersection(passage.terms)),
            )
            for entry in self._state.space(space).passing(filter)
            for passage in entry.passages
            if requested.intersection(passage.terms)
        ]
        return sorted(results, key=lambda pair: (-pair[1], -pair[0]))[:limit]

    async def term_statistics(self, space: str, terms: Sequence[str], *, state: State) -> TermStatistics:
        """Return the statistics of one state of a space."""
        held = [
            passage.terms
            for entry in self._state.space(space).passing(Filter(state=state))
            for passage in entry.passages
        ]
        sets = [set(each) for each in held]
        return TermStatistics(
            passages=len(held),
            total_length=sum(len(each) for each in held),
            frequencies={term: sum(term in each for each in sets) for term in terms},
        )

    async def stored_passages(self, space: str, ids: Sequence[int], *, around: int = 0) -> list[StoredPassage]:
        """Return passages by number, in the order of the ids, then their neighbours."""
        entries = self._state.space(space).entries.values()
        existing = {memory.id: (memory, entry.memory) for entry in entries for memory in stored(entry)}
        expected = [existing[fromkey] for fromkey in dict.fromkeys(ids) if fromkey in existing]
        rows = _rows((memory, passage.date, passage.id) for passage, memory in existing.values())
        results = [_between(passage, rows[_row_of(memory)], around=around) for passage, memory in expected]
        others = dict.fromkeys(number for passage in results for number in (*passage.before, *passage.after))
        return results + [existing[other][0] for other in others if other not in ids]

    async def passage_numbers(self, space: str, memory_ids: Sequence[str]) -> list[int]:
        """Return the numbers of all passages of some memories."""
        entries = self._state.space(space).entries
        results = [entries[fromkey] for fromkey in dict.fromkeys(memory_ids) if fromkey in entries]
        return sorted(passage_id(entry.number, passage.ordinal) for entry in results for passage in entry.passages)

    async def session_neighbours(self, space: str, memory_ids: Sequence[str], *, each: int) -> dict[str, Neighbours]:
        """Return the memories before and after each in its session."""
        entries = self._state.space(space).entries
        names = {entry.number: memory_id for memory_id, entry in entries.items()}
        rows = _rows((entry.memory, to_micros(entry.memory.date), entry.number) for entry in entries.values())
        results: dict[str, Neighbours] = {}
        for memory_id in [each_id for each_id in memory_ids if each_id in entries]:
            row = [number for _, number in rows[_row_of(entries[memory_id].memory)]]
            before, after = _sides(row, row.index(entries[memory_id].number), around=each)
            results[memory_id] = Neighbours(
                before=tuple(names[n] for n in before), after=tuple(names[n] for n in after)
            )
        return results

    async def similar_terms(self, space: str, term: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        """Return the terms that share the most trigrams with a term."""
        entries = self._state.space(space).passing(Filter(state=state))
        counts = Counter(each for entry in entries for passage in entry.passages for each in set(passage.terms))
        grams = grams_of(term)
        shares = {each: len(grams & grams_of(each)) / len(grams | grams_of(each)) for each in counts}
        alike = [each for each, share in shares.items() if share]
        best = sorted(alike, key=lambda each: (-shares[each], -counts[each], each))
        return [(each, counts[each]) for each in best[: max(limit, 0)]]

    async def terms_with_prefix(self, space: str, prefix: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        """Return the terms that begin with a prefix, the most common first."""
        entries = self._state.space(space).passing(Filter(state=state))
        counts = Counter(each for entry in entries for passage in entry.passages for each in set(passage.terms))
        most = sorted((-count, each) for each, count in counts.items() if each.startswith(prefix))
        return [(each, -count) for count, each in most[: max(limit, 0)]]

    async def memories_matching(
        self, space: str, groups: Sequence[Sequence[str]], filter: Filter, *, limit: int
    ) -> list[LexicalMatch]:
        """Return the memories that have a term of the most groups."""
        statistics = await self.term_statistics(space, [item for group in groups for item in group], state=filter.state)
        weights = [_weight(group, statistics) for group in groups]
        results: list[tuple[int, LexicalMatch]] = []
        for entry in self._state.space(space).passing(filter):
            has = {
                passage_id(entry.number, passage.ordinal): [
                    place for place, group in enumerate(groups) if set(group) & set(passage.terms)
                ]
                for passage in entry.passages
            }
            all_of = {place for places in has.values() for place in places}
            best = min(has, key=lambda item: (-round(sum(weights[place] for place in has[item]), 9), item))
            reported = LexicalMatch(best, len(all_of), round(sum(weights[place] for place in all_of), 9))
            results += [(entry.number, reported)] if all_of else []
        results.sort(key=lambda pair: (-pair[1].groups, -pair[1].weight, -pair[0]))
        return [reported for _, reported in results[: max(limit, 0)]]

    async def facet_values(self, space: str, field: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        """Return the values of a facet and how many memories have each."""
        entries, start = self._state.space(space).passing(Filter(state=state)), facet(field, "")
        counts = Counter(each for entry in entries for each in facets_of(entry.memory) if each.startswith(start))
        most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return [(each[len(start) :], count) for each, count in most[: max(limit, 0)]]

    async def known_facets(self, space: str, facets: Sequence[Facet], *, state: State) -> dict[Facet, int]:
        """Return how many memories have each facet."""
        entries = self._state.space(space).passing(Filter(state=state))
        counts = Counter(each for entry in entries for each in facets_of(entry.memory))
        return {each: counts[each] for each in facets if counts[each]}


def _weight(group: Sequence[str], statistics: TermStatistics) -> float:
    count = min(statistics.passages, sum(statistics.frequencies[term] for term in set(group)))
    return math.log(1 + statistics.passages / count) if count else 0.0


_Row = list[tuple[int, int]]


def _rows(placed: Iterable[tuple[Memory, int, int]]) -> dict[tuple[str, State], _Row]:
    """Return the (date, number) of each session in order, by thread and state."""
    rows: dict[tuple[str, State], _Row] = {}
    for memory, date, number in sorted(placed, key=lambda pair: pair[1:]):
        rows.setdefault(_row_of(memory), []).append((date, number))
    return rows


def _row_of(memory: Memory) -> tuple[str, State]:
    return memory.thread, memory.state


def _between(passage: StoredPassage, row: _Row, *, around: int) -> StoredPassage:
    before, after = _sides([number for _, number in row], row.index((passage.date, passage.id)), around=around)
    return passage._replace(before=tuple(before), after=tuple(after))


def _sides(row: list[int], place: int, *, around: int) -> tuple[list[int], list[int]]:
    """Return the neighbours on either side of a position, nearest first."""
    around = max(around, 0)
    return row[:place][::-1][:around], row[place + 1 :][:around]
