"""Conflicts in words: the statements of memories, each by its key, and the two that a conflict is about."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from scrubjay.detection.subject import thing_of
from scrubjay.model.conflict import Conflict, ConflictDetails, ConflictSide, statement_key
from scrubjay.model.memory import Memory, Observation, Source
from scrubjay.text.claims.compare import SAME, Finding, compare
from scrubjay.text.claims.normalize import has_no_subject, names_its_subject
from scrubjay.text.claims.statements import statements_of

__all__ = ["Spoken", "between", "date_of", "of_entity", "source_of", "spoken_in", "tell"]

_LONGEST_TOLD = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """One statement of a memory; `observation` is the number of the one that it is, None in the content."""

    text: str
    observation: int | None = None

    @property
    def key(self) -> str:
        """What it is known by without its words."""
        return statement_key(self.text)


def between(
    memory: Memory, statement: str, other: Memory, against: str, *, cosine: float | None = None, same: float = SAME
) -> Finding | None:
    """What a statement of one memory is to one of another; one that does not say of whom it is, is of the entity."""
    if has_no_subject(statement) != has_no_subject(against):
        statement, against = of_entity(statement, memory, beside=against), of_entity(against, other, beside=statement)
    return compare(statement, against, cosine=cosine, same=same)


def tell(conflict: Conflict, memory: Memory, other: Memory) -> ConflictDetails | None:
    """A conflict with the words of both ends; None when they are not there any more."""
    if other.trunk == memory.id and not conflict.statement and not conflict.against:
        ours, theirs = _lines(memory, other)
    else:
        ours, theirs = _side(memory, conflict.statement), _side(other, conflict.against)
    if ours is None or theirs is None:
        return None
    whole = not (conflict.statement and conflict.against)
    found = None if whole else between(memory, ours.statement, other, theirs.statement)
    return ConflictDetails(
        id=conflict.id,
        type=conflict.type,
        confidence=conflict.confidence,
        suggested_action=conflict.suggested,
        status=conflict.status,
        memory=ours,
        other=theirs,
        differs=found.differs if found else (),
        detected_at=conflict.detected_at,
        strategy=conflict.strategy,
        notes=conflict.notes,
        resolved_at=conflict.resolved_at,
        resolved_by=conflict.resolved_by,
        run=conflict.run,
    )


def spoken_in(memory: Memory) -> Iterator[Spoken]:
    """All statements of a memory, the content's first; of the observations also those that hold no more."""
    yield from (Spoken(text=statement) for statement in statements_of(memory.content))
    yield from (Spoken(text=one.text, observation=number) for number, one in enumerate(memory.observations))


def of_entity(statement: str, memory: Memory, *, beside: str = "") -> str:
    """A statement with its subject: one that does not say of whom it is, is of what the memory is about."""
    thing = thing_of(memory)
    if not thing or not has_no_subject(statement) or (not memory.entity and names_its_subject(statement)):
        return statement
    # Who has two names is mostly called by one of them.
    first = beside.split()[:1]
    name = first[0] if first and first[0].casefold() in thing.casefold().split() else thing
    return f"{name} {statement[:1].lower()}{statement[1:]}"


def _side(memory: Memory, key: str) -> ConflictSide | None:
    if not key:
        return _told(memory, _summary(memory))
    found = next((one for one in spoken_in(memory) if one.key == key), None)
    if found is None:
        return None
    observation = None if found.observation is None else memory.observations[found.observation]
    return _told(memory, found.text, observation=observation)


def _lines(memory: Memory, other: Memory) -> tuple[ConflictSide, ConflictSide]:
    """Two lines of one memory: of long texts what the other one has not."""
    ours, theirs = memory.content.splitlines(), other.content.splitlines()
    if max(len(memory.content), len(other.content)) <= _LONGEST_TOLD or ours == theirs:
        return _line(memory, _summary(memory)), _line(other, _summary(other))
    own = [
        _shortened("\n".join(one for one in side if one.strip() and one not in set(rest)))
        for side, rest in ((ours, theirs), (theirs, ours))
    ]
    return _line(memory, own[0] or _summary(memory)), _line(other, own[1] or _summary(other))


def _line(memory: Memory, statement: str) -> ConflictSide:
    # Both began with the same version: what tells them apart is when each was changed last, as for who settles it.
    return replace(_told(memory, statement), date=memory.updated_at)


def _told(memory: Memory, statement: str, *, observation: Observation | None = None) -> ConflictSide:
    source = source_of(memory, observation)
    return ConflictSide(
        id=memory.id,
        name=memory.name,
        statement=statement,
        date=date_of(memory, observation),
        trust=source.trust.value,
        agent=source.agent,
        session=source.session,
    )


def source_of(memory: Memory, observation: Observation | None) -> Source:
    """Where a statement comes from."""
    return observation.source if observation and observation.source else memory.source


def date_of(memory: Memory, observation: Observation | None) -> datetime:
    """When a statement was said."""
    if observation is None or observation.recorded_at == memory.created_at:
        return memory.date
    return (observation.source.at if observation.source else None) or observation.recorded_at


def _summary(memory: Memory) -> str:
    text = memory.content or "; ".join(observation.text for observation in memory.observations[:20]) or memory.label
    return _shortened(text)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TOLD else f"{text[:_LONGEST_TOLD]}\u2026"
