"""What each strategy does to the memories of a conflict."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from scrubjay.conflicts.edits import instead, superseded, without
from scrubjay.conflicts.statement import End
from scrubjay.errors import NameTaken, TooLarge
from scrubjay.lookup.branches import branch_id
from scrubjay.model.branch import MergeConflict
from scrubjay.model.conflict import Conflict, ConflictType, Strategy
from scrubjay.model.draft import Limits
from scrubjay.model.memory import Memory, Merged, State
from scrubjay.model.relation import Relation
from scrubjay.ports import Edge
from scrubjay.writing.merge import merge, not_merged

__all__ = ["DEEDS", "Case", "Combine", "ResolutionPlan"]

Combine = Callable[..., tuple[Memory, tuple[MergeConflict, ...]]]
"""Brings together what two lines of versions have made of one: base, ours, theirs, and what to prefer."""

_NEWER_COUNTS = 1.0
_OLDER_COUNTS = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A conflict with all that is needed to settle it. `relations` are those of both memories."""

    conflict: Conflict
    newer: End
    older: End
    at: datetime
    branch: str = ""
    # The record that has the branch's place, in the trash as a rule.
    former: Memory | None = None
    relations: tuple[Relation, ...] = ()
    # Of two lines of one memory: what they have in common, and how they are brought together.
    base: Memory | None = None
    combine: Combine | None = None
    most_tags: int = 8
    limits: Limits = field(default_factory=Limits)

    @property
    def is_within(self) -> bool:
        """Whether both are statements of one memory."""
        return self.newer.memory.id == self.older.memory.id

    @property
    def line(self) -> str:
        """The name of the branch that is made if one is."""
        return self.branch or f"conflict-{self.conflict.id.removeprefix('c-')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionPlan:
    """What is done: the memories as they become, the record that is begun, and what stands in the end."""

    action: str
    kept: str
    changed: tuple[Memory, ...] = ()
    begun: Memory | None = None
    edges: tuple[Edge, ...] = ()
    branch: str = ""
    warnings: tuple[str, ...] = ()


def unite(case: Case) -> ResolutionPlan:
    """`merge`: one memory says all that both said; the other becomes part of it, and so do its relations.

    It is the one that is trusted more, else the older. What the other adds keeps its own source.
    """
    if case.is_within:
        return _unite_within(case)
    primary, secondary = case.older.memory, case.newer.memory
    if secondary.source.trust.outranks(primary.source.trust):
        primary, secondary = secondary, primary
    merged = merge(primary, secondary, at=case.at, max_tags=case.most_tags)
    if merged is primary:
        # There is nothing to add, but it must be known where the other one is.
        part = Merged(id=secondary.id, at=case.at, source=secondary.source)
        merged = replace(primary, merged=(*primary.merged, part))
    _require_room(merged, limits=case.limits)
    merged = replace(
        merged,
        pinned=primary.pinned or secondary.pinned,
        relevance=max(primary.relevance, secondary.relevance),
        remind_at=primary.remind_at or secondary.remind_at,
        # What both say stays as long as either would.
        expires_at=max(primary.expires_at, secondary.expires_at)
        if primary.expires_at and secondary.expires_at
        else None,
        resolution="merge",
    )
    away = replace(secondary, state=State.MERGED, merged_into=primary.id, resolution="merged_into")
    apart = not_merged(primary, secondary, max_tags=case.most_tags)
    told = f"kept with its own record only, {primary.name} having no place for it: {', '.join(apart)}" if apart else ""
    return ResolutionPlan(
        action="merged",
        kept=primary.id,
        # The name must be free before another could take it.
        changed=(away, merged),
        edges=_moved(case.relations, secondary.id, primary.id),
        warnings=(told,) if told else (),
    )


def reweigh(case: Case) -> ResolutionPlan:
    """`update`: both stay, and the older one counts less."""
    newer, older = case.newer.memory, case.older.memory
    if case.is_within:
        told = "nothing counts less: both are statements of one memory, which has one relevance"
        return ResolutionPlan(action="updated_scores", kept=newer.id, warnings=(told,))
    return ResolutionPlan(
        action="updated_scores",
        kept=newer.id,
        changed=(
            replace(newer, relevance=_NEWER_COUNTS, resolution="update"),
            replace(older, relevance=_OLDER_COUNTS, resolution="update"),
        ),
        warnings=_overruled(case, "counts more than"),
    )


