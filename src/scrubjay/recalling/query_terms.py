"""Second stage: the terms and facets to search for.

These are the words of the question, other names of the things it names, related words, likely spellings of unknown
words, and other spellings of the entities and tags in its filter.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Protocol

from scrubjay.lazy import dataclass
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import MAX_NAME_WORDS, Facet, Filter, facet, names_of, tag_facet
from scrubjay.model.ranking import Ranking
from scrubjay.model.results import Hit
from scrubjay.model.rules import COLLECTION, TAGS
from scrubjay.ports import RecordStore, TermStatistics
from scrubjay.recalling.understand import ParsedQuery
from scrubjay.text.fuzzy import likeness
from scrubjay.text.languages import ENGLISH
from scrubjay.text.names import spellings_of
from scrubjay.text.related_words import is_word, related_terms
from scrubjay.text.tags.spelling import normalize_tag
from scrubjay.text.tags.synonyms import Synonyms, synonyms_from
from scrubjay.text.tokens import LANGUAGE_TERMS, light_terms, other_stems, terms_of

_WORD = re.compile(r"[^\s?!,;:()\"#]+")
_DIGIT = re.compile(r"\d")
# So many words of a question are looked up as names, and so many named things are used.
_MAX_NAME_WORDS = 32
_MAX_NAMED = 4
_MAX_LABELS = 50
# Of each thing so many names are searched for, and so many words of all of them.
_MAX_NAMES = 8
_MAX_ADDED = 16
# So many words of a question get related words, and a related word must be at least this close in meaning.
_MAX_RELATED = 16
_MIN_CLOSENESS = 0.4
# So many related words are searched for instead of a word that no passage has.
_MAX_REPLACEMENTS = 5
# So many words of a question are treated as misspelt, each with so many candidates and corrections.
_MAX_UNKNOWN = 8
_MAX_LOOKALIKES = 24
_MAX_CORRECTIONS = 3
# A language of so many of the passages is one of the space.
_MIN_LANGUAGE_SHARE = 0.05
# Languages that write compounds as one word, and the least length of a part.
_COMPOUNDING = frozenset({"german", "dutch"})
_MIN_PART = 4
# The weight of a longer word that begins or ends with an unknown word, in such a language: pocket money is money.
_COMPOUND = 0.8
# Of a word such as "needs", in a language that the bundled model does not read: in few memories, it would decide.
_LIGHT = 0.4
_MIN_MISSPELT = 7


class _Lexicon(Protocol):
    """Term statistics, and terms with a similar spelling."""

    async def term_statistics(self, space: str, terms: Sequence[str], *, state: State) -> TermStatistics: ...

    async def similar_terms(self, space: str, term: str, *, state: State, limit: int) -> list[tuple[str, int]]: ...


@dataclass(frozen=True, slots=True)
class _CombinedLexicon:
    """A lexicon that also counts passages which it does not have."""

    lexicon: _Lexicon
    extra: TermStatistics

    async def term_statistics(self, space: str, terms: Sequence[str], *, state: State) -> TermStatistics:
        stored, extra = await self.lexicon.term_statistics(space, terms, state=state), self.extra
        counts = {term: stored.frequencies.get(term, 0) + extra.frequencies.get(term, 0) for term in terms}
        return TermStatistics(
            passages=stored.passages + extra.passages,
            total_length=stored.total_length + extra.total_length,
            frequencies={term: count for term, count in counts.items() if count},
        )

    async def similar_terms(self, space: str, term: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        return await self.lexicon.similar_terms(space, term, state=state, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerms:
    """Terms with their weights, the statistics to score them, and a description of each expansion.

    `related` has, by a term of the question, the weights of other terms where it is missing. `replacements` are those
    of them that passages are searched for, since no passage has the term itself.
    """

    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    statistics: TermStatistics
    related: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    expansions: tuple[str, ...] = ()
    replacements: tuple[str, ...] = ()

    @property
    def search_terms(self) -> tuple[str, ...]:
        """The terms that passages are searched for, those of the question first."""
        return (*self.weights, *self.replacements)

    def add(self, weights: Mapping[str, float], counts: Mapping[str, int], expansions: Sequence[str]) -> "QueryTerms":
        """Return these terms with more of them."""
        statistics = replace(self.statistics, frequencies={**self.statistics.frequencies, **counts})
        return replace(
            self,
            weights={**self.weights, **weights},
            statistics=statistics,
            expansions=(*self.expansions, *expansions),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Expansion:
    """Where and how terms are looked up."""

    space: str
    state: State
    lexicon: _Lexicon
    ranking: Ranking

    async def count(self, terms: Sequence[str]) -> TermStatistics:
        return await self.lexicon.term_statistics(self.space, terms, state=self.state)


async def expand_terms(
    query: ParsedQuery, *, space: str, store: RecordStore, ranking: Ranking, extra: TermStatistics | None = None
) -> QueryTerms:
    """Return the terms of a question, with those of other names, related words and corrected spellings.

    `extra` counts passages that are ranked too and that the store does not have.
    """
    expansion = _Expansion(
        space=space,
        state=query.question.filter.state,
        lexicon=store if extra is None else _CombinedLexicon(store, extra),
        ranking=ranking,
    )
    statistics = await expansion.count((*query.terms, *LANGUAGE_TERMS.values()))
    names, tags = await _find_names_and_tags(query, space=space, store=store, ranking=ranking)
    tag_terms = frozenset(term for tag in tags for term in terms_of(tag))
    light = light_terms(query.language)
    weights = {
        term: ranking.weights.tag if term in tag_terms else _LIGHT if term in light else 1.0 for term in query.terms
    }
    terms = QueryTerms(weights=weights, statistics=statistics)
    if names:
        terms = await _add_names(terms, names, expansion)
    if statistics.passages and ranking.uses("kin") and query.language in ("", ENGLISH):
        terms = await _add_related(terms, expansion)
    terms, stemmed = await _add_stems(terms, _other_stems(query, statistics), expansion)
    # A word with a digit is a number, a version or a key: a similar one is a different one.
    missing = (term for term in query.terms if not statistics.frequencies.get(term) and not _DIGIT.search(term))
    unknown = [term for term in missing if term not in stemmed]
    if unknown and statistics.passages and ranking.uses("typos"):
        if query.language in _COMPOUNDING:
            terms = await _add_parts(terms, unknown[:_MAX_UNKNOWN], expansion)
        terms = await _add_corrections(terms, unknown[:_MAX_UNKNOWN], expansion, language=query.language)
    return terms


async def expand_filter(filter: Filter, *, spaces: Sequence[str], store: RecordStore) -> Filter:
    """Return a filter that also matches other spellings of its entity and tags that the spaces use."""
    if not filter.entity and not filter.tags and not filter.any_tags:
        return filter
    also: dict[Facet, tuple[Facet, ...]] = {}
    for space in spaces:
        alternatives = await _alternative_facets(filter, space=space, store=store)
        facets = [other for others in alternatives.values() for other in others]
        existing = await store.known_facets(space, facets, state=filter.state) if facets else {}
        for original, others in alternatives.items():
            used = [other for other in others if other in existing]
            if not used and original == facet("entity", filter.entity):
                used = await _longer_names(original, space=space, store=store, filter=filter)
            also[original] = tuple(dict.fromkeys((*also.get(original, ()), *used)))
    also = {original: others for original, others in also.items() if others}
    return replace(filter, also=also) if also else filter


def is_about(memory: Memory, filter_: Filter) -> bool:
    """Check whether a memory is about the entity of a filter, or about none."""
    entities = _entities_of(filter_)
    return not entities or not memory.entity or facet("entity", memory.entity) in entities


def _entities_of(filter_: Filter) -> tuple[Facet, ...]:
    if not filter_.entity:
        return ()
    entity = facet("entity", filter_.entity)
    return (entity, *filter_.also.get(entity, ()))


def report_names(filter_: Filter, hits: Sequence[Hit]) -> list[str]:
    """Say whom the hits are about where nothing is filed under the name in the filter, only under longer ones."""
    if not filter_.entity:
        return []
    entity, *others = _entities_of(filter_)
    names = list(dict.fromkeys(name for hit in hits for name in hit.entities if facet("entity", name) in others))
    is_longer = all(facet("entity", name).startswith(f"{entity} ") for name in names)
    if not names or not is_longer or any(facet("entity", name) == entity for hit in hits for name in hit.entities):
        return []
    return [f"nothing is filed under {filter_.entity[:100]!r}: these are about {', '.join(names)}"]


async def _longer_names(entity: Facet, *, space: str, store: RecordStore, filter: Filter) -> list[Facet]:
    """Return the entities whose first word a name is, if the space has none of that name: Marta for Marta Keller."""
    if await store.known_facets(space, [entity], state=filter.state):
        return []
    _, _, name = entity.partition("=")
    names = await store.labels(space, "entity", prefix=name, limit=_MAX_LABELS)
    return [facet("entity", longer) for longer in names if longer.startswith(f"{name} ")][:_MAX_NAMED]


def idf(passages: int, having: int) -> float:
    """Return the inverse document frequency of a term that `having` of all passages have; 0 if none has it."""
    return math.log(1 + (passages - having + 0.5) / (having + 0.5)) if having else 0.0


async def _find_names_and_tags(
    query: ParsedQuery, *, space: str, store: RecordStore, ranking: Ranking
) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Return all names of each thing that the question calls by one of its names, and the tags that it contains."""
    phrases = _phrases(query.text) if ranking.uses("names") else []
    if not phrases:
        return (), ()
    state = query.question.filter.state
    # A facet without its field: those of both are found with one call for each phrase.
    values = {facet("", phrase): phrase for phrase in phrases}
    aliases = {f"alias{value}": phrase for value, phrase in values.items()}
    tags = {f"tag{value}": phrase for value, phrase in values.items()}
    existing = await store.known_facets(space, [*aliases, *tags], state=state)
    if not existing:
        return (), ()
    names: dict[str, tuple[str, ...]] = {}
    for key in sorted(existing.keys() & aliases.keys(), key=lambda key: (-len(key), key))[:_MAX_NAMED]:
        ids = await store.list_ids(space, Filter(alias=aliases[key], state=state), limit=_MAX_NAMED)
        names |= {memory.id: names_of(memory) for memory in await TolerantReader(store, space=space).get(ids)}
    return tuple(names.values())[:_MAX_NAMED], tuple(tags[key] for key in existing.keys() & tags.keys())


