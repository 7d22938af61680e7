"""Orders the variants of one claim: a claim must not win because it was said more often, or by more sources.

The more trusted statement stands before what a less trusted source says about the same, and what contradicts it brings
it along. Statements of one source that say the same count once, and the variants of less trusted sources hold at most a
share of an answer. What has no place stays for the next page: nothing is lost.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from scrubjay.lookup.references import TolerantReader
from scrubjay.model.conflict import PENDING_COLLECTION, ConflictType, parse_conflict
from scrubjay.model.media import media_type_in
from scrubjay.model.memory import AGENT_METHODS, Memory, Trust
from scrubjay.model.passage import SPOKEN, Vector
from scrubjay.ports import DocumentStore, Profile, RecordStore
from scrubjay.recalling.collapse import Arranged, RankedMemory
from scrubjay.recalling.render import first_passage
from scrubjay.text.claims.extract import claims_of, find_differences
from scrubjay.text.languages import ENGLISH, language_of
from scrubjay.text.tokens import STOP_WORDS

Likenesses = NDArray[np.int8]
"""How close each two of some statements are: 0, or on one subject, or of one claim."""
LoadVectors = Callable[[Sequence[bytes]], Awaitable[Mapping[bytes, Vector]]]

_ONE_SUBJECT, _ONE_CLAIM = 1, 2
# The part of an answer that less trusted variants of one claim may hold.
_SHARE = 3
# Where a cosine lies between `related` and `same` of a model: from here on two passages are about one subject, or make
# one claim, whether or not they agree on it.
_SUBJECT, _CLAIM = 0.35, 0.85
# The same for the words in common, where there are no vectors.
_SUBJECT_WORDS, _CLAIM_WORDS, _SAME_WORDS = 0.3, 0.5, 0.75
# Of two passages, the one with fewer words of the question has at least this part of them.
_QUESTION_WORDS = 0.5
# Fewer words in common say little.
_MIN_SHARED = 2
_WORD = re.compile(r"\w+")
# A more trusted statement with a smaller part of the score answers something else.
_MIN_SCORE = 0.4
# The same where the model does not read the question: all are alike to it then.
_MIN_SCORE_UNREAD = 0.7
# The same by the logits of the reader.
_MIN_ANSWER = 1.0
# A newer statement with a smaller part of the score is not what the question asks for.
_RIVAL = 0.8
_MAX_COMPARED = 400
# The conflicts of so many of the first hits are read.
_MAX_DISPUTED = 3
_MAX_CONFLICTS = 20


@dataclass(slots=True, kw_only=True)
class Arranger:
    """Arranges the memories of an answer with `limit` places; it reads each vector once.

    `reads`: the model knows the language of the question.
    """

    limit: int
    profile: Profile | None
    load: LoadVectors
    reads: bool = True
    vectors: dict[bytes, Vector] = field(default_factory=dict[bytes, Vector])

    async def arrange(self, ranked: Sequence[RankedMemory]) -> Arranged:
        """Return the memories, the more trusted before the less trusted of one subject, each statement once."""
        distinct, surplus = _drop_repeated(ranked)
        trusts = [_trust(match) for match in distinct]
        if not _differ(trusts):
            return Arranged(shown=distinct, surplus=surplus)
        likeness = await self._compare(distinct)
        shown: list[int] = []
        least = _MIN_SCORE if self.reads else _MIN_SCORE_UNREAD
        for position in _order(distinct, trusts, likeness, least_score=least):
            rivals = sum(_share_places(position, other, trusts, likeness) for other in shown)
            if rivals < max(1, self.limit // _SHARE):
                shown.append(position)
            else:
                surplus.append(distinct[position])
        return Arranged(shown=[distinct[position] for position in shown], surplus=surplus)

    async def _compare(self, ranked: Sequence[RankedMemory]) -> Likenesses:
        """Return how close each two of the passages are, by meaning or else by words."""
        hashes = [match.best.passage.hash for match in ranked]
        missing = [hash_ for hash_ in dict.fromkeys(hashes) if hash_ and hash_ not in self.vectors]
        if missing and self.profile is not None:
            self.vectors.update(await self.load(missing))
        if self.profile is None or not all(hash_ in self.vectors for hash_ in hashes):
            words = [_words(match) for match in ranked]
            shares = np.array([[_words_in_common(mine, other) for other in words] for mine in words])
            return (shares >= _SUBJECT_WORDS).astype(np.int8) + (shares >= _CLAIM_WORDS)
        matrix = np.stack([self.vectors[hash_] for hash_ in hashes])
        cosines = matrix @ matrix.T
        least, span = self.profile.related, self.profile.same - self.profile.related
        likeness = (cosines >= least + _SUBJECT * span).astype(np.int8) + (cosines >= least + _CLAIM * span)
        return likeness * _share_question(ranked) if self.profile.is_english else likeness


def join_arrangers(arrangers: Sequence[Arranger]) -> Arranger | None:
    """Return the arranger of memories of several spaces, with all vectors that were read."""
    if not arrangers:
        return None
    vectors = {hash_: vector for arranger in arrangers for hash_, vector in arranger.vectors.items()}
    return replace(arrangers[0], vectors=vectors)


async def bring_along(
    ranked: Sequence[RankedMemory], *, reader: TolerantReader[RecordStore], admits: Callable[[Memory], bool]
) -> list[RankedMemory]:
    """Return the memories of an answer, each after the more trusted or newer ones that it contradicts, as was filed."""
    disputed = {match.memory.id: match for match in ranked if match.memory.space == reader.space}
    ids = [id_ for id_, match in disputed.items() if match.source.trust is Trust.DOCUMENT]
    ids += [id_ for id_ in list(disputed)[:_MAX_DISPUTED] if id_ not in ids]
    opposed = await _find_contradicted(ids, space=reader.space, documents=reader.store) if ids else {}
    if not opposed:
        return list(ranked)
    present = {match.memory.id: match for match in ranked}
    missing = {other for others in opposed.values() for other in others if other not in present}
    read = {memory.id: memory for memory in await reader.get(sorted(missing)) if admits(memory)}
    arranged: dict[str, RankedMemory] = {}
    for match in ranked:
        # The newest first: ids begin with the time.
        for other in sorted(opposed.get(match.memory.id, ()), reverse=True):
            better = present.get(other) or (_contradicted(read[other], match) if other in read else None)
            if better is not None and _goes_first(better, match):
                arranged.setdefault(other, better)
        arranged.setdefault(match.memory.id, match)
    return list(arranged.values())


def _goes_first(better: RankedMemory, match: RankedMemory) -> bool:
    """Check whether one side of a conflict comes first: the more trusted one, else the newer of two statements."""
    ours, theirs = better.source.trust, match.source.trust
    # A later turn of a conversation replaces no earlier one, and a question with the older value asks for that one.
    is_rival = not match.best.passage.asks & SPOKEN and better.best.score >= _RIVAL * match.best.score
    return ours.outranks(theirs) or (is_rival and not theirs.outranks(ours) and better.memory.date > match.memory.date)


def _contradicted(memory: Memory, match: RankedMemory) -> RankedMemory:
    """Return a memory that no search has found, with the score of what contradicts it."""
    best = first_passage(memory)._replace(score=match.best.score, answers=match.best.answers)
    entities = (memory.entity,) if memory.entity else ()
    return RankedMemory(memory=memory, best=best, entities=entities, evidence=match.evidence)


async def _find_contradicted(
    ids: Sequence[str], *, space: str, documents: DocumentStore
) -> dict[str, tuple[str, ...]]:  # fmt: skip
    """Return what memories contradict by a pending conflict, by their ids."""
    opposed: dict[str, tuple[str, ...]] = {}
    for conflict in map(
        parse_conflict, await documents.documents_about(space, PENDING_COLLECTION, ids, limit=_MAX_CONFLICTS)
    ):
        if conflict is None or conflict.type is not ConflictType.CONTRADICTION or conflict.memory == conflict.other:
            continue
        for hit, other in ((conflict.memory, conflict.other), (conflict.other, conflict.memory)):
            opposed[hit] = (*opposed.get(hit, ()), other)
    return opposed


def _drop_repeated(ranked: Sequence[RankedMemory]) -> tuple[list[RankedMemory], list[RankedMemory]]:
    """Return the memories without those that repeat an earlier one of the same origin, and the repeated ones."""
    distinct: list[RankedMemory] = []
    repeated: list[RankedMemory] = []
    by_origin: dict[tuple[str, ...], list[tuple[str, frozenset[str]]]] = {}
    for match in ranked:
        origin = _origin(match)
        if origin is None:
            distinct.append(match)
            continue
        text, words, earlier = match.text[:_MAX_COMPARED], _words(match), by_origin.setdefault(origin, [])
        if any(_repeats(text, words, *other) for other in earlier):
            repeated.append(match)
        else:
            distinct.append(match)
            earlier.append((text, words))
    return distinct, repeated


def _repeats(text: str, words: frozenset[str], other: str, other_words: frozenset[str]) -> bool:
    if _words_in_common(words, other_words, least=_MIN_SHARED) < _SAME_WORDS:
        return False
    return not find_differences(claims_of(text), claims_of(other))


def _origin(match: RankedMemory) -> tuple[str, ...] | None:
    """Return whose word a passage is, and about whom; None for the user's own, of which nothing is dropped."""
    source, memory = match.source, match.memory
    if source.trust is Trust.USER or (source.trust is Trust.UNKNOWN and source.method not in AGENT_METHODS):
        return None
    return source.trust.value, source.agent, source.tool, source.conversation, memory.entity, memory.branch


