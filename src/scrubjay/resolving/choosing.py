"""What `auto` chooses: by what the two statements are to each other, whose word they are, and which is the newer."""

from dataclasses import dataclass

from scrubjay.model.conflict import Conflict, ConflictType, Strategy
from scrubjay.model.memory import Flag, Trust
from scrubjay.resolving.ends import End

__all__ = ["Choice", "choose"]

# Below this a person should look.
_LEAST_CONFIDENCE = 0.6
# The more it counts, the further back.
_TRUST = (Trust.DOCUMENT, Trust.UNKNOWN, Trust.AGENT, Trust.USER)


@dataclass(frozen=True, slots=True)
class Choice:
    """A strategy and why it was chosen; None where the conflict had better wait for a person."""

    strategy: Strategy | None
    why: str


def choose(conflict: Conflict, *, newer: End, older: End) -> Choice:
    """How a conflict is settled where nobody says how; who is trusted less never overrules who is trusted more."""
    if why := _why_wait(conflict, newer=newer, older=older):
        return Choice(None, why)
    if conflict.type is ConflictType.DUPLICATE:
        return Choice(Strategy.MERGE, "both say the same")
    if newer.date == older.date:
        return Choice(None, f"both were said at the same time ({_day(newer)}): which one holds cannot be told")
    if _TRUST.index(newer.trust) < _TRUST.index(older.trust):
        return Choice(
            None,
            f"the older one is the word of {_whose(older)} and stands: {_whose(newer)} does not overrule it",
        )
    if conflict.type is ConflictType.CONTRADICTION:
        return Choice(Strategy.SUPERSEDE, f"the newer one, of {_day(newer)}, takes the place of that of {_day(older)}")
    # In one memory nothing can count less than the rest.
    within = newer.memory.id == older.memory.id
    if within or conflict.suggested is Strategy.SUPERSEDE:
        return Choice(Strategy.SUPERSEDE, f"the newer one, of {_day(newer)}, says what the older one did, and more")
    return Choice(Strategy.UPDATE, f"the newer one, of {_day(newer)}, tells more; both stay")


def _why_wait(conflict: Conflict, *, newer: End, older: End) -> str:
    if conflict.confidence < _LEAST_CONFIDENCE:
        return f"the confidence is {conflict.confidence:.2f}; below {_LEAST_CONFIDENCE} a person should look"
    if any(Flag.SUSPICIOUS in end.memory.flags for end in (newer, older)):
        return "one of the two tries to give orders"
    if conflict.type is not ConflictType.DUPLICATE or newer.memory.id == older.memory.id:
        return ""
    if newer.is_all or older.is_all:
        return ""
    return "one statement of each says the same, and both memories say other things as well: merging would join these"


def _whose(end: End) -> str:
    return {Trust.USER: "the user", Trust.AGENT: "an agent", Trust.DOCUMENT: "a document"}.get(end.trust, "somebody")


def _day(end: End) -> str:
    return end.date.date().isoformat()
