"""The stored statements that a new one is compared with: near in meaning, similar in words, or of the same entity."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from scrubjay.detection.describe import MemoryStatement
from scrubjay.detection.neighbours import EmbeddedMemory, NeighbourSource
from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage, StoredPassage, Vector
from scrubjay.model.query import Filter
from scrubjay.text.claims.pairs import may_change
from scrubjay.text.claims.relations import alternative_words
from scrubjay.text.claims.statements import statements_of
from scrubjay.text.tokens import running_terms_of, terms_of

__all__ = [
    "READ_FROM", "Candidate", "CandidateSearch", "NewStatement", "agree", "most_words_in_common", "nearest_statements",
    "search_candidates", "select_candidates", "share_place", "statements_in_passage",
]  # fmt: skip

_NEAREST = 8
_MAX_SAME_ENTITY = 6
# Of one text only the statements with the most words in common are compared.
_MAX_OF_PASSAGE = 2
_MAX_OF_SAME_ENTITY = 4
# A longer content is a document: only the slice that the search found is compared.
_MAX_CONTENT = 20_000
_MAX_OBSERVATIONS = 200
# A longer statement is a document too, such as a code block or an observation without an end.
_MAX_STATEMENT = 4_000
# From this cosine on two statements are compared whatever their words; below it they must share words.
_NEAR = 0.5
_VERY_NEAR = 0.65
READ_FROM = 0.45
"""From this cosine on a model that reads two statements together is asked about them."""
_MIN_SHARE = 0.3
_MIN_WORDS = 2
_FEW_TERMS = 3
_CHANGE_WORDS = frozenset(running_terms_of("switched replaced migrated left quit sold cancelled stopped instead"))
# A word for the same relation counts as much as so many common words.
_SAME_RELATION = 2
_WORD = re.compile(r"\w{3,}")
_ALL = Filter()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStatement:
    """A new statement, its passage, and whether the passage contains nothing else."""

    statement: MemoryStatement
    passage: Passage | None
    is_alone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement of another memory that may be about the same subject, and its cosine if known."""

    memory: Memory
    statement: MemoryStatement
    cosine: float | None = None


class _Hit(NamedTuple):
    """A passage that the search found for the new statement of a number."""

    number: int
    passage: StoredPassage
    cosine: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSearch:
    """The result of a search: hits, memories of the same entity, and the memories of both by id.

    `own` are the numbers of the written memory's own observations among the passages found.
    """

    hits: tuple[_Hit, ...] = ()
    own: frozenset[int] = frozenset()
    same_entity: tuple[str, ...] = ()
    memories: Mapping[str, Memory] = field(default_factory=dict[str, Memory])
    _statements: dict[int, list[MemoryStatement]] = field(
        default_factory=dict[int, list[MemoryStatement]], init=False, compare=False
    )

    def statements_in(self, other: Memory, passage: StoredPassage, *, now: datetime) -> list[MemoryStatement]:
        """Return the statements in a passage; the rules and the judgement of pairs ask for the same ones."""
        texts = self._statements.get(passage.id)
        if texts is None:
            texts = self._statements[passage.id] = statements_in_passage(other, passage, now=now)
        return texts


async def search_candidates(
    new: Sequence[NewStatement], *, written: EmbeddedMemory, source: NeighbourSource, now: datetime
) -> CandidateSearch:
    """Search for statements like the new ones; without an index, by words only."""
    memory, space = written.memory, written.memory.space
    searches = [_search(statement, written.vectors, space=space, source=source) for statement in new]
    if len(searches) == 1 and not _is_record(memory):
        scored, same_entity = [await searches[0]], list[str]()
    else:
        # All at once: with a remote store each is a round trip.
        scored, same_entity = await asyncio.gather(asyncio.gather(*searches), _same_entity(memory, source=source))
    scored = [
        _with_same_relation(statement, hits, memory=memory, source=source)
        for statement, hits in zip(new, scored, strict=True)
    ]
    numbers = list(dict.fromkeys(number for hits in scored for number, _ in hits))
    passages = {passage.id: passage for passage in (await source.stored_passages(space, numbers) if numbers else [])}
    terms = [_StatementTerms.of(statement.statement.text) for statement in new]
    hits = [
        _Hit(number=at, passage=passages[number], cosine=cosine)
        for at, statement_hits in enumerate(scored)
        for number, cosine in statement_hits
        if number in passages and passages[number].memory_id != memory.id
        # An unrelated memory need not be read.
        if (source.has_pair_model and cosine is not None and cosine >= READ_FROM)
        or terms[at].is_worth_reading(passages[number], cosine)
    ]
    own = {passage.observation for passage in passages.values() if passage.memory_id == memory.id}
    ids = list(dict.fromkeys([*(hit.passage.memory_id for hit in hits), *same_entity]))
    memories = await source.get(space, ids) if ids else {}
    return CandidateSearch(
        hits=tuple(hits),
        own=frozenset(number for number in own if number is not None),
        same_entity=tuple(same_entity),
        memories={other.id: other for other in memories.values() if _is_comparable(other, memory, now=now)},
    )


