"""Conflicts in words: the statements of memories, their subjects, and the two that a conflict is about.

A conflict stores keys of statements, never their words.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from scrubjay.model.conflict import ConflictDetails, ConflictRecord, ConflictSide, ConflictType, statement_key
from scrubjay.model.labels import mark
from scrubjay.model.memory import Memory, Observation, Source
from scrubjay.text.claims.compare import SAME, Finding, compare
from scrubjay.text.claims.pairs import value_differences
from scrubjay.text.claims.parse import has_no_subject, names_its_subject
from scrubjay.text.claims.statements import statements_of

__all__ = [
    "MemoryStatement", "StatementTable", "compare_statements", "date_of", "describe", "have_different_subjects",
    "is_named_after", "source_of", "statements_in", "subject_of", "with_subject",
]  # fmt: skip

_MAX_QUOTED = 500
_MAX_CONTENT = 20_000
_USER = "user"
_OWNER_WORDS = frozenset("user me myself owner".split())
# Words for a sort of record. A record with no other word in its name is about the owner.
_SORT_WORDS = frozenset(
    "profile preference preferences settings habits default personal info information details facts notes".split()
)
# A record that is only numbered has no subject.
_NUMBERED = re.compile(r"(?:fact|note|memory|item|entry|observation|learning|info|data|record|log)s?(?: [\da-f]+)*")
# A shorter word of a name says too little about what the record is named after.
_MIN_NAMING = 4
_YEAR = re.compile(r"(?:19|20)\d\d")
_WORD = re.compile(r"[^\W_]+")


class MemoryStatement(NamedTuple):
    """One statement of a memory; `observation` is its number among the observations, None in the content."""

    text: str
    observation: int | None = None

    @property
    def key(self) -> str:
        """The digest that a conflict stores instead of the words."""
        return statement_key(self.text)


StatementTable = Mapping[tuple[str, str], MemoryStatement]
"""Statements by the id of their memory and their key."""


def describe(
    conflict: ConflictRecord, memory: Memory, other: Memory, *, statements: StatementTable | None = None
) -> ConflictDetails | None:
    """Return a conflict with the words of both sides; None if a statement is gone.

    Statements that are not among `statements` are searched for in the memories.
    """
    if other.trunk == memory.id and not conflict.statement and not conflict.against:
        ours, theirs = _branch_sides(memory, other)
    else:
        ours = _statement_side(memory, conflict.statement, statements=statements or {})
        theirs = _statement_side(other, conflict.against, statements=statements or {})
    if ours is None or theirs is None:
        return None
    is_whole = not (conflict.statement and conflict.against)
    finding = None if is_whole else compare_statements(memory, ours.statement, other, theirs.statement)
    return ConflictDetails(
        id=conflict.id,
        type=conflict.type,
        confidence=conflict.confidence,
        suggested_action=conflict.suggested,
        status=conflict.status,
        memory=ours,
        other=theirs,
        differs=_differences(conflict, ours, theirs, finding),
        detected_at=conflict.detected_at,
        strategy=conflict.strategy,
        notes=conflict.notes,
        resolved_at=conflict.resolved_at,
        resolved_by=conflict.resolved_by,
        run=conflict.run,
    )


def _differences(
    conflict: ConflictRecord, ours: ConflictSide, theirs: ConflictSide, finding: Finding | None
) -> tuple[str, ...]:
    """Return the points on which two statements differ; where the rules find none, the values that differ."""
    if finding is not None and finding.differs:
        return finding.differs
    is_contradiction = conflict.type is ConflictType.CONTRADICTION
    return value_differences(theirs.statement, ours.statement) if is_contradiction else ()


def compare_statements(
    memory: Memory, statement: str, other: Memory, against: str, *, cosine: float | None = None, same: float = SAME
) -> Finding | None:
    """Compare statements of two memories; add the memory's subject where only one of them names its own."""
    if has_no_subject(statement) != has_no_subject(against):
        statement, against = (
            with_subject(statement, memory, other=against), with_subject(against, other, other=statement),
        )  # fmt: skip
    return compare(statement, against, cosine=cosine, same=same)


def statements_in(memory: Memory) -> Iterator[MemoryStatement]:
    """Return all statements of a memory, the content's first, also observations that no longer hold."""
    if len(memory.content) > _MAX_CONTENT:
        # New statements are in the beginning, which is split already.
        yield from (MemoryStatement(text=text) for text in statements_of(memory.content[:_MAX_CONTENT]))
    yield from (MemoryStatement(text=text) for text in statements_of(memory.content))
    yield from (
        MemoryStatement(text=observation.text, observation=number)
        for number, observation in enumerate(memory.observations)
    )


