"""Labelled data: memories with questions that they answer, and pairs of texts that say the same or do not."""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json
from scrubjay.model.timestamps import parse_moment

_YES = ("true", "yes", "same")
_NO = ("false", "no", "different")
_PAIRED = (("a", "b"), ("text1", "text2"), ("sentence1", "sentence2"))
_LABELS = ("same", "label", "score")
# From this share of the highest score on, two texts count as the same.
_HIGH = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A memory to be found."""

    collection: str
    id: str
    text: str
    session: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, and the memories of its collection that answer it."""

    collection: str
    query: str
    relevant: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """Memories and questions about them."""

    memories: tuple[Told, ...]
    questions: tuple[Asked, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two texts, and whether they say the same."""

    first: str
    second: str
    same: bool


def read_cases(file: Path) -> Cases:
    """Memories and questions from JSON Lines; every question must name memories that are there."""
    memories: list[Told] = []
    questions: list[Asked] = []
    for number, line in _objects(file):
        where = f"{file}, line {number}"
        if "query" in line:
            questions.append(_asked(line, where))
        else:
            memories.append(_told(line, where))
    existing = {(memory.collection, memory.id) for memory in memories}
    if len(existing) < len(memories):
        raise _wrong(str(file), "two memories of one collection have the same id")
    for question in questions:
        missing = [ref for ref in question.relevant if (question.collection, ref) not in existing]
        if missing:
            raise _wrong(
                str(file), f"the question {question.query[:60]!r} names {missing[0]!r}, which is no memory's id"
            )
    if len(questions) < 2:  # noqa: PLR2004 - what is chosen with one half is tried on the other
        raise _wrong(str(file), "at least two questions are needed")
    return Cases(memories=tuple(memories), questions=tuple(questions))


def read_pairs(file: Path, *, least: float | None = None) -> tuple[Pair, ...]:
    """Pairs from JSON Lines, CSV or TSV. A score counts as the same from `least` on, by default 0.8 of the highest."""
    rows = list(_table_pairs(file) if file.suffix.lower() in (".csv", ".tsv") else _json_pairs(file))
    scores = [label for _, _, label in rows if not isinstance(label, bool)]
    bound = least if least is not None else _HIGH * max(scores, default=0.0)
    pairs = tuple(
        Pair(first=first, second=second, same=label if isinstance(label, bool) else label >= bound)
        for first, second, label in rows
    )
    for half in (pairs[::2], pairs[1::2]):
        if len({item.same for item in half}) < 2:  # noqa: PLR2004 - both kinds
            raise _wrong(str(file), "pairs that say the same and pairs that do not are needed, several of each, mixed")
    return pairs


_Row = tuple[str, str, bool | float]


def _json_pairs(file: Path) -> Iterator[_Row]:
    for number, line in _objects(file):
        yield _pair(line, f"{file}, line {number}")


def _table_pairs(file: Path) -> Iterator[_Row]:
    delimiter = "\t" if file.suffix.lower() == ".tsv" else ","
    try:
        rows = list(csv.reader(io.StringIO(_text(file), newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise _wrong(str(file), f"this is no table: {error}") from error
    if not rows:
        return
    names = [name.strip().lower() for name in rows[0]]
    has_header = any(first in names and second in names for first, second in _PAIRED)
    header = names if has_header else ["a", "b", "same"]
    for number, row in enumerate(rows[has_header:], start=1 + has_header):
        if row:
            yield _pair(dict(zip(header, row, strict=False)), f"{file}, line {number}")


def _pair(line: Mapping[str, Json], where: str) -> _Row:
    names = next((both for both in _PAIRED if all(name in line for name in both)), None)
    label = next((name for name in _LABELS if name in line), None)
    if names is None or label is None:
        raise _wrong(where, "a pair has two texts `a` and `b`, and `same`: true, false or a score")
    first, second = (line[name] for name in names)
    if not isinstance(first, str) or not isinstance(second, str):
        raise _wrong(where, "both sides of a pair must be texts")
    return first, second, _label(line[label], where)


def _label(value: Json, where: str) -> bool | float:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in (*_YES, *_NO):
        return value.strip().lower() in _YES
    try:
        score = float(value) if isinstance(value, str | int | float) else math.nan
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise _wrong(where, f"`same` must be true, false or a score, not {value!r}")
    return score


def _told(line: Mapping[str, Json], where: str) -> Told:
    at = line.get("at")
    try:
        moment = parse_moment(at, field="at") if isinstance(at, str) and at else None
    except InvalidInput as error:
        raise _wrong(where, error.message) from error
    return Told(
        collection=_field(line, "collection", where, needed=False),
        id=_field(line, "id", where),
        text=_field(line, "text", where),
        session=_field(line, "session", where, needed=False),
        at=moment,
    )


def _asked(line: Mapping[str, Json], where: str) -> Asked:
    relevant = line.get("relevant")
    if not isinstance(relevant, list) or not relevant or not all(isinstance(item, str) for item in relevant):
        raise _wrong(where, "a question needs `relevant`, a list of the ids of memories")
    return Asked(
        collection=_field(line, "collection", where, needed=False),
        query=_field(line, "query", where),
        relevant=tuple(dict.fromkeys(map(str, relevant))),
    )


def _field(line: Mapping[str, Json], name: str, where: str, *, needed: bool = True) -> str:
    value = line.get(name, "")
    if not isinstance(value, str) or (needed and not value.strip()):
        raise _wrong(where, f"`{name}` must be a text")
    return value


def _objects(file: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    for number, line in _lines(_text(file).split("\n")):
        try:
            results: object = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _wrong(f"{file}, line {number}", f"this is not JSON: {error}") from error
        if not isinstance(results, dict):
            raise _wrong(f"{file}, line {number}", "this is no JSON object")
        yield number, cast("dict[str, Json]", results)


def _lines(lines: Sequence[str]) -> Iterable[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}", hint="Check the path", path=str(file)) from error
    except UnicodeDecodeError as error:
        raise _wrong(str(file), "this is not UTF-8 text") from error


def _wrong(where: str, what: str) -> InvalidInput:
    return InvalidInput(f"{where}: {what}", hint="docs/how-to/embedders.md shows what such a file looks like")
