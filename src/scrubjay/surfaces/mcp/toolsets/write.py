"""`remember`, `revise`, `forget` and `relate`: the outcome, in lines for a model and in fields for a program."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.model.draft import UnreadableDraft
from scrubjay.model.memory import MAIN, Json, Method, Trust
from scrubjay.model.requests import (
    ForgetRequest,
    RelateRequest,
    RememberManyRequest,
    RememberRequest,
    ResolveConflictRequest,
    RestoreRequest,
    RevertRequest,
    ReviseRequest,
    UnrelateRequest,
)
from scrubjay.model.results import Outcome, RememberedItem, RememberedMany, Written
from scrubjay.surfaces.mcp.arguments import ArgumentChecker, arguments_for
from scrubjay.surfaces.mcp.budget import (
    DEFAULT_TOKENS,
    ListEntry,
    compact_json,
    cost_of,
    drop_empty,
    fit,
    room_for,
    shorten,
    trim_lists,
)
from scrubjay.surfaces.mcp.tool import ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets.filters import filter_from
from scrubjay.surfaces.mcp.toolsets.render import (
    AGENT_SOURCE,
    conflict_fields,
    conflict_line,
    fields_of,
    render_remembered,
    render_result,
)
from scrubjay.surfaces.mcp.toolsets.schema import argument_schemas, verb_schema

REVISE_NAMES = {"to": "revert_to", "content": "text", "observations": "add_observations"}
REMEMBER_UNLISTED = ("wait_for_llm", "atomic")
"""The arguments that `remember` leaves out: agents do not wait, and correct those of many texts that fail."""
REVISE_UNLISTED = ("observations", "tier", "relevance", "source", "idempotency_key")
"""The arguments that `revise` leaves out: agents change facts one by one, and the listing has few tokens."""
_CHANGES = tuple(
    name
    for name in argument_schemas(ReviseRequest)
    if name not in (*REVISE_UNLISTED, *argument_schemas(RevertRequest), "expected_version")
)
_MAX_CONFLICTS = 3
_MAX_REF = 100
_MAX_NAME = 100
# The tokens of a remark about omitted items, and of the names of the lists.
_NOTE_TOKENS = 60
_ITEM = ArgumentChecker(verb_schema(RememberRequest, but=REMEMBER_UNLISTED), tool="remember")


async def remember(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Store a text, or many, by default in the caller's project."""
    if "items" in arguments:
        return await _remember_many(context, arguments)
    if "text" not in arguments:
        raise InvalidInput(
            "remember needs the argument 'text'", hint="Give it as a text, or several as `items`", field="text"
        )
    request, remarks = _remember_request(context, arguments)
    done = await context.memory.call(request)
    done = replace(done, warnings=(*done.warnings, *remarks))
    return render_remembered(done, tags=request.tags, dry_run=request.dry_run, entities="entities")


