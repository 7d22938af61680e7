"""Second stage: the words to look for. Those of the question, and what stands for those that nothing has."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from scrubjay.lookup.references import SoundReader
from scrubjay.model.memory import State
from scrubjay.model.query import MAX_NAME_WORDS, Filter, facet, names_of
from scrubjay.model.ranking import Ranking
from scrubjay.ports import RecordStore, TermStatistics
from scrubjay.recalling.understand import Understood
from scrubjay.text.grams import likeness
from scrubjay.text.related_words import is_word, related_terms
from scrubjay.text.tokens import terms_of

_WORD = re.compile(r"[^\s?!,;:()\"#]+")
_DIGIT = re.compile(r"\d")
# So many words of a question may be names.
_MOST_WORDS = 32
_MOST_NAMED = 4
# Of each thing so many names are looked for, and so many words of all of them.
_MOST_NAMES = 8
_MOST_ADDED = 16
# So many words of a question have kin, and words farther apart in meaning than this are none.
_MOST_AKIN = 16
_FARTHEST = 0.4
# So many kin of a word that nothing has are searched for in its place.
_SEARCHED_KIN = 5
# So many words of a question are taken for misspelt, and each for so many others.
_MOST_UNKNOWN = 8
_LOOKALIKES = 24
_MEANT = 3


class _Lexicon(Protocol):
    """Whoever counts terms and knows others that look like them."""

    async def term_statistics(self, space: str, terms: Sequence[str], *, state: State) -> TermStatistics: ...

    async def similar_terms(self, space: str, term: str, *, state: State, limit: int) -> list[tuple[str, int]]: ...


@dataclass(frozen=True, slots=True)
class _Counting:
    """A lexicon that counts some passages more than it has."""

    lexicon: _Lexicon
    beside: TermStatistics

    async def term_statistics(self, space: str, terms: Sequence[str], *, state: State) -> TermStatistics:
        counted, more = await self.lexicon.term_statistics(space, terms, state=state), self.beside
        both = {term: counted.frequencies.get(term, 0) + more.frequencies.get(term, 0) for term in terms}
        return TermStatistics(
            passages=counted.passages + more.passages,
            total_length=counted.total_length + more.total_length,
            frequencies={term: count for term, count in both.items() if count},
        )

    async def similar_terms(self, space: str, term: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        return await self.lexicon.similar_terms(space, term, state=state, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerms:
    """Terms with what each counts, the statistics to weigh them by, and in words what was added to the question.

    `kin` has, by a term of the question, how much others count where it is missing; `searched` are those of them that
    passages are searched for by, since nothing has the term itself.
    """

    worth: Mapping[str, float] = field(default_factory=dict[str, float])
    statistics: TermStatistics
    kin: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    added: tuple[str, ...] = ()

    searched: tuple[str, ...] = ()

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms that passages are searched for by, those of the question first."""
        return (*self.worth, *self.searched)


async def seek(
    asked: Understood, *, space: str, store: RecordStore, ranking: Ranking, beside: TermStatistics | None = None
) -> QueryTerms:
    """The terms of a question, of other names of what it names, and of words that look like its unknown ones.

    `beside` counts passages that are ranked too and that the store does not have.
    """
    state = asked.question.filter.state
    lexicon = store if beside is None else _Counting(store, beside)
    counted = await lexicon.term_statistics(space, asked.terms, state=state)
    named, tags = await _known(asked, space=space, store=store, ranking=ranking)
    tagged = frozenset(term for tag in tags for term in terms_of(tag))
    worth = {term: ranking.weights.tag if term in tagged else 1.0 for term in asked.terms}
    sought = QueryTerms(worth=worth, statistics=counted)
    if named:
        sought = await _with_names(sought, named, space=space, lexicon=lexicon, state=state, ranking=ranking)
    if counted.passages and ranking.uses("kin"):
        sought = await _with_kin(sought, space=space, lexicon=lexicon, state=state, ranking=ranking)
    # What has a digit in it is a number, a version or a key: none of them looks like another.
    unknown = [term for term in asked.terms if not counted.frequencies.get(term) and not _DIGIT.search(term)]
    unknown = unknown[:_MOST_UNKNOWN]
    if unknown and counted.passages and ranking.uses("typos"):
        sought = await _with_lookalikes(sought, unknown, space=space, lexicon=lexicon, state=state, ranking=ranking)
    return sought


async def _known(
    asked: Understood, *, space: str, store: RecordStore, ranking: Ranking
) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """All names of each thing that the question calls by one of several, and the tags that it names."""
    phrases = _phrases(asked.text) if ranking.uses("names") else []
    if not phrases:
        return (), ()
    state = asked.question.filter.state
    aliases, tags = ({facet(field, phrase): phrase for phrase in phrases} for field in ("alias", "tag"))
    known = await store.known_facets(space, [*aliases, *tags], state=state)
    found: dict[str, tuple[str, ...]] = {}
    for one in sorted(known.keys() & aliases.keys(), key=lambda one: (-len(one), one))[:_MOST_NAMED]:
        ids = await store.list_ids(space, Filter(alias=aliases[one], state=state), limit=_MOST_NAMED)
        found |= {memory.id: names_of(memory) for memory in await SoundReader(store, space=space).get(ids)}
    return tuple(found.values())[:_MOST_NAMED], tuple(tags[key] for key in known.keys() & tags.keys())