def select_candidates(
    search: CandidateSearch, new: Sequence[NewStatement], *, memory: Memory, now: datetime
) -> dict[int, list[Candidate]]:
    """Return the statements to compare with each new one, by its number, the nearest first.

    Those of another project or scope are left out: both hold, whatever they say.
    """
    selected: defaultdict[int, dict[tuple[str, str], Candidate]] = defaultdict(dict)
    for hit in search.hits:
        other = search.memories.get(hit.passage.memory_id)
        if other is None or not share_place(memory, other):
            continue
        written = new[hit.number]
        texts = search.statements_in(other, hit.passage, now=now)
        cosine = hit.cosine if len(texts) == 1 and written.is_alone else None
        # Texts that the model finds near may share no word, as in a language written without spaces.
        is_near = (cosine is not None and cosine >= _NEAR) or (
            len(texts) == 1 and alternative_words(written.statement.text)
        )
        least = 0 if is_near else _MIN_WORDS
        for statement in most_words_in_common(written.statement, texts, most=_MAX_OF_PASSAGE, least=least):
            selected[hit.number].setdefault(
                (other.id, statement.text), Candidate(memory=other, statement=statement, cosine=cosine)
            )
    same_entity = [search.memories[memory_id] for memory_id in search.same_entity if memory_id in search.memories]
    for other in same_entity:
        if not share_place(memory, other):
            continue
        texts = _current_statements(other, now=now)
        for number, written in enumerate(new):
            for statement in most_words_in_common(
                written.statement, texts, most=_MAX_OF_SAME_ENTITY, least=_MIN_WORDS
            ):  # fmt: skip
                selected[number].setdefault((other.id, statement.text), Candidate(memory=other, statement=statement))
    return {number: list(candidates.values()) for number, candidates in selected.items()}


def share_place(memory: Memory, other: Memory) -> bool:
    """Check that two memories are not of different projects or scopes."""
    return agree(memory.project, other.project) and agree(memory.scope, other.scope)


def agree(value: str, other: str) -> bool:
    """Check that two labels are the same, or one is missing."""
    return not value or not other or value.casefold() == other.casefold()


def nearest_statements(
    search: CandidateSearch, number: int, *, now: datetime
) -> Iterator[tuple[Memory, MemoryStatement, float | None]]:
    """Return the statements nearest to a new one, one for each memory, with the cosine of their passage if known."""
    seen = set[str]()
    for hit in search.hits:
        other = search.memories.get(hit.passage.memory_id)
        if hit.number != number or other is None or other.id in seen:
            continue
        texts = search.statements_in(other, hit.passage, now=now)
        if texts:
            seen.add(other.id)
            yield other, texts[0], hit.cosine


def most_words_in_common(
    statement: MemoryStatement, others: Sequence[MemoryStatement], *, most: int, least: int = 1
) -> list[MemoryStatement]:
    """Return the statements that have the most words in common with one, at least so many."""
    if not others:
        return []
    words, relation_words = _words(statement.text), set(alternative_words(statement.text) or ())
    shared: list[tuple[int, MemoryStatement]] = []
    for other in others:
        if len(other.text) > _MAX_STATEMENT:
            continue
        other_words = _words(other.text)
        is_same_relation = not relation_words.isdisjoint(other_words)
        shared.append((len(words & other_words) + _SAME_RELATION * is_same_relation, other))
    best = sorted((pair for pair in shared if pair[0] >= least), key=lambda pair: pair[0], reverse=True)
    return [other for _, other in best[:most]]


def statements_in_passage(memory: Memory, passage: StoredPassage, *, now: datetime) -> list[MemoryStatement]:
    """Return the statements in a passage, as its memory is now."""
    if passage.observation is not None:
        if passage.observation >= len(memory.observations):
            return []
        observation = memory.observations[passage.observation]
        if not observation.holds(now):
            return []
        return [MemoryStatement(text=observation.text, observation=passage.observation)]
    part = memory.content[passage.start : passage.end]
    if len(memory.content) > _MAX_CONTENT:
        return [MemoryStatement(text=text) for text in statements_of(part)]
    return [MemoryStatement(text=text) for text in statements_of(memory.content) if text in part]