def _phrases(text: str) -> list[str]:
    """Return all sequences of up to three words: names and tags are no longer."""
    words = _WORD.findall(text)[:_MAX_NAME_WORDS]
    phrases = [
        " ".join(words[at : at + size]).strip(".'\u2019")
        for size in range(1, MAX_NAME_WORDS + 1)
        for at in range(len(words) - size + 1)
    ]
    return list(dict.fromkeys(filter(None, phrases)))


async def _add_names(terms: QueryTerms, things: Sequence[Sequence[str]], expansion: _Expansion) -> QueryTerms:
    names = [name for names in things for name in names[:_MAX_NAMES]]
    # All words of a name together weigh as much as the one word that they replace.
    shares = {term: 1 / len(words) for name in names for words in [terms_of(name)] for term in words}
    added = [term for term in shares if term not in terms.weights][:_MAX_ADDED]
    if not added:
        return terms
    frequencies = (await expansion.count(added)).frequencies
    weights = {term: expansion.ranking.weights.alias * shares[term] for term in added if frequencies.get(term)}
    return terms.add(weights, frequencies, [f"also known as {', '.join(names[:_MAX_NAMES])}" for names in things])


async def _add_related(terms: QueryTerms, expansion: _Expansion) -> QueryTerms:
    """Add words with nearly the same meaning; one that is more common than the original weighs less."""
    candidates = {term: related_terms(term) for term in list(terms.weights)[:_MAX_RELATED]}
    weights = terms.weights
    others = dict.fromkeys([word.term for words in candidates.values() for word in words if word.term not in weights])
    if not others:
        return terms
    frequencies = (await expansion.count(list(others))).frequencies
    statistics, related, unknown = terms.statistics, dict[str, dict[str, float]](), dict[str, int]()
    for term, words in candidates.items():
        counted = [(word, count) for word in words if (count := frequencies.get(word.term))]
        if not statistics.frequencies.get(term) and counted:
            unknown[term] = min(statistics.passages, sum([count for _, count in counted]))
        rarity = idf(statistics.passages, statistics.frequencies.get(term, 0))
        related[term] = {
            word.term: expansion.ranking.weights.kin
            * (word.closeness - _MIN_CLOSENESS)
            / (1 - _MIN_CLOSENESS)
            * (min(1.0, idf(statistics.passages, count) / rarity) if rarity else 1.0)
            for word, count in counted
        }
    if unknown:
        statistics = replace(statistics, frequencies={**statistics.frequencies, **unknown})
    closest = [
        other for term in unknown for other in sorted(related[term], key=related[term].__getitem__)[-_MAX_REPLACEMENTS:]
    ]
    replacements = tuple(dict.fromkeys(closest))[:_MAX_ADDED]
    return replace(terms, statistics=statistics, related=related, replacements=replacements)


