"""What `auto` chooses: what the advice on a conflict is now, which may be other than when it was found."""

from scrubjay.model.conflict import Conflict
from scrubjay.resolving.ends import End
from scrubjay.writing.advising import Advice, Word, advise

__all__ = ["choose"]


def choose(conflict: Conflict, *, newer: End, older: End) -> Advice:
    """How a conflict is settled where nobody says how; without a strategy it had better wait for a person."""
    return advise(
        conflict.type, confidence=conflict.confidence, suggested=conflict.suggested, newer=_word(newer),
        older=_word(older),
    )  # fmt: skip


def _word(end: End) -> Word:
    return Word(memory=end.memory, trust=end.trust, date=end.date, alone=end.is_all)
