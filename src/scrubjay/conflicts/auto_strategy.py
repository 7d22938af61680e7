"""What `auto` chooses: what the advice on a conflict is now, which may be other than when it was found."""

from scrubjay.conflicts.branch_strategies import advise_on_lines
from scrubjay.conflicts.statement import End, are_lines, in_time
from scrubjay.detection.advice import Advice, RankedStatement, advise
from scrubjay.model.conflict import Conflict, Strategy

__all__ = ["choose", "suggested_now"]


def choose(conflict: Conflict, *, newer: End, older: End) -> Advice:
    """How a conflict is settled where nobody says how; without a strategy it had better wait for a person."""
    if are_lines(newer, older):
        return advise_on_lines()
    return advise(
        conflict.type, confidence=conflict.confidence, suggested=conflict.suggested, newer=_word(newer),
        older=_word(older),
    )  # fmt: skip


def suggested_now(conflict: Conflict, first: End, second: End) -> Strategy:
    """What `auto` would do as the two ends are now; what it would leave to people had better stay as it is."""
    if are_lines(first, second):
        # It always waits, and what people had better do with two lines depends on nothing else.
        return conflict.suggested
    newer, older = in_time(first, second)
    return choose(conflict, newer=newer, older=older).strategy or Strategy.IGNORE


def _word(end: End) -> RankedStatement:
    return RankedStatement(memory=end.memory, trust=end.trust, date=end.date, is_all=end.is_all)
