"""`notes`: memories as Markdown notes with titles, tags, categories and links, each in a file of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.model.labels import fence
from scrubjay.model.memory import Json
from scrubjay.model.notes import NoteHit, NoteLinked, NoteRead
from scrubjay.model.requests import CurrentDateRequest, ReadNoteRequest
from scrubjay.model.timestamps import to_iso
from scrubjay.notes.render import DATE_FORMATS, NOTE_FORMATS
from scrubjay.surfaces.mcp.arguments import Arguments
from scrubjay.surfaces.mcp.budget import (
    MAX_TOKENS,
    MIN_TOKENS,
    ListEntry,
    cost_of,
    drop_empty,
    find_cut,
    fit,
    room_for,
    shorten,
    trim_lists,
)
from scrubjay.surfaces.mcp.cursors import invalid_cursor, pack, unpack
from scrubjay.surfaces.mcp.tool import Tool, ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets.render import (
    AGENT_SOURCE,
    HEADING,
    conflict_fields,
    conflict_line,
    fields_of,
    render_result,
)
from scrubjay.surfaces.mcp.toolsets.schema import (
    FLAG,
    INTEGER,
    LIST,
    TEXT,
    TEXTS,
    at_least,
    choice,
    described,
    input_schema,
    output_schema,
)

_RESULTS = 10
_SHORT_TOKENS = 40
_SHORTER_TOKENS = (25, 12)
_MAX_CONFLICTS = 3
_MAX_SIMILAR = 3
# The tokens of the remarks about cuts.
_NOTE_TOKENS = 60
# A result shows at least this much of a note.
_MIN_SHOWN_TOKENS = 10
# A title may take this part of the room.
_TITLE_DIVISOR = 4
_FIELDS = ("title", "content", "tags", "category")
_BRIEF = ("id", "title", "score", "category", "mark")
# The fields to leave out, the least needed first.
_DISPENSABLE = ("observations", "kind", "name", "last_reviewed", "updated_at", "file_path", "links", "tags", "category")


async def write_mem(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Write a new note and its file."""
    args = Arguments(arguments)
    done = await context.memory.write_note(
        args.text("title"),
        args.text("content"),
        tags=args.texts("tags"),
        category=args.text("category"),
        template=args.text("template"),
        project=context.project,
        source=AGENT_SOURCE,
    )
    if not done.id:
        return render_result(
            ["rejected, nothing was stored"], {"action": done.action, "warnings": [*done.warnings]}, done.warnings
        )
    lines = [f"{done.action}: {done.title} ({done.id})", *([f"file: {done.file_path}"] if done.file_path else [])]
    lines += [
        f"like {similar.name} ({_join(f'{similar.similarity:.2f}', similar.mark)}): link or edit it if it is the same"
        for similar in done.similar[:_MAX_SIMILAR]
    ]
    lines += [conflict_line(conflict) for conflict in done.conflicts[:_MAX_CONFLICTS]]
    fields = fields_of(done)
    fields["similar"] = [drop_empty(fields_of(similar)) for similar in done.similar]
    fields["conflicts"] = [conflict_fields(conflict) for conflict in done.conflicts]
    return render_result(lines, fields, done.warnings)


