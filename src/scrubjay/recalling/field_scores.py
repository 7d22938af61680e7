"""How well a memory fits a full-text search: BM25 over its fields, of which a title says more than a text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from scrubjay.model.memory import Memory
from scrubjay.text.clauses import Clause, phrase_pattern
from scrubjay.text.folding import fold
from scrubjay.text.matching import count_matches
from scrubjay.text.scripts import WORD

__all__ = ["Fit", "Scale", "fit_of", "has_any"]

_SATURATION = 1.2


class _Kind(NamedTuple):
    """What a word in a field counts, how long such a field is, and how much a longer one counts less."""

    weight: float
    usual: float
    length: float


_KINDS = {
    "title": _Kind(6.0, 8.0, 0.4),
    "tags": _Kind(3.5, 6.0, 0.2),
    "category": _Kind(3.0, 3.0, 0.2),
    "entity": _Kind(3.0, 3.0, 0.2),
    "observations": _Kind(1.1, 0.0, 0.3),
    "content": _Kind(1.0, 0.0, 0.3),
}
# However long a text is, a word in it counts no less than in one of so many times the usual length.
_LONGEST = 5.0
# What is missing to a whole fit is made up for by as much, where the words stand as they were asked for.
_IS_TITLE, _IN_TITLE, _IN_TEXT = 0.6, 0.3, 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """What each clause tells, the rarer the more, and how long texts usually are."""

    worth: tuple[float, ...]
    usual: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How well a memory fits, from 0 to 1: by which fields, and which clauses it has."""

    score: float
    fields: tuple[str, ...]
    has: tuple[bool, ...]


def fit_of(memory: Memory, clauses: Sequence[Clause], scale: Scale, *, now: datetime) -> Fit:
    """Score a memory by all of its fields."""
    texts = _texts(memory, now=now)
    heard = [0.0] * len(clauses)
    fields: list[str] = []
    for name, text in texts.items():
        counted, length = count_matches(text, clauses)
        if any(counted):
            fields.append(name)
            kind = _KINDS[name]
            longer = min(_LONGEST, length / (kind.usual or scale.usual))
            share = kind.weight / (1 - kind.length + kind.length * longer)
            heard = [before + share * count for before, count in zip(heard, counted, strict=True)]
    whole = sum(scale.worth) or 1.0
    parts = (worth * many / (_SATURATION + many) for worth, many in zip(scale.worth, heard, strict=True))
    score = sum(parts) / whole
    return Fit(
        score=score + (1 - score) * _together(texts, clauses, heard),
        fields=tuple(fields),
        has=tuple(many > 0 for many in heard),
    )


def has_any(memory: Memory, clauses: Sequence[Clause], *, now: datetime) -> bool:
    """Whether a memory has one of some clauses."""
    return bool(clauses) and any(any(count_matches(text, clauses)[0]) for text in _texts(memory, now=now).values())


def _texts(memory: Memory, *, now: datetime) -> Mapping[str, str]:
    told = {
        "title": memory.title or memory.name,
        "tags": "\n".join(memory.tags),
        "category": memory.category,
        "entity": memory.entity,
        "observations": "\n".join(one.text for one in memory.current_observations(now)),
        "content": memory.content,
    }
    return {name: text for name, text in told.items() if text}


def _together(texts: Mapping[str, str], clauses: Sequence[Clause], heard: Sequence[float]) -> float:
    """What it counts that all is there and stands in one row, as it was asked for."""
    if not all(heard):
        return 0.0
    words = WORD.findall(fold(" ".join(clause.text.rstrip("*") for clause in clauses)).replace("_", " "))
    title = fold(texts.get("title", ""))
    if WORD.findall(title.replace("_", " ")) == words:
        return _IS_TITLE
    pattern = phrase_pattern(words) if len(words) > 1 else None
    if pattern is None:
        return 0.0
    if pattern.search(title):
        return _IN_TITLE
    return _IN_TEXT if pattern.search(fold(texts.get("content", ""))) else 0.0
