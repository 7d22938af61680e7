"""The strategies: what each does to the memories of a conflict, and which one `auto` chooses.

A conflict is about two statements, or about a memory and one of its branches, as when a note's file and its memory
were both changed. Whatever a strategy does, the versions keep what both said.
"""

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from datetime import datetime

from scrubjay.detection.advice import Advice, RankedStatement, advise
from scrubjay.detection.statement import (
    DisputedStatement,
    are_branches,
    newer_and_older,
    replace_statement,
    supersede_statement,
    without_statement,
)
from scrubjay.errors import NameTaken, TooLarge
from scrubjay.lazy import dataclass
from scrubjay.lookup.branches import branch_id
from scrubjay.model.branch import MergeConflict
from scrubjay.model.conflict import ConflictRecord, ConflictType, Strategy
from scrubjay.model.draft import Limits
from scrubjay.model.memory import Memory, Merged, State
from scrubjay.model.relation import Relation
from scrubjay.ports import Edge
from scrubjay.writing.merge import merge, not_merged

__all__ = [
    "CombineVersions", "ConflictCase", "ResolutionPlan", "apply_strategy", "choose_strategy", "merge_pair",
    "move_relations", "require_room", "suggest_strategy",
]  # fmt: skip

CombineVersions = Callable[..., tuple[Memory, tuple[MergeConflict, ...]]]
"""Three-way merge of two records of one memory: base, ours, theirs, and the side to prefer."""

_NEWER_RELEVANCE = 1.0
_OLDER_RELEVANCE = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictCase:
    """A conflict with all that a strategy needs. `relations` are those of both memories."""

    conflict: ConflictRecord
    newer: DisputedStatement
    older: DisputedStatement
    at: datetime
    branch: str = ""
    # The record that has the branch's id already, usually in the trash.
    former: Memory | None = None
    relations: tuple[Relation, ...] = ()
    # Of a memory and its branch: their common version, and how to merge them.
    base: Memory | None = None
    combine: CombineVersions | None = None
    most_tags: int = 8
    limits: Limits = field(default_factory=Limits)

    @property
    def is_within(self) -> bool:
        """Whether both are statements of one memory."""
        return self.newer.memory.id == self.older.memory.id

    @property
    def branch_name(self) -> str:
        """The name of the branch that the strategy `branch` makes."""
        return self.branch or f"conflict-{self.conflict.id.removeprefix('c-')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionPlan:
    """The result of a strategy: the changed memories, the new record, and the memory that remains."""

    action: str
    remaining: str
    changed: tuple[Memory, ...] = ()
    created: Memory | None = None
    edges: tuple[Edge, ...] = ()
    branch: str = ""
    warnings: tuple[str, ...] = ()


def apply_strategy(strategy: Strategy, case: ConflictCase) -> ResolutionPlan:
    """Plan what a strategy does to the memories of a conflict."""
    is_branch = are_branches(case.newer, case.older)
    return (_BRANCH_STRATEGIES if is_branch else _STRATEGIES)[strategy](case)


def choose_strategy(conflict: ConflictRecord, *, newer: DisputedStatement, older: DisputedStatement) -> Advice:
    """Choose the strategy of `auto`, as the statements are now; None leaves the conflict to a person."""
    if are_branches(newer, older):
        return Advice(None, "the memory and its branch were both changed, so that neither is the newer one")
    return advise(
        conflict.type, confidence=conflict.confidence, suggested=conflict.suggested, newer=_rank(newer),
        older=_rank(older),
    )  # fmt: skip


def suggest_strategy(conflict: ConflictRecord, first: DisputedStatement, second: DisputedStatement) -> Strategy:
    """Return what `auto` would do now; a conflict that it leaves to a person is best ignored until then."""
    if are_branches(first, second):
        # `auto` never resolves it, and the suggestion depends on nothing else.
        return conflict.suggested
    newer, older = newer_and_older(first, second)
    return choose_strategy(conflict, newer=newer, older=older).strategy or Strategy.IGNORE


def _rank(statement: DisputedStatement) -> RankedStatement:
    return RankedStatement(
        memory=statement.memory, trust=statement.trust, date=statement.date, is_all=statement.is_all
    )  # fmt: skip


def _merge(case: ConflictCase) -> ResolutionPlan:
    """`merge`: one memory says all that both said; the other becomes part of it, with its relations.

    The more trusted memory remains, else the older one. The additions of the other keep their source.
    """
    if case.is_within:
        return _merge_within(case)
    primary, secondary = case.older.memory, case.newer.memory
    if secondary.source.trust.outranks(primary.source.trust):
        primary, secondary = secondary, primary
    part, merged = merge_pair(primary, secondary, at=case.at, most_tags=case.most_tags)
    require_room(merged, limits=case.limits)
    fields = not_merged(primary, secondary, max_tags=case.most_tags)
    warning = f"{primary.name} has no place for these, kept with the merged record: {', '.join(fields)}"
    return ResolutionPlan(
        action="merged",
        remaining=primary.id,
        # The name must be free before the other memory can take it.
        changed=(part, merged),
        edges=move_relations(case.relations, secondary.id, primary.id),
        warnings=(warning,) if fields else (),
    )


