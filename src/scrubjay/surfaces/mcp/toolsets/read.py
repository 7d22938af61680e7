"""`recall`, `read` and `history`: results within the budget, each with the way to get more."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import cast

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model.labels import fence, mark_of_all, project_mark
from scrubjay.model.memory import MAIN, Json, Memory, Source, Trust
from scrubjay.model.requests import HistoryRequest, ReadRequest
from scrubjay.model.results import History, Hit, Missing, Neighbour, ReadResult, Recalled
from scrubjay.model.timestamps import to_iso
from scrubjay.model.version import FieldDiff, Version
from scrubjay.recalling.confidence import FLOOR
from scrubjay.rpc.codec import to_json
from scrubjay.surfaces.mcp.arguments import arguments_for
from scrubjay.surfaces.mcp.budget import (
    DEFAULT_TOKENS,
    ListEntry,
    cost_of,
    drop_empty,
    find_cut,
    fit,
    room_for,
    shorten,
)
from scrubjay.surfaces.mcp.cursors import invalid_cursor, pack, unpack
from scrubjay.surfaces.mcp.tool import ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets.filters import question_from
from scrubjay.surfaces.mcp.toolsets.render import HEADING, NOTHING_RELEVANT, fields_of
from scrubjay.text.slug import remove_suffix, slug

_MAX_VERSIONS = 50
_SHORT_TOKENS = 40
# A question without a limit gets so many hits, and further ones that are as likely to answer: an agent reads them all.
_ANSWERS = 4
# Of a long passage after the first one, the text shows the beginning; the fields have all of it.
_FURTHER_TOKENS = 40
_TRUST_OF_AGENTS = Trust.AGENT.value
# A cursor that costs more than this part of the room appears in one form only.
_CURSOR_DIVISOR = 8
_NO_ROOM = "max_tokens leaves no room for a hit: ask with more"
_LONG_CURSOR = "(more with the cursor of the structured answer, or with a larger max_tokens)"
_CUT_CHANGES = "(there are more differences: read both versions by their version numbers to see all of them)"
_MORE_PINNED = "(more memories are pinned: ask with a larger max_tokens)"
# With less room than this it is not worth beginning another memory.
_MIN_PAGE_TOKENS = 60
# The tokens of the note about a cut, and of the cursor.
_PAGE_NOTE_TOKENS = 60
# A page shows at least this much of a memory.
_MIN_SHOWN_TOKENS = 10


async def recall(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return the memories that answer a question, as many as fit."""
    room = room_for(arguments.get("max_tokens"))
    question = question_from(arguments, max_tokens=None, project=context.project)
    # With a single space, every hit would name the same one.
    render = partial(_hit_entry, names_space=bool(context.who.also), own=context.who.agent)
    # The answer to a question ends with its best hits. Who lists memories, or counts them, wants to know how to go on.
    wants_pages = not question.query or bool(arguments.keys() & {"cursor", "limit"})
    while True:
        recalled = await context.engine.recall(question, who=context.who)
        recalled = recalled if wants_pages else _best_of(recalled)
        left = room - _cost_of_rest(recalled, room=room)
        pinned_room = left // 2 if recalled.hits else left
        pinned = fit([render(hit, "pinned, ") for hit in recalled.pinned], room=pinned_room)
        left -= sum(entry.cost for entry in pinned)
        further = partial(render, tokens=None if wants_pages or "max_tokens" in arguments else _FURTHER_TOKENS)
        first = [render(hit) for hit in recalled.hits[:1]]
        hits = fit([*first, *(further(hit) for hit in recalled.hits[1:])], room=left)
        if len(hits) == len(recalled.hits):
            return _render_recalled(recalled, pinned, hits, room=room)
        if not hits and len(recalled.hits) == 1:
            return _render_recalled(recalled, pinned, _squeeze(recalled.hits[0], left, render), room=room)
        # Ask again for exactly these, so that the cursor continues after the last one shown.
        wants_pages = True
        question = replace(question, limit=len(hits) or 1)


def _best_of(recalled: Recalled) -> Recalled:
    """Return the first hits, and those after them that are at least half as likely to answer as the best one."""
    least = max((FLOOR, *(hit.score / 2 for hit in recalled.hits)))
    further = takewhile(lambda hit: hit.score >= least, recalled.hits[_ANSWERS:])
    return replace(recalled, hits=(*recalled.hits[:_ANSWERS], *further), cursor="")


