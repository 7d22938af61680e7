"""Lives: what an agent, a person or a family tells a memory over months, and what they ask it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.recall_data import BadData

_EXPECTED = "expected an object with `life`, `writes` and `questions`, as benchmarks/README.md describes it"


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeWrite:
    """One statement: `supersedes`, `duplicate_of`, `near_miss_of` and `contradicts` name others by their ids."""

    id: str
    day: str
    text: str
    session: str = ""
    agent: str = "agent"
    project: str = ""
    entities: tuple[str, ...] = ()
    kind: str = ""
    is_document: bool = False
    is_worthless: bool = False
    supersedes: frozenset[str] = frozenset()
    duplicate_of: str = ""
    contradicts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeQuestion:
    """One question: each set of `gold` holds alternatives, and an answer has one of each; without any there is none."""

    id: str
    day: str
    text: str
    project: str = ""
    language: str = ""
    kind: str = "fact"
    gold: tuple[frozenset[str], ...] = ()
    outdated: frozenset[str] = frozenset()
    foreign: frozenset[str] = frozenset()
    documents: frozenset[str] = frozenset()

    @property
    def right(self) -> frozenset[str]:
        """All writes that answer it, or a part of it."""
        return frozenset[str]().union(*self.gold)


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """A life in the order of time."""

    name: str
    writes: tuple[LifeWrite, ...]
    questions: tuple[LifeQuestion, ...]

    @property
    def days(self) -> tuple[str, ...]:
        """The days on which something is written or asked."""
        return tuple(sorted({entry.day for entry in (*self.writes, *self.questions)}))

    def belong_together(self, first: str, second: str) -> bool:
        """Return whether two writes are about one fact: the same, another value of it, or a document's."""
        return second in self._relatives(first) or first in self._relatives(second)

    def _relatives(self, name: str) -> set[str]:
        """Return a write, its restatements, and all whose place it takes or that it contradicts, directly or not."""
        by_id = {write.id: write for write in self.writes}
        relatives, todo = set[str](), [name]
        while todo:
            current = todo.pop()
            if current in relatives or current not in by_id:
                continue
            relatives.add(current)
            write = by_id[current]
            root = write.duplicate_of or current
            same = {other.id for other in self.writes if (other.duplicate_of or other.id) == root}
            todo += [*same, *write.supersedes, *write.contradicts]
        return relatives


def load_lives(folder: Path) -> list[Life]:
    """Load each JSON file of a folder as a life."""
    lives = [_life(path) for path in sorted(folder.glob("*.json"))]
    if not lives:
        raise BadData(f"{folder} has no lives: {_EXPECTED}")
    return lives


def _life(path: Path) -> Life:
    try:
        table: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return Life(
            name=table["life"],
            writes=tuple(map(_write, table["writes"])),
            questions=tuple(map(_question, table["questions"])),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadData(f"{path} is no life: {_EXPECTED}") from error


def _write(table: Mapping[str, Any]) -> LifeWrite:
    return LifeWrite(
        id=table["id"],
        day=table["day"],
        text=table["text"],
        session=str(table.get("session") or ""),
        agent=table.get("agent") or "agent",
        project=table.get("project") or "",
        entities=tuple(table.get("entities") or ()),
        kind=table.get("kind") or "",
        is_document=table.get("source") == "document",
        is_worthless=bool(table.get("worthless")),
        supersedes=frozenset(table.get("supersedes") or ()),
        duplicate_of=table.get("duplicate_of") or "",
        contradicts=frozenset(table.get("contradicts") or ()),
    )


def _question(table: Mapping[str, Any]) -> LifeQuestion:
    return LifeQuestion(
        id=table["id"],
        day=table["day"],
        text=table["text"],
        project=table.get("project") or "",
        language=table.get("language") or "",
        kind=table.get("kind") or "fact",
        gold=tuple(_alternatives(entry) for entry in table.get("gold") or ()),
        outdated=frozenset(table.get("stale") or ()),
        foreign=frozenset(table.get("foreign") or ()),
        documents=frozenset(table.get("untrusted") or ()),
    )


def _alternatives(entry: str | Sequence[str]) -> frozenset[str]:
    return frozenset((entry,) if isinstance(entry, str) else entry)


def made_life() -> Life:
    """Return a small life that shows that the benchmark works; its figures say little."""
    writes = (
        LifeWrite(id="w1", day="2026-01-05", text="The bakery opens at six in the morning.", session="1"),
        LifeWrite(id="w2", day="2026-01-05", text="Olga bakes the rye bread.", session="1", entities=("Olga",)),
        LifeWrite(id="w3", day="2026-01-05", text="The shop site is deployed from main.", session="1", project="shop"),
        LifeWrite(id="w4", day="2026-01-06", text="The till is deployed from stable.", session="2", project="till"),
        LifeWrite(id="w5", day="2026-01-06", text="ok", session="2", is_worthless=True),
        LifeWrite(
            id="w6", day="2026-03-02", text="The bakery now opens at seven instead of six.", session="3",
            supersedes=frozenset({"w1"}),
        ),
        LifeWrite(
            id="w7", day="2026-03-03", text="A guide says the bakery opens at nine.", session="3", is_document=True,
            contradicts=frozenset({"w6"}),
        ),
        LifeWrite(
            id="w8", day="2026-03-04", text="It is Olga who makes the rye bread.", session="4", duplicate_of="w2"
        ),
    )  # fmt: skip
    questions = (
        LifeQuestion(id="q1", day="2026-01-07", text="When does the bakery open?", gold=(frozenset({"w1"}),)),
        LifeQuestion(
            id="q2", day="2026-03-09", text="When does the bakery open?", kind="current", gold=(frozenset({"w6"}),),
            outdated=frozenset({"w1"}), documents=frozenset({"w7"}),
        ),
        LifeQuestion(id="q3", day="2026-03-09", text="Who bakes the rye bread?", gold=(frozenset({"w2", "w8"}),)),
        LifeQuestion(
            id="q4", day="2026-03-09", text="Which branch is deployed?", project="shop", gold=(frozenset({"w3"}),),
            foreign=frozenset({"w4"}),
        ),
        LifeQuestion(id="q5", day="2026-03-09", text="Who won the chess championship of 1972?", kind="none"),
    )  # fmt: skip
    return Life(name="made", writes=writes, questions=questions)
