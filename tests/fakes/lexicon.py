"""Lexical search in the fake store: every passage is looked at."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import StoredPassage, passage_id
from scrubjay.model.query import Facet, Filter, facet, facets_of
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import LexicalMatch, Neighbours, TermStatistics
from scrubjay.text.fuzzy import grams_of
from tests.fakes.state import Housed, stored


class FakeLexicon(Housed):
    """The port `Lexicon`."""

    async def lexical_candidates(
        self, space: str, terms: Sequence[str], filter: Filter, *, limit: int
    ) -> list[tuple[int, float]]:
        """Passages that have some of the terms, those with more and rarer ones first."""
        asked = set(terms)
        known = await self.term_statistics(space, terms, state=filter.state)
        worth = {term: math.log(1 + known.passages / count) for term, count in known.frequencies.items() if count}
        found = [
            (passage_id(entry.number, passage.ordinal), sum(worth[term] for term in asked.intersection(passage.terms)))
            for entry in self._house.room(space).passing(filter)
            for passage in entry.passages
            if asked.intersection(passage.terms)
        ]
        return sorted(found, key=lambda one: (-one[1], -one[0]))[:limit]

    async def term_statistics(self, space: str, terms: Sequence[str], *, state: State) -> TermStatistics:
        """Statistics of one state of this space."""
        held = [
            passage.terms
            for entry in self._house.room(space).passing(Filter(state=state))
            for passage in entry.passages
        ]
        sets = [set(each) for each in held]
        return TermStatistics(
            passages=len(held),
            total_length=sum(len(each) for each in held),
            frequencies={term: sum(term in each for each in sets) for term in terms},
        )

    async def stored_passages(self, space: str, ids: Sequence[int], *, around: int = 0) -> list[StoredPassage]:
        """Passages by number, in the order asked for, then their neighbours."""
        entries = self._house.room(space).entries.values()
        known = {one.id: (one, entry.memory) for entry in entries for one in stored(entry)}
        wanted = [known[fromkey] for fromkey in dict.fromkeys(ids) if fromkey in known]
        rows = _rows((memory, one.date, one.id) for one, memory in known.values())
        found = [_between(one, rows[_row_of(memory)], around=around) for one, memory in wanted]
        others = dict.fromkeys(number for one in found for number in (*one.before, *one.after))
        return found + [known[other][0] for other in others if other not in ids]

    async def passage_numbers(self, space: str, memory_ids: Sequence[str]) -> list[int]:
        """The numbers of all passages of some memories."""
        entries = self._house.room(space).entries
        found = [entries[fromkey] for fromkey in dict.fromkeys(memory_ids) if fromkey in entries]
        return sorted(passage_id(entry.number, passage.ordinal) for entry in found for passage in entry.passages)

    async def session_neighbours(self, space: str, memory_ids: Sequence[str], *, each: int) -> dict[str, Neighbours]:
        """The memories around each in its session."""
        entries = self._house.room(space).entries
        names = {entry.number: one for one, entry in entries.items()}
        rows = _rows((entry.memory, to_micros(entry.memory.date), entry.number) for entry in entries.values())
        found: dict[str, Neighbours] = {}
        for one in [id_ for id_ in memory_ids if id_ in entries]:
            row = [number for _, number in rows[_row_of(entries[one].memory)]]
            before, after = _sides(row, row.index(entries[one].number), around=each)
            found[one] = Neighbours(before=tuple(names[n] for n in before), after=tuple(names[n] for n in after))
        return found

    async def similar_terms(self, space: str, term: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        """Terms that share the most trigrams with one."""
        entries = self._house.room(space).passing(Filter(state=state))
        counts = Counter(each for entry in entries for passage in entry.passages for each in set(passage.terms))
        grams = grams_of(term)
        shares = {each: len(grams & grams_of(each)) / len(grams | grams_of(each)) for each in counts}
        alike = [each for each, share in shares.items() if share]
        best = sorted(alike, key=lambda each: (-shares[each], -counts[each], each))
        return [(each, counts[each]) for each in best[: max(limit, 0)]]

    async def terms_with_prefix(self, space: str, prefix: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        """Terms that begin with a prefix, the most common first."""
        entries = self._house.room(space).passing(Filter(state=state))
        counts = Counter(each for entry in entries for passage in entry.passages for each in set(passage.terms))
        most = sorted((-count, each) for each, count in counts.items() if each.startswith(prefix))
        return [(each, -count) for count, each in most[: max(limit, 0)]]

    async def memories_matching(
        self, space: str, groups: Sequence[Sequence[str]], filter: Filter, *, limit: int
    ) -> list[LexicalMatch]:
        """Memories that have a term of the most groups."""
        known = await self.term_statistics(space, [one for group in groups for one in group], state=filter.state)
        weights = [_worth(group, known) for group in groups]
        found: list[tuple[int, LexicalMatch]] = []
        for entry in self._house.room(space).passing(filter):
            has = {
                passage_id(entry.number, passage.ordinal): [
                    place for place, group in enumerate(groups) if set(group) & set(passage.terms)
                ]
                for passage in entry.passages
            }
            all_of = {place for places in has.values() for place in places}
            best = min(has, key=lambda one: (-round(sum(weights[place] for place in has[one]), 9), one))
            told = LexicalMatch(best, len(all_of), round(sum(weights[place] for place in all_of), 9))
            found += [(entry.number, told)] if all_of else []
        found.sort(key=lambda one: (-one[1].groups, -one[1].weight, -one[0]))
        return [told for _, told in found[: max(limit, 0)]]

    async def facet_values(self, space: str, field: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        """The values of a facet and how many memories have each."""
        entries, start = self._house.room(space).passing(Filter(state=state)), facet(field, "")
        counts = Counter(each for entry in entries for each in facets_of(entry.memory) if each.startswith(start))
        most = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
        return [(each[len(start) :], count) for each, count in most[: max(limit, 0)]]

    async def known_facets(self, space: str, facets: Sequence[Facet], *, state: State) -> dict[Facet, int]:
        """How many memories have each facet."""
        entries = self._house.room(space).passing(Filter(state=state))
        counts = Counter(each for entry in entries for each in facets_of(entry.memory))
        return {each: counts[each] for each in facets if counts[each]}


def _worth(group: Sequence[str], known: TermStatistics) -> float:
    count = min(known.passages, sum(known.frequencies[term] for term in set(group)))
    return math.log(1 + known.passages / count) if count else 0.0


_Row = list[tuple[int, int]]


def _rows(placed: Iterable[tuple[Memory, int, int]]) -> dict[tuple[str, State], _Row]:
    """(date, number) of what stands in one row, in order, by thread and state."""
    rows: dict[tuple[str, State], _Row] = {}
    for memory, date, number in sorted(placed, key=lambda one: one[1:]):
        rows.setdefault(_row_of(memory), []).append((date, number))
    return rows


def _row_of(memory: Memory) -> tuple[str, State]:
    return memory.thread, memory.state


def _between(passage: StoredPassage, row: _Row, *, around: int) -> StoredPassage:
    before, after = _sides([number for _, number in row], row.index((passage.date, passage.id)), around=around)
    return passage._replace(before=tuple(before), after=tuple(after))


def _sides(row: list[int], place: int, *, around: int) -> tuple[list[int], list[int]]:
    """So many on either side of a place, nearest first."""
    around = max(around, 0)
    return row[:place][::-1][:around], row[place + 1 :][:around]
