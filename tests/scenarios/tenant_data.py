"""Tenants of one server: their words, the references that each has learned, and the requests that each can make."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from scrubjay.model.memory import Json

UNKNOWN_ID = "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b"
"""An id that no memory has."""

WORD = re.compile(r"((?:ann|bob|eve)word\d+)n\d+")
"""A word of one tenant; its first part names the tenant."""

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

# A name that was taken ends with digits of an id.
_RANDOM = re.compile(rf"-[0-9a-f]{{6}}$|{ID.pattern}")

Whose = Literal["own", "foreign", "unknown"]
By = Literal["id", "name", "title"]
_NEW_WORDS = 12


@dataclass(frozen=True, kw_only=True)
class HttpRequest:
    """A request that is ready to be sent."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Json | bytes = None

    @property
    def content(self) -> bytes | None:
        """The body as it is sent."""
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body).encode()

    @property
    def text(self) -> str:
        """The whole request as text, which shows what its sender knew."""
        headers = "".join(f'"{name}":"{value}" ' for name, value in self.headers.items())
        query = "".join(f'"{name}":"{value}" ' for name, value in self.query)
        return f"{self.path} {query} {headers} {(self.content or b'').decode()}"

    def with_query(self, *query: tuple[str, str]) -> "HttpRequest":
        """Return the request with more query parameters."""
        return replace(self, query=(*self.query, *query))


@dataclass(kw_only=True)
class KnownRefs:
    """The references that a tenant has learned about its own memories on one server, in order."""

    ids: list[str] = field(default_factory=list[str])
    names: list[str] = field(default_factory=list[str])
    titles: list[str] = field(default_factory=list[str])
    runs: list[str] = field(default_factory=list[str])
    keys: list[str] = field(default_factory=list[str])
    cursors: list[str] = field(default_factory=list[str])

    def learn(self, text: str) -> None:
        """Collect references from a request and its answer."""
        for values, pattern in (
            (self.ids, _IDS),
            (self.names, _NAMES),
            (self.titles, _TITLES),
            (self.runs, _RUNS),
            (self.keys, _KEYS),
            (self.cursors, _CURSORS),
        ):
            values += [value for value in dict.fromkeys(pattern.findall(text)) if value not in values]


def _field(names: str, value: str = r'[^"\\]+') -> re.Pattern[str]:
    return re.compile(rf'"(?:{names})": ?"({value})"', re.IGNORECASE)


_IDS = _field("id", ID.pattern)
_NAMES = _field("name")
_TITLES = _field("title")
_RUNS = _field("run|x-scrubjay-run")
_KEYS = _field("idempotency[-_]key")
_CURSORS = _field("cursor|nextCursor")


@dataclass(kw_only=True)
class Tenant:
    """A tenant with a space. Every word that it writes is unique and carries its mark."""

    mark: str
    words: int = 0
    own_words: set[str] = field(default_factory=set[str])
    own_ids: set[str] = field(default_factory=set[str])

    @property
    def space(self) -> str:
        return f"{self.mark}n0"

    def new_words(self) -> tuple[str, ...]:
        """Return unused words."""
        first = self.words + 1
        self.words += _NEW_WORDS
        return tuple(f"{self.mark}n{number}" for number in range(first, first + _NEW_WORDS))

    def note_sent(self, ask: HttpRequest) -> None:
        """Note the words and ids of a request, which may occur in answers."""
        text = ask.text.casefold()
        self.own_words |= {match[0] for match in WORD.finditer(text)}
        self.own_ids |= set(ID.findall(text))


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One step: whose memories it refers to, by which kind of reference, and a number to choose variants."""

    whose: Whose = "own"
    by: By = "id"
    number: int = 0


@dataclass(frozen=True, kw_only=True)
class CallInputs:
    """The inputs of a request: new words of its sender, and references to its own memories or to those of others.

    `space` is the space that the request names; `name` and `key` are new if the references are the sender's own.
    `label` is used in texts and questions; it is never an id of the sender's own, nor does it end with the digits of
    one, because ids differ between servers.
    """

    words: tuple[str, ...]
    home: str
    ref: str
    label: str
    other: str
    name: str
    key: str
    run: str
    cursor: str
    number: int
    space: str = ""

    @property
    def text(self) -> str:
        """A text that is similar to those of other tenants."""
        tree = ("oak", "elm", "old pine")[self.number % 3]
        return f"The jay hid {self.words[0]} under the {tree}"

    def every(self, count: int) -> bool:
        """Return whether the number of the step is a multiple of `count`."""
        return self.number % count == 0


def make_inputs(
    tenant: Tenant, turn: Turn, *, words: tuple[str, ...], own: KnownRefs, foreign: KnownRefs, space: str
) -> CallInputs:
    """Return the inputs of a step on one server."""
    refs_ = {"own": own, "foreign": foreign, "unknown": KnownRefs()}[turn.whose]
    refs = {"id": refs_.ids, "name": refs_.names, "title": refs_.titles}[turn.by]
    is_own = turn.whose == "own"
    labels = refs_.names if is_own and turn.by == "id" else refs
    if is_own:
        labels = [label for label in labels if not _RANDOM.search(label)]
    return CallInputs(
        words=words,
        home=tenant.space,
        ref=_pick(refs, turn.number, UNKNOWN_ID if turn.by == "id" else "unknown"),
        label=_pick(labels, turn.number, "unknown"),
        other=_pick(own.ids, turn.number + 1, UNKNOWN_ID)
        if turn.number % 2
        else _pick(refs, turn.number + 1, UNKNOWN_ID),
        name=words[1] if is_own else _pick(refs_.names, turn.number, "unknown"),
        key=words[2] if is_own and turn.number % 5 else _pick(refs_.keys, turn.number, words[2]),
        run=words[3] if is_own and turn.number % 3 else _pick(refs_.runs, turn.number, words[3]),
        cursor=_pick(refs_.cursors, turn.number, ""),
        number=turn.number,
        space=space,
    )


def _pick(values: list[str], number: int, default: str) -> str:
    # The newest first.
    return values[-1 - number % len(values)] if values else default


MakeRequest = Callable[[CallInputs], HttpRequest]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An operation of a surface. `closed`: not open to a token for some spaces."""

    name: str
    make: MakeRequest
    writes: bool = False
    closed: bool = False
