"""`notes`: memories as Markdown notes with titles, tags, categories and links, each in a file of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json, Method
from scrubjay.model.timestamps import to_iso
from scrubjay.notes.render import DATE_FORMATS, NOTE_FORMATS
from scrubjay.notes.results import NoteHit, NoteLinked, NoteRead
from scrubjay.surfaces.mcp.arguments import Given
from scrubjay.surfaces.mcp.budget import (
    LEAST_TOKENS,
    MOST_TOKENS,
    Entry,
    beginning,
    cost_of,
    cut,
    fit,
    lean,
    room_for,
    trim,
)
from scrubjay.surfaces.mcp.cursors import foreign, pack, unpack
from scrubjay.surfaces.mcp.tool import Answer, Tool, ToolContext
from scrubjay.surfaces.mcp.toolsets.render import conflict_report, conflicts_of, fields_of, told
from scrubjay.surfaces.mcp.toolsets.schema import FLAG, LIST, TEXT, TEXTS, WHOLE, choice, gives, least, says, takes

_RESULTS = 10
_SHORT = 40
_SHORTER = (25, 12)
_CONFLICTS = 3
_SIMILAR = 3
# What the remarks about what was cut cost.
_NOTE = 60
# Something of a note is told, however little room there is.
_LEAST = 10
# A title that costs more than such a part of the room is cut.
_SHARE_OF_TITLE = 4
_FIELDS = ("title", "content", "tags", "category")
_BRIEF = ("id", "title", "score", "category")
_DISPENSABLE = ("observations", "kind", "name", "last_reviewed", "updated_at", "file_path", "links", "tags", "category")


async def write_mem(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Write a new note and its file."""
    given = Given(arguments)
    done = await context.memory.write_note(
        given.text("title"),
        given.text("content"),
        tags=given.texts("tags"),
        category=given.text("category"),
        template=given.text("template"),
        project=context.project,
        source={"method": Method.AGENT.value},
    )
    if not done.id:
        return told(
            ["rejected, nothing was stored"], {"action": done.action, "warnings": [*done.warnings]}, done.warnings
        )
    lines = [f"{done.action}: {done.title} ({done.id})", *([f"file: {done.file_path}"] if done.file_path else [])]
    lines += [
        f"like {one.name} ({one.similarity:.2f}): link or edit that one if it is the same"
        for one in done.similar[:_SIMILAR]
    ]
    fields = fields_of(done)
    fields["similar"] = [lean(fields_of(one)) for one in done.similar]
    fields["conflicts"] = [conflicts_of(conflict) for conflict in done.conflicts]
    conflict_reports = [conflict_report(conflict) for conflict in done.conflicts[:_CONFLICTS]]
    return told([*lines, *conflict_reports], fields, done.warnings)


