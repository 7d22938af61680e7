"""`recall`, `read` and `history`: what is found is told within the budget, and how to get more."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from scrubjay.model.memory import Json
from scrubjay.model.query import Question
from scrubjay.model.results import History, Recalled
from scrubjay.model.timestamps import to_iso
from scrubjay.model.version import FieldDiff, Version
from scrubjay.surfaces.mcp.arguments import Given
from scrubjay.surfaces.mcp.budget import DEFAULT_TOKENS, Entry, beginning, cost_of, fit, lean, room_for
from scrubjay.surfaces.mcp.cursors import pack, unpack
from scrubjay.surfaces.mcp.tool import Answer, ToolContext
from scrubjay.surfaces.mcp.toolsets.filters import question_from
from scrubjay.surfaces.mcp.toolsets.hits import entry_of, squeezed
from scrubjay.surfaces.mcp.toolsets.pages import Pages, Shown

_LIMIT = 8
_VERSIONS = 20
_MOST_VERSIONS = 50
# Where the cursor costs more than such a part of the room, it is told in one form only.
_SHARE_OF_CURSOR = 8
_PLENTY = 1_000_000
_NO_ROOM = "max_tokens leaves no room for a hit: ask with more"
_LONG_CURSOR = "(more with the cursor of the structured answer, or with a larger max_tokens)"
_CUT_CHANGES = "(more differs than is told here: read both versions, each with its version number, to see all of it)"
_MORE_PINNED = "(more is pinned: ask with a larger max_tokens)"


async def recall(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """The memories that answer a question, as many as fit."""
    given = Given(arguments)
    room = room_for(given.whole("max_tokens"))
    question = _question(given)
    # Where there is one space only, every hit would say the same.
    entry = partial(entry_of, names_space=bool(context.who.also))
    while True:
        found = await context.engine.recall(question, who=context.who, cursor=given.text("cursor"))
        left = room - _cost_of_rest(found, room=room)
        pinned = fit([entry(hit, "pinned, ") for hit in found.pinned], room=left // 2 if found.hits else left)
        left -= _cost(pinned)
        hits = fit([entry(hit) for hit in found.hits], room=left)
        if len(hits) == len(found.hits):
            return _found(found, pinned, hits, room=room)
        if not hits and len(found.hits) == 1:
            return _found(found, pinned, squeezed(found.hits[0], left, entry), room=room)
        # Asked again for just these, so that the cursor goes on behind the last that is told.
        question = replace(question, limit=len(hits) or 1)


async def read(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Whole memories, one after the other; a long one goes on at the cursor."""
    given = Given(arguments)
    pages = Pages(room_for(given.whole("max_tokens")))
    refs = tuple(dict.fromkeys(given.texts("ids")))
    place = unpack(given.text("cursor"), int, int, int) if given.text("cursor") else (0, 0, 0)
    shown = Shown(
        format=given.text("format", "markdown"), version=given.whole("version"), branch=given.text("branch"),
        as_of=given.text("as_of") or None,
    )  # fmt: skip
    await pages.fill(context, refs, place=place, shown=shown)
    return pages.answer()


