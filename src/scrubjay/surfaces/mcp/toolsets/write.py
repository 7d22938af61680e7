"""`remember`, `revise`, `forget` and `relate`: the outcome, in lines for a model and in fields for a program."""

from collections.abc import Mapping
from dataclasses import replace

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import MAIN, Json, Method, Trust
from scrubjay.model.relation import LINK
from scrubjay.model.requests import RememberRequest, ReviseRequest
from scrubjay.model.results import Outcome, Written
from scrubjay.surfaces.mcp.arguments import Arguments
from scrubjay.surfaces.mcp.budget import (
    DEFAULT_TOKENS,
    ListEntry,
    compact_json,
    cost_of,
    drop_empty,
    fit,
    room_for,
    trim_lists,
)
from scrubjay.surfaces.mcp.tool import ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets.filters import filter_from
from scrubjay.surfaces.mcp.toolsets.render import (
    conflict_fields,
    conflict_line,
    fields_of,
    render_remembered,
    render_result,
)

_FIELDS = (
    "text", "title", "name", "kind", "category", "project", "scope", "entity", "tags", "pinned", "expires_at",
    "remind_at", "metadata",
)  # fmt: skip
REVISE_NAMES = {"to": "revert_to", "content": "text", "observations": "add_observations"}
_OBSERVATIONS = ("add_observations", "remove_observations")
_STRENGTH = 0.5
_MAX_CONFLICTS = 3
_MAX_REF = 100
# The tokens of a remark about omitted items, and of the names of the lists.
_NOTE_TOKENS = 60