def _other_stems(query: ParsedQuery, statistics: TermStatistics) -> dict[str, tuple[str, ...]]:
    """Return the stems of the question's terms in the languages of the space."""
    stems = dict(query.other_stems)
    for language, mark in LANGUAGE_TERMS.items():
        if (
            statistics.frequencies.get(mark, 0) >= _MIN_LANGUAGE_SHARE * statistics.passages
            and query.language != language
        ):
            for term, stem in other_stems(query.text, language).items():
                if term in query.terms:
                    stems[term] = tuple(dict.fromkeys((*stems.get(term, ()), stem)))
    return stems


async def _add_stems(
    terms: QueryTerms, stems: Mapping[str, Sequence[str]], expansion: _Expansion
) -> tuple[QueryTerms, frozenset[str]]:
    """Add the stems of other languages: where a term is missing, they count as much. Return the terms with some."""
    others = dict.fromkeys(stem for forms in stems.values() for stem in forms if stem not in terms.weights)
    if not others:
        return terms, frozenset()
    frequencies = (await expansion.count(list(others))).frequencies
    related = {term: dict(shares) for term, shares in terms.related.items()}
    counts: dict[str, int] = {}
    for term, forms in stems.items():
        existing = {stem: 1.0 for stem in forms if frequencies.get(stem) and stem not in terms.weights}
        if existing:
            related[term] = related.get(term, {}) | existing
            # As frequent as all its forms: some passages have several of them.
            counts[term] = max(terms.statistics.frequencies.get(term, 0), *(frequencies[stem] for stem in existing))
    statistics = replace(terms.statistics, frequencies={**terms.statistics.frequencies, **counts})
    used = dict.fromkeys(stem for term in counts for stem in related[term] if stem in others)
    replacements = (*terms.replacements, *used)[:_MAX_ADDED]
    return replace(terms, statistics=statistics, related=related, replacements=replacements), frozenset(counts)


