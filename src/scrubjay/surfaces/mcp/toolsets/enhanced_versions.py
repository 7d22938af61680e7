"""Versions and branches of the `enhanced` dialect, by the names of entities."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scrubjay.errors import NameTaken
from scrubjay.graph.entity import name_of
from scrubjay.graph.node_json import conflict_json, naive, said_at
from scrubjay.lookup.branches import branch_id
from scrubjay.model.branch import Branch, Branches, BranchMerged, MergeConflict, normalize_branch_name
from scrubjay.model.identity import new_id
from scrubjay.model.memory import MAIN, Json, Memory
from scrubjay.surfaces.mcp.arguments import Given
from scrubjay.surfaces.mcp.tool import Answer, ToolContext
from scrubjay.surfaces.mcp.toolsets.enhanced_results import failed, within_budget

# They are told as observations, or are no property of what the entity says.
_TOLD_OTHERWISE = ("observations", "content", "version", "trunk", "forked", "branch", "state")


async def memory_commit(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """A version with a message."""
    given = Given(arguments)
    entity = await entity_of(context, given)
    done = await context.memory.commit(entity.id, message=given.text("message"))
    told: dict[str, Json] = {"version_id": done.version, "version": done.version, "branch": done.branch}
    return _done(entity, told)


async def memory_diff(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """What differs between two versions."""
    given = Given(arguments)
    entity = await entity_of(context, given)
    numbers = [given.whole("version1") or 0, given.whole("version2") or 0]
    history = await context.memory.history(entity.id, diff=numbers)
    before, after = [(await context.memory.read(entity.id, version=number)).memories[0] for number in numbers]
    # What each said when it was written.
    old, new = said_at(before, before.updated_at), said_at(after, after.updated_at)
    changed: dict[str, Json] = {
        one.field: [one.before, one.after] for one in history.diff if one.field not in _TOLD_OTHERWISE
    }
    differences: dict[str, Json] = {
        "added_observations": [one for one in new if one not in set(old)],
        "removed_observations": [one for one in old if one not in set(new)],
        "modified_metadata": changed,
    }
    told: dict[str, Json] = {
        "success": True,
        "entity": name_of(entity),
        "differences": differences,
        "version1": _version(before, old),
        "version2": _version(after, new),
    }
    # Whoever compares long versions wants what differs; all of each is to be had by `read`.
    short = told | {name: _without_observations(told[name]) for name in ("version1", "version2")}
    # Where even that is too long, the lists stand by themselves, as far as they fit.
    lists = short | differences | {"differences": {}}
    answers = (within_budget(told), within_budget(short), within_budget(lists, lists=[*differences][:2]))
    return next((answer for answer in answers[:2] if "note" not in answer.structured), answers[-1])


async def memory_revert(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Go back to a version, as a new one."""
    given = Given(arguments)
    entity = await entity_of(context, given)
    number = given.whole("version") or 0
    done = await context.memory.revert(entity.id, to=number, message=f"Reverted to version {number}")
    told: dict[str, Json] = {"reverted_to": number, "version": done.version, "branch": done.branch}
    if done.conflicts:
        told["conflicts"] = [conflict_json(conflict) for conflict in done.conflicts]
    return _done(entity, told, lists=("conflicts",))


