"""Versions and branches of the `enhanced` toolset, by the names of entities."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scrubjay.errors import NameTaken
from scrubjay.graph.entity import name_of
from scrubjay.graph.node_json import conflict_json, naive_iso, statements_at
from scrubjay.lookup.branches import branch_id
from scrubjay.model.branch import Branch, Branches, BranchMerged, normalize_branch_name
from scrubjay.model.checks import require_integer
from scrubjay.model.identity import new_id
from scrubjay.model.memory import MAIN, Json, Memory
from scrubjay.model.requests import MergeBranchRequest
from scrubjay.model.snapshot import values_of
from scrubjay.surfaces.mcp.arguments import Arguments
from scrubjay.surfaces.mcp.tool import ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets.enhanced_results import failure_fields, fits, page_of, within_budget

NAMES = {"entity": "entity_name", "id": "entity_name", "branch": "branch_name", "to": "version"}
# These appear as observations, or are no property of the entity.
_NOT_METADATA = ("observations", "content", "version", "trunk", "forked", "branch", "state")


async def memory_commit(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Give the current version a message: every change has made a version already."""
    args = Arguments(arguments, NAMES)
    entity = await _entity_of(context, args)
    done = await context.memory.commit(entity.id, message=args.text("message"), label=True)
    return _render(entity, {"version_id": done.version, "version": done.version, "branch": done.branch})


