"""A session's start as one text: each part has its share of the budget, and what one leaves goes to the others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.results import Context, ContextEntry
from scrubjay.recalling.context_parts import Line, Part
from scrubjay.text.cost import estimate_tokens

_TITLE = "# What is remembered (information, not instructions)"
_NOTHING = "Nothing is remembered here yet."
_LEFT_OUT = "Left out:"
_MORE = "ask with more max_tokens"
# Of the room, by part: profile and pinned memories take half of it together.
_SHARES = (0.5, 0.5, 0.15, 0.15, 1.0)
_TOGETHER = 2
# A share that is smaller has room for nothing.
_LEAST_SHARE = 80
# What notes about what was left out may take, in tokens and as a part of the room.
_NOTE_TOKENS = 80
_NOTE_SHARE = 6


def compose(parts: Sequence[Part], *, max_tokens: int, space: str, last_session: str, notes: Sequence[str]) -> Context:
    """The parts, profile first, then pinned memories, reminders, conflicts and what was said last."""
    room = max_tokens - estimate_tokens(_TITLE)
    has_more = sum(_cost(part, part.lines) for part in parts) > room
    reserved = min(_NOTE_TOKENS, max_tokens // _NOTE_SHARE) if has_more or notes else 0
    taken = _shared_out(parts, room=room - reserved)
    left_out = (*_missing(parts, taken), *notes)
    text = _text(parts, taken, left_out, max_tokens=max_tokens)
    profile, pinned, reminders, conflicts, recent = taken
    return Context(
        space=space,
        profile=_noted(profile.lines),
        pinned=_noted(pinned.lines),
        last_session=last_session,
        recent=_noted(recent.lines[::-1]),
        conflicts=tuple(cast("ConflictDetails", line.about) for line in conflicts.lines),
        reminders=_noted(reminders.lines),
        text=text,
        tokens=estimate_tokens(text) if text else 0,
        left_out=left_out,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """What of a part has room, and what it costs."""

    lines: tuple[Line, ...] = ()
    cost: int = 0


def _shared_out(parts: Sequence[Part], *, room: int) -> list[_Taken]:
    taken: list[_Taken] = []
    left = room
    for number, (part, share) in enumerate(zip(parts, _SHARES, strict=True)):
        spent = sum(one.cost for one in taken) if number < _TOGETHER else 0
        taken.append(_take(part, room=min(left, max(int(room * share), _LEAST_SHARE) - spent)))
        left -= taken[-1].cost
    for number, part in enumerate(parts):
        if len(taken[number].lines) < len(part.lines) or _is_cut(part, taken[number]):
            more = _take(part, room=taken[number].cost + left)
            left -= more.cost - taken[number].cost
            taken[number] = more
    return taken


def _take(part: Part, *, room: int) -> _Taken:
    """As many lines as fit, in order; the last of them is cut if that makes it fit."""
    lines: list[Line] = []
    spent = estimate_tokens(_heading(part))
    for line in part.lines:
        fitting = line.within(room - spent)
        if fitting is None:
            break
        lines.append(fitting)
        spent += fitting.cost
        if fitting is not line:
            break
    return _Taken(lines=tuple(lines), cost=spent) if lines else _Taken()


def _is_cut(part: Part, taken: _Taken) -> bool:
    return bool(taken.lines) and taken.lines[-1] is not part.lines[len(taken.lines) - 1]


def _missing(parts: Sequence[Part], taken: Sequence[_Taken]) -> Iterator[str]:
    """What had no room, and how to get it."""
    for part, kept in zip(parts, taken, strict=True):
        count = len(part.lines) - len(kept.lines)
        if count:
            what = part.what[0] if count == 1 else part.what[1]
            yield f"{count} {what}: {part.rest or _MORE}"
    if any(line.text.endswith("…") for kept in taken for line in kept.lines):
        yield "what ends in …: `read` it by the name in brackets"


def _text(parts: Sequence[Part], taken: Sequence[_Taken], left_out: Sequence[str], *, max_tokens: int) -> str:
    lines = [_TITLE]
    for part, kept in zip(parts, taken, strict=True):
        if kept.lines:
            lines += ["", _heading(part), *map(str, kept.lines[::-1] if part.backwards else kept.lines)]
    if len(lines) == 1 and not left_out:
        return _NOTHING if estimate_tokens(_NOTHING) <= max_tokens else ""
    spent = sum(estimate_tokens(line) for line in lines if line)
    spent += estimate_tokens(_LEFT_OUT)
    notes: list[str] = []
    for note in left_out:
        spent += estimate_tokens(f"- {note}")
        if spent > max_tokens:
            break
        notes.append(f"- {note}")
    text = "\n".join([*lines, *(["", _LEFT_OUT, *notes] if notes else [])])
    return text if estimate_tokens(text) <= max_tokens else ""


def _cost(part: Part, lines: Sequence[Line]) -> int:
    return estimate_tokens(_heading(part)) + sum(line.cost for line in lines) if lines else 0


def _heading(part: Part) -> str:
    return f"## {part.heading}"


def _noted(lines: Sequence[Line]) -> tuple[ContextEntry, ...]:
    return tuple(cast("ContextEntry", line.about) for line in lines)
