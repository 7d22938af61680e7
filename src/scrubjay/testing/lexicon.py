"""Lexical search in the fake store: every passage is looked at."""

import math
from collections.abc import Sequence

from scrubjay.model.memory import State
from scrubjay.model.passage import StoredPassage
from scrubjay.model.query import Filter
from scrubjay.ports import TermStatistics
from scrubjay.testing.rooms import Housed, stored


class FakeLexicon(Housed):
    """The port `Lexicon`."""

    async def lexical_candidates(
        self, space: str, terms: Sequence[str], wanted: Filter, *, limit: int
    ) -> list[tuple[int, float]]:
        """Passages that have some of the terms, those with more and rarer ones first."""
        asked = set(terms)
        known = await self.term_statistics(space, terms, state=wanted.state)
        worth = {term: math.log(1 + known.passages / count) for term, count in known.frequencies.items() if count}
        found = [
            (passage.id, sum(worth[term] for term in asked.intersection(passage.terms)))
            for entry in self._house.room(space).passing(wanted)
            for passage in stored(entry)
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

    async def stored_passages(self, space: str, ids: Sequence[int]) -> list[StoredPassage]:
        """Passages by number, in the order asked for."""
        known = {one.id: one for entry in self._house.room(space).entries.values() for one in stored(entry)}
        return [known[one] for one in ids if one in known]