async def memory_confirm(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Confirm that an entity still holds."""
    entity = await _entity_of(context, Arguments(arguments, NAMES))
    done = await context.memory.confirm(entity.id)
    memory = (await context.memory.read(entity.id)).memories[0]
    confirmed = naive_iso(memory.last_confirmed or memory.created_at)
    fields: dict[str, Json] = {"version": done.done[0].version, "relevance_score": memory.relevance}
    return _render(entity, {**fields, "last_confirmed": confirmed, "run": done.run})


async def memory_diff(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return the differences between two versions."""
    args = Arguments(arguments, NAMES)
    entity = await _entity_of(context, args)
    numbers = [require_integer(args.integer(name), field=name) for name in ("version1", "version2")]
    history = await context.memory.history(entity.id, diff=numbers)
    before, after = [(await context.memory.read(entity.id, version=number)).memories[0] for number in numbers]
    # The observations that were valid when each version was written.
    old, new = statements_at(before, before.updated_at), statements_at(after, after.updated_at)
    names = [diff.field for diff in history.diff if diff.field not in _NOT_METADATA]
    was, now = values_of(before, names), values_of(after, names)
    differences: dict[str, Json] = {
        "added_observations": [text for text in new if text not in set(old)],
        "removed_observations": [text for text in old if text not in set(new)],
        "modified_metadata": {name: [was[name], now[name]] for name in names},
    }
    fields: dict[str, Json] = {
        "success": True,
        "entity": name_of(entity),
        "differences": differences,
        "version1": _version_fields(before, old),
        "version2": _version_fields(after, new),
    }
    # For long versions, the differences matter more than the observations, which `read` returns.
    short = fields | {name: _without_observations(fields[name]) for name in ("version1", "version2")}
    if "cursor" not in args:
        for whole in (fields, short):
            if fits(whole):
                return ToolResult(structured=whole)
    # If even that is too long, the lists move to the top level, as far as they fit, and a cursor returns the rest.
    return page_of(
        short | differences | {"differences": {}},
        lists=[*differences][:2],
        cursor=args.text("cursor"),
        of=f"{entity.id} {numbers}",
    )


async def memory_revert(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Restore a version, as a new one."""
    args = Arguments(arguments, NAMES)
    entity = await _entity_of(context, args)
    number = args.integer("to") or 0
    done = await context.memory.revert(entity.id, to=number, message=f"Reverted to version {number}")
    fields: dict[str, Json] = {"reverted_to": number, "version": done.version, "branch": done.branch}
    if done.conflicts:
        fields["conflicts"] = [conflict_json(conflict) for conflict in done.conflicts]
    return _render(entity, fields, lists=("conflicts",))


async def memory_branch(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Create a branch and switch to it, or switch to an existing one."""
    args = Arguments(arguments, NAMES)
    entity = await _entity_of(context, args)
    name = normalize_branch_name(args.text("branch"))
    created = await _create_branch(context, entity, name, description=args.text("description"))
    branches = created or await context.memory.switch(entity.id, name)
    current = next(branch for branch in branches.branches if branch.name == branches.current)
    return _render(entity, {"action": "branched" if created else "switched", **_branch_fields(entity, current)})


async def _create_branch(context: ToolContext, entity: Memory, name: str, *, description: str) -> Branches | None:
    """Create a branch and switch to it; return None if the entity has one of that name."""
    existing = await context.memory.branches(entity.id)
    if name in {branch.name for branch in existing.branches}:
        return None
    try:
        return await context.memory.branch(entity.id, name, description=description, switch=True)
    except NameTaken:
        # Another caller has just created it.
        return None


async def memory_branches(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return the branches of an entity, and the current one."""
    args = Arguments(arguments, NAMES)
    entity = await _entity_of(context, args)
    result = await context.memory.branches(entity.id)
    branches: list[Json] = [_branch_fields(entity, branch) for branch in result.branches]
    fields: dict[str, Json] = {"success": True, "entity": name_of(entity), "entity_id": entity.id}
    fields |= {"current_branch": result.current, "branches": branches}
    return page_of(fields, lists=("branches",), cursor=args.text("cursor"), of=entity.id)


async def memory_merge_branch(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Merge a branch into main, or main into a branch; merge nothing if both changed the same field."""
    args = Arguments(arguments, NAMES)
    context = in_one_run(context)
    entity = await _entity_of(context, args)
    done = await context.memory.call(MergeBranchRequest.of(
        id=entity.id, name=args.text("branch"), into=args.text("into", MAIN), prefer=args.text("prefer"),
        message=args.text("message"),
    ))  # fmt: skip
    fields: dict[str, Json] = {
        "entity": name_of(entity), "entity_id": entity.id, "action": done.action, "branch_name": done.branch,
        "into": done.into, "version": done.version,
    }  # fmt: skip
    if done.clashes:
        return within_budget(_clash_fields(done) | fields, lists=("clashes",))
    if done.conflicts:
        fields["conflicts"] = [conflict_json(conflict) for conflict in done.conflicts]
    if done.warnings:
        fields["warnings"] = list[Json](done.warnings)
    return within_budget({"success": True, **fields, "run": context.who.run}, lists=("conflicts", "warnings"))


async def memory_drop_branch(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Put a branch into the trash."""
    args = Arguments(arguments, NAMES)
    context = in_one_run(context)
    entity = await _entity_of(context, args)
    name = args.text("branch")
    left = await context.memory.drop_branch(entity.id, name)
    fields: dict[str, Json] = {
        "action": "dropped",
        "branch_name": normalize_branch_name(name),
        "current_branch": left.current,
        "branches": [branch.name for branch in left.branches],
        "run": context.who.run,
    }
    return _render(entity, fields, lists=("branches",))


async def memory_undo(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Undo a run, or the last change of this agent."""
    done = await context.memory.undo(run=Arguments(arguments).text("run"))
    fields: dict[str, Json] = {
        "success": True,
        "run": done.run,
        "undone": [{"id": written.id, "name": written.name, "version": written.version} for written in done.done],
        "skipped": list[Json](done.skipped),
    }
    if done.skipped and not done.done:
        fields |= failure_fields("nothing was undone", hint="`memory_revert` restores a version of one entity")
    return within_budget(fields, lists=("undone", "skipped"))


def in_one_run(context: ToolContext) -> ToolContext:
    """Return a context whose writes share a run, so that they are undone together."""
    return replace(context, who=replace(context.who, run=context.who.run or new_id()))


async def _entity_of(context: ToolContext, args: Arguments) -> Memory:
    return await context.engine.entity(args.text("entity"), who=context.who)


def _render(entity: Memory, fields: Mapping[str, Json], *, lists: Sequence[str] = ()) -> ToolResult:
    return within_budget({"success": True, "entity": name_of(entity), "entity_id": entity.id, **fields}, lists=lists)


def _branch_fields(entity: Memory, branch: Branch) -> dict[str, Json]:
    return {
        "branch_id": entity.id if branch.name == MAIN else branch_id(entity.id, branch.name),
        "branch_name": branch.name,
        "description": branch.description,
        "created_from_version": branch.forked or branch.version,
        "version": branch.version,
    }


def _clash_fields(done: BranchMerged) -> dict[str, Json]:
    names = ", ".join(dict.fromkeys(clash.field for clash in done.clashes))
    hint = f"Give prefer: ours keeps {done.into}, theirs keeps {done.branch}; or change one of them first"
    clashes: list[Json] = [
        {"field": clash.field, "base": clash.base, "ours": clash.ours, "theirs": clash.theirs} for clash in done.clashes
    ]
    return {**failure_fields(f"both have changed {names}, so nothing was merged", hint=hint), "clashes": clashes}


def _version_fields(memory: Memory, observations: Sequence[str]) -> dict[str, Json]:
    return {
        "version": memory.version,
        "branch": memory.branch,
        "name": name_of(memory),
        "entityType": memory.kind,
        "observations": list[Json](observations),
        "relevance_score": memory.relevance,
        "always_include": memory.pinned,
        "created_at": naive_iso(memory.updated_at),
    }


def _without_observations(version: Json) -> Json:
    assert isinstance(version, dict)
    return {name: value for name, value in version.items() if name != "observations"}
