"""The counts that ranking needs: the difference that a commit makes to them, by space and state."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence

from scrubjay.model.memory import State
from scrubjay.storage.postgres.commit.rows import Record, RowBatch, written
from scrubjay.storage.postgres.words import digest_of, grams_for, words_of
from scrubjay.storage.rows import STATE_NUMBERS
from scrubjay.text.grams import grams_of


class Counts:
    """The differences of a whole commit."""

    def __init__(self, space: str) -> None:
        self._space = space
        self._words: Counter[int] = Counter()
        self._added: dict[int, tuple[State, str]] = {}
        self._facets: Counter[tuple[State, str]] = Counter()
        self._totals: defaultdict[State, list[int]] = defaultdict(lambda: [0, 0, 0])

    def add(self, state: State, passages: Sequence[Sequence[str]], facets: Iterable[str]) -> None:
        """Count a memory with passages of these terms."""
        self._count(state, passages, facets, sign=1)

    def remove(self, state: State, passages: Sequence[Sequence[str]], facets: Iterable[str]) -> None:
        """Count a memory with passages of these terms no longer."""
        self._count(state, passages, facets, sign=-1)

    def put(self, document: RowBatch, *, new_words: Container[int] = ()) -> None:
        """Add the rows of the differences; terms and facets without a memory are deleted."""
        document.put(
            "vocabulary", [self._entry(word, *added) for word, added in self._added.items() if word in new_words]
        )
        document.put("terms", [{"word": word, "passages": count} for word, count in self._words.items() if count])
        document.put("facets", [self._facet(*key, count) for key, count in self._facets.items() if count])
        document.put(
            "corpus_totals",
            [
                {"state": STATE_NUMBERS[state], "memories": memories, "passages": passages, "length": length}
                for state, (memories, passages, length) in self._totals.items()
            ],
        )
        document.put("unused_words", [word for word, count in self._words.items() if count < 0])
        document.put("unused_facets", [self._facet(*key, count) for key, count in self._facets.items() if count < 0])

    def _entry(self, word: int, state: State, term: str) -> Record:
        grams = grams_for(self._space, state, grams_of(term))
        return {"state": STATE_NUMBERS[state], "word": word, "term": term, "grams": grams}

    def _facet(self, state: State, facet: str, count: int) -> Record:
        digest = written(digest_of(facet))
        return {"state": STATE_NUMBERS[state], "digest": digest, "facet": facet, "memories": count}

    def _count(self, state: State, passages: Sequence[Sequence[str]], facets: Iterable[str], *, sign: int) -> None:
        words = words_of(self._space, state, (term for terms in passages for term in terms))
        if sign > 0:
            self._added |= {word: (state, term) for term, word in words.items()}
        for terms in passages:
            for term in set(terms):
                self._words[words[term]] += sign
        for facet in facets:
            self._facets[state, facet] += sign
        totals = self._totals[state]
        for place, count in enumerate((1, len(passages), sum(map(len, passages)))):
            totals[place] += sign * count
