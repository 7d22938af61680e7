"""What can be done about a memory and one of its branches that do not go together.

A note whose file and whose memory were both changed is such a case. Whatever is done, what both said stays in the
versions.
"""

from collections.abc import Callable
from dataclasses import replace

from scrubjay.conflicts.strategies import Case, ResolutionPlan
from scrubjay.detection.advice import Advice
from scrubjay.model.conflict import Strategy
from scrubjay.model.memory import Memory, State

__all__ = ["DEEDS_OF_LINES", "advise_on_lines"]


def advise_on_lines() -> Advice:
    """How such a conflict is settled where nobody says how: it waits for a person."""
    return Advice(None, "both lines of the memory were changed: which one holds cannot be told")


def unite(case: Case) -> ResolutionPlan:
    """`merge`: main says what both say, and where they clash one after the other; the branch is dropped."""
    trunk, line = _sides(case)
    merged = trunk
    if case.combine is not None:
        merged, _ = case.combine(case.base or trunk, trunk, line, prefer="both")
    return ResolutionPlan(action="merged", kept=trunk.id, changed=(replace(merged, resolution="merge"), _dropped(line)))


def supersede(case: Case) -> ResolutionPlan:
    """`supersede`: main says what was written last; the branch is dropped."""
    trunk, line = _sides(case)
    if case.newer.memory.id == trunk.id or case.combine is None:
        return ResolutionPlan(action="superseded", kept=trunk.id, changed=(_dropped(line),))
    # Where main is all that both came of, whatever the branch has counts.
    taken, _ = case.combine(trunk, trunk, line, prefer="theirs")
    return ResolutionPlan(
        action="superseded", kept=trunk.id, changed=(replace(taken, resolution="superseded"), _dropped(line))
    )


def keep_both(case: Case) -> ResolutionPlan:
    """`branch`: both stay what they are, the one on main and the other on its branch."""
    trunk, line = _sides(case)
    return ResolutionPlan(action="branched", kept=trunk.id, branch=line.branch)


def reweigh(case: Case) -> ResolutionPlan:
    """`update`: there is nothing to weigh, for both are one memory."""
    trunk, line = _sides(case)
    told = f"nothing counts less: both are lines of one memory; the other one stays on branch {line.branch}"
    return ResolutionPlan(action="updated_scores", kept=trunk.id, warnings=(told,))


def ignore(case: Case) -> ResolutionPlan:
    """`ignore`: both are right as they are."""
    return ResolutionPlan(action="ignored", kept=_sides(case)[0].id)


DEEDS_OF_LINES: dict[Strategy, Callable[[Case], ResolutionPlan]] = {
    Strategy.MERGE: unite,
    Strategy.UPDATE: reweigh,
    Strategy.SUPERSEDE: supersede,
    Strategy.BRANCH: keep_both,
    Strategy.IGNORE: ignore,
}


def _sides(case: Case) -> tuple[Memory, Memory]:
    """The memory itself, and its branch."""
    newer, older = case.newer.memory, case.older.memory
    return (older, newer) if newer.trunk else (newer, older)


def _dropped(line: Memory) -> Memory:
    return replace(line, state=State.TRASHED, resolution="merged_into")