async def remember(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Store a text, by default in the caller's project."""
    args = Arguments(arguments)
    source, remarks = _source(args.mapping("source"))
    done = await context.memory.call(
        RememberRequest.of(
            text=args.text("text"),
            title=args.text("title"),
            kind=args.text("kind"),
            name=args.text("name"),
            entities=args.texts("entities"),
            observations=args.texts("observations"),
            tags=args.texts("tags"),
            category=args.text("category"),
            project=args.text("project", context.project),
            scope=args.text("scope"),
            session_hint=args.text("session_hint"),
            intent=args.text("intent", "auto"),
            pinned=args.flag("pinned"),
            expires_at=args.text("expires_at") or None,
            remind_at=args.text("remind_at") or None,
            source=source,
            metadata=args.mapping("metadata"),
            idempotency_key=args.text("idempotency_key"),
            dry_run=args.flag("dry_run"),
        )
    )
    done = replace(done, warnings=(*done.warnings, *remarks))
    return render_remembered(done, tags=args.texts("tags"), dry_run=args.flag("dry_run"), entities="entities")


def _source(values: Mapping[str, Json]) -> tuple[dict[str, Json], list[str]]:
    """Return the source of a memory. An agent wrote it, whatever it claims, and agents have less trust than users."""
    source: dict[str, Json] = {**values, "method": Method.AGENT.value}
    remarks: list[str] = []
    if values.get("method", Method.AGENT.value) != Method.AGENT.value:
        remarks.append("source.method is always agent over MCP")
    if values.get("trust") == Trust.USER.value:
        source["trust"] = Trust.AGENT.value
        remarks.append("source.trust is at most agent over MCP")
    return source, remarks


async def revise(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Change a memory, or go back to one of its versions."""
    args = Arguments(arguments, REVISE_NAMES)
    fields = args.only(_FIELDS)
    version = args.integer("to")
    changes = [*fields, *args.only(_OBSERVATIONS)]
    if version is None and not changes:
        raise InvalidInput("say what to change", hint=f"Give one of {', '.join((*_FIELDS, *_OBSERVATIONS))}, revert_to")
    if version is None:
        done = await context.memory.call(
            ReviseRequest.of(
                id=args.text("id"),
                add_observations=args.texts("add_observations"),
                remove_observations=args.texts("remove_observations"),
                message=args.text("message"),
                expected_version=args.integer("expected_version"),
                branch=args.text("branch"),
                source={"method": Method.AGENT.value},
                idempotency_key="",
                **fields,
            )
        )
    elif changes or "expected_version" in args:
        raise InvalidInput("revert_to restores a version as it was", hint="Revise it in a second call")
    else:
        done = await context.memory.revert(
            args.text("id"), to=version, message=args.text("message"), branch=args.text("branch")
        )
    return _render_revised(done)


def _render_revised(done: Written) -> ToolResult:
    is_main = done.branch == MAIN
    head = f"{done.action}: {done.name}, now version {done.version}" + ("" if is_main else f" of branch {done.branch}")
    fields = fields_of(done)
    fields["branch"] = "" if is_main else done.branch
    fields["conflicts"] = [conflict_fields(conflict) for conflict in done.conflicts]
    conflicts = [conflict_line(conflict) for conflict in done.conflicts[:_MAX_CONFLICTS]]
    return render_result([head, *conflicts], fields, done.warnings)


async def forget(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Put memories into the trash, or take them out."""
    args = Arguments(arguments)
    filters = args.mapping("filters")
    if "state" in filters:
        raise InvalidInput(
            "forget always takes live memories, and restore memories in the trash",
            hint="Leave state out",
            field="filters.state",
        )
    verb = context.memory.restore if args.flag("restore") else context.memory.forget
    done = await verb(
        args.texts("ids"),
        filter=filter_from(filters, tool="forget") if "filters" in args else None,
        group=args.flag("group"),
        reason=args.text("reason"),
        dry_run=args.flag("dry_run"),
    )
    return _render_outcome(done)


async def relate(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Set a relation between two memories, or remove it."""
    args = Arguments(arguments)
    source, target, relation = args.text("source"), args.text("target"), args.text("relation", LINK)
    if args.flag("remove"):
        done = await context.memory.unrelate(source, target, relation=relation)
    else:
        done = await context.memory.relate(
            source,
            target,
            relation=relation,
            text=args.text("text"),
            strength=args.number("strength", _STRENGTH),
            metadata=args.mapping("metadata"),
        )
    line = f"{done.action}: {done.source_name} -[{relation}]-> {done.target_name}"
    whole: dict[str, Json] = {"action": done.action, "source": done.source, "target": done.target}
    for end, links in (("source_links", done.source_links), ("target_links", done.target_links)):
        whole[end] = [drop_empty(fields_of(link)) for link in links]
    structured = trim_lists(whole, room=room_for(DEFAULT_TOKENS) - cost_of(line) - _NOTE_TOKENS)
    is_cut = len(compact_json(structured)) < len(compact_json(whole))
    more = ["(there are more links: read either memory to see them)"] if is_cut else []
    return ToolResult(structured=structured, text="\n".join([line, *more]))


def _render_outcome(outcome: Outcome) -> ToolResult:
    would = "would be " if outcome.dry_run else ""
    head = f"{len(outcome.done)} {would}changed"
    if outcome.missing:
        head += f", {len(outcome.missing)} not found"
    room = room_for(DEFAULT_TOKENS) - cost_of(head, {"count": 0, "dry_run": True}) - _NOTE_TOKENS
    refs = [(missing.ref[:_MAX_REF], missing.suggestions) for missing in outcome.missing]
    missing = fit(
        [
            ListEntry(structured={"ref": ref, "suggestions": [*suggestions]}, line=f"- not found: {ref}")
            for ref, suggestions in refs
        ],
        room=room // 2,
    )
    done = fit([_written_entry(written) for written in outcome.done], room=room - sum(entry.cost for entry in missing))
    structured: dict[str, Json] = {"done": [entry.structured for entry in done], "count": len(outcome.done)}
    if missing:
        structured["missing"] = [entry.structured for entry in missing]
    if outcome.dry_run:
        structured["dry_run"] = True
    omitted = len(outcome.done) + len(outcome.missing) - len(done) - len(missing)
    rest = "narrow the ids or filters to see them" if outcome.dry_run else "count includes them"
    more = [f"({omitted} more are not listed: {rest})"] if omitted else []
    return ToolResult(
        structured=structured, text="\n".join([head, *(entry.line for entry in (*done, *missing)), *more])
    )


def _written_entry(written: Written) -> ListEntry:
    structured: dict[str, Json] = {
        "action": written.action, "id": written.id, "name": written.name, "version": written.version,
    }  # fmt: skip
    if written.branch != MAIN:
        structured["branch"] = written.branch
    if written.conflicts:
        structured["conflicts"] = [conflict_fields(conflict) for conflict in written.conflicts]
    if written.warnings:
        structured["warnings"] = [*written.warnings]
    of_branch = "" if written.branch == MAIN else f" of branch {written.branch}"
    line = "; ".join((f"- {written.action}: {written.name}{of_branch}", *written.warnings))
    conflicts = [conflict_line(conflict) for conflict in written.conflicts[:_MAX_CONFLICTS]]
    return ListEntry(structured=structured, line="\n".join((line, *conflicts)))
