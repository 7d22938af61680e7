"""Second stage: the words to look for. Those of the question, and what stands for those that nothing has."""

import asyncio
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from scrubjay.model.memory import State
from scrubjay.model.query import Facet, Filter, facet, names_of
from scrubjay.model.ranking import Ranking
from scrubjay.ports import Lexicon, RecordStore, TermStatistics
from scrubjay.recalling.understand import Understood
from scrubjay.text.grams import likeness
from scrubjay.text.kin import is_word, kin_of
from scrubjay.text.tokens import terms_of

_WORD = re.compile(r"[^\s?!,;:()\"]+")
_DIGIT = re.compile(r"\d")
# A name has so many words at most, and so many words of a question are looked at.
_LONGEST_NAME = 3
_MOST_WORDS = 32
_MOST_NAMED = 4
# So many words of a question have kin, and words farther apart in meaning than this are none.
_MOST_AKIN = 16
_FARTHEST = 0.4
# So many words of a question are taken for misspelt, and each for so many others.
_MOST_UNKNOWN = 8
_LOOKALIKES = 24
_MEANT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """Terms with what each counts, the statistics to weigh them by, and in words what was added to the question.

    `kin` has, by a term of the question, how much others count where it is missing.
    """

    worth: Mapping[str, float] = field(default_factory=dict[str, float])
    statistics: TermStatistics
    kin: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    added: tuple[str, ...] = ()

    @property
    def terms(self) -> tuple[str, ...]:
        """All terms, those of the question first."""
        return tuple(self.worth)


async def seek(asked: Understood, *, space: str, store: RecordStore, ranking: Ranking) -> Sought:
    """The terms of a question, of other names of what it names, and of words that look like its unknown ones."""
    state = asked.question.filter.state
    counted, named = await asyncio.gather(
        store.term_statistics(space, asked.terms, state=state), _named(asked, space=space, store=store, ranking=ranking)
    )
    sought = Sought(worth=dict.fromkeys(asked.terms, 1.0), statistics=counted)
    if named:
        sought = await _with_names(sought, named, space=space, lexicon=store, state=state, ranking=ranking)
    if counted.passages and ranking.uses("kin"):
        sought = await _with_kin(sought, space=space, lexicon=store, state=state, ranking=ranking)
    # What has a digit in it is a number, a version or a key: none of them looks like another.
    unknown = [term for term in asked.terms if not counted.frequencies.get(term) and not _DIGIT.search(term)]
    unknown = unknown[:_MOST_UNKNOWN]
    if unknown and counted.passages and ranking.uses("typos"):
        sought = await _with_lookalikes(sought, unknown, space=space, lexicon=store, state=state, ranking=ranking)
    return sought


async def _named(asked: Understood, *, space: str, store: RecordStore, ranking: Ranking) -> tuple[tuple[str, ...], ...]:
    """All names of each thing that the question calls by one of several."""
    phrases = _phrases(asked.text) if ranking.uses("names") else {}
    if not phrases:
        return ()
    state = asked.question.filter.state
    known = await store.known_facets(space, list(phrases), state=state)
    found: dict[str, tuple[str, ...]] = {}
    for one in sorted(known, key=len, reverse=True)[:_MOST_NAMED]:
        wanted = Filter(alias=phrases[one], state=state)
        ids = await store.list_ids(space, wanted, limit=_MOST_NAMED)
        found |= {memory.id: names_of(memory) for memory in (await store.get(space, ids)).values()}
    return tuple(found.values())


def _phrases(text: str) -> dict[Facet, str]:
    """Up to three words in a row, by the facet that a name of something would be."""
    words = _WORD.findall(text)[:_MOST_WORDS]
    spans = (words[at : at + size] for size in range(1, _LONGEST_NAME + 1) for at in range(len(words) - size + 1))
    phrases = [" ".join(span).strip(".'\u2019") for span in spans]
    return {facet("alias", phrase): phrase for phrase in phrases if phrase}


async def _with_names(
    sought: Sought, named: Sequence[Sequence[str]], *, space: str, lexicon: Lexicon, state: State, ranking: Ranking
) -> Sought:
    names = [name for several in named for name in several]
    terms = [term for name in names for term in terms_of(name) if term not in sought.worth]
    if not terms:
        return sought
    counted = await lexicon.term_statistics(space, terms, state=state)
    worth = {term: ranking.weights.alias for term in terms if counted.frequencies.get(term)}
    told = tuple(f"also known as {', '.join(several)}" for several in named)
    return _added(sought, worth, counted.frequencies, told)


async def _with_kin(sought: Sought, *, space: str, lexicon: Lexicon, state: State, ranking: Ranking) -> Sought:
    """Words that mean nearly the same. One that is more common than the word it stands for counts the less for it."""
    near = {term: kin_of(term) for term in list(sought.worth)[:_MOST_AKIN]}
    akin = dict.fromkeys(one.term for several in near.values() for one in several if one.term not in sought.worth)
    if not akin:
        return sought
    known = (await lexicon.term_statistics(space, list(akin), state=state)).frequencies
    statistics, kin, unknown = sought.statistics, dict[str, dict[str, float]](), dict[str, int]()
    for term, several in near.items():
        having = {one.term: known[one.term] for one in several if one.term in akin and known.get(one.term)}
        if not statistics.frequencies.get(term) and having:
            unknown[term] = sum(having.values())
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
    return replace(sought, statistics=counted, kin=kin)


async def _with_lookalikes(
    sought: Sought, unknown: Sequence[str], *, space: str, lexicon: Lexicon, state: State, ranking: Ranking
) -> Sought:
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


def _added(sought: Sought, worth: Mapping[str, float], counts: Mapping[str, int], told: tuple[str, ...]) -> Sought:
    statistics = replace(sought.statistics, frequencies={**sought.statistics.frequencies, **counts})
    return replace(sought, worth={**sought.worth, **worth}, statistics=statistics, added=(*sought.added, *told))


def idf(passages: int, having: int) -> float:
    """What a term tells that so many passages have: the more, the fewer they are; nothing when none has it."""
    return math.log(1 + (passages - having + 0.5) / (having + 0.5)) if having else 0.0
