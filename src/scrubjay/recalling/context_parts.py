"""The parts of a session's start: who the person is, what is pinned, what is due, what is open, what was said last."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from scrubjay.model.conflict import ConflictDetails, ConflictSide
from scrubjay.model.memory import Memory
from scrubjay.model.query import facet
from scrubjay.model.results import ContextEntry
from scrubjay.text.cost import end_within, estimate_tokens

_ELLIPSIS = " …"
# What is shorter than this says nothing.
_LEAST_TOKENS = 8
_PROFILE_TOKENS = 200
_PINNED_TOKENS = 120
_SHORT_TOKENS = 60
_STATEMENT_TOKENS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line about something; only the words in its middle may be cut."""

    head: str
    text: str
    tail: str
    about: ContextEntry | ConflictDetails

    def __str__(self) -> str:
        return f"{self.head}{self.text}{self.tail}"

    @property
    def cost(self) -> int:
        """What it costs the model that reads it, with its end of line."""
        return estimate_tokens(str(self))

    def within(self, tokens: int) -> "Line | None":
        """The line as it is, or cut to cost no more; none, if nothing would be left of it."""
        if self.cost <= tokens:
            return self
        room = tokens - estimate_tokens(f"{self.head}{_ELLIPSIS}{self.tail}") - 1
        if room < _LEAST_TOKENS or isinstance(self.about, ConflictDetails):
            return None
        text = cut(self.text, tokens=room)
        return replace(self, text=text, about=replace(self.about, text=text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Lines under one heading, those that matter most first, and how to get what has no room."""

    heading: str
    lines: tuple[Line, ...] = ()
    # Of what, in words for one and for several of them.
    what: tuple[str, str] = ("", "")
    rest: str = ""
    # Told in the order of time, though the newest matter most.
    backwards: bool = False


def profile_part(memories: Sequence[Memory], *, now: datetime) -> Part:
    """Who the person is."""
    lines = tuple(_line(memory, says(memory, now=now), tokens=_PROFILE_TOKENS) for memory in memories)
    return Part(heading="Profile", lines=lines, what=("memory of the profile", "memories of the profile"))


def pinned_part(memories: Sequence[Memory], *, now: datetime) -> Part:
    """What is always to be kept in mind."""
    lines = tuple(_line(memory, says(memory, now=now), tokens=_PINNED_TOKENS) for memory in memories)
    return Part(heading="Pinned", lines=lines, what=("pinned memory", "pinned memories"))


def reminders_part(memories: Sequence[Memory], *, shown: Container[str], now: datetime) -> Part:
    """What is due; of what stands above already no more than its name."""
    lines: list[Line] = []
    for memory in memories:
        why = f"due {memory.remind_at.date().isoformat()}" if memory.remind_at else ""
        line = _line(memory, says(memory, now=now), tokens=_SHORT_TOKENS, why=why)
        is_shown = (memory.group or memory.id) in shown
        lines.append(replace(line, head=f"- {why}", text="") if is_shown else line)
    return Part(heading="Reminders due", lines=tuple(lines), what=("reminder", "reminders"))


def conflicts_part(conflicts: Sequence[ConflictDetails]) -> Part:
    """What cannot all be right."""
    lines = tuple(_conflict(conflict) for conflict in conflicts)
    return Part(heading="Open conflicts", lines=lines, what=("conflict", "conflicts"), rest="`conflicts` lists all")


def recent_part(memories: Sequence[Memory], *, session: str, name: str, now: datetime) -> Part:
    """What a session has said, or what was said last where there are no sessions; as it was said.

    `name` is what the session may be called, if anything.
    """
    said = [(memory, *_said_in(memory, session, now=now)) for memory in memories]
    said = sorted((one for one in said if one[1]), key=lambda one: (one[2], one[0].id), reverse=True)
    lines = tuple(_line(one, text, tokens=_SHORT_TOKENS, at=at) for one, text, at in said)
    shown = f" ({cut(_plain(name), tokens=_LEAST_TOKENS * 3)})" if name else ""
    heading = f"Last session{shown}" if session else "Said last"
    rest = "`recall` with this session lists all" if session else "`recall` without a query lists all"
    return Part(heading=heading, lines=lines, what=("memory of it", "memories of it"), rest=rest, backwards=True)


def says(memory: Memory, *, now: datetime) -> str:
    """What a memory says now, on one line."""
    return _joined(memory.content, [observation.text for observation in memory.observations if observation.holds(now)])


def sessions_of(memory: Memory) -> Iterator[tuple[str, datetime]]:
    """The sessions that a memory comes from, and when each spoke."""
    if memory.source.session:
        yield memory.source.session, memory.date
    for part in memory.merged:
        if part.source.session:
            yield part.source.session, part.at
    for observation in memory.observations:
        if observation.source is not None and observation.source.session:
            yield observation.source.session, observation.recorded_at


def cut(text: str, *, tokens: int) -> str:
    """A text, or as much of it as costs no more than so many tokens."""
    if estimate_tokens(text) <= tokens:
        return text
    end = end_within(text, tokens=max(1, tokens - estimate_tokens(_ELLIPSIS)))
    at = text.rfind(" ", end // 2, end)
    return text[: at if at > 0 else end].rstrip() + _ELLIPSIS


def _said_in(memory: Memory, session: str, *, now: datetime) -> tuple[str, datetime]:
    """What of a memory a session has said, and when."""
    wanted = facet("session", session)
    if not session or facet("session", memory.source.session) == wanted:
        return says(memory, now=now), memory.date
    told = [at for name, at in sessions_of(memory) if facet("session", name) == wanted]
    added = [
        observation.text
        for observation in memory.observations
        if observation.source is not None
        and facet("session", observation.source.session) == wanted
        and observation.holds(now)
    ]
    merged = [
        text for part in memory.merged if facet("session", part.source.session) == wanted for text in part.statements
    ]
    return _joined("", [*merged, *added]), max(told, default=memory.date)


def _line(memory: Memory, text: str, *, tokens: int, why: str = "", at: datetime | None = None) -> Line:
    title = _plain(memory.title)
    is_said = not title or text.casefold().startswith(title.casefold())
    labels = [one for one in (why, "" if is_said else title) if one]
    short = cut(text, tokens=tokens)
    about = ContextEntry(
        id=memory.id, name=memory.name, kind=memory.kind, text=short, date=at or memory.date, why=why
    )  # fmt: skip
    return Line(
        head=f"- {': '.join(labels)}{': ' if labels and short else ''}",
        text=short,
        tail=_handle(memory.name),
        about=about,
    )


def _conflict(told: ConflictDetails) -> Line:
    words = f"{told.type.value}: {_side(told.memory)} against {_side(told.other)}"
    return Line(head="- ", text=words, tail=f"; suggested: {told.suggested_action.value} [{told.id}]", about=told)


def _side(side: ConflictSide) -> str:
    statement = cut(_plain(side.statement), tokens=_STATEMENT_TOKENS)
    return f'"{statement}" ({side.name}, {side.date.date().isoformat()})'


def _handle(name: str) -> str:
    return f" [{_plain(name)}]"


def _joined(content: str, observations: Sequence[str]) -> str:
    return "; ".join(one for one in (_plain(content), *map(_plain, observations)) if one)


def _plain(text: str) -> str:
    """On one line: what is remembered begins no heading and no list of its own."""
    return " ".join(text.split())
