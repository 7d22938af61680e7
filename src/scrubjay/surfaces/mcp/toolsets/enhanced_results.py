"""Answers of the `enhanced` dialect: every one says whether it succeeded, and what is wrong is data like the rest."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import cast

from scrubjay.errors import ScrubjayError
from scrubjay.model.memory import Json
from scrubjay.surfaces.mcp.budget import MOST_TOKENS, beginning, compact, cost_of, room_for
from scrubjay.surfaces.mcp.tool import Answer, ToolContext

Call = Callable[[ToolContext, Mapping[str, Json]], Awaitable[Answer]]

_LONGEST_ERROR = 2_000
_LONGEST_TEXT = 400
# So many fields of an object for each item of a list.
_FIELDS = 20
# What the note about what was left out costs.
_NOTE = 80
# What hints call by the name of a verb has another name in this dialect.
_TOOLS = {"`recall`": "`search_nodes`", "`undo`": "`memory_undo`", "`conflicts` lists": "`detect_conflicts` tells"}
_IN_PART = "what is long is told in part"


def refused(error: ScrubjayError) -> Answer:
    """What is wrong with a call, where another tool would fail."""
    hint = error.hint
    for verb, tool in _TOOLS.items():
        hint = hint.replace(verb, tool)
    return Answer(structured=failed(error.message, hint=hint, code=error.code))


def failed(message: str, *, hint: str = "", code: str = "") -> dict[str, Json]:
    """What could not be done, and what to do about it."""
    told: dict[str, Json] = {"success": False, "error": _sendable(message)}
    return told | {name: _sendable(text) for name, text in (("hint", hint), ("code", code)) if text}


def fits(told: Mapping[str, Json]) -> bool:
    """Whether an answer can be told whole."""
    return _cost(dict(told)) <= room_for(MOST_TOKENS) - _NOTE


def within_budget(told: Mapping[str, Json], *, lists: Sequence[str] = (), half: str = "") -> Answer:
    """An answer as JSON in both forms; what there is no room for is cut from the ends of its lists, and told.

    The list that is named by `half` takes no more than half of the room.
    """
    whole = dict(told)
    if fits(whole):
        return Answer(structured=whole)
    room = room_for(MOST_TOKENS) - _NOTE
    kept: dict[str, Json] = {name: [] if name in lists else value for name, value in whole.items()}
    notes: list[str] = []
    if lists and _cost(kept) > room // 2:
        # A long question leaves room for what was found.
        notes.append(_IN_PART)
        kept = cast("dict[str, Json]", _shortened(kept, room=room // 2))
    left = room - _cost(kept)
    for name in lists:
        given = whole.get(name)
        items: list[Json] = given if isinstance(given, list) else []
        shown = _fitting(items, room=left // 2 if name == half else left)
        left -= sum(map(_cost, shown))
        kept[name] = shown
        if len(shown) < len(items) or shown != items[: len(shown)]:
            notes.append(f"{len(shown):,} of {len(items):,} {name} are shown, long ones in part")
    if _cost(kept) > room:
        notes.append(_IN_PART)
        kept = cast("dict[str, Json]", _shortened(kept, room=room))
    return Answer(structured={**kept, "note": f"{'; '.join(dict.fromkeys(notes))}: ask more narrowly"})


def _fitting(items: Sequence[Json], *, room: int) -> list[Json]:
    shown: list[Json] = []
    for item in items:
        # Of one that is too long for any answer, a part is better than nothing.
        fitted = item if shown or _cost(item) <= room else _shortened(item, room=room)
        room -= _cost(fitted)
        if room < 0:
            break
        shown.append(fitted)
    return shown


def _shortened(item: Json, *, room: int) -> Json:
    """An item whose texts and lists are cut until it fits, or as far as they can be."""
    cut = item
    for characters, items in ((_LONGEST_TEXT, 20), (_LONGEST_TEXT, 5), (100, 3), (40, 1)):
        cut = _cut(item, characters=characters, items=items)
        if _cost(cut) <= room:
            break
    return cut


def _cut(value: Json, *, characters: int, items: int) -> Json:
    if isinstance(value, str):
        return beginning(value, tokens=characters // 4)
    if isinstance(value, list):
        return [_cut(one, characters=characters, items=items) for one in value[:items]]
    if isinstance(value, dict):
        first = list(value.items())[: items * _FIELDS]
        return {name: _cut(one, characters=characters, items=items) for name, one in first}
    return value


def _cost(value: Json) -> int:
    # Both forms are the same JSON.
    return 2 * cost_of(compact(value))


def _sendable(text: str) -> str:
    return text[:_LONGEST_ERROR].encode("utf-8", "replace").decode()
