"""What had better be done about a conflict: by what two statements are to each other, whose word they are, and when."""

from dataclasses import dataclass
from datetime import datetime

from scrubjay.model.conflict import ConflictType, Strategy
from scrubjay.model.memory import Flag, Memory, Trust
from scrubjay.text.claims.statements import statements_of

__all__ = ["Advice", "Word", "advise", "says_one_thing"]

# Below this a person should look.
_LEAST_CONFIDENCE = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A statement as it is weighed: of which memory, whose, since when, and whether the memory says nothing else."""

    memory: Memory
    trust: Trust
    date: datetime
    alone: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """A strategy and why it was chosen; None where the conflict had better wait for a person."""

    strategy: Strategy | None
    why: str


def advise(kind: ConflictType, *, confidence: float, suggested: Strategy, newer: Word, older: Word) -> Advice:
    """How a conflict is best settled; who is trusted less never overrules who is trusted more."""
    if why := _why_wait(kind, confidence=confidence, newer=newer, older=older):
        return Advice(None, why)
    if kind is ConflictType.DUPLICATE:
        return Advice(Strategy.MERGE, "both say the same")
    within = newer.memory.id == older.memory.id
    if newer.date == older.date and (within or kind is ConflictType.CONTRADICTION):
        return Advice(None, f"both were said at the same time ({_day(newer)}): which one holds cannot be told")
    if older.trust.outranks(newer.trust):
        return Advice(
            None,
            f"the older one is the word of {_whose(older)} and stands: {_whose(newer)} does not overrule it",
        )
    if kind is ConflictType.CONTRADICTION:
        return Advice(Strategy.SUPERSEDE, f"the newer one, of {_day(newer)}, takes the place of that of {_day(older)}")
    # In one memory nothing can count less than the rest.
    if within or suggested is Strategy.SUPERSEDE:
        return Advice(Strategy.SUPERSEDE, f"the newer one, of {_day(newer)}, says what the older one did, and more")
    return Advice(Strategy.UPDATE, f"the newer one, of {_day(newer)}, tells more; both stay")


def says_one_thing(memory: Memory) -> bool:
    """Whether a memory is one statement."""
    return len(memory.observations) + len(statements_of(memory.content)) == 1


def _why_wait(kind: ConflictType, *, confidence: float, newer: Word, older: Word) -> str:
    if confidence < _LEAST_CONFIDENCE:
        return f"the confidence is {confidence:.2f}; below {_LEAST_CONFIDENCE} a person should look"
    if any(Flag.SUSPICIOUS in word.memory.flags for word in (newer, older)):
        return "one of the two tries to give orders"
    if kind is not ConflictType.DUPLICATE or newer.memory.id == older.memory.id:
        return ""
    if newer.alone or older.alone:
        return ""
    return "one statement of each says the same, and both memories say other things as well: merging would join these"


def _whose(word: Word) -> str:
    return {Trust.USER: "the user", Trust.AGENT: "an agent", Trust.DOCUMENT: "a document"}.get(word.trust, "somebody")


def _day(word: Word) -> str:
    return word.date.date().isoformat()
