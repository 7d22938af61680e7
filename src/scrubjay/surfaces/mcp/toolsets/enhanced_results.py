"""Results of the `enhanced` toolset: every one says whether the call succeeded, and errors are data like the rest."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import cast

from scrubjay.errors import ScrubjayError
from scrubjay.model.memory import Json
from scrubjay.surfaces.mcp.budget import MAX_TOKENS, compact_json, cost_of, room_for, shorten
from scrubjay.surfaces.mcp.cursors import invalid_cursor, pack, unpack
from scrubjay.surfaces.mcp.tool import ToolContext, ToolResult

Call = Callable[[ToolContext, Mapping[str, Json]], Awaitable[ToolResult]]

_MAX_ERROR = 2_000
_MAX_TEXT = 400
# An object may have this many fields for each item of a list.
_FIELDS_PER_ITEM = 20
# The tokens of the note about omitted items.
_NOTE_TOKENS = 80
_DIGEST_LENGTH = 12
# As long as a cursor can be.
_LONG_CURSOR = "x" * 48
_LONG_VALUES = "long values are cut"


def error_result(error: ScrubjayError) -> ToolResult:
    """Return an error as the result of a call."""
    field = error.fields.get("field")
    fields = failure_fields(error.message, hint=error.hint, code=error.code)
    return ToolResult(structured=fields | ({"field": _sanitize(field)} if isinstance(field, str) and field else {}))


def failure_fields(message: str, *, hint: str = "", code: str = "") -> dict[str, Json]:
    """Return the fields of a failure: what happened, and what to do about it."""
    fields: dict[str, Json] = {"success": False, "error": _sanitize(message)}
    return fields | {name: _sanitize(text) for name, text in (("hint", hint), ("code", code)) if text}


def fits(fields: Mapping[str, Json]) -> bool:
    """Return whether a result fits the budget whole."""
    return _cost(dict(fields)) <= room_for(MAX_TOKENS) - _NOTE_TOKENS


def within_budget(
    fields: Mapping[str, Json], *, lists: Sequence[str] = (), half: str = "", advice: str = "narrow the request"
) -> ToolResult:
    """Return fields as JSON in both forms; cut the ends of `lists` until it fits, and say so in `note` with an advice.

    The list named by `half` takes at most half of the room.
    """
    whole = dict(fields)
    if fits(whole):
        return ToolResult(structured=whole)
    room = room_for(MAX_TOKENS) - _NOTE_TOKENS
    result: dict[str, Json] = {name: [] if name in lists else value for name, value in whole.items()}
    notes: list[str] = []
    if lists and _cost(result) > room // 2:
        # A long question must leave room for its matches.
        notes.append(_LONG_VALUES)
        result = cast("dict[str, Json]", _shorten_item(result, room=room // 2))
    left = room - _cost(result)
    for name in lists:
        value = whole.get(name)
        items: list[Json] = value if isinstance(value, list) else []
        shown = _fit_items(items, room=left // 2 if name == half else left)
        left -= sum(map(_cost, shown))
        result[name] = shown
        if len(shown) < len(items) or shown != items[: len(shown)]:
            notes.append(f"{len(shown):,} of {len(items):,} {name} are shown, long ones in part")
    if _cost(result) > room:
        notes.append(_LONG_VALUES)
        result = cast("dict[str, Json]", _shorten_item(result, room=room))
    return ToolResult(structured={**result, "note": f"{'; '.join(dict.fromkeys(notes))}: {advice}"})


def page_of(fields: Mapping[str, Json], *, lists: Sequence[str], cursor: str, of: str) -> ToolResult:
    """Return what fits of lists, from the position of a cursor on, and the cursor of the rest.

    `of` is what the lists belong to: a cursor of another list is refused.
    """
    digest = hashlib.sha256(of.encode("utf-8", "replace")).hexdigest()[:_DIGEST_LENGTH]
    *starts, mark = unpack(cursor, *[int for _ in lists], str) if cursor else (*(0 for _ in lists), digest)
    if mark != digest:
        raise invalid_cursor()
    begins = [max(0, int(start)) for start in starts]
    rest = {name: cast("list[Json]", fields[name])[start:] for name, start in zip(lists, begins, strict=True)}
    if fits({**fields, **rest}):
        return ToolResult(structured={**fields, **rest})
    advice = "the same call with this `cursor` returns the rest"
    result = dict(within_budget({**fields, **rest, "cursor": _LONG_CURSOR}, lists=lists, advice=advice).structured)
    shown = [len(cast("list[Json]", result[name])) for name in lists]
    result["cursor"] = pack(*(start + count for start, count in zip(begins, shown, strict=True)), digest)
    return ToolResult(structured=result)


def _fit_items(items: Sequence[Json], *, room: int) -> list[Json]:
    shown: list[Json] = []
    for item in items:
        # If the first item is too long for any result, a part of it is better than nothing.
        fitted = item if shown or _cost(item) <= room else _shorten_item(item, room=room)
        room -= _cost(fitted)
        if room < 0:
            break
        shown.append(fitted)
    return shown


def _shorten_item(item: Json, *, room: int) -> Json:
    """Cut the texts and lists of an item until it fits, or as far as possible."""
    short = item
    for characters, items in ((_MAX_TEXT, 20), (_MAX_TEXT, 5), (100, 3), (40, 1)):
        short = _cut(item, characters=characters, items=items)
        if _cost(short) <= room:
            break
    return short


def _cut(value: Json, *, characters: int, items: int) -> Json:
    if isinstance(value, str):
        return shorten(value, tokens=characters // 4)
    if isinstance(value, list):
        return [_cut(item, characters=characters, items=items) for item in value[:items]]
    if isinstance(value, dict):
        first = list(value.items())[: items * _FIELDS_PER_ITEM]
        return {name: _cut(item, characters=characters, items=items) for name, item in first}
    return value


def _cost(value: Json) -> int:
    # Both forms are the same JSON.
    return 2 * cost_of(compact_json(value))


def _sanitize(text: str) -> str:
    return text[:_MAX_ERROR].encode("utf-8", "replace").decode()