# One statement is compared with many, and each of those with several.
@lru_cache(maxsize=4_096)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


async def _search(
    new: NewStatement, vectors: Mapping[bytes, Vector], *, space: str, source: NeighbourSource
) -> list[tuple[int, float | None]]:
    """Search by vector if the passage has no other statement, else by words too."""
    vector = vectors.get(new.passage.hash) if new.passage else None
    hits: list[tuple[int, float | None]] = []
    if vector is not None:
        try:
            hits += await source.search(space, vector, _ALL, limit=_NEAREST)
        except (EmbeddingUnavailable, IndexUnavailable):
            vector = None
    if vector is None or not new.is_alone:
        terms = tuple(dict.fromkeys(terms_of(new.statement.text)))
        by_words = await source.lexical_candidates(space, terms, _ALL, limit=_NEAREST)
        hits += [(number, None) for number, _ in by_words]
    # "I live in Rome" and "I moved to Oslo" share no word, and are not near to each other either.
    if relation_words := alternative_words(new.statement.text):
        terms = tuple(dict.fromkeys(terms_of(" ".join(relation_words))))
        numbers = {number for number, _ in hits}
        by_relation = await source.lexical_candidates(space, terms, _ALL, limit=_NEAREST)
        hits += [(number, None) for number, _ in by_relation if number not in numbers]
    return hits


def _with_same_relation(
    new: NewStatement, hits: list[tuple[int, float | None]], *, memory: Memory, source: NeighbourSource
) -> list[tuple[int, float | None]]:
    more = source.same_relation(new.statement.text, memory=memory)
    if not more:
        return hits
    numbers = {number for number, _ in hits}
    return [*hits, *((number, None) for number in more if number not in numbers)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _StatementTerms:
    """A new statement's text and terms; `relation` are other words for its relation, None if that has many values."""

    text: str
    terms: frozenset[str]
    relation: frozenset[str] | None

    @classmethod
    def of(cls, text: str) -> "_StatementTerms":
        relation_words = alternative_words(text)
        return cls(
            text=text,
            terms=frozenset(running_terms_of(text)),
            relation=None if relation_words is None else frozenset(running_terms_of(" ".join(relation_words))),
        )

    def is_worth_reading(self, passage: StoredPassage, cosine: float | None) -> bool:
        if cosine is not None and cosine >= _VERY_NEAR:
            return True
        passage_terms = passage.terms.split()
        # Two statements of a relation with one value need share no more than a word for it.
        if self.relation is not None and not (self.relation | self.terms).isdisjoint(passage_terms):
            return True
        count, shared = len(self.terms), len(self.terms.intersection(passage_terms))
        # Most share too little, whatever else they say.
        if shared < _MIN_SHARE * count and (shared == 0 or not may_change(self.text)):
            return False
        if shared >= max(1, min(_MIN_WORDS, count)):
            return True
        # One common word is enough in a short statement, or beside a word for a change.
        is_near = cosine is not None and cosine >= _NEAR and (count <= _FEW_TERMS or may_change(self.text))
        is_enough = is_near or not _CHANGE_WORDS.isdisjoint(passage_terms)
        return shared > 0 if is_enough else count == 0


def _is_record(memory: Memory) -> bool:
    """Check for observations about an entity; a text alone is near to similar texts anyway."""
    return bool(memory.entity and memory.observations)


async def _same_entity(memory: Memory, *, source: NeighbourSource) -> list[str]:
    if not _is_record(memory):
        return []
    ids = await source.list_ids(memory.space, Filter(entity=memory.entity), limit=_MAX_SAME_ENTITY)
    return [memory_id for memory_id in ids if memory_id != memory.id]


def _is_comparable(other: Memory, memory: Memory, *, now: datetime) -> bool:
    """Check that a memory is in force, and is not another record of the same text."""
    ended = [moment for moment in (other.valid_until, other.expires_at) if moment is not None and moment <= now]
    return other.state is State.LIVE and not ended and not (memory.group and other.group == memory.group)


def _current_statements(memory: Memory, *, now: datetime) -> list[MemoryStatement]:
    content = memory.content if len(memory.content) <= _MAX_CONTENT else ""
    first = max(0, len(memory.observations) - _MAX_OBSERVATIONS)
    latest = enumerate(memory.observations[first:], first)
    return [MemoryStatement(text=text) for text in statements_of(content)] + [
        MemoryStatement(text=observation.text, observation=number)
        for number, observation in latest
        if observation.holds(now)
    ]