async def memory_branch(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Begin a branch and stand on it; one that there is already is switched to."""
    given = Given(arguments)
    entity = await entity_of(context, given)
    name = normalize_branch_name(given.text("branch_name"))
    begun = await _begun(context, entity, name, description=given.text("description"))
    found = begun or await context.memory.switch(entity.id, name)
    line = next(branch for branch in found.branches if branch.name == found.current)
    return _done(entity, {"action": "branched" if begun else "switched", **_branch(entity, line)})


async def _begun(context: ToolContext, entity: Memory, name: str, *, description: str) -> Branches | None:
    """The branches with a new one, switched to it; None where there is one of that name."""
    known = await context.memory.branches(entity.id)
    if name in {branch.name for branch in known.branches}:
        return None
    try:
        return await context.memory.branch(entity.id, name, description=description, switch=True)
    except NameTaken:
        # Somebody else has just begun it.
        return None


async def memory_branches(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """The branches of an entity, and the one that it is switched to."""
    entity = await entity_of(context, Given(arguments))
    found = await context.memory.branches(entity.id)
    lines: list[Json] = [_branch(entity, branch) for branch in found.branches]
    return _done(entity, {"current_branch": found.current, "branches": lines}, lists=("branches",))


async def memory_merge_branch(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Bring a branch into main, or main into a branch; where both have changed the same nothing is done."""
    given = Given(arguments)
    context = in_one_run(context)
    entity = await entity_of(context, given)
    done = await context.memory.merge_branch(
        entity.id, given.text("branch_name"), into=given.text("into", MAIN), prefer=given.text("prefer"),
        message=given.text("message"),
    )  # fmt: skip
    told: dict[str, Json] = {
        "entity": name_of(entity), "entity_id": entity.id, "action": done.action, "branch_name": done.branch,
        "into": done.into, "version": done.version,
    }  # fmt: skip
    if done.clashes:
        return within_budget(_clashing(done) | told, lists=("clashes",))
    conflicts: list[Json] = [conflict_json(conflict) for conflict in done.conflicts]
    beside: dict[str, Json] = {"conflicts": conflicts, "warnings": list[Json](done.warnings)}
    told |= {name: value for name, value in beside.items() if value}
    return within_budget({"success": True, **told, "run": context.who.run}, lists=("conflicts", "warnings"))


async def memory_drop_branch(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Put a branch into the trash."""
    given = Given(arguments)
    context = in_one_run(context)
    entity = await entity_of(context, given)
    name = given.text("branch_name")
    found = await context.memory.drop_branch(entity.id, name)
    left: list[Json] = [branch.name for branch in found.branches]
    told: dict[str, Json] = {
        "action": "dropped",
        "branch_name": normalize_branch_name(name),
        "current_branch": found.current,
    }
    return _done(entity, {**told, "branches": left, "run": context.who.run}, lists=("branches",))


async def memory_undo(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Take back what a call has done, or the last that this agent did."""
    done = await context.memory.undo(run=Given(arguments).text("run"))
    told: dict[str, Json] = {
        "success": True,
        "run": done.run,
        "undone": [{"id": one.id, "name": one.name, "version": one.version} for one in done.done],
        "skipped": list[Json](done.skipped),
    }
    if done.skipped and not done.done:
        told |= failed("nothing was undone", hint="`memory_revert` brings back a version of one entity")
    return within_budget(told, lists=("undone", "skipped"))


async def entity_of(context: ToolContext, given: Given) -> Memory:
    """The entity that a call is about."""
    return await context.engine.entity(given.text("entity_name"), who=context.who)


def in_one_run(context: ToolContext) -> ToolContext:
    """A desk whose work has a name by which it is undone together."""
    return replace(context, who=replace(context.who, run=context.who.run or new_id()))


def _done(entity: Memory, told: Mapping[str, Json], *, lists: Sequence[str] = ()) -> Answer:
    return within_budget({"success": True, "entity": name_of(entity), "entity_id": entity.id, **told}, lists=lists)


def _branch(entity: Memory, line: Branch) -> dict[str, Json]:
    return {
        "branch_id": entity.id if line.name == MAIN else branch_id(entity.id, line.name),
        "branch_name": line.name,
        "description": line.description,
        "created_from_version": line.forked or line.version,
        "version": line.version,
    }


def _clashing(done: BranchMerged) -> dict[str, Json]:
    fields = ", ".join(dict.fromkeys(clash.field for clash in done.clashes))
    hint = f"Give prefer: ours is what {done.into} says, theirs what {done.branch} says; or change one of them first"
    clashes: dict[str, Json] = {"clashes": [_clash(clash) for clash in done.clashes]}
    return failed(f"both have changed {fields}, so nothing was merged", hint=hint) | clashes


def _clash(one: MergeConflict) -> dict[str, Json]:
    return {"field": one.field, "base": one.base, "ours": one.ours, "theirs": one.theirs}


def _version(memory: Memory, said: Sequence[str]) -> dict[str, Json]:
    return {
        "version": memory.version,
        "branch": memory.branch,
        "name": name_of(memory),
        "entityType": memory.kind,
        "observations": list[Json](said),
        "relevance_score": memory.relevance,
        "always_include": memory.pinned,
        "created_at": naive(memory.updated_at),
    }


def _without_observations(version: Json) -> Json:
    assert isinstance(version, dict)
    return {name: value for name, value in version.items() if name != "observations"}