async def history(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """The versions of a memory, newest first, or the difference of two."""
    given = Given(arguments)
    room = room_for(DEFAULT_TOKENS)
    branch = given.text("branch")
    if "diff" in given:
        # Each is a number or the name of a branch; anything else is refused further on.
        versions = cast("list[int | str]", arguments["diff"])
        return _difference(await context.memory.history(given.text("id"), diff=versions, branch=branch), room)
    before = int(unpack(given.text("cursor"), int)[0]) if given.text("cursor") else None
    limit = min(given.whole("limit") or _VERSIONS, _MOST_VERSIONS)
    return _versions(await context.memory.history(given.text("id"), limit=limit, before=before, branch=branch), room)


def _question(given: Given) -> Question:
    question = Question(
        query=given.text("query"),
        limit=given.whole("limit") or _LIMIT,
        # What fits is decided here, where the answer's form is known.
        max_tokens=_PLENTY,
        detail=given.text("detail", "concise"),
        explain=given.flag("explain"),
        around=given.whole("around") or 0,
    )
    return question_from(given.mapping("filters") | given.only(("entity", "tags", "since")), question)


def _rest(found: Recalled, *, room: int) -> tuple[list[str], dict[str, Json]]:
    """What an answer has besides its hits."""
    lines = [f"({one})" for one in found.degraded]
    if found.cursor:
        # It grows with every page. Told twice it would sooner or later leave no room for anything else.
        is_short = cost_of(found.cursor) <= room // _SHARE_OF_CURSOR
        lines.append(f'(more with cursor "{found.cursor}")' if is_short else _LONG_CURSOR)
    return lines, lean({"cursor": found.cursor, "degraded": [*found.degraded]})


def _cost_of_rest(found: Recalled, *, room: int) -> int:
    lines, rest = _rest(found, room=room)
    more = [_MORE_PINNED] if found.pinned else []
    return cost_of("\n".join([*lines, *more]), {"hits": [], "pinned": [], **rest})


def _found(found: Recalled, pinned: Sequence[Entry], hits: Sequence[Entry], *, room: int) -> Answer:
    if len(hits) < len(found.hits):
        found = replace(found, degraded=(*found.degraded, _NO_ROOM), cursor="")
    lines, rest = _rest(found, room=room)
    if len(pinned) < len(found.pinned):
        lines.append(_MORE_PINNED)
    told = [entry.line for entry in (*pinned, *hits)] or ([] if found.hits else ["Nothing found."])
    structured: dict[str, Json] = {"hits": [entry.structured for entry in hits]}
    if pinned:
        structured["pinned"] = [entry.structured for entry in pinned]
    return Answer(structured=structured | rest, text="\n".join([*told, *lines]))


def _cost(entries: Sequence[Entry]) -> int:
    return sum(entry.cost for entry in entries)


def _versions(found: History, room: int) -> Answer:
    entries = [_version(version) for version in found.versions]
    head: dict[str, Json] = {"id": found.id, "name": found.name}
    kept = fit(entries, room=room - cost_of(found.name, head) - 40)
    structured: dict[str, Json] = {**head, "versions": [entry.structured for entry in kept]}
    lines = [f"{found.name}:", *(entry.line for entry in kept)]
    if kept and found.versions[len(kept) - 1].number > 1:
        structured["cursor"] = pack(found.versions[len(kept) - 1].number)
        lines.append(f'(older ones with cursor "{structured["cursor"]}")')
    return Answer(structured=structured, text="\n".join(lines))


def _version(one: Version) -> Entry:
    structured: dict[str, Json] = {
        "number": one.number,
        "action": one.action,
        "created_at": to_iso(one.created_at),
        "agent": one.agent,
        "message": one.message,
    }
    by = f" by {one.agent}" if one.agent else ""
    head = f"- version {one.number}: {one.action} {one.created_at.date().isoformat()}{by}"
    why = f": {one.message}" if one.message else ""
    return Entry(structured=lean(structured), line=head + why, short=head)


def _difference(found: History, room: int) -> Answer:
    head: dict[str, Json] = {"id": found.id, "name": found.name}
    room -= cost_of(found.name, head) + cost_of(_CUT_CHANGES) + 20
    changes: list[Json] = []
    lines: list[str] = [] if found.diff else ["Nothing that matters differs."]
    for one in found.diff:
        entry = _change(one, room)
        room -= entry.cost
        if room < 0:
            break
        changes.append(entry.structured)
        lines.append(entry.line)
    if len(changes) < len(found.diff) or any("of" in change for change in changes if isinstance(change, dict)):
        lines.append(_CUT_CHANGES)
    return Answer(structured={**head, "diff": changes}, text="\n".join([f"{found.name}:", *lines]))


def _change(one: FieldDiff, room: int) -> Entry:
    told = "\n".join(one.lines) or f"-{one.before}\n+{one.after}"
    each = max((room - 40) // 2, 1)
    while True:
        shown = beginning(told, tokens=each)
        structured: dict[str, Json] = {"field": one.field, "change": shown}
        if shown != told:
            structured["of"] = len(told)
        entry = Entry(structured=structured, line=f"{one.field}:\n{shown}")
        if each == 1 or entry.cost <= room:
            return entry
        each -= max(1, each // 5)