async def _add_parts(terms: QueryTerms, unknown: Sequence[str], expansion: _Expansion) -> QueryTerms:
    """Add the words that an unknown word is composed of, as far as passages have them."""
    parts = {term: _parts_of(term) for term in unknown}
    frequencies = (await expansion.count([part for each in parts.values() for part in each])).frequencies
    for term, each in parts.items():
        # The longest beginning and the longest end.
        first = next((part for part in each if term.startswith(part) and frequencies.get(part)), "")
        last = next((part for part in each if not term.startswith(part) and frequencies.get(part)), "")
        weights = {part: len(part) / len(term) for part in (first, last) if part and part not in terms.weights}
        if weights:
            counts = {part: frequencies[part] for part in weights}
            terms = terms.add(weights, counts, [f"{term} taken for {', '.join(weights)}"])
    return terms


def _parts_of(term: str) -> list[str]:
    """Return the beginnings and ends of a word that can be words, the longest first."""
    sizes = range(len(term) - 3, _MIN_PART - 1, -1)
    return [*(term[:size] for size in sizes), *(term[-size:] for size in sizes)]


async def _add_corrections(
    terms: QueryTerms, unknown: Sequence[str], expansion: _Expansion, *, language: str
) -> QueryTerms:
    for term in unknown:
        similar = await expansion.lexicon.similar_terms(
            expansion.space, term, state=expansion.state, limit=_MAX_LOOKALIKES
        )
        scored = sorted(((likeness(term, other), count, other) for other, count in similar), reverse=True)
        # A correctly spelt word can still be a part of a longer one.
        corrections = [
            (score, count, other)
            for score, count, other in scored
            if score > 0 and other not in terms.weights and (term in other or not _may_be_right(term, language))
        ][:_MAX_CORRECTIONS]
        if corrections:
            weights = {other: expansion.ranking.weights.typo * score for score, _, other in corrections}
            if language in _COMPOUNDING:
                weights |= {other: _COMPOUND for other in weights if other.startswith(term) or other.endswith(term)}
            counts = {other: count for _, count, other in corrections}
            terms = terms.add(weights, counts, [f"{term} taken for {', '.join(weights)}"])
    return terms


def _may_be_right(term: str, language: str) -> bool:
    """Return whether a word is spelt correctly; of other languages only long ones count as misspelt."""
    return is_word(term) if language in ("", ENGLISH) else len(term) < _MIN_MISSPELT


async def _alternative_facets(filter: Filter, *, space: str, store: RecordStore) -> dict[Facet, tuple[Facet, ...]]:
    """Return other spellings of the facets of a filter."""
    alternatives: dict[Facet, tuple[Facet, ...]] = {}
    if filter.entity:
        alternatives[facet("entity", filter.entity)] = tuple(
            facet("entity", spelling) for spelling in spellings_of(filter.entity)
        )
    tags = dict.fromkeys((*filter.tags, *filter.any_tags))
    synonyms = synonyms_from(await store.document(space, COLLECTION, TAGS)) if tags else Synonyms()
    return alternatives | {tag_facet(tag): tuple(map(tag_facet, _stored_tags(tag, synonyms))) for tag in tags}


def _stored_tags(tag: str, synonyms: Synonyms) -> tuple[str, ...]:
    """Return the forms in which the write path stores a tag: in its usual spelling, or as its primary synonym."""
    plain = normalize_tag(tag.lstrip("# ").lower())
    synonym = synonyms.primary(plain)
    return (plain,) if synonym is None or synonym.keeps_variant else (plain, synonym.primary)