def merge_pair(primary: Memory, secondary: Memory, *, at: datetime, most_tags: int) -> tuple[Memory, Memory]:
    """Return the second memory as part of the first, and the first with all that both said."""
    merged = merge(primary, secondary, at=at, max_tags=most_tags)
    if merged is primary:
        # There is nothing to add, but the memory must name the record that was merged into it.
        part = Merged(id=secondary.id, at=at, source=secondary.source)
        merged = replace(primary, merged=(*primary.merged, part))
    merged = replace(
        merged,
        pinned=primary.pinned or secondary.pinned,
        relevance=max(primary.relevance, secondary.relevance),
        remind_at=primary.remind_at or secondary.remind_at,
        # The merged memory stays as long as either would.
        expires_at=max(primary.expires_at, secondary.expires_at)
        if primary.expires_at and secondary.expires_at
        else None,
        resolution="merge",
    )
    return replace(secondary, state=State.MERGED, merged_into=primary.id, resolution="merged_into"), merged


def _merge_within(case: ConflictCase) -> ResolutionPlan:
    memory = case.newer.memory
    if case.conflict.type is not ConflictType.DUPLICATE:
        warning = "both statements stay: they are in one memory already and do not say the same"
        return ResolutionPlan(action="merged", remaining=memory.id, warnings=(warning,))
    spare = case.older if case.newer.trust.outranks(case.older.trust) else case.newer
    changed = replace(without_statement(spare), resolution="merge")
    return ResolutionPlan(action="merged", remaining=memory.id, changed=(changed,))


def _update(case: ConflictCase) -> ResolutionPlan:
    """`update`: both stay, and the older one gets less relevance."""
    newer, older = case.newer.memory, case.older.memory
    if case.is_within:
        warning = "no relevance was changed: both are statements of one memory, which has one relevance"
        return ResolutionPlan(action="updated_scores", remaining=newer.id, warnings=(warning,))
    return ResolutionPlan(
        action="updated_scores",
        remaining=newer.id,
        changed=(
            replace(newer, relevance=_NEWER_RELEVANCE, resolution="update"),
            replace(older, relevance=_OLDER_RELEVANCE, resolution="update"),
        ),
        warnings=_trust_warnings(case, "has more relevance than"),
    )


def _supersede(case: ConflictCase) -> ResolutionPlan:
    """`supersede`: the newer statement holds from its date on, and the older one until then.

    Where the caller keeps the statement that was made first, the later one ends now.
    """
    ended = supersede_statement(case.older, until=superseded_at(case))
    return ResolutionPlan(
        action="superseded",
        remaining=case.newer.memory.id,
        changed=(replace(ended, resolution="superseded"),),
        warnings=_trust_warnings(case, "replaced"),
    )


def superseded_at(case: ConflictCase) -> datetime:
    """Return the moment until which the older statement holds; a date in the future takes effect now."""
    return min(case.newer.date, case.at) if case.newer.date >= case.older.date else case.at


def _branch(case: ConflictCase) -> ResolutionPlan:
    """`branch`: the older statement stays on main; the newer one replaces it on a branch, and leaves main.

    A memory that says nothing else goes into the archive, from which `restore` takes it.
    """
    trunk, former, name = case.older.memory, case.former, case.branch_name
    if former is not None and former.state is State.BRANCHED:
        raise NameTaken(
            f"{trunk.name!r} has a branch {name!r} already",
            hint="Choose another name for the branch",
            name=name,
            id=trunk.id,
        )
    content = without_statement(case.older) if case.is_within else replace_statement(case.older, case.newer)
    created = replace(
        content, id=branch_id(content.id, name), branch=name, trunk=content.id, forked=content.version,
        state=State.BRANCHED, version=content.version + 1, resolution="branch", last_accessed=None, access_count=0,
        # Records that share a group are found together: a branch is none of them.
        group="",
    )  # fmt: skip
    if former is not None:
        created = replace(created, version=max(former.version + 1, created.version))
    if not case.is_within and case.newer.is_all:
        rest = replace(case.newer.memory, state=State.ARCHIVED)
    else:
        rest = without_statement(case.newer)
    return ResolutionPlan(
        action="branched",
        remaining=trunk.id,
        changed=(replace(rest, resolution="branch"),),
        created=created,
        branch=name,
    )


def _ignore(case: ConflictCase) -> ResolutionPlan:
    """`ignore`: both are right as they are."""
    return ResolutionPlan(action="ignored", remaining=case.newer.memory.id)


