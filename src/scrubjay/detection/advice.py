"""How to resolve a conflict: by its type, whom each statement comes from, and when it was made."""

from datetime import datetime

from scrubjay.lazy import dataclass
from scrubjay.model.conflict import ConflictType, Strategy
from scrubjay.model.memory import Flag, Memory, Trust
from scrubjay.text.claims.statements import statements_of

__all__ = ["Advice", "RankedStatement", "advise", "is_one_statement"]

# Below this a person should decide.
_MIN_CONFIDENCE = 0.6
# A longer content is a document, whose statements need not be counted.
_MAX_CONTENT = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedStatement:
    """A statement with its memory, trust and date; `is_all`: the memory says nothing else."""

    memory: Memory
    trust: Trust
    date: datetime
    is_all: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """A strategy and the reason for it; None means that a person should decide."""

    strategy: Strategy | None
    why: str


def advise(
    kind: ConflictType, *, confidence: float, suggested: Strategy, newer: RankedStatement, older: RankedStatement
) -> Advice:
    """Choose a strategy; a less trusted source never overrules a more trusted one."""
    if why := _why_wait(kind, confidence=confidence, newer=newer, older=older):
        return Advice(None, why)
    if kind is ConflictType.DUPLICATE:
        return Advice(Strategy.MERGE, "both say the same")
    is_within = newer.memory.id == older.memory.id
    if newer.date == older.date and (is_within or kind is ConflictType.CONTRADICTION):
        return Advice(None, f"both are of the same time ({_day(newer)}), so that neither is the newer one")
    if older.trust.outranks(newer.trust):
        return Advice(None, f"the older one is from {_origin(older)}, which {_origin(newer)} does not overrule")
    if kind is ConflictType.CONTRADICTION:
        return Advice(Strategy.SUPERSEDE, f"the newer one, of {_day(newer)}, replaces the one of {_day(older)}")
    # In one memory no statement can count less than the others.
    if is_within or suggested is Strategy.SUPERSEDE:
        return Advice(
            Strategy.SUPERSEDE, f"the newer one, of {_day(newer)}, says all that the older one does, and more"
        )
    return Advice(Strategy.UPDATE, f"the newer one, of {_day(newer)}, adds something; both stay")


def is_one_statement(memory: Memory) -> bool:
    """Check whether a memory is a single statement; a document is none."""
    if len(memory.observations) > 1 or len(memory.content) > _MAX_CONTENT:
        return False
    return len(memory.observations) + len(statements_of(memory.content)) == 1


def _why_wait(kind: ConflictType, *, confidence: float, newer: RankedStatement, older: RankedStatement) -> str:
    if confidence < _MIN_CONFIDENCE:
        return f"the confidence is {confidence:.2f}; below {_MIN_CONFIDENCE} a person should decide"
    if any(Flag.SUSPICIOUS in statement.memory.flags for statement in (newer, older)):
        return "one of the two tries to give orders to agents"
    if kind is not ConflictType.DUPLICATE or newer.memory.id == older.memory.id or newer.is_all or older.is_all:
        return ""
    return "the memories have one statement in common, and each says other things too: merging would mix these"


def _origin(statement: RankedStatement) -> str:
    names = {Trust.USER: "the user", Trust.AGENT: "an agent", Trust.DOCUMENT: "a document"}
    return names.get(statement.trust, "an unknown source")


def _day(statement: RankedStatement) -> str:
    return statement.date.date().isoformat()
