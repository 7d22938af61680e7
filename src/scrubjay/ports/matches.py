"""What a store tells besides memories."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from scrubjay.model.change import Change
from scrubjay.model.memory import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Handle:
    """A memory's id and what people call it."""

    id: str
    name: str
    title: str
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class TermStatistics:
    """What ranking needs to know of a space: how many passages, how long, and how many have each term."""

    passages: int
    total_length: int
    frequencies: Mapping[str, int]


class LexicalMatch(NamedTuple):
    """A memory that has some of what was looked for, told by one of its passages.

    `groups` says of how many groups of terms it has one, `weight` how much those tell.
    """

    passage: int
    groups: int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """The ids of the memories before and after one in its session, nearest first."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One call, or one named series of calls, as the log remembers it."""

    id: str
    agent: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatistics:
    """Sizes, for `status`. Counts are of one space; bytes are of the whole store."""

    memories: Mapping[str, int]
    versions: int
    relations: int
    body_bytes: int
    stored_bytes: int
    raw_bodies: int
    flagged_bodies: int
    vectors: Mapping[str, int]
    facets: Mapping[str, int] = field(default_factory=dict[str, int])
    details: Mapping[str, str | int | float | bool] = field(default_factory=dict[str, str | int | float | bool])
