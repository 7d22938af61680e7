"""The facts of a conversation, for people."""

from collections import Counter

from scrubjay.model.fact import Extracted, StoredFact
from scrubjay.surfaces.cli.console import Span, paint_table, say

_LONGEST = 100
_STYLES = {"created": "green", "merged": "cyan", "rejected": "red", "unchanged": "dim"}


def show_extracted(answer: Extracted) -> None:
    """Print the facts as a table, and what became of them."""
    if answer.facts:
        paint_table(("type", "speaker", "sure", "done", "statement"), [_row(fact) for fact in answer.facts])
    done = Counter(fact.action for fact in answer.facts if fact.action)
    told = ", ".join(f"{count} {action}" for action, count in done.items()) or "nothing stored"
    say(f"{_counted(len(answer.facts), 'fact')} in {_counted(answer.turns, 'turn')}, by {answer.method}: {told}")
    for one in answer.facts:
        for conflict in one.conflicts:
            say(f"  conflict {conflict.id}: {conflict.memory.statement} | {conflict.other.statement}")
    if answer.run and done.keys() & {"created", "merged", "updated"}:
        say(f"  session {answer.session}; undo --run {answer.run} takes it back")
    for warning in answer.warnings:
        say(f"  warning: {warning}")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _row(one: StoredFact) -> list[Span]:
    fact = one.fact
    plain = " ".join(fact.statement.removeprefix(f"{fact.speaker}: ").split())
    cut = plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST].rstrip()}\u2026"
    return [
        (fact.type.value, ""),
        (fact.speaker or "-", ""),
        (f"{fact.confidence:.2f}", ""),
        (one.action or "-", _STYLES.get(one.action, "")),
        (cut, ""),
    ]