_STRATEGIES: dict[Strategy, Callable[[ConflictCase], ResolutionPlan]] = {
    Strategy.MERGE: _merge,
    Strategy.UPDATE: _update,
    Strategy.SUPERSEDE: _supersede,
    Strategy.BRANCH: _branch,
    Strategy.IGNORE: _ignore,
}


def _merge_branch(case: ConflictCase) -> ResolutionPlan:
    """`merge`: main gets both texts, one after the other where they clash; the branch is dropped."""
    trunk, branch = _trunk_and_branch(case)
    merged = trunk
    if case.combine is not None:
        merged, _ = case.combine(case.base or trunk, trunk, branch, prefer="both")
    changed = (replace(merged, resolution="merge"), _drop(branch))
    return ResolutionPlan(action="merged", remaining=trunk.id, changed=changed)


def _supersede_branch(case: ConflictCase) -> ResolutionPlan:
    """`supersede`: main gets the text that was written last; the branch is dropped."""
    trunk, branch = _trunk_and_branch(case)
    if case.newer.memory.id == trunk.id or case.combine is None:
        return ResolutionPlan(action="superseded", remaining=trunk.id, changed=(_drop(branch),))
    # With main as the common version every change of the branch counts.
    taken, _ = case.combine(trunk, trunk, branch, prefer="theirs")
    changed = (replace(taken, resolution="superseded"), _drop(branch))
    return ResolutionPlan(action="superseded", remaining=trunk.id, changed=changed)


def _keep_branch(case: ConflictCase) -> ResolutionPlan:
    """`branch`: main and the branch stay as they are."""
    trunk, branch = _trunk_and_branch(case)
    return ResolutionPlan(action="branched", remaining=trunk.id, branch=branch.branch)


def _update_branch(case: ConflictCase) -> ResolutionPlan:
    """`update`: nothing to do, for both are one memory with one relevance."""
    trunk, branch = _trunk_and_branch(case)
    warning = f"no relevance was changed: both are one memory; the other text stays on branch {branch.branch}"
    return ResolutionPlan(action="updated_scores", remaining=trunk.id, warnings=(warning,))


def _ignore_branch(case: ConflictCase) -> ResolutionPlan:
    """`ignore`: both are right as they are."""
    return ResolutionPlan(action="ignored", remaining=_trunk_and_branch(case)[0].id)


_BRANCH_STRATEGIES: dict[Strategy, Callable[[ConflictCase], ResolutionPlan]] = {
    Strategy.MERGE: _merge_branch,
    Strategy.UPDATE: _update_branch,
    Strategy.SUPERSEDE: _supersede_branch,
    Strategy.BRANCH: _keep_branch,
    Strategy.IGNORE: _ignore_branch,
}


def _trunk_and_branch(case: ConflictCase) -> tuple[Memory, Memory]:
    newer, older = case.newer.memory, case.older.memory
    return (older, newer) if newer.trunk else (newer, older)


def _drop(branch: Memory) -> Memory:
    return replace(branch, state=State.TRASHED, resolution="merged_into")


def _trust_warnings(case: ConflictCase, verb: str) -> tuple[str, ...]:
    """Warn that a less trusted statement goes before a more trusted one."""
    newer, older = case.newer.trust, case.older.trust
    if not older.outranks(newer):
        return ()
    return (f"the newer one (trust {newer}) {verb} the older one (trust {older}); `undo` takes it back",)


def move_relations(relations: Iterable[Relation], source: str, target: str) -> tuple[Edge, ...]:
    """Move the relations of one memory to another, which may have the same; those between the two stay."""
    by_key = {relation.key: relation for relation in relations}
    edges: list[Edge] = []
    for relation in list(by_key.values()):
        ends = (relation.source, relation.target)
        if source not in ends or target in ends:
            continue
        start, end = (target if memory_id == source else memory_id for memory_id in ends)
        moved = replace(relation, source=start, target=end)
        if (existing := by_key.get(moved.key)) is not None:
            moved = replace(
                existing,
                text=existing.text or moved.text,
                strength=max(existing.strength, moved.strength),
                metadata={**moved.metadata, **existing.metadata},
            )
        edges.append(Edge(relation=relation, present=False))
        if moved != existing:
            edges.append(Edge(relation=moved, present=True))
    return tuple(edges)


def require_room(merged: Memory, *, limits: Limits) -> None:
    sizes = [len(observation.text.encode()) for observation in merged.observations]
    fits = len(merged.content.encode()) <= limits.text_bytes and sum(sizes) <= limits.list_bytes
    if not fits or len(sizes) > limits.observations:
        raise TooLarge(
            f"{merged.name!r} would be too large to be revised",
            hint="Choose `update`, `supersede` or `ignore`",
            memory_id=merged.id,
        )