def _share_question(ranked: Sequence[RankedMemory]) -> NDArray[np.bool_]:
    """Check for each two passages whether they have alike parts of the question; English ones need not.

    To a model of English, all texts of another language are alike.
    """
    is_strange = np.array([language_of(match.text) not in ("", ENGLISH) for match in ranked])
    words = np.array([match.best.words for match in ranked])
    is_alike = np.minimum.outer(words, words) >= _QUESTION_WORDS * np.maximum.outer(words, words)
    return is_alike | ~np.logical_or.outer(is_strange, is_strange)


def _words(match: RankedMemory) -> frozenset[str]:
    # Without its date and speaker, which are among its terms.
    words = _WORD.findall(match.text[:_MAX_COMPARED].casefold())
    return frozenset(word for word in words if word not in STOP_WORDS)


def _words_in_common(words: frozenset[str], others: frozenset[str], *, least: int = 1) -> float:
    """Return the share of common words, between that of all words and that of the shorter passage."""
    shorter, longer = sorted((len(words), len(others)))
    # Most passages differ so much in length that their words need not be compared.
    if shorter < least or 3 * shorter < longer:
        return 0.0
    common = len(words & others)
    return (common / (shorter + longer - common) + common / shorter) / 2 if common >= least else 0.0


def _trust(match: RankedMemory) -> Trust:
    # A picture claims nothing that could contradict the user.
    return Trust.UNKNOWN if media_type_in(match.memory) else match.source.trust


