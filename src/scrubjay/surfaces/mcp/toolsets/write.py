"""`remember`, `revise`, `forget` and `relate`: what was done, in a line for a model and in fields for a program."""

from collections.abc import Mapping
from dataclasses import replace

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import MAIN, Json, Method, Trust
from scrubjay.model.relation import LINK
from scrubjay.model.results import Missing, Outcome, Written
from scrubjay.surfaces.mcp.arguments import Given
from scrubjay.surfaces.mcp.budget import DEFAULT_TOKENS, Entry, compact, cost_of, fit, lean, room_for, trim
from scrubjay.surfaces.mcp.tool import Answer, ToolContext
from scrubjay.surfaces.mcp.toolsets.filters import filter_from
from scrubjay.surfaces.mcp.toolsets.render import conflict_report, conflicts_of, fields_of, remembered, told

_FIELDS = (
    "text", "title", "name", "kind", "category", "project", "scope", "entity", "tags", "pinned", "expires_at",
    "remind_at", "metadata",
)  # fmt: skip
_OBSERVATIONS = ("add_observations", "remove_observations")
_STRENGTH = 0.5
_CONFLICTS = 3
_LONGEST_REF = 100
# What a remark about what was left out costs, and the names of the lists.
_NOTE = 60


async def remember(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Store a text, in the project of whoever works here unless another is named."""
    given = Given(arguments)
    source, remarks = _source(given.mapping("source"))
    done = await context.memory.remember(
        given.text("text"),
        title=given.text("title"),
        kind=given.text("kind"),
        name=given.text("name"),
        entities=given.texts("entities"),
        observations=given.texts("observations"),
        tags=given.texts("tags"),
        category=given.text("category"),
        project=given.text("project", context.project),
        scope=given.text("scope"),
        session_hint=given.text("session_hint"),
        intent=given.text("intent", "auto"),
        pinned=given.flag("pinned"),
        expires_at=given.text("expires_at") or None,
        remind_at=given.text("remind_at") or None,
        source=source,
        metadata=given.mapping("metadata"),
        idempotency_key=given.text("idempotency_key"),
        dry_run=given.flag("dry_run"),
    )
    done = replace(done, warnings=(*done.warnings, *remarks))
    return remembered(done, tags=given.texts("tags"), dry_run=given.flag("dry_run"))


def _source(given: Mapping[str, Json]) -> tuple[dict[str, Json], list[str]]:
    """Where it comes from. An agent wrote it, whatever it says, and its word is not that of a user."""
    source: dict[str, Json] = {**given, "method": Method.AGENT.value}
    remarks: list[str] = []
    if given.get("method", Method.AGENT.value) != Method.AGENT.value:
        remarks.append("source.method is agent for all that comes by this way")
    if given.get("trust") == Trust.USER.value:
        source["trust"] = Trust.AGENT.value
        remarks.append("source.trust is agent at most for what comes by this way")
    return source, remarks


async def revise(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Change a memory, or go back to one of its versions."""
    given = Given(arguments)
    fields = given.only(_FIELDS)
    version = given.whole("revert_to")
    changes = [*fields, *given.only(_OBSERVATIONS)]
    if version is None and not changes:
        raise InvalidInput("say what to change", hint=f"Give one of {', '.join((*_FIELDS, *_OBSERVATIONS))}, revert_to")
    if version is None:
        done = await context.memory.revise(
            given.text("id"),
            add_observations=given.texts("add_observations"),
            remove_observations=given.texts("remove_observations"),
            message=given.text("message"),
            expected_version=given.whole("expected_version"),
            branch=given.text("branch"),
            source={"method": Method.AGENT.value},
            idempotency_key="",
            **fields,
        )
    elif changes or "expected_version" in given:
        raise InvalidInput("revert_to brings back a version as it was", hint="Revise it in a second call")
    else:
        done = await context.memory.revert(
            given.text("id"), to=version, message=given.text("message"), branch=given.text("branch")
        )
    return _revised(done)


def _revised(done: Written) -> Answer:
    is_main = done.branch == MAIN
    head = f"{done.action}: {done.name}, now version {done.version}" + ("" if is_main else f" of branch {done.branch}")
    fields = fields_of(done)
    fields["branch"] = "" if is_main else done.branch
    fields["conflicts"] = [conflicts_of(conflict) for conflict in done.conflicts]
    return told([head, *(conflict_report(conflict) for conflict in done.conflicts[:_CONFLICTS])], fields, done.warnings)


async def forget(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Put memories into the trash, or take them out."""
    given = Given(arguments)
    filters = given.mapping("filters")
    if "state" in filters:
        raise InvalidInput(
            "forget takes what is live, and restore what is in the trash", hint="Leave state out", field="filters.state"
        )
    verb = context.memory.restore if given.flag("restore") else context.memory.forget
    done = await verb(
        given.texts("ids"),
        filter=filter_from(filters, of="forget") if "filters" in given else None,
        group=given.flag("group"),
        reason=given.text("reason"),
        dry_run=given.flag("dry_run"),
    )
    return _disposed(done)


async def relate(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Set an edge between two memories, or remove it."""
    given = Given(arguments)
    source, target, relation = given.text("source"), given.text("target"), given.text("relation", LINK)
    if given.flag("remove"):
        done = await context.memory.unrelate(source, target, relation=relation)
    else:
        done = await context.memory.relate(
            source,
            target,
            relation=relation,
            text=given.text("text"),
            strength=given.number("strength", _STRENGTH),
            metadata=given.mapping("metadata"),
        )
    line = f"{done.action}: {done.source_name} -[{relation}]-> {done.target_name}"
    whole: dict[str, Json] = {"action": done.action, "source": done.source, "target": done.target}
    for end, links in (("source_links", done.source_links), ("target_links", done.target_links)):
        whole[end] = [lean(fields_of(link)) for link in links]
    structured = trim(whole, room=room_for(DEFAULT_TOKENS) - cost_of(line) - _NOTE)
    is_cut = len(compact(structured)) < len(compact(whole))
    more = ["(there are more links: read either to see them)"] if is_cut else []
    return Answer(structured=structured, text="\n".join([line, *more]))


def _disposed(done: Outcome) -> Answer:
    would = "would be " if done.dry_run else ""
    head = f"{len(done.done)} {would}changed" + (f", {len(done.missing)} not found" if done.missing else "")
    room = room_for(DEFAULT_TOKENS) - cost_of(head, {"count": 0, "dry_run": True}) - _NOTE
    lost = fit([_lost(one) for one in done.missing], room=room // 2)
    gone = fit([_written(one) for one in done.done], room=room - sum(one.cost for one in lost))
    structured: dict[str, Json] = {"done": [one.structured for one in gone], "count": len(done.done)}
    if lost:
        structured["missing"] = [one.structured for one in lost]
    if done.dry_run:
        structured["dry_run"] = True
    left_out = len(done.done) + len(done.missing) - len(gone) - len(lost)
    rest = "narrow the ids or filters to see them" if done.dry_run else "count has them all"
    more = [f"({left_out} more are not listed: {rest})"] if left_out else []
    return Answer(structured=structured, text="\n".join([head, *(one.line for one in (*gone, *lost)), *more]))


def _written(one: Written) -> Entry:
    structured: dict[str, Json] = {"action": one.action, "id": one.id, "name": one.name, "version": one.version}
    if one.branch != MAIN:
        structured["branch"] = one.branch
    if one.conflicts:
        structured["conflicts"] = [conflicts_of(each) for each in one.conflicts]
    if one.warnings:
        structured["warnings"] = [*one.warnings]
    of_branch = "" if one.branch == MAIN else f" of branch {one.branch}"
    line = "; ".join((f"- {one.action}: {one.name}{of_branch}", *one.warnings))
    return Entry(structured=structured, line="\n".join((line, *map(conflict_report, one.conflicts[:_CONFLICTS]))))


def _lost(one: Missing) -> Entry:
    ref = one.ref[:_LONGEST_REF]
    return Entry(structured={"ref": ref, "suggestions": [*one.suggestions]}, line=f"- not found: {ref}")