def source_of(memory: Memory, observation: Observation | None) -> Source:
    """Return the source of an observation, or of the content."""
    return observation.source if observation and observation.source else memory.source


def date_of(memory: Memory, observation: Observation | None) -> datetime:
    """Return the date of an observation, or of the content."""
    if observation is None or observation.recorded_at == memory.created_at:
        return memory.date
    return (observation.source.at if observation.source else None) or observation.recorded_at


def subject_of(memory: Memory) -> str:
    """Return the subject of a memory: its entity, or its name if it consists of observations only."""
    if memory.entity or memory.content.strip() or not memory.observations:
        return memory.entity
    words = _words(memory.name)
    if _NUMBERED.fullmatch(" ".join(words)):
        return ""
    return _USER if _is_owner(words) else " ".join(_distinctive(words)).title()


def with_subject(statement: str, memory: Memory, *, other: str = "") -> str:
    """Put the memory's subject before a statement that names none; `other` is the one it is compared with."""
    subject = subject_of(memory)
    if not subject or not has_no_subject(statement) or (not memory.entity and names_its_subject(statement)):
        return statement
    # A person with two names is mostly called by one of them.
    first = other.split()[:1]
    name = first[0] if first and first[0].casefold() in subject.casefold().split() else subject
    return f"{name} {statement[:1].lower()}{statement[1:]}"


def have_different_subjects(memory: Memory, statement: str, other: Memory, against: str) -> bool:
    """Check whether two statements are about the subjects of their records, and these differ."""
    if memory.id == other.id or not subject_of(memory) or not subject_of(other) or _may_be_one(memory, other):
        return False
    return _is_about_record(memory, statement) or _is_about_record(other, against)


def _statement_side(memory: Memory, key: str, *, statements: StatementTable) -> ConflictSide | None:
    if not key:
        return _side(memory, _summary(memory))
    statement = statements.get((memory.id, key))
    statement = statement or next((statement for statement in statements_in(memory) if statement.key == key), None)
    if statement is None:
        return None
    observation = None if statement.observation is None else memory.observations[statement.observation]
    return _side(memory, statement.text, observation=observation)


def _branch_sides(memory: Memory, branch: Memory) -> tuple[ConflictSide, ConflictSide]:
    """Return a memory and its branch; of long texts only the lines that the other one lacks."""
    ours, theirs = memory.content.splitlines(), branch.content.splitlines()
    texts = ["", ""]
    if max(len(memory.content), len(branch.content)) > _MAX_QUOTED and ours != theirs:
        texts = [
            _shorten("\n".join(line for line in lines if line.strip() and line not in others))
            for lines, others in ((ours, frozenset(theirs)), (theirs, frozenset(ours)))
        ]
    # Both have one creation date: the last change tells which is newer, here as in the strategies.
    first, second = (
        replace(_side(record, text or _summary(record)), date=record.updated_at)
        for record, text in zip((memory, branch), texts, strict=True)
    )
    return first, second


def _side(memory: Memory, statement: str, *, observation: Observation | None = None) -> ConflictSide:
    source = source_of(memory, observation)
    return ConflictSide(
        id=memory.id,
        name=memory.name,
        statement=statement,
        date=date_of(memory, observation),
        trust=source.trust.value,
        agent=source.agent,
        session=source.session,
        mark=mark(source, memory.flags),
    )


def _summary(memory: Memory) -> str:
    text = memory.content or "; ".join(observation.text for observation in memory.observations[:20]) or memory.label
    return _shorten(text)


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}\u2026"


def _may_be_one(memory: Memory, other: Memory) -> bool:
    """Check by their names whether two records may share a subject: sarah and sarah-chen, user and marc-the-user."""
    words, other_words = (_words(record.entity or record.name) for record in (memory, other))
    names, other_names = set(_distinctive(words)), set(_distinctive(other_words))
    if names and other_names:
        return names <= other_names or other_names <= names
    return _is_owner(words) and _is_owner(other_words)


def is_named_after(name: str, statement: str) -> bool:
    """Check whether a record has its name from what it says: `default branch` for "The default branch is main"."""
    statement_words = set(_words(statement))
    return any(len(word) >= _MIN_NAMING and word in statement_words for word in _distinctive(_words(name)))


def _is_about_record(memory: Memory, statement: str) -> bool:
    return not names_its_subject(statement) and not is_named_after(memory.name, statement)


def _is_owner(words: tuple[str, ...]) -> bool:
    return not _OWNER_WORDS.isdisjoint(words) or bool(words and not _distinctive(words))


def _distinctive(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a name that distinguish one subject from another."""
    return tuple(word for word in words if word not in _OWNER_WORDS | _SORT_WORDS and not _YEAR.fullmatch(word))


@lru_cache(maxsize=1_024)
def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))