def _differ(trusts: Sequence[Trust]) -> bool:
    """Check whether there is anything to order: a document, or a statement that outranks another."""
    return Trust.DOCUMENT in trusts or (Trust.USER in trusts and any(trust is not Trust.USER for trust in trusts))


def _order(
    ranked: Sequence[RankedMemory], trusts: Sequence[Trust], likeness: Likenesses, *, least_score: float
) -> list[int]:
    """Return the positions in order: before each less trusted statement, the more trusted ones about the same."""
    order: dict[int, None] = {}
    for position, match in enumerate(ranked):
        # An agent works for the user, so only the claim itself must be the same; a document says much about a subject.
        least = _ONE_SUBJECT if trusts[position] is Trust.DOCUMENT else _ONE_CLAIM
        for other in range(position + 1, len(ranked)):
            is_like = likeness[position, other] >= least and trusts[other].outranks(trusts[position])
            is_found = ranked[other].best.score >= least_score * match.best.score
            if is_like and is_found and _answers_as_well(ranked[other], match):
                order[other] = None
        order[position] = None
    return list(order)


def _answers_as_well(other: RankedMemory, match: RankedMemory) -> bool:
    """Check whether a more trusted statement is about what a less trusted one answers: the reader knows best."""
    ours, theirs = other.best.answers, match.best.answers
    return ours is None or theirs is None or ours >= theirs - _MIN_ANSWER


def _share_places(
    position: int, other: int, trusts: Sequence[Trust], likeness: Likenesses
) -> bool:  # fmt: skip
    """Check whether two statements compete for the places of less trusted variants of one claim."""
    if likeness[position, other] < _ONE_CLAIM or trusts[position] is not trusts[other]:
        return False
    if trusts[position] is Trust.DOCUMENT:
        return True
    return any(
        trusts[rival].outranks(trusts[position]) and likeness[position, rival] >= _ONE_CLAIM
        for rival in range(len(trusts))
    )
