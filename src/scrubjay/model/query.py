"""Queries: recall, full-text search, and filters, which become facets that every index understands."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from functools import cache, lru_cache
from operator import attrgetter
from typing import Annotated, Literal

from scrubjay.lazy import dataclass
from scrubjay.model.arguments import Arg, ArgumentGroup
from scrubjay.model.memory import Json, Memory, State
from scrubjay.model.timestamps import to_iso

# A facet is one "field=value" of a memory. A filter is a conjunction of groups of facets; a memory must have at
# least one facet of each group. Lexical index, vector index and exact scan all test the same strings.
Facet = str
ANY_PROJECT = "*"
"""Means all projects."""
LABEL = 300
"""The largest length of a label, such as a name or a tag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(ArgumentGroup):
    """Conditions on memories; an empty field sets none."""

    entity: Annotated[str, Arg("Only memories filed under this entity.", length=LABEL)] = ""
    kind: Annotated[str, Arg("Only this kind.", length=LABEL)] = ""
    # A verb that changes memories matches it exactly.
    category: Annotated[str, Arg("Only this category and its subcategories.", length=LABEL)] = ""
    tags: Annotated[
        tuple[str, ...],
        Arg("Only memories with this tag; repeatable, all must match.", length=LABEL, items=64, flags="--tag -t"),
    ] = ()
    any_tags: Annotated[
        tuple[str, ...],
        Arg("Only memories with one of these tags; repeatable.", length=LABEL, items=64, flags="--any-tag"),
    ] = ()
    project: Annotated[str, Arg("Only this project; `*` for all.", length=LABEL)] = ""
    scope: Annotated[str, Arg("Only this scope.", length=LABEL)] = ""
    tier: Annotated[Literal["", "working", "episodic", "semantic", "procedural"], Arg("Only this tier.")] = ""
    session: Annotated[str, Arg("Only from this session.", length=LABEL)] = ""
    agent: Annotated[str, Arg("Only memories that this agent wrote.", length=LABEL, flags="--from-agent")] = ""
    trust: Annotated[
        Literal["", "user", "agent", "document", "unknown"], Arg("Only from this kind of source.")
    ] = ""  # fmt: skip
    metadata: Annotated[Mapping[str, Json], Arg("Only memories with these values in their metadata.")] = field(
        default_factory=dict[str, Json]
    )
    since: Annotated[datetime | None, Arg("Not older than this time.", example="2026-05-31T14:00:00Z")] = None
    until: Annotated[datetime | None, Arg("Older than this time.", example="2026-06-30T14:00:00Z")] = None
    flag: Annotated[
        Literal["", "thin", "redacted", "suspicious", "unapproved"], Arg("Only memories with this flag.")
    ] = ""  # fmt: skip
    # A verb that changes memories chooses the state itself.
    state: Annotated[State, Arg("Only memories in this state.")] = State.LIVE
    group: str = ""
    # Any name of a memory that has several: see `names_of`.
    alias: str = ""
    # Branches: by their name, and by the memory they belong to.
    branch: str = ""
    trunk: str = ""
    # The month of the reminder, such as 2026-05.
    remind: str = ""
    # Alternatives to a facet, such as other spellings: for searching only, never for selecting memories to change.
    also: Mapping[Facet, tuple[Facet, ...]] = field(default_factory=dict[Facet, tuple[Facet, ...]])

    @property
    def facet_groups(self) -> tuple[tuple[Facet, ...], ...]:
        """The required facets, besides the state; one of each group must match."""
        values = _single_values(self)
        if not any(values) and not self.tags and not self.any_tags and not self.metadata:
            return ()
        conditions = [(name, value) for name, value in zip(_SINGLE_FIELDS, values, strict=True) if value]
        conditions = [condition for condition in conditions if condition != ("project", ANY_PROJECT)]
        singles = [facet(name, category_path(value) if name == "category" else value) for name, value in conditions]
        singles += [tag_facet(tag) for tag in self.tags]
        singles += [facet(f"meta.{key}", value) for key, value in self.metadata.items()]
        groups: list[tuple[Facet, ...]] = [(single,) for single in singles]
        if self.any_tags:
            groups.append(tuple(tag_facet(tag) for tag in self.any_tags))
        return tuple(self._with_alternatives(group) for group in groups) if self.also else tuple(groups)

    def _with_alternatives(self, group: tuple[Facet, ...]) -> tuple[Facet, ...]:
        return tuple(dict.fromkeys(item for facet in group for item in (facet, *self.also.get(facet, ()))))

    @property
    def is_empty(self) -> bool:
        """Whether it sets no condition but the state."""
        return not self.facet_groups and self.since is None and self.until is None