def supersede(case: Case) -> ResolutionPlan:
    """`supersede`: the newer one holds from the day it was said, and the older one until then."""
    # What is said of a day to come does not hold yet, and was preferred all the same.
    ended = superseded(case.older, until=min(case.newer.date, case.at))
    return ResolutionPlan(
        action="superseded",
        kept=case.newer.memory.id,
        changed=(replace(ended, resolution="superseded"),),
        warnings=_overruled(case, "took the place of"),
    )


def set_apart(case: Case) -> ResolutionPlan:
    """`branch`: the older one stays on main; the newer one takes its place on a branch, and leaves main.

    A memory that says nothing else goes into the archive: `restore` brings it back.
    """
    trunk, former = case.older.memory, case.former
    if former is not None and former.state is State.BRANCHED:
        raise NameTaken(
            f"{trunk.name!r} has a branch {case.line!r} already",
            hint="Give `branch` another name",
            name=case.line,
            id=trunk.id,
        )
    said = without(case.older) if case.is_within else instead(case.older, case.newer)
    begun = _branched(said, case.line)
    if former is not None:
        begun = replace(begun, version=max(former.version + 1, begun.version))
    if not case.is_within and case.newer.is_all:
        left = replace(case.newer.memory, state=State.ARCHIVED)
    else:
        left = without(case.newer)
    return ResolutionPlan(
        action="branched",
        kept=trunk.id,
        changed=(replace(left, resolution="branch"),),
        begun=begun,
        branch=case.line,
    )


def ignore(case: Case) -> ResolutionPlan:
    """`ignore`: both are right as they are."""
    return ResolutionPlan(action="ignored", kept=case.newer.memory.id)


DEEDS: dict[Strategy, Callable[[Case], ResolutionPlan]] = {
    Strategy.MERGE: unite,
    Strategy.UPDATE: reweigh,
    Strategy.SUPERSEDE: supersede,
    Strategy.BRANCH: set_apart,
    Strategy.IGNORE: ignore,
}


def _branched(trunk: Memory, name: str) -> Memory:
    """The first record of a branch."""
    return replace(
        trunk, id=branch_id(trunk.id, name), branch=name, trunk=trunk.id, forked=trunk.version, state=State.BRANCHED,
        version=trunk.version + 1, resolution="branch", last_accessed=None, access_count=0,
        # Records that share a group are found together: a branch is none of them.
        group="",
    )  # fmt: skip


def _unite_within(case: Case) -> ResolutionPlan:
    memory = case.newer.memory
    if case.conflict.type is not ConflictType.DUPLICATE:
        told = "both statements stay: they are in one memory already and do not say the same"
        return ResolutionPlan(action="merged", kept=memory.id, warnings=(told,))
    spare = case.older if case.newer.trust.outranks(case.older.trust) else case.newer
    return ResolutionPlan(action="merged", kept=memory.id, changed=(replace(without(spare), resolution="merge"),))


def _overruled(case: Case, how: str) -> tuple[str, ...]:
    """What is to be told when somebody has who is trusted less go before who is trusted more."""
    newer, older = case.newer.trust, case.older.trust
    if not older.outranks(newer):
        return ()
    return (f"the newer one (trust {newer}) {how} the older one (trust {older}); `undo` takes it back",)


def _moved(relations: Iterable[Relation], away: str, to: str) -> tuple[Edge, ...]:
    """The relations of one memory as those of another, which may have the same; those between the two stay."""
    known = {relation.key: relation for relation in relations}
    edges: list[Edge] = []
    for one in list(known.values()):
        if away not in (one.source, one.target) or to in (one.source, one.target):
            continue
        moved = replace(
            one, source=to if one.source == away else one.source, target=to if one.target == away else one.target
        )
        if (same := known.get(moved.key)) is not None:
            moved = replace(
                same,
                text=same.text or moved.text,
                strength=max(same.strength, moved.strength),
                metadata={**moved.metadata, **same.metadata},
            )
        edges += [Edge(relation=one, present=False)]
        edges += [] if moved == same else [Edge(relation=moved, present=True)]
    return tuple(edges)


def _require_room(merged: Memory, *, limits: Limits) -> None:
    sizes = [len(observation.text.encode()) for observation in merged.observations]
    small = len(merged.content.encode()) <= limits.text_bytes and sum(sizes) <= limits.list_bytes
    if not small or len(sizes) > limits.observations:
        raise TooLarge(
            f"{merged.name!r} would be too large to be revised",
            hint="Choose `update`, `supersede` or `ignore`",
            memory_id=merged.id,
        )