async def _remember_many(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    if wrong := arguments.keys() - arguments_for(RememberManyRequest, arguments):
        name = min(wrong, key=[*arguments].index)
        raise InvalidInput(f"{name} does not go with items", hint="Give it in each of `items`", field=name)
    items: list[RememberRequest] = []
    remarks: list[Sequence[str]] = []
    for values in cast("list[dict[str, Json]]", arguments["items"]):
        item, about = _read_item(context, values)
        items.append(item)
        remarks.append(about)
    request = RememberManyRequest.of(**{**arguments, "items": items})
    done = await context.memory.call(request, progress=context.progress)
    return _render_many(done, remarks)


def _read_item(context: ToolContext, values: Mapping[str, Json]) -> tuple[RememberRequest, Sequence[str]]:
    """Return one of many texts, which may say why it cannot be read, with the remarks about it."""
    try:
        return _remember_request(context, _ITEM.check(values))
    except InvalidInput as error:
        return UnreadableDraft(text="", error=error), ()


def _remember_request(context: ToolContext, values: Mapping[str, Json]) -> tuple[RememberRequest, Sequence[str]]:
    source, remarks = _source(cast("Mapping[str, Json]", values.get("source", {})))
    return RememberRequest.of(**{"project": context.project, **values, "source": source}), remarks


def _source(values: Mapping[str, Json]) -> tuple[dict[str, Json], list[str]]:
    """Return the source of a memory. An agent wrote it, whatever it claims, and agents have less trust than users."""
    source: dict[str, Json] = {**AGENT_SOURCE, **values, "method": Method.AGENT.value}
    remarks: list[str] = []
    if values.get("method", Method.AGENT.value) != Method.AGENT.value:
        remarks.append("source.method is always agent over MCP")
    if values.get("trust") == Trust.USER.value:
        source["trust"] = Trust.AGENT.value
        remarks.append("source.trust is at most agent over MCP")
    return source, remarks


def _render_many(done: RememberedMany, remarks: Sequence[Sequence[str]]) -> ToolResult:
    """Return the result of each item, within the budget; failures come first, because they need to be corrected."""
    warnings = [(*(item.result.warnings if item.result else ()), *remarks[item.index]) for item in done.items]
    stored = [own for item, own in zip(done.items, warnings, strict=True) if item.result]
    # What every item says, such as that there is no model for meanings, is said once.
    shared = [warning for warning in stored[0] if all(warning in own for own in stored)] if len(stored) > 1 else []
    entries = [
        _item_entry(item, [warning for warning in own if warning not in shared])
        for item, own in zip(done.items, warnings, strict=True)
    ]
    head = ", ".join(f"{count:,} {action}" for action, count in done.counts.items()) or "nothing to remember"
    head += " (dry run: nothing was stored)" if done.dry_run else ""
    structured: dict[str, Json] = {"counts": dict(done.counts), "warnings": [*shared]}
    room = room_for(DEFAULT_TOKENS) - cost_of("\n".join((head, *shared)), structured) - _NOTE_TOKENS
    failed = fit([entry for entry in entries if entry.structured["action"] == "failed"], room=room)
    room -= sum(entry.cost for entry in failed)
    shown = [*failed, *fit([entry for entry in entries if entry.structured["action"] != "failed"], room=room)]
    shown.sort(key=lambda entry: cast("int", entry.structured["index"]))
    omitted = len(entries) - len(shown)
    more = [f"({omitted:,} more are not listed: the counts include them)"] if omitted else []
    return ToolResult(
        structured=drop_empty({**structured, "results": [entry.structured for entry in shown]}),
        text="\n".join([head, *(entry.line for entry in shown), *shared, *more]),
    )


def _item_entry(item: RememberedItem, warnings: Sequence[str]) -> ListEntry:
    if item.result is None:
        assert item.error is not None
        error = f"{item.error.message}. {item.error.hint}" if item.error.hint else item.error.message
        field = f"items[{item.index}]" + (f".{item.error.field}" if item.error.field else "")
        failure: dict[str, Json] = {"index": item.index, "action": "failed", "error": error, "field": field}
        return ListEntry(structured=failure, line=f"- items[{item.index}] failed: {error}")
    done = item.result
    structured: dict[str, Json] = {
        "index": item.index,
        "action": done.action,
        "id": done.id,
        "name": done.name,
        "merged_into": done.merged_into,
        "conflicts": [conflict_fields(conflict) for conflict in done.conflicts],
        "warnings": [*warnings],
    }
    line = "; ".join((f"- items[{item.index}] {done.action}: {shorten(done.name, tokens=_MAX_NAME)}", *warnings))
    conflicts = [conflict_line(conflict) for conflict in done.conflicts[:_MAX_CONFLICTS]]
    return ListEntry(structured=drop_empty(structured), line="\n".join((line, *conflicts)))


async def revise(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Change a memory, go back to one of its versions, or settle a conflict in its favour."""
    version = arguments.get("revert_to")
    changes = [name for name in _CHANGES if name in arguments]
    if "settles" in arguments:
        return await _settle(context, arguments, changes)
    if version is None and not changes:
        raise InvalidInput("say what to change", hint=f"Give one of {', '.join(_CHANGES)}, revert_to, settles")
    if version is None:
        values = arguments_for(ReviseRequest, arguments) | {"source": AGENT_SOURCE}
        done = await context.memory.call(ReviseRequest.of(**values))
    elif changes or "expected_version" in arguments:
        raise InvalidInput("revert_to restores a version as it was", hint="Revise it in a second call")
    else:
        done = await context.memory.call(RevertRequest.of(**arguments_for(RevertRequest, arguments), to=version))
    return _render_revised(done)


async def _settle(context: ToolContext, arguments: Mapping[str, Json], changes: Sequence[str]) -> ToolResult:
    """Settle a conflict: the memory holds, and the other side is outdated."""
    if changes or "revert_to" in arguments:
        raise InvalidInput("settles decides a conflict and changes nothing else", hint="Revise it in a second call")
    done = await context.memory.call(
        ResolveConflictRequest.of(
            id=arguments["settles"], strategy="supersede", keep=arguments["id"], notes=arguments.get("message", "")
        )
    )
    outdated = ", ".join(memory_id for memory_id in done.changed if memory_id != done.kept)
    lines = [f"settled {done.conflict}: {done.kept} holds, {outdated} is outdated"]
    return render_result(lines, {"action": done.action, "id": done.kept, "conflict": done.conflict}, done.warnings)


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
    if "state" in cast("Mapping[str, Json]", arguments.get("filters", {})):
        raise InvalidInput(
            "forget always takes live memories, and restore memories in the trash",
            hint="Leave state out",
            field="filters.state",
        )
    form = RestoreRequest if arguments.get("restore") else ForgetRequest
    filter_ = filter_from(arguments, tool="forget")
    done = await context.memory.call(form.of(**arguments_for(form, arguments), filter=filter_))
    return render_outcome(done)


async def relate(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Set a relation between two memories, or remove it."""
    form = UnrelateRequest if arguments.get("remove") else RelateRequest
    request = form.of(**arguments_for(form, arguments))
    done = await context.memory.call(request)
    line = f"{done.action}: {done.source_name} -[{request.relation}]-> {done.target_name}"
    whole: dict[str, Json] = {"action": done.action, "source": done.source, "target": done.target}
    for end, links in (("source_links", done.source_links), ("target_links", done.target_links)):
        whole[end] = [drop_empty(fields_of(link)) for link in links]
    structured = trim_lists(whole, room=room_for(DEFAULT_TOKENS) - cost_of(line) - _NOTE_TOKENS)
    is_cut = len(compact_json(structured)) < len(compact_json(whole))
    more = ["(there are more links: read either memory to see them)"] if is_cut else []
    return ToolResult(structured=structured, text="\n".join([line, *more]))


def render_outcome(outcome: Outcome) -> ToolResult:
    """Return what a verb did to each of many memories, and the references without one."""
    would = "would be " if outcome.dry_run else ""
    head = f"{len(outcome.done)} {would}changed"
    if outcome.missing:
        head += f", {len(outcome.missing)} not found"
    room = room_for(DEFAULT_TOKENS) - cost_of(head, {"count": 0, "dry_run": True}) - _NOTE_TOKENS
    refs = [(missing.ref[:_MAX_REF], missing.suggestions) for missing in outcome.missing]
    missing = fit(
        [
            ListEntry(
                structured={"ref": ref, "suggestions": [*suggestions]},
                line=f"- not found: {ref}" + (f". Did you mean {' or '.join(suggestions)}?" if suggestions else ""),
            )
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