async def read(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return whole memories, one after the other; a long one continues at the cursor."""
    page = _MemoryPage(room_for(arguments.get("max_tokens")))
    cursor = str(arguments.get("cursor", ""))
    position = unpack(cursor, int, int, int) if cursor else (0, 0, 0)
    await page.fill(context, ReadRequest.of(**arguments_for(ReadRequest, arguments)), position=position)
    return page.result()


async def history(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return the versions of a memory, newest first, or the difference of two."""
    cursor = str(arguments.get("cursor", ""))
    before = int(unpack(cursor, int)[0]) if cursor and "diff" not in arguments else None
    values = arguments_for(HistoryRequest, arguments)
    if "limit" in values:
        values["limit"] = min(cast("int", values["limit"]), _MAX_VERSIONS)
    result = await context.memory.call(HistoryRequest.of(**values, before=before))
    return (_render_diff if "diff" in arguments else _render_versions)(result, room_for(DEFAULT_TOKENS))


def _render_recalled(
    recalled: Recalled, pinned: Sequence[ListEntry], hits: Sequence[ListEntry], *, room: int
) -> ToolResult:
    if len(hits) < len(recalled.hits):
        recalled = replace(recalled, degraded=(*recalled.degraded, _NO_ROOM), cursor="")
    remarks, rest = _rest(recalled, room=room)
    if len(pinned) < len(recalled.pinned):
        remarks.append(_MORE_PINNED)
    lines = [entry.line for entry in (*pinned, *hits)]
    nothing = [NOTHING_RELEVANT] if recalled.nothing_relevant else []
    lines = [*nothing, HEADING, *lines] if lines else nothing or ([] if recalled.hits else ["Nothing found."])
    structured: dict[str, Json] = {"hits": [entry.structured for entry in hits]}
    if pinned:
        structured["pinned"] = [entry.structured for entry in pinned]
    return ToolResult(structured=structured | rest, text="\n".join([*lines, *remarks]))


def _rest(recalled: Recalled, *, room: int) -> tuple[list[str], dict[str, Json]]:
    """Return the remarks and the fields of an answer besides its hits."""
    remarks = [f"({remark})" for remark in (*recalled.notes, *recalled.degraded)]
    if recalled.cursor:
        # The cursor grows with every page. In both forms it would eventually leave no room for anything else.
        is_short = cost_of(recalled.cursor) <= room // _CURSOR_DIVISOR
        remarks.append(f'(more with cursor "{recalled.cursor}")' if is_short else _LONG_CURSOR)
    return remarks, drop_empty(
        {
            "nothing_relevant": recalled.nothing_relevant or None,
            "cursor": recalled.cursor,
            "degraded": [*recalled.degraded],
            "notes": [*recalled.notes],
        }
    )


def _cost_of_rest(recalled: Recalled, *, room: int) -> int:
    remarks, rest = _rest(recalled, room=room)
    more = [_MORE_PINNED] if recalled.pinned else []
    return cost_of("\n".join([HEADING, *remarks, *more]), {"hits": [], "pinned": [], **rest})


def _hit_entry(hit: Hit, mark: str = "", *, names_space: bool, own: str, tokens: int | None = None) -> ListEntry:
    """Return a hit in both forms; the lines after the first are indented. `own`: the agent that asks.

    What the passage says is not said again: the entities that it names, and the title that its name spells.
    """
    passage = " ".join(hit.passage.split())
    entities = [entity for entity in hit.entities if entity.casefold() not in passage.casefold()]
    title = " ".join(hit.title.split())
    if title and not passage.startswith(title) and not slug(title).startswith(remove_suffix(hit.name, hit.id)):
        passage = f"{title}: {passage}"
    is_own = bool(own) and hit.mark == f"{_TRUST_OF_AGENTS} {own}"
    # Its own words need no mark, but for a pin, which the user may take for theirs.
    whose = (_TRUST_OF_AGENTS if mark else "") if is_own else hit.mark
    marks = (*entities, project_mark(hit.project), whose, hit.outdated, hit.disputed, "weak" if hit.weak else "")
    about = "".join(f", {part}" for part in marks if part)
    passage = passage if tokens is None else shorten(passage, tokens=tokens)
    passage += f" ({hit.before})" if hit.before else ""
    mark += f"in {hit.space}, " if names_space else ""
    mark += f"on branch {hit.branch}, " if hit.branch != MAIN else ""
    head = f"- {hit.name} ({mark}{hit.date.date().isoformat()}{about}): "
    why = [f"  why: {'; '.join(hit.why)}"] if hit.why else []
    neighbours = [_neighbour_line(neighbour) for neighbour in hit.around]
    short_neighbours = [_neighbour_line(neighbour, tokens=_SHORT_TOKENS) for neighbour in hit.around]
    return ListEntry(
        structured=_hit_fields(hit, names_space=names_space, own=own),
        line="\n".join([head + passage, *why, *neighbours]),
        short="\n".join([head + shorten(passage, tokens=_SHORT_TOKENS), *why, *short_neighbours]),
    )


def _squeeze(hit: Hit, room: int, render: Callable[[Hit], ListEntry]) -> list[ListEntry]:
    """Make a hit fit: without its memory, with only its nearest neighbours, or with a part of its passage."""
    bare = replace(hit, memory=None, around=())
    for distance in sorted({abs(neighbour.place) for neighbour in hit.around}, reverse=True):
        near = tuple(neighbour for neighbour in hit.around if abs(neighbour.place) <= distance)
        if entries := fit([render(replace(bare, around=near))], room=room):
            return entries
    # The mark stays: it says whose word it is.
    shorter = (bare, replace(bare, why=()), replace(bare, why=(), source=Source()))
    return next((entries for hit in shorter if (entries := _cut_passage(hit, room, render))), list[ListEntry]())


def _cut_passage(hit: Hit, room: int, render: Callable[[Hit], ListEntry]) -> list[ListEntry]:
    """Return a hit with as much of its passage as fits, if it fits at all."""
    tokens = (room - render(replace(hit, passage="")).cost) // 2
    while tokens > 0:
        entry = render(replace(hit, passage=shorten(hit.passage, tokens=tokens)))
        if entry.cost <= room:
            return [entry]
        tokens -= max(1, tokens // 5)
    return []


def _hit_fields(hit: Hit, *, names_space: bool, own: str) -> dict[str, Json]:
    source = {name: getattr(hit.source, name) for name in ("session", "conversation", "agent", "tool")}
    if hit.source.trust is Trust.AGENT and hit.source.agent == own and not hit.why and hit.memory is None:
        # What the agent itself wrote. With explain or detail="full" it can see in which session.
        source = {}
    return drop_empty(
        {
            "id": hit.id,
            "name": hit.name,
            "space": hit.space if names_space else "",
            "branch": hit.branch if hit.branch != MAIN else "",
            "title": hit.title,
            "passage": hit.passage,
            "score": hit.score,
            "date": to_iso(hit.date.replace(microsecond=0)),
            "entities": [*hit.entities],
            "source": drop_empty(source),
            "trust": hit.trust,
            "suspicious": hit.suspicious or None,
            "weak": hit.weak or None,
            "project": hit.project,
            "before": hit.before,
            "outdated": hit.outdated,
            "disputed": hit.disputed,
            "why": [*hit.why],
            "around": [drop_empty(fields_of(neighbour)) for neighbour in hit.around],
            "memory": to_json(hit.memory),
        }
    )


def _neighbour_line(neighbour: Neighbour, *, tokens: int | None = None) -> str:
    passage = " ".join(neighbour.passage.split())
    text = passage if tokens is None else shorten(passage, tokens=tokens)
    mark = f", {neighbour.mark}" if neighbour.mark else ""
    return f"  {neighbour.place:+} {neighbour.name} ({neighbour.date.date().isoformat()}{mark}): {text}"


class _MemoryPage:
    """A result of `read`, filled with memories until its room is used up."""

    def __init__(self, room: int) -> None:
        self._room = room - _PAGE_NOTE_TOKENS - cost_of(HEADING)
        self._memories: list[Json] = []
        self._missing: list[Json] = []
        self._lines: list[str] = []
        self._cursor = ""

    async def fill(self, context: ToolContext, request: ReadRequest, *, position: Sequence[str | int]) -> None:
        """Read the references from a position on: (index of the reference, its character, its version)."""
        first, start, version = cast("tuple[int, int, int]", tuple(position))
        refs = tuple(dict.fromkeys(request.ids))
        if not refs:
            raise InvalidInput("say what to read: ids, names or titles", field="ids")
        if not 0 <= first < len(refs):
            raise invalid_cursor()
        for number in range(first, len(refs)):
            if number > first and self._room < _MIN_PAGE_TOKENS:
                self._cursor = pack(number, 0, 0)
                return
            result = await _read_one(context, replace(request, ids=(refs[number],)), is_only=len(refs) == 1)
            for missing in result.missing:
                self._add_missing(missing)
            for memory, text in zip(result.memories, result.texts, strict=True):
                _require_unchanged(memory, text, start=start, version=version)
                end = self._add_memory(memory, text, start)
                if end < len(text):
                    self._cursor = pack(number, end, memory.version)
                    return
            start, version = 0, 0

    def result(self) -> ToolResult:
        """Return everything that was read."""
        structured: dict[str, Json] = {"memories": self._memories}
        structured |= drop_empty({"missing": self._missing, "cursor": self._cursor})
        more = [f'(more with cursor "{self._cursor}")'] if self._cursor else []
        heading = [HEADING] if self._memories else []
        return ToolResult(structured=structured, text="\n".join([*heading, *self._lines, *more]))

    def _add_missing(self, missing: Missing) -> None:
        near = f". Did you mean {' or '.join(missing.suggestions)}?" if missing.suggestions else ""
        near = f": {missing.why}" if missing.why else near
        line = f"No memory is called {missing.ref[:100]!r}{near}"
        structured = cast("dict[str, Json]", to_json(missing)) | {"ref": missing.ref[:100]}
        if not missing.why:
            del structured["why"]
        self._lines.append(line)
        self._missing.append(structured)
        self._room -= cost_of(line, structured)

    def _add_memory(self, memory: Memory, text: str, start: int) -> int:
        """Add a memory from a character on; return where the part ends."""
        mark = mark_of_all(memory)
        head = drop_empty({"id": memory.id, "name": memory.name, "version": memory.version, "mark": mark})
        line = f"{memory.name} ({', '.join(part for part in (f'version {memory.version}', mark) if part)}):"
        room = self._room - cost_of(line, head) - 20
        tokens = max(room // 2, _MIN_SHOWN_TOKENS)
        while True:
            end = find_cut(text, start=start, tokens=tokens)
            part = text[start:end]
            if tokens <= _MIN_SHOWN_TOKENS or cost_of(fence(part), {"text": part}) <= room:
                break
            tokens -= max(1, tokens // 5)
        structured: dict[str, Json] = {**head, "text": part}
        # What the memory says stands between two lines that it cannot imitate.
        part = f"{line}\n{fence(part)}"
        if start or end < len(text):
            structured |= {"from": start, "to": end, "of": len(text)}
            part += f"\n(characters {start:,} to {end:,} of {len(text):,})"
        self._memories.append(structured)
        self._lines.append(part)
        self._room -= cost_of(part, structured)
        return end


async def _read_one(context: ToolContext, request: ReadRequest, *, is_only: bool) -> ReadResult:
    """Read one memory; among several, a missing version counts as a missing memory."""
    try:
        return await context.memory.call(request)
    except NotFound as error:
        if is_only:
            raise
        return ReadResult(memories=(), missing=(Missing(ref=request.ids[0], why=error.message),))


def _require_unchanged(memory: Memory, text: str, *, start: int, version: int) -> None:
    if not start:
        return
    if start > len(text):
        raise invalid_cursor()
    if version != memory.version:
        raise InvalidInput(
            f"{memory.name!r} has changed since the cursor was made",
            hint="Read it again without a cursor",
            field="cursor",
        )


def _render_versions(result: History, room: int) -> ToolResult:
    head: dict[str, Json] = {"id": result.id, "name": result.name}
    entries = fit([_version_entry(version) for version in result.versions], room=room - cost_of(result.name, head) - 40)
    structured: dict[str, Json] = {**head, "versions": [entry.structured for entry in entries]}
    lines = [f"{result.name}:", *(entry.line for entry in entries)]
    if entries and result.versions[len(entries) - 1].number > 1:
        structured["cursor"] = pack(result.versions[len(entries) - 1].number)
        lines.append(f'(older ones with cursor "{structured["cursor"]}")')
    return ToolResult(structured=structured, text="\n".join(lines))


def _version_entry(version: Version) -> ListEntry:
    structured: dict[str, Json] = {
        "number": version.number,
        "action": version.action,
        "created_at": to_iso(version.created_at),
        "agent": version.agent,
        "message": version.message,
    }
    by = f" by {version.agent}" if version.agent else ""
    head = f"- version {version.number}: {version.action} {version.created_at.date().isoformat()}{by}"
    why = f": {version.message}" if version.message else ""
    return ListEntry(structured=drop_empty(structured), line=head + why, short=head)


def _render_diff(result: History, room: int) -> ToolResult:
    head: dict[str, Json] = {"id": result.id, "name": result.name}
    room -= cost_of(f"{HEADING}\n{result.name}", head) + cost_of(_CUT_CHANGES) + 20
    changes: list[Json] = []
    lines: list[str] = [] if result.diff else ["No relevant differences."]
    for diff in result.diff:
        entry = _diff_entry(diff, room)
        room -= entry.cost
        if room < 0:
            break
        changes.append(entry.structured)
        lines.append(entry.line)
    if len(changes) < len(result.diff) or any("of" in change for change in changes if isinstance(change, dict)):
        lines.append(_CUT_CHANGES)
    return ToolResult(structured={**head, "diff": changes}, text="\n".join([HEADING, f"{result.name}:", *lines]))


def _diff_entry(diff: FieldDiff, room: int) -> ListEntry:
    whole = "\n".join(diff.lines) or f"-{diff.before}\n+{diff.after}"
    tokens = max((room - 40) // 2, 1)
    while True:
        change = shorten(whole, tokens=tokens)
        structured: dict[str, Json] = {"field": diff.field, "change": change}
        if change != whole:
            structured["of"] = len(whole)
        entry = ListEntry(structured=structured, line=f"{diff.field}:\n{fence(change)}")
        if tokens == 1 or entry.cost <= room:
            return entry
        tokens -= max(1, tokens // 5)