@cache
def no_filter() -> Filter:
    """Return the filter that sets no condition, as in most requests: made once, since it has many fields."""
    return Filter()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextHit:
    """A hit of a full-text search; the snippet marks matches with `**`.

    The score is from 0 to 1. `matched` lists the fields that match, `missing` the words that the memory lacks.
    """

    id: str
    name: str
    title: str
    score: float
    snippet: str
    updated_at: datetime
    matched: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    kind: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    space: str = ""
    # Whose word it is; empty for the user's. See `labels`.
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextsFound:
    """The hits, best first; `more` if there are others. `degraded` lists the parts of the query that were ignored.

    `words` is the query without its operators.
    """

    hits: tuple[TextHit, ...]
    more: bool = False
    degraded: tuple[str, ...] = ()
    words: str = ""


def facet(name: str, value: Json) -> Facet:
    """Return a field and value as a facet; case and the amount of white space do not matter."""
    return _facet(name, value if isinstance(value, str) else _format(value))


# A write looks up the same labels and words as the one before.
@lru_cache(maxsize=8_192)
def _facet(name: str, text: str) -> Facet:
    return f"{name}={' '.join(text.split())}".casefold()


def facets_of(memory: Memory) -> tuple[Facet, ...]:
    """Return all facets of a memory; filters also use its state and its date."""
    facets = [
        facet(name, value)
        for name, value in (
            ("entity", memory.entity),
            ("kind", memory.kind),
            *(("category", category) for category in category_lineage(memory.category)),
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
    facets += [tag_facet(tag) for tag in memory.tags]
    facets += [facet("alias", name) for name in names_of(memory)]
    facets += [facet("flag", flag) for flag in memory.flags]
    # Merged memories and added observations keep their own sessions.
    facets += [facet("session", session) for session in _other_sessions(memory)]
    facets += [
        facet(f"meta.{key}", item)
        for key, value in memory.metadata.items()
        # Each item of a list is a facet.
        for item in (value[:_MAX_VALUES] if isinstance(value, list) else [value])
        if isinstance(item, str | int | float | bool) and len(str(item)) <= _MAX_VALUE_LENGTH
    ]
    return tuple(dict.fromkeys(facets))


def category_path(category: str) -> str:
    """Return the normal form of a category: `work/meetings`."""
    parts = [part for name in category.split("/") if (part := " ".join(name.split()))]
    return "/".join(parts) or category


def category_lineage(category: str) -> tuple[str, ...]:
    """Return a category and its ancestors, the nearest first; for a very deep one, only the topmost ancestors."""
    path = category_path(category)
    slashes = [at for at, char in enumerate(path) if char == "/"]
    ancestors = [path[:at] for at in slashes[:_MAX_ANCESTORS] if at]
    return (path, *reversed(ancestors)) if path else ()


def _other_sessions(memory: Memory) -> list[str]:
    sources = [part.source for part in memory.merged] + [
        observation.source for observation in memory.observations if observation.source
    ]
    return [source.session for source in sources if source.session][-_MAX_VALUES:]


def month_of(moment: datetime | None) -> str:
    """Return the month of a time, as facets spell it."""
    return "" if moment is None else to_iso(moment)[: len("2026-05")]


def names_of(memory: Memory) -> tuple[str, ...]:
    """Return all names of the subject of a memory, if its metadata lists `aliases`; else none."""
    aliases = memory.metadata.get("aliases")
    if not isinstance(aliases, list):
        return ()
    others = [alias for alias in aliases[:_MAX_VALUES] if isinstance(alias, str) and alias.strip()]
    names = [memory.entity, memory.title, *others] if others else []
    # A longer title is a sentence, not a name.
    return tuple(
        dict.fromkeys(
            name for name in names if name and len(name) <= _MAX_NAME_LENGTH and len(name.split()) <= MAX_NAME_WORDS
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
_single_values = attrgetter(*_SINGLE_FIELDS)
_MAX_ANCESTORS = 15
# Longer metadata values are texts, not labels: a filter by equality makes no sense.
_MAX_VALUE_LENGTH = 256
_MAX_VALUES = 64
# The length of a name, in words and in characters.
MAX_NAME_WORDS = 3
_MAX_NAME_LENGTH = 64


def tag_facet(tag: str) -> Facet:
    """Return a tag as a facet."""
    # Tags are stored without `#`, but people write it.
    return facet("tag", tag.lstrip("# "))


def _format(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