def _phrases(text: str) -> list[str]:
    """Up to three words in a row, as names and tags are made of."""
    words = _WORD.findall(text)[:_MOST_WORDS]
    spans = (words[at : at + size] for size in range(1, MAX_NAME_WORDS + 1) for at in range(len(words) - size + 1))
    phrases = (" ".join(span).strip(".'\u2019") for span in spans)
    return list(dict.fromkeys(phrase for phrase in phrases if phrase))


async def _with_names(
    sought: QueryTerms, named: Sequence[Sequence[str]], *, space: str, lexicon: _Lexicon, state: State, ranking: Ranking
) -> QueryTerms:
    names = [name for several in named for name in several[:_MOST_NAMES]]
    # All words of a name together are worth what one word is that it stands for.
    shares = {term: 1 / len(words) for name in names for words in [terms_of(name)] for term in words}
    terms = [term for term in shares if term not in sought.worth][:_MOST_ADDED]
    if not terms:
        return sought
    counted = await lexicon.term_statistics(space, terms, state=state)
    worth = {term: ranking.weights.alias * shares[term] for term in terms if counted.frequencies.get(term)}
    told = tuple(f"also known as {', '.join(several[:_MOST_NAMES])}" for several in named)
    return _added(sought, worth, counted.frequencies, told)


async def _with_kin(sought: QueryTerms, *, space: str, lexicon: _Lexicon, state: State, ranking: Ranking) -> QueryTerms:
    """Words that mean nearly the same. One that is more common than the word it stands for counts the less for it."""
    near = {term: related_terms(term) for term in list(sought.worth)[:_MOST_AKIN]}
    akin = dict.fromkeys(one.term for several in near.values() for one in several if one.term not in sought.worth)
    if not akin:
        return sought
    known = (await lexicon.term_statistics(space, list(akin), state=state)).frequencies
    statistics, kin, unknown = sought.statistics, dict[str, dict[str, float]](), dict[str, int]()
    for term, several in near.items():
        having = {one.term: known[one.term] for one in several if one.term in akin and known.get(one.term)}
        if not statistics.frequencies.get(term) and having:
            unknown[term] = min(statistics.passages, sum(having.values()))
        rarity = idf(statistics.passages, statistics.frequencies.get(term, 0))
        kin[term] = {
            one.term: ranking.weights.kin
            * (one.closeness - _FARTHEST)
            / (1 - _FARTHEST)
            * (min(1.0, idf(statistics.passages, having[one.term]) / rarity) if rarity else 1.0)
            for one in several
            if one.term in having
        }
    counted = replace(statistics, frequencies={**statistics.frequencies, **unknown})
    nearest = [one for term in unknown for one in sorted(kin[term], key=kin[term].__getitem__)[-_SEARCHED_KIN:]]
    return replace(sought, statistics=counted, kin=kin, searched=tuple(dict.fromkeys(nearest))[:_MOST_ADDED])


async def _with_lookalikes(
    sought: QueryTerms, unknown: Sequence[str], *, space: str, lexicon: _Lexicon, state: State, ranking: Ranking
) -> QueryTerms:
    for term in unknown:
        near = await lexicon.similar_terms(space, term, state=state, limit=_LOOKALIKES)
        alike = sorted(((likeness(term, known), count, known) for known, count in near), reverse=True)
        # A word that is spelt as it should be may still be a part of a longer one.
        meant = [
            (share, count, known)
            for share, count, known in alike
            if share > 0 and known not in sought.worth and (term in known or not is_word(term))
        ]
        worth = {known: ranking.weights.typo * share for share, _, known in meant[:_MEANT]}
        if worth:
            counts = {known: count for _, count, known in meant[:_MEANT]}
            sought = _added(sought, worth, counts, (f"{term} taken for {', '.join(worth)}",))
    return sought


def _added(
    sought: QueryTerms, worth: Mapping[str, float], counts: Mapping[str, int], told: tuple[str, ...]
) -> QueryTerms:
    statistics = replace(sought.statistics, frequencies={**sought.statistics.frequencies, **counts})
    return replace(sought, worth={**sought.worth, **worth}, statistics=statistics, added=(*sought.added, *told))


def idf(passages: int, having: int) -> float:
    """What a term tells that so many passages have: the more, the fewer they are; nothing when none has it."""
    return math.log(1 + (passages - having + 0.5) / (having + 0.5)) if having else 0.0
