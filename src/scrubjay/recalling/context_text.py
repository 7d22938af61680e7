"""Composes the text at the start of a session from its sections.

Each section has its share of the token budget, and the rest of one goes to the others.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from scrubjay.lazy import dataclass
from scrubjay.model.conflict import ConflictDetails, ConflictSide
from scrubjay.model.labels import NOTICE, mark_of_all
from scrubjay.model.memory import Memory, Trust
from scrubjay.model.query import facet
from scrubjay.model.results import Context, ContextEntry
from scrubjay.text.cost import end_within, estimate_tokens

_TITLE = f"# What is remembered ({NOTICE})"
_NOTHING = "Nothing is remembered here yet."
_LEFT_OUT = "Left out:"
_ASK_FOR_MORE = "ask with more max_tokens"
_ELLIPSIS = " …"
# A shorter text says nothing.
_MIN_TEXT_TOKENS = 8
_PROFILE_TOKENS = 200
_PINNED_TOKENS = 120
_SHORT_TOKENS = 60
_STATEMENT_TOKENS = 40
# The share of the budget of each section: profile and pinned memories take half of it together.
_SHARES = (0.5, 0.5, 0.2, 0.15, 0.15, 0.15, 1.0)
_SHARING_SECTIONS = 2
# A smaller share has room for nothing.
_MIN_SHARE_TOKENS = 80
# The budget of the notes about omissions: so many tokens, and at most this fraction of the whole.
_NOTE_TOKENS = 80
_NOTE_FRACTION = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line about a memory or a conflict; only its text may be cut."""

    head: str
    text: str
    tail: str
    about: ContextEntry | ConflictDetails

    def __str__(self) -> str:
        return f"{self.head}{self.text}{self.tail}"

    @property
    def cost(self) -> int:
        """The cost in tokens."""
        return estimate_tokens(str(self))

    def shorten(self, tokens: int) -> "Line | None":
        """Return the line, cut to a number of tokens if necessary; None if too little would be left."""
        if self.cost <= tokens:
            return self
        room = tokens - estimate_tokens(f"{self.head}{_ELLIPSIS}{self.tail}") - 1
        if room < _MIN_TEXT_TOKENS or isinstance(self.about, ConflictDetails):
            return None
        text = cut(self.text, tokens=room)
        return replace(self, text=text, about=replace(self.about, text=text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Lines under one heading, the most important first; `more` says how to get those without room."""

    heading: str
    lines: tuple[Line, ...] = ()
    # What the lines are about, in the singular and in the plural.
    nouns: tuple[str, str] = ("", "")
    more: str = ""
    # Shown oldest first, though the newest are the most important.
    is_reversed: bool = False

    @property
    def title(self) -> str:
        """The heading as a line of Markdown."""
        return f"## {self.heading}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    """The lines of a section that have room, and their cost with the heading."""

    lines: tuple[Line, ...] = ()
    cost: int = 0

    @property
    def entries(self) -> tuple[ContextEntry, ...]:
        return tuple(cast("ContextEntry", line.about) for line in self.lines)


def compose(
    sections: Sequence[Section], *, max_tokens: int, space: str, last_session: str, notes: Sequence[str]
) -> Context:
    """Compose the sections: profile, pinned, decisions, reminders, changes, conflicts, last session, in this order."""
    room = max_tokens - estimate_tokens(_TITLE)
    cost = sum(
        estimate_tokens(section.title) + sum(line.cost for line in section.lines)
        for section in sections
        if section.lines
    )
    reserved = min(_NOTE_TOKENS, max_tokens // _NOTE_FRACTION) if cost > room or notes else 0
    fitted = _allocate(sections, room=room - reserved)
    left_out = (*_describe_omissions(sections, fitted), *notes)
    text = _compose_text(sections, fitted, left_out, max_tokens=max_tokens)
    profile, pinned, decisions, reminders, changed, conflicts, recent = fitted
    return Context(
        space=space,
        profile=profile.entries,
        pinned=pinned.entries,
        decisions=decisions.entries,
        changed=changed.entries,
        last_session=last_session,
        recent=recent.entries[::-1],
        conflicts=tuple(cast("ConflictDetails", line.about) for line in conflicts.lines),
        reminders=reminders.entries,
        text=text,
        tokens=estimate_tokens(text) if text else 0,
        left_out=left_out,
    )


def profile_section(memories: Sequence[Memory], *, now: datetime) -> Section:
    """Return the section about the user."""
    lines = tuple(_memory_line(memory, approved_text(memory, now=now), tokens=_PROFILE_TOKENS) for memory in memories)
    return Section(heading="Profile", lines=lines, nouns=("memory of the profile", "memories of the profile"))


def pinned_section(memories: Sequence[Memory], *, now: datetime) -> Section:
    """Return the section of pinned memories."""
    lines = tuple(_memory_line(memory, approved_text(memory, now=now), tokens=_PINNED_TOKENS) for memory in memories)
    return Section(heading="Pinned", lines=lines, nouns=("pinned memory", "pinned memories"))


def decisions_section(memories: Sequence[Memory], *, now: datetime) -> Section:
    """Return the section of the project's decisions and conventions."""
    lines = tuple(_memory_line(memory, current_text(memory, now=now), tokens=_SHORT_TOKENS) for memory in memories)
    return Section(heading="Decisions", lines=lines, nouns=("decision", "decisions"))


def changes_section(memories: Sequence[Memory], *, since: datetime | None, now: datetime) -> Section:
    """Return the section of what others have added or changed since a time."""
    lines = tuple(
        _memory_line(
            memory,
            current_text(memory, now=now),
            tokens=_SHORT_TOKENS,
            why="new" if since is not None and memory.created_at > since else "changed",
        )
        for memory in memories
    )
    return Section(heading="Changed since you were here", lines=lines, nouns=("change", "changes"))


def reminders_section(memories: Sequence[Memory], *, shown: Container[str], now: datetime) -> Section:
    """Return the section of due reminders; a memory that another section shows is only named."""
    lines: list[Line] = []
    for memory in memories:
        why = f"due {memory.remind_at.date().isoformat()}" if memory.remind_at else ""
        line = _memory_line(memory, current_text(memory, now=now), tokens=_SHORT_TOKENS, why=why)
        is_shown = (memory.group or memory.id) in shown
        lines.append(replace(line, head=f"- {why}", text="") if is_shown else line)
    return Section(heading="Reminders due", lines=tuple(lines), nouns=("reminder", "reminders"))


def conflicts_section(conflicts: Sequence[ConflictDetails]) -> Section:
    """Return the section of open conflicts."""
    lines = tuple(
        Line(
            head="- ",
            text=f"{conflict.type.value}: {_side(conflict.memory)} against {_side(conflict.other)}",
            tail=f"; suggested: {conflict.suggested_action.value} [{conflict.id}]",
            about=conflict,
        )
        for conflict in conflicts
    )
    return Section(heading="Open conflicts", lines=lines, nouns=("conflict", "conflicts"), more="`conflicts` lists all")


def recent_section(memories: Sequence[Memory], *, session: str, name: str, now: datetime) -> Section:
    """Return the section of the last session, or of the last memories where there are no sessions.

    `name` is the name of the session to show, or empty.
    """
    statements = [(memory, *_statements_of_session(memory, session, now=now)) for memory in memories]
    newest_first = sorted(
        ((memory, text, at) for memory, text, at in statements if text),
        key=lambda statement: (statement[2], statement[0].id),
        reverse=True,
    )
    lines = tuple(_memory_line(memory, text, tokens=_SHORT_TOKENS, at=at) for memory, text, at in newest_first)
    shown_name = f" ({cut(_one_line(name), tokens=_MIN_TEXT_TOKENS * 3)})" if name else ""
    return Section(
        heading=f"Last session{shown_name}" if session else "Said last",
        lines=lines,
        nouns=("memory of it", "memories of it"),
        more="`recall` with this session lists all" if session else "`recall` without a query lists all",
        is_reversed=True,
    )


def current_text(memory: Memory, *, now: datetime) -> str:
    """Return the content and current observations of a memory on one line."""
    return _join(memory.content, *(observation.text for observation in memory.current_observations(now)))


def approved_text(memory: Memory, *, now: datetime) -> str:
    """Return the same for a pinned memory, without what a document has added to it since."""
    observations = [
        observation.text
        for observation in memory.current_observations(now)
        if observation.source is None or observation.source.trust is not Trust.DOCUMENT
    ]
    return _join(memory.content, *observations)


def sessions_of(memory: Memory) -> Iterator[tuple[str, datetime]]:
    """Yield the sessions that a memory comes from, each with the time of its contribution."""
    if memory.source.session:
        yield memory.source.session, memory.date
    for part in memory.merged:
        if part.source.session:
            yield part.source.session, part.at
    for observation in memory.observations:
        if observation.source is not None and observation.source.session:
            yield observation.source.session, observation.recorded_at


def cut(text: str, *, tokens: int) -> str:
    """Return a text, cut to a number of tokens if necessary."""
    if estimate_tokens(text) <= tokens:
        return text
    end = end_within(text, tokens=max(1, tokens - estimate_tokens(_ELLIPSIS)))
    at = text.rfind(" ", end // 2, end)
    return text[: at if at > 0 else end].rstrip() + _ELLIPSIS


def _allocate(sections: Sequence[Section], *, room: int) -> list[_Fitted]:
    """Fit each section into its share, then give the rest of the room to those that need more."""
    fitted: list[_Fitted] = []
    left = room
    for number, (section, share) in enumerate(zip(sections, _SHARES, strict=True)):
        spent = sum(other.cost for other in fitted) if number < _SHARING_SECTIONS else 0
        fitted.append(_fit_section(section, room=min(left, max(int(room * share), _MIN_SHARE_TOKENS) - spent)))
        left -= fitted[-1].cost
    for number, section in enumerate(sections):
        lines = fitted[number].lines
        is_cut = bool(lines) and lines[-1] is not section.lines[len(lines) - 1]
        if len(lines) < len(section.lines) or is_cut:
            larger = _fit_section(section, room=fitted[number].cost + left)
            left -= larger.cost - fitted[number].cost
            fitted[number] = larger
    return fitted


def _fit_section(section: Section, *, room: int) -> _Fitted:
    """Take as many lines as fit, in order; the last of them is cut if that makes it fit."""
    lines: list[Line] = []
    spent = estimate_tokens(section.title)
    for line in section.lines:
        fitting = line.shorten(room - spent)
        if fitting is None:
            break
        lines.append(fitting)
        spent += fitting.cost
        if fitting is not line:
            break
    return _Fitted(lines=tuple(lines), cost=spent) if lines else _Fitted()


def _describe_omissions(sections: Sequence[Section], fitted: Sequence[_Fitted]) -> Iterator[str]:
    """Yield what has no room, and how to get it."""
    for section, part in zip(sections, fitted, strict=True):
        count = len(section.lines) - len(part.lines)
        if count:
            yield f"{count} {section.nouns[0] if count == 1 else section.nouns[1]}: {section.more or _ASK_FOR_MORE}"
    if any(line.text.endswith("…") for part in fitted for line in part.lines):
        yield "the rest of texts that end in …: `read` them by the name in brackets"


def _compose_text(
    sections: Sequence[Section], fitted: Sequence[_Fitted], left_out: Sequence[str], *, max_tokens: int
) -> str:
    lines = [_TITLE]
    for section, part in zip(sections, fitted, strict=True):
        if part.lines:
            lines += ["", section.title, *map(str, part.lines[::-1] if section.is_reversed else part.lines)]
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


def _statements_of_session(memory: Memory, session: str, *, now: datetime) -> tuple[str, datetime]:
    """Return the part of a memory that comes from a session, and its time."""
    key = facet("session", session)
    if not session or facet("session", memory.source.session) == key:
        return current_text(memory, now=now), memory.date
    times = [at for name, at in sessions_of(memory) if facet("session", name) == key]
    added = [
        observation.text
        for observation in memory.observations
        if observation.source is not None
        and facet("session", observation.source.session) == key
        and observation.holds(now)
    ]
    merged = [
        text for part in memory.merged if facet("session", part.source.session) == key for text in part.statements
    ]
    return _join(*merged, *added), max(times, default=memory.date)


def _memory_line(memory: Memory, text: str, *, tokens: int, why: str = "", at: datetime | None = None) -> Line:
    title = _one_line(memory.title)
    is_repeated = text.casefold().startswith(title.casefold())
    labels = [label for label in (why, "" if is_repeated else title) if label]
    short = cut(text, tokens=tokens)
    mark = mark_of_all(memory)
    about = ContextEntry(
        id=memory.id, name=memory.name, kind=memory.kind, text=short, date=at or memory.date, why=why, mark=mark
    )  # fmt: skip
    return Line(
        head=f"- {': '.join(labels)}{': ' if labels and short else ''}",
        text=short,
        tail=f" [{', '.join(part for part in (_one_line(memory.name), mark) if part)}]",
        about=about,
    )


def _side(side: ConflictSide) -> str:
    statement = cut(_one_line(side.statement), tokens=_STATEMENT_TOKENS)
    about = ", ".join(part for part in (_one_line(side.name), side.date.date().isoformat(), side.mark) if part)
    return f'"{statement}" ({about})'


def _join(*texts: str) -> str:
    return "; ".join(line for line in map(_one_line, texts) if line)


def _one_line(text: str) -> str:
    """Return a text on one line, so that it cannot begin a heading or a list of its own."""
    return " ".join(text.split())
