"""People who share a server and nothing else: their words, what each has learned of its own, and what each asks."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from scrubjay.model.memory import Json

NOBODY = "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b"
"""An id that no memory has."""

WORD = re.compile(r"((?:ann|bob|eve)word\d+)n\d+")
"""A word of somebody's own; its first part says whose."""

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

Whose = Literal["own", "foreign", "nobody"]
By = Literal["id", "name", "title"]
_FRESH = 12


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One request, ready to be sent."""

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
    def said(self) -> str:
        """All that it tells, for whoever wants to know what its sender knew."""
        headers = "".join(f'"{name}":"{value}" ' for name, value in self.headers.items())
        query = "".join(f'"{name}":"{value}" ' for name, value in self.query)
        return f"{self.path} {query} {headers} {(self.content or b'').decode()}"

    def asking(self, *query: tuple[str, str]) -> "Ask":
        """The same with more in its query."""
        return replace(self, query=(*self.query, *query))


@dataclass(kw_only=True)
class Known:
    """What somebody has learned of its own things, in one world, in order."""

    ids: list[str] = field(default_factory=list[str])
    names: list[str] = field(default_factory=list[str])
    titles: list[str] = field(default_factory=list[str])
    runs: list[str] = field(default_factory=list[str])
    keys: list[str] = field(default_factory=list[str])
    cursors: list[str] = field(default_factory=list[str])

    def learn(self, told: str) -> None:
        """Take what can be referred to from what was asked and answered."""
        for values, pattern in (
            (self.ids, _IDS),
            (self.names, _NAMES),
            (self.titles, _TITLES),
            (self.runs, _RUNS),
            (self.keys, _KEYS),
            (self.cursors, _CURSORS),
        ):
            values += [fromkey for fromkey in dict.fromkeys(pattern.findall(told)) if fromkey not in values]


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
    """Somebody with a space. Every word that it writes is its own, and is known by its mark."""

    mark: str
    words: int = 0
    said_words: set[str] = field(default_factory=set[str])
    said_ids: set[str] = field(default_factory=set[str])

    @property
    def space(self) -> str:
        return f"{self.mark}n0"

    def fresh(self) -> tuple[str, ...]:
        """Words that nobody has used."""
        first = self.words + 1
        self.words += _FRESH
        return tuple(f"{self.mark}n{number}" for number in range(first, first + _FRESH))

    def say(self, ask: Ask) -> None:
        """What it has said itself, it may hear again."""
        text = ask.said.casefold()
        self.said_words |= {results[0] for results in WORD.finditer(text)}
        self.said_ids |= set(ID.findall(text))


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What one step is made of, whatever is asked: whose things it refers to, by what, and a number to choose by."""

    whose: Whose = "own"
    by: By = "id"
    number: int = 0


@dataclass(frozen=True, kw_only=True)
class Given:
    """What a request is made from: fresh words of its sender, and references to things of its own or of others.

    `space` is one that the request names; `name` and `key` are free where the things referred to are the sender's own.
    `label` is what stands in texts and questions: never an id of the sender's own, which every world spells otherwise.
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
        """A text of which others have written much the same."""
        tree = ("oak", "elm", "old pine")[self.number % 3]
        return f"The jay hid {self.words[0]} under the {tree}"

    def every(self, count: int) -> bool:
        """Now and then."""
        return self.number % count == 0


def given_for(tenant: Tenant, turn: Turn, *, words: tuple[str, ...], own: Known, foreign: Known, space: str) -> Given:
    """What a turn means in one world."""
    existing = {"own": own, "foreign": foreign, "nobody": Known()}[turn.whose]
    refs = {"id": existing.ids, "name": existing.names, "title": existing.titles}[turn.by]
    is_own = turn.whose == "own"
    labels = existing.names if is_own and turn.by == "id" else refs
    return Given(
        words=words,
        home=tenant.space,
        ref=_pick(refs, turn.number, NOBODY if turn.by == "id" else "nobody's"),
        label=_pick(labels, turn.number, "nobody's"),
        other=_pick(own.ids, turn.number + 1, NOBODY) if turn.number % 2 else _pick(refs, turn.number + 1, NOBODY),
        name=words[1] if is_own else _pick(existing.names, turn.number, "nobody's"),
        key=words[2] if is_own and turn.number % 5 else _pick(existing.keys, turn.number, words[2]),
        run=words[3] if is_own and turn.number % 3 else _pick(existing.runs, turn.number, words[3]),
        cursor=_pick(existing.cursors, turn.number, ""),
        number=turn.number,
        space=space,
    )


def _pick(values: list[str], number: int, otherwise: str) -> str:
    # The newest are the likeliest.
    return values[-1 - number % len(values)] if values else otherwise


Make = Callable[[Given], Ask]


@dataclass(frozen=True, kw_only=True)
class Deed:
    """One thing that can be asked. `closed`: not by anybody who holds a token for some spaces."""

    name: str
    make: Make
    writes: bool = False
    closed: bool = False