async def read_mem(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return a note, its content within the budget; a long one continues at the cursor."""
    args = Arguments(arguments)
    note = await context.memory.call(
        ReadNoteRequest.of(identifier=args.text("identifier"), format=args.text("format", NOTE_FORMATS[0]))
    )
    start = 0
    if args.text("cursor"):
        start, version = cast("tuple[int, int]", unpack(args.text("cursor"), int, int))
        if not 0 <= start <= len(note.content):
            raise invalid_cursor()
        if version != note.version:
            raise InvalidInput(
                f"{note.title[:100]!r} has changed since the cursor was made",
                hint="Read it again without a cursor",
                field="cursor",
            )
    # The reader may be about to rewrite the whole note, and would lose the parts that are not shown.
    return _render_note(note, start=start, room=room_for(args.integer("max_tokens") or MAX_TOKENS))


async def edit_mem(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Change fields of a note."""
    args = Arguments(arguments)
    if not args.only(_FIELDS):
        raise InvalidInput("say what to change", hint=f"Give one of {', '.join(_FIELDS)}")
    done = await context.memory.edit_note(
        args.text("id"),
        title=args.text("title") if "title" in args else None,
        content=args.text("content") if "content" in args else None,
        tags=args.texts("tags") if "tags" in args else None,
        category=args.text("category") if "category" in args else None,
        expected_version=args.integer("expected_version"),
    )
    lines = [f"{done.action}: {done.title} ({done.id}), now version {done.version}"]
    lines += [f"file: {done.file_path}"] if done.file_path else []
    lines += [conflict_line(conflict) for conflict in done.conflicts[:_MAX_CONFLICTS]]
    fields = fields_of(done)
    fields["conflicts"] = [conflict_fields(conflict) for conflict in done.conflicts]
    return render_result(lines, fields, done.warnings)


async def search_mem(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return the notes that best match a query."""
    args = Arguments(arguments)
    matches = await context.memory.search_notes(
        args.text("query"),
        limit=args.integer("limit") or _RESULTS,
        category=args.text("category"),
        tags=args.texts("tags"),
        semantic=args.flag("semantic"),
    )
    remarks = [f"({reason})" for reason in matches.degraded]
    frame = cost_of("\n".join([HEADING, *remarks]), {"results": [], "degraded": [*matches.degraded]})
    entries = _fit_hits(matches.results, room=room_for(args.integer("max_tokens")) - _NOTE_TOKENS - frame)
    lines = [HEADING, *(entry.line for entry in entries)] if entries else []
    lines = lines or ([] if matches.results else ["Nothing found."])
    if len(entries) < len(matches.results):
        lines.append(
            f"(there are more: {len(entries)} of the {len(matches.results)} fit into the answer; narrow the query, or "
            "use a larger max_tokens)"
        )
    elif matches.more:
        lines.append("(there are more: narrow the query, or use a larger limit)")
    structured: dict[str, Json] = {"results": [entry.structured for entry in entries]}
    return ToolResult(
        structured=structured | drop_empty({"degraded": [*matches.degraded]}), text="\n".join([*lines, *remarks])
    )


async def link_mem(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Link two notes in both directions."""
    args = Arguments(arguments)
    done = await context.memory.link_notes(
        args.text("source_id"), args.text("target_id"), link_text=args.text("link_text")
    )
    return _render_linked(done, [f"{done.action}: {done.source_title} ↔ {done.target_title}", done.markdown_link])


async def unlink_mem(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Remove a link from both notes."""
    args = Arguments(arguments)
    done = await context.memory.unlink_notes(args.text("source_id"), args.text("target_id"))
    return _render_linked(done, [f"{done.action}: {done.source_title} ↔ {done.target_title}"])


async def get_current_date(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return the current date and time."""
    args = Arguments(arguments)
    now = await context.memory.call(
        CurrentDateRequest.of(format=args.text("format", DATE_FORMATS[0]), timezone=args.text("timezone"))
    )
    return ToolResult(
        structured=fields_of(now), text=f"{now.date} ({now.weekday}, {now.timezone}, UTC{now.utc_offset})"
    )


def _render_linked(done: NoteLinked, lines: list[str]) -> ToolResult:
    result = render_result(lines, fields_of(done) | {"success": done.success}, done.warnings)
    # Empty lists stay: that no links remain is the answer.
    return replace(result, structured={"source_links": [], "target_links": [], **result.structured})


def _fit_hits(hits: Sequence[NoteHit], *, room: int) -> list[ListEntry]:
    """Return as many hits as fit; shorten all of them to the essential fields before leaving one out."""
    entries = fit([_hit_entry(hit) for hit in hits], room=room)
    for tokens in _SHORTER_TOKENS:
        if len(entries) == len(hits):
            break
        entries = fit([_hit_entry(hit, snippet_tokens=tokens) for hit in hits], room=room)
    return entries


def _hit_entry(hit: NoteHit, *, snippet_tokens: int = 0) -> ListEntry:
    structured = drop_empty(fields_of(hit)) | {"score": hit.score}
    category = f" [{hit.category}]" if hit.category else ""
    snippet = " ".join(hit.snippet.split())
    head = f"- {hit.title}{category} ({_join(f'{hit.score:.2f}', hit.mark)}) {hit.id}"
    if snippet_tokens:
        snippet = shorten(snippet, tokens=snippet_tokens)
        structured = {name: structured[name] for name in _BRIEF if name in structured} | {"snippet": snippet}
    return ListEntry(
        structured=structured, line=f"{head}\n  {snippet}", short=f"{head}\n  {shorten(snippet, tokens=_SHORT_TOKENS)}"
    )


def _render_note(note: NoteRead, *, start: int, room: int) -> ToolResult:
    """Return a note from a character on, as much of it as fits."""
    whole = note.content
    head = f"{HEADING}\n{_head(note)}\n"
    fields = _note_fields(note, room=(room - cost_of(head)) // 3)
    left = room - cost_of(head, fields) - _NOTE_TOKENS
    tokens = max(left // 2, _MIN_SHOWN_TOKENS)
    while True:
        end = find_cut(whole, start=start, tokens=tokens)
        part = whole[start:end]
        if tokens <= _MIN_SHOWN_TOKENS or cost_of(fence(part), {"content": part}) <= left:
            break
        tokens -= max(1, tokens // 5)
    structured: dict[str, Json] = {**fields, "content": part}
    lines = [*([] if start else [head]), fence(part)]
    if end < len(whole):
        cursor = pack(end, note.version)
        structured |= {"from": start, "to": end, "of": len(whole), "cursor": cursor}
        lines.append(f'(characters {start:,} to {end:,} of {len(whole):,}; more with cursor "{cursor}")')
    elif not start and note.format != "json":
        lines += _observation_lines(fields, room=left - cost_of(part, {"content": part}))
    return ToolResult(structured=structured, text="\n".join(lines))


def _note_fields(note: NoteRead, *, room: int) -> dict[str, Json]:
    """Return the fields of a note besides its content, as many as fit."""
    fields = drop_empty({name: value for name, value in fields_of(note).items() if name != "content"})
    fields |= {name: fields.get(name, []) for name in ("tags", "links")}
    fields["title"] = shorten(note.title, tokens=room // _TITLE_DIVISOR)
    fields = trim_lists(fields, room=room)
    for name in _DISPENSABLE:
        if cost_of("", fields) <= room:
            break
        fields.pop(name, None)
    return fields


def _observation_lines(fields: Mapping[str, Json], *, room: int) -> list[str]:
    lines = [f"- {' '.join(observation.split())}" for observation in cast("list[str]", fields.get("observations", []))]
    while lines and cost_of("\n".join(lines)) > room:
        lines.pop()
    return lines


def _join(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _head(note: NoteRead) -> str:
    parts = [
        shorten(note.category, tokens=_SHORT_TOKENS),
        shorten(" ".join(f"#{tag}" for tag in note.tags), tokens=_SHORT_TOKENS),
        f"created {to_iso(note.created_at)}",
        f"version {note.version}",
        note.state if note.state != "live" else "",
        note.mark,
    ]
    return f"{shorten(note.title, tokens=_SHORT_TOKENS)} ({note.id}) · {' · '.join(part for part in parts if part)}"


_REF = described(TEXT, "id, title, name or file name")
_CONTENT = described(TEXT, "Markdown; [[links]] to other notes work")
_NEW_CONTENT = described(TEXT, "the whole new content")
_LABELS = {"tags": TEXTS, "category": described(TEXT, "such as work or work/meetings")}
_TEMPLATE = described(TEXT, "meeting, decision, daily, project or one of the user's")
_CATEGORY = described(TEXT, "with those below it")
_BOTH_ENDS = {"source_id": _REF, "target_id": _REF}
_LINK_TEXT = described(TEXT, "default: the target's title")
_MAX_TOKENS_ARGUMENT = at_least(MIN_TOKENS)

_WRITTEN = output_schema(
    action=TEXT, id=TEXT, file_path=TEXT, created_at=TEXT, name=TEXT, version=INTEGER, similar=LIST, conflicts=LIST,
    warnings=LIST,
)  # fmt: skip
_NOTE_READ = output_schema(
    id=TEXT, title=TEXT, content=TEXT, tags=LIST, category=TEXT, created_at=TEXT, updated_at=TEXT, last_reviewed=TEXT,
    file_path=TEXT, links=LIST, version=INTEGER, observations=LIST, cursor=TEXT,
)  # fmt: skip
_CHANGED = output_schema(
    success=FLAG, action=TEXT, id=TEXT, updated_at=TEXT, file_path=TEXT, version=INTEGER, conflicts=LIST, warnings=LIST
)  # fmt: skip
_LINKED = output_schema(
    success=FLAG, action=TEXT, source_id=TEXT, source_links=LIST, target_id=TEXT, target_links=LIST,
    markdown_link=TEXT, warnings=LIST,
)  # fmt: skip

TOOLS = (
    Tool(
        name="write_mem",
        title="Write a note",
        description="Create a memory as a Markdown note with a file of its own. Search first; edit what is there.",
        input=input_schema("title", "content", title=TEXT, content=_CONTENT, **_LABELS, template=_TEMPLATE),
        output=_WRITTEN,
        call=write_mem,
        names={"text": "content"},
        verbs={"write_note": ""},
    ),
    Tool(
        name="read_mem",
        title="Read a note",
        description="A note by id, title or part of it.",
        input=input_schema(
            "identifier", identifier=_REF, format=choice(*NOTE_FORMATS), max_tokens=_MAX_TOKENS_ARGUMENT, cursor=TEXT
        ),
        output=_NOTE_READ,
        call=read_mem,
        read_only=True,
        verbs={"read_note": "", "read": ""},
    ),
    Tool(
        name="edit_mem",
        title="Edit a note",
        description="Change title, content, tags or category of a note; older versions are kept.",
        input=input_schema("id", id=_REF, title=TEXT, content=_NEW_CONTENT, **_LABELS, expected_version=INTEGER),
        output=_CHANGED,
        call=edit_mem,
        names={"text": "content"},
        verbs={"edit_note": "", "revise": ""},
    ),
    Tool(
        name="search_mem",
        title="Search notes",
        description='Notes by words in title, content, tags and category. "a phrase" and begin* work; semantic looks '
        "for meaning too.",
        input=input_schema(
            "query",
            query=TEXT,
            limit=at_least(1),
            category=_CATEGORY,
            tags=TEXTS,
            semantic=FLAG,
            max_tokens=_MAX_TOKENS_ARGUMENT,
        ),
        output=output_schema(results=LIST, degraded=LIST),
        call=search_mem,
        read_only=True,
        verbs={"search_notes": "", "recall": ""},
    ),
    Tool(
        name="link_mem",
        title="Link two notes",
        description="Link two notes with each other; both show it.",
        input=input_schema(*_BOTH_ENDS, **_BOTH_ENDS, link_text=_LINK_TEXT),
        output=_LINKED,
        call=link_mem,
        names={"text": "link_text"},
        verbs={"link_notes": "", "relate": ""},
        idempotent=True,
    ),
    Tool(
        name="unlink_mem",
        title="Unlink two notes",
        description="Remove the link between two notes, from both.",
        input=input_schema(*_BOTH_ENDS, **_BOTH_ENDS),
        output=_LINKED,
        call=unlink_mem,
        verbs={"unlink_notes": "", "unrelate": ""},
        idempotent=True,
    ),
    Tool(
        name="get_current_date",
        title="Current date",
        description="The current date and time, with the time zone.",
        input=input_schema(
            format=choice(*DATE_FORMATS), timezone=described(TEXT, "such as Europe/Berlin; default: the server's")
        ),
        output=output_schema(
            date=TEXT, format=TEXT, iso=TEXT, timestamp=INTEGER, timezone=TEXT, utc_offset=TEXT, weekday=TEXT
        ),
        call=get_current_date,
        read_only=True,
    ),
)
