"""What `remember` did, whatever the toolset calls it: in a few lines for a model and in fields for a program."""

from collections.abc import Mapping, Sequence

from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.memory import Json
from scrubjay.model.results import Remembered, Similar
from scrubjay.rpc.codec import to_json
from scrubjay.surfaces.mcp.budget import DEFAULT_TOKENS, beginning, cost_of, lean, room_for, trim
from scrubjay.surfaces.mcp.tool import Answer

_WARNINGS = 5
_LONGEST_WARNING = 200
_CONFLICTS = 3
_SHORT = 40
_LIST = 80
# What a remark about what was left out costs, and the names of the lists.
_NOTE = 60


def remembered(
    done: Remembered, *, tags: Sequence[str] = (), dry_run: bool = False, more: Mapping[str, Json] | None = None
) -> Answer:
    """What became of a text; `tags` are those that were asked for, `more` are fields of the toolset's own."""
    structured = fields_of(done)
    if not dry_run:
        del structured["trace"]
    if len(done.ids) == 1 or more:
        del structured["ids"]
    structured["similar"] = [lean(fields_of(one)) for one in done.similar]
    structured["conflicts"] = [conflicts_of(conflict) for conflict in done.conflicts]
    return told(_lines(done, tags, dry_run=dry_run), {**structured, **(more or {})}, done.warnings)


def told(lines: Sequence[str], structured: Mapping[str, Json], warnings: Sequence[str]) -> Answer:
    """What was done, with as many of the warnings as a model cares to read."""
    said = [*lines, *(warning[:_LONGEST_WARNING] for warning in warnings[:_WARNINGS])]
    whole = lean(structured)
    kept = trim(whole, room=room_for(DEFAULT_TOKENS) - cost_of("\n".join(said)) - _NOTE)
    left_out = [
        f"{name} of {len(some):,} of {len(all_of_it):,}"
        for name, all_of_it in whole.items()
        if isinstance(all_of_it, list) and isinstance(some := kept[name], list) and len(some) < len(all_of_it)
    ]
    if left_out:
        said.append(f"(told: {', '.join(left_out)})")
    return Answer(structured=lean(kept), text="\n".join(said))


def fields_of(result: object) -> dict[str, Json]:
    """An answer by its fields."""
    fields = to_json(result)
    assert isinstance(fields, dict)
    return fields


def conflicts_of(one: ConflictDetails) -> dict[str, Json]:
    """A conflict by the fields that a model can do something with."""
    return lean(
        {
            "id": one.id,
            "type": one.type.value,
            "confidence": one.confidence,
            "suggested_action": one.suggested_action.value,
            "with": one.other.name,
            "says": beginning(one.other.statement, tokens=_LIST),
            "differs": [beginning(part, tokens=_SHORT) for part in one.differs],
        }
    )


def conflict_report(one: ConflictDetails) -> str:
    """A conflict in one line."""
    name = beginning(one.other.name, tokens=_SHORT)
    differs = beginning(", ".join(one.differs), tokens=_SHORT) if one.differs else one.type.value
    verb = {"duplicate": "says the same as", "update": "says more than"}.get(one.type.value, "contradicts")
    return f"{one.id}: {verb} {name} ({one.confidence:.2f}): {differs}. Revise or forget what no longer holds."


def _lines(done: Remembered, tags: Sequence[str], *, dry_run: bool) -> list[str]:
    lines = [_head(done) + (" (dry run: nothing was stored)" if dry_run else "")]
    filed = {conflict.other.id for conflict in done.conflicts}
    lines += [conflict_report(conflict) for conflict in done.conflicts[:_CONFLICTS]]
    lines += [_conflict(one, into=done.merged_into) for one in done.similar if one.differs and one.id not in filed][
        :_CONFLICTS
    ]
    if done.tags and {tag.lstrip("# ").lower() for tag in tags} != set(done.tags):
        lines.append(f"tags: {_some(done.tags)}")
    if done.suggested_entities and done.action == "created":
        lines.append(f"It seems to be about {_some(done.suggested_entities)}: give entities to file it under them.")
    return lines


def _head(done: Remembered) -> str:
    if done.action == "rejected":
        # Where no warning says why, the stage that refused it does.
        why = done.trace[-1].why if done.trace and not done.warnings else ""
        return f"rejected, nothing was stored{': ' if why else ''}{why[:_LONGEST_WARNING]}"
    if done.action != "merged":
        return f"{done.action}: {done.name}"
    alike = "" if done.similarity is None else f" ({done.similarity:.2f})"
    return f"merged into {done.name}{alike}: now version {done.version}"


def _conflict(one: Similar, *, into: str) -> str:
    name, differs = (beginning(part, tokens=_SHORT) for part in (one.name, one.differs))
    if one.id == into:
        return f"may contradict what was there before: {differs}. Revise {name} if something no longer holds."
    return f"may contradict {name} ({one.similarity:.2f}): {differs}. Revise or forget what no longer holds."


def _some(names: Sequence[str]) -> str:
    return beginning(", ".join(names), tokens=_LIST)
