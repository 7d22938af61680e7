"""What can be asked for, and how a filter becomes facets that every index understands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from scrubjay.model.checks import require_moment, require_text, require_texts, wrong
from scrubjay.model.memory import MAIN, Json, Memory, State
from scrubjay.model.timestamps import to_iso

# A facet is one "field=value" of a memory. A filter is a conjunction of groups of facets, any one of
# which must hold in each group. Lexical index, vector index and exact scan all test the same strings.
Facet = str


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories are wanted; an empty field asks nothing."""

    entity: str = ""
    kind: str = ""
    # With all that is below it: `work` finds `work/meetings` too. Who changes by a filter takes it alone.
    category: str = ""
    tags: tuple[str, ...] = ()
    any_tags: tuple[str, ...] = ()
    project: str = ""
    scope: str = ""
    tier: str = ""
    session: str = ""
    agent: str = ""
    trust: str = ""
    group: str = ""
    # A memory by any of its names, if it has several: see `names_of`.
    alias: str = ""
    # What the write path noticed: thin, redacted, suspicious, unapproved.
    flag: str = ""
    # Lines of versions beside the main one: by their name, and by whose they are.
    branch: str = ""
    trunk: str = ""
    # The month in which it is to be brought up again, such as 2026-05.
    remind: str = ""
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    since: datetime | None = None
    until: datetime | None = None
    state: State = State.LIVE
    # Facets that count as well as one that is asked for, such as other spellings: to find by, never to change by.
    also: Mapping[Facet, tuple[Facet, ...]] = field(default_factory=dict[Facet, tuple[Facet, ...]])

    def __post_init__(self) -> None:
        """Refuse what would silently match nothing, or the letters of a word."""
        for name in _SINGLE_FIELDS:
            require_text(getattr(self, name), field=name)
        for name in ("tags", "any_tags"):
            require_texts(getattr(self, name), field=name)
        for name in ("since", "until"):
            require_moment(getattr(self, name), field=name)
        if not isinstance(self.metadata, Mapping):
            raise wrong("metadata", "an object", self.metadata)

    @property
    def facet_groups(self) -> tuple[tuple[Facet, ...], ...]:
        """The facets asked for, besides the state; one of each group must hold."""
        asked = {name: getattr(self, name) for name in _SINGLE_FIELDS} | {"category": category_path(self.category)}
        singles = [facet(name, value) for name, value in asked.items() if value]
        singles += [tag_facet(tag) for tag in self.tags]
        singles += [facet(f"meta.{key}", value) for key, value in self.metadata.items()]
        groups: list[tuple[Facet, ...]] = [(single,) for single in singles]
        if self.any_tags:
            groups.append(tuple(tag_facet(tag) for tag in self.any_tags))
        return tuple(self._widened(group) for group in groups) if self.also else tuple(groups)

    def _widened(self, group: tuple[Facet, ...]) -> tuple[Facet, ...]:
        return tuple(dict.fromkeys(one for asked in group for one in (asked, *self.also.get(asked, ()))))

    @property
    def is_empty(self) -> bool:
        """Whether it asks for nothing but the state."""
        return not self.facet_groups and self.since is None and self.until is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One recall, as asked."""

    query: str
    filter: Filter = field(default_factory=Filter)
    limit: int = 8
    max_tokens: int = 1500
    detail: str = "concise"
    explain: bool = False
    # Only memories in which this stands, to the letter and whatever its case.
    contains: str = ""
    # So many memories before and after each hit in its session come with it.
    around: int = 0
    # What "yesterday" and "in March" are counted from; now, unless given.
    today: datetime | None = None
    # What the memory said at a moment of the past.
    as_of: datetime | None = None
    # Memories that have this branch are told as they are on it.
    branch: str = MAIN


def facet(name: str, value: Json) -> Facet:
    """One field and value, spelled the same for every index; case and the width of white space do not matter."""
    return f"{name}={' '.join(_spell(value).split())}".casefold()


def facets_of(memory: Memory) -> tuple[Facet, ...]:
    """All that a memory can be filtered by, besides its state and its date."""
    found = [
        facet(name, value)
        for name, value in (
            ("entity", memory.entity),
            ("kind", memory.kind),
            *(("category", one) for one in lineage(memory.category)),
            ("project", memory.project),
            ("scope", memory.scope),
            ("tier", memory.tier),
            ("group", memory.group),
            ("session", memory.source.session),
            ("agent", memory.source.agent),
            ("trust", memory.source.trust),
            ("branch", memory.branch if memory.trunk else ""),
            ("trunk", memory.trunk),
            ("remind", month_of(memory.remind_at)),
        )
        if value
    ]
    found += [tag_facet(tag) for tag in memory.tags]
    found += [facet("alias", name) for name in names_of(memory)]
    found += [facet("flag", flag) for flag in memory.flags]
    # What was merged into it or added to it belongs to its own sessions still.
    found += [facet("session", session) for session in _other_sessions(memory)]
    found += [
        facet(f"meta.{key}", one)
        for key, value in memory.metadata.items()
        # Of a list each value counts: whoever asks for one of them finds it.
        for one in (value[:_MOST_VALUES] if isinstance(value, list) else [value])
        if isinstance(one, str | int | float | bool) and len(str(one)) <= _LONGEST_VALUE
    ]
    return tuple(dict.fromkeys(found))


def category_path(category: str) -> str:
    """A category in the one way that its parts are written in: `work/meetings`."""
    parts = [part for one in category.split("/") if (part := " ".join(one.split()))]
    return "/".join(parts) or category


def lineage(category: str) -> tuple[str, ...]:
    """A category and all those above it, the nearest first; of a very deep one, those at the top."""
    path = category_path(category)
    places = [at for at, sign in enumerate(path) if sign == "/"]
    above = [path[:at] for at in places[:_DEEPEST] if at]
    return (path, *reversed(above)) if path else ()


def _other_sessions(memory: Memory) -> list[str]:
    sources = [part.source for part in memory.merged] + [
        observation.source for observation in memory.observations if observation.source
    ]
    return [source.session for source in sources if source.session][-_MOST_VALUES:]


def month_of(moment: datetime | None) -> str:
    """The month of a moment, as a facet tells it."""
    return "" if moment is None else to_iso(moment)[: len("2026-05")]


def names_of(memory: Memory) -> tuple[str, ...]:
    """All the names of what a memory is about, when its metadata lists `aliases`; else none."""
    aliases = memory.metadata.get("aliases")
    if not isinstance(aliases, list):
        return ()
    others = [alias for alias in aliases[:_MOST_VALUES] if isinstance(alias, str) and alias.strip()]
    names = [memory.entity, memory.title, *others] if others else []
    # What is longer is a sentence about something, not its name.
    return tuple(
        dict.fromkeys(
            name for name in names if name and len(name) <= _LONGEST_LABEL and len(name.split()) <= LONGEST_NAME
        )
    )


_SINGLE_FIELDS = (
    "entity",
    "kind",
    "category",
    "project",
    "scope",
    "tier",
    "session",
    "agent",
    "trust",
    "group",
    "alias",
    "flag",
    "branch",
    "trunk",
    "remind",
)
# So many categories above one are told.
_DEEPEST = 15
# Longer metadata values are texts, not labels: nobody filters by equality with a page.
_LONGEST_VALUE = 256
_MOST_VALUES = 64
# A name, in words and in characters.
LONGEST_NAME = 3
_LONGEST_LABEL = 64


def tag_facet(tag: str) -> Facet:
    """A tag as a facet."""
    # Tags are stored without it, and people write it all the same.
    return facet("tag", tag.lstrip("# "))


def _spell(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