async def read_mem(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """A note, its content within the budget; a long one goes on at the cursor."""
    given = Given(arguments)
    note = await context.memory.read_note(given.text("identifier"), format=given.text("format", NOTE_FORMATS[0]))
    start, seen = 0, 0
    if given.text("cursor"):
        start, seen = cast("tuple[int, int]", unpack(given.text("cursor"), int, int))
        _require_same(note, start=start, seen=seen)
    # Whoever reads a note may be about to write all of it anew: what is not seen would be lost.
    return _shown(note, start=start, room=room_for(given.whole("max_tokens") or MOST_TOKENS))


async def edit_mem(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Change fields of a note."""
    given = Given(arguments)
    if not given.only(_FIELDS):
        raise InvalidInput("say what to change", hint=f"Give one of {', '.join(_FIELDS)}")
    done = await context.memory.edit_note(
        given.text("id"),
        title=given.text("title") if "title" in given else None,
        content=given.text("content") if "content" in given else None,
        tags=given.texts("tags") if "tags" in given else None,
        category=given.text("category") if "category" in given else None,
        expected_version=given.whole("expected_version"),
    )
    lines = [f"{done.action}: {done.title} ({done.id}), now version {done.version}"]
    lines += [f"file: {done.file_path}"] if done.file_path else []
    lines += [conflict_report(conflict) for conflict in done.conflicts[:_CONFLICTS]]
    fields = fields_of(done)
    fields["conflicts"] = [conflicts_of(conflict) for conflict in done.conflicts]
    return told(lines, fields, done.warnings)


async def search_mem(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """The notes that best fit some words."""
    given = Given(arguments)
    found = await context.memory.search_notes(
        given.text("query"),
        limit=given.whole("limit") or _RESULTS,
        category=given.text("category"),
        tags=given.texts("tags"),
        semantic=given.flag("semantic"),
    )
    remarks = [f"({one})" for one in found.degraded]
    beside = cost_of("\n".join(remarks), {"results": [], "degraded": [*found.degraded]})
    entries = _fitting(found.results, room=room_for(given.whole("max_tokens")) - _NOTE - beside)
    lines = [entry.line for entry in entries] or ([] if found.results else ["Nothing found."])
    if len(entries) < len(found.results):
        lines.append(
            f"(there are more: {len(entries)} of the {len(found.results)} fit into the answer; ask more narrowly, or "
            "with a larger max_tokens)"
        )
    elif found.more:
        lines.append("(there are more: ask more narrowly, or with a larger limit)")
    structured: dict[str, Json] = {"results": [entry.structured for entry in entries]}
    return Answer(structured=structured | lean({"degraded": [*found.degraded]}), text="\n".join([*lines, *remarks]))


async def link_mem(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Link two notes, seen from both."""
    given = Given(arguments)
    done = await context.memory.link_notes(
        given.text("source_id"), given.text("target_id"), link_text=given.text("link_text")
    )
    return _linked(done, [f"{done.action}: {done.source_title} ↔ {done.target_title}", done.markdown_link])


async def unlink_mem(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Take a link away, from both ends."""
    given = Given(arguments)
    done = await context.memory.unlink_notes(given.text("source_id"), given.text("target_id"))
    return _linked(done, [f"{done.action}: {done.source_title} ↔ {done.target_title}"])


async def get_current_date(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Now."""
    given = Given(arguments)
    done = await context.memory.current_date(
        format=given.text("format", DATE_FORMATS[0]), timezone=given.text("timezone")
    )
    return Answer(
        structured=fields_of(done), text=f"{done.date} ({done.weekday}, {done.timezone}, UTC{done.utc_offset})"
    )


def _linked(done: NoteLinked, lines: list[str]) -> Answer:
    answer = told(lines, fields_of(done) | {"success": done.success}, done.warnings)
    # That nothing is linked any more is what was asked.
    return replace(answer, structured={"source_links": [], "target_links": [], **answer.structured})


def _fitting(hits: Sequence[NoteHit], *, room: int) -> list[Entry]:
    """As many hits as fit; before one is left out, all say only what they are and a little of where the words are."""
    kept = fit([_hit(hit) for hit in hits], room=room)
    for words in _SHORTER:
        if len(kept) == len(hits):
            break
        kept = fit([_hit(hit, words=words) for hit in hits], room=room)
    return kept


def _hit(one: NoteHit, *, words: int = 0) -> Entry:
    structured = lean(fields_of(one)) | {"score": one.score}
    where = f" [{one.category}]" if one.category else ""
    snippet = " ".join(one.snippet.split())
    head = f"- {one.title}{where} ({one.score:.2f}) {one.id}"
    if words:
        snippet = beginning(snippet, tokens=words)
        structured = {name: structured[name] for name in _BRIEF if name in structured} | {"snippet": snippet}
    return Entry(
        structured=structured, line=f"{head}\n  {snippet}", short=f"{head}\n  {beginning(snippet, tokens=_SHORT)}"
    )


def _shown(note: NoteRead, *, start: int, room: int) -> Answer:
    """A note from a character on, as much of it as there is room for."""
    whole = note.content
    fields, head = _facts(note, room=room // 3), _head(note)
    left = room - cost_of(head, fields) - _NOTE
    each = max(left // 2, _LEAST)
    while True:
        end = cut(whole, start=start, tokens=each)
        part = whole[start:end]
        if each <= _LEAST or cost_of(part, {"content": part}) <= left:
            break
        each -= max(1, each // 5)
    structured: dict[str, Json] = {**fields, "content": part}
    lines = [part] if start else [head, "", part]
    if end < len(whole):
        cursor = pack(end, note.version)
        structured |= {"from": start, "to": end, "of": len(whole), "cursor": cursor}
        lines.append(f'(characters {start:,} to {end:,} of {len(whole):,}; more with cursor "{cursor}")')
    elif not start and note.format != "json":
        lines += _observed(fields, room=left - cost_of(part, {"content": part}))
    return Answer(structured=structured, text="\n".join(lines))


def _facts(note: NoteRead, *, room: int) -> dict[str, Json]:
    """What is known of a note besides its content; where there is little room, what is needed least goes first."""
    fields = lean({name: value for name, value in fields_of(note).items() if name != "content"})
    fields |= {name: fields.get(name, []) for name in ("tags", "links")}
    fields["title"] = beginning(note.title, tokens=room // _SHARE_OF_TITLE)
    fields = trim(fields, room=room)
    for name in _DISPENSABLE:
        if cost_of("", fields) <= room:
            break
        fields.pop(name, None)
    return fields


def _observed(fields: Mapping[str, Json], *, room: int) -> list[str]:
    lines = [f"- {one}" for one in cast("list[str]", fields.get("observations", []))]
    while lines and cost_of("\n".join(lines)) > room:
        lines.pop()
    return lines


def _head(note: NoteRead) -> str:
    about = [
        beginning(note.category, tokens=_SHORT),
        beginning(" ".join(f"#{tag}" for tag in note.tags), tokens=_SHORT),
        f"created {to_iso(note.created_at)}",
        f"version {note.version}",
        note.state if note.state != "live" else "",
    ]
    return f"{beginning(note.title, tokens=_SHORT)} ({note.id}) · {' · '.join(one for one in about if one)}"


def _require_same(note: NoteRead, *, start: int, seen: int) -> None:
    if not 0 <= start <= len(note.content):
        raise foreign()
    if seen != note.version:
        raise InvalidInput(
            f"{note.title[:100]!r} has changed since the cursor was made",
            hint="Read it again without a cursor",
            field="cursor",
        )


_REF = says(TEXT, "id, title, name or file name")
_CONTENT = says(TEXT, "Markdown; [[links]] to other notes work")
_NEW_CONTENT = says(TEXT, "the whole new content")
_LABELS = {"tags": TEXTS, "category": says(TEXT, "such as work or work/meetings")}
_TEMPLATE = says(TEXT, "meeting, decision, daily, project or one of the user's")
_WITHIN = says(TEXT, "with those below it")
_ENDS = {"source_id": _REF, "target_id": _REF}
_SHOWN = says(TEXT, "default: the target's title")
_ROOM = least(LEAST_TOKENS)

_WRITTEN = gives(
    action=TEXT, id=TEXT, file_path=TEXT, created_at=TEXT, name=TEXT, version=WHOLE, similar=LIST, conflicts=LIST,
    warnings=LIST,
)  # fmt: skip
_NOTE_READ = gives(
    id=TEXT, title=TEXT, content=TEXT, tags=LIST, category=TEXT, created_at=TEXT, updated_at=TEXT, last_reviewed=TEXT,
    file_path=TEXT, links=LIST, version=WHOLE, observations=LIST, cursor=TEXT,
)  # fmt: skip
_CHANGED = gives(
    success=FLAG, action=TEXT, id=TEXT, updated_at=TEXT, file_path=TEXT, version=WHOLE, conflicts=LIST, warnings=LIST
)  # fmt: skip
_LINKED = gives(
    success=FLAG, action=TEXT, source_id=TEXT, source_links=LIST, target_id=TEXT, target_links=LIST,
    markdown_link=TEXT, warnings=LIST,
)  # fmt: skip

TOOLS = (
    Tool(
        name="write_mem",
        title="Write a note",
        description="Create a memory as a Markdown note with a file of its own. Search first; edit what is there.",
        input=takes("title", "content", title=TEXT, content=_CONTENT, **_LABELS, template=_TEMPLATE),
        output=_WRITTEN,
        call=write_mem,
    ),
    Tool(
        name="read_mem",
        title="Read a note",
        description="A note by id, title or half of one.",
        input=takes("identifier", identifier=_REF, format=choice(*NOTE_FORMATS), max_tokens=_ROOM, cursor=TEXT),
        output=_NOTE_READ,
        call=read_mem,
        reads=True,
    ),
    Tool(
        name="edit_mem",
        title="Edit a note",
        description="Change title, content, tags or category of a note; older versions are kept.",
        input=takes("id", id=_REF, title=TEXT, content=_NEW_CONTENT, **_LABELS, expected_version=WHOLE),
        output=_CHANGED,
        call=edit_mem,
    ),
    Tool(
        name="search_mem",
        title="Search notes",
        description='Notes by words in title, content, tags and category. "a phrase" and begin* work; semantic looks '
        "for meaning too.",
        input=takes("query", query=TEXT, limit=least(1), category=_WITHIN, tags=TEXTS, semantic=FLAG, max_tokens=_ROOM),
        output=gives(results=LIST, degraded=LIST),
        call=search_mem,
        reads=True,
    ),
    Tool(
        name="link_mem",
        title="Link two notes",
        description="Link two notes with each other; both show it.",
        input=takes(*_ENDS, **_ENDS, link_text=_SHOWN),
        output=_LINKED,
        call=link_mem,
        repeatable=True,
    ),
    Tool(
        name="unlink_mem",
        title="Unlink two notes",
        description="Remove the link between two notes, from both.",
        input=takes(*_ENDS, **_ENDS),
        output=_LINKED,
        call=unlink_mem,
        repeatable=True,
    ),
    Tool(
        name="get_current_date",
        title="Current date",
        description="The date and time of now, with the time zone.",
        input=takes(format=choice(*DATE_FORMATS), timezone=says(TEXT, "such as Europe/Berlin; default: the server's")),
        output=gives(date=TEXT, format=TEXT, iso=TEXT, timestamp=WHOLE, timezone=TEXT, utc_offset=TEXT, weekday=TEXT),
        call=get_current_date,
        reads=True,
    ),
)
