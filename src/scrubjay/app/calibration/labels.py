"""Labelled data: memories with questions that they answer, and pairs of texts that mean the same or do not."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json
from scrubjay.model.timestamps import parse_moment

_TRUE_LABELS = ("true", "yes", "same")
_FALSE_LABELS = ("false", "no", "different")
_TEXT_COLUMNS = (("a", "b"), ("text1", "text2"), ("sentence1", "sentence2"))
_LABEL_COLUMNS = ("same", "label", "score")
# From this share of the highest score on, two texts count as the same.
_SAME_SHARE = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledMemory:
    """A memory that questions search for."""

    collection: str
    id: str
    text: str
    session: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """A question, and the ids of the memories of its collection that answer it."""

    collection: str
    query: str
    relevant: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledCases:
    """Memories and questions about them."""

    memories: tuple[LabelledMemory, ...]
    questions: tuple[LabelledQuestion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPair:
    """Two texts, and whether they mean the same."""

    first: str
    second: str
    same: bool


def read_cases(file: Path) -> LabelledCases:
    """Read memories and questions from JSON Lines; a question may only name ids that are in the file."""
    memories: list[LabelledMemory] = []
    questions: list[LabelledQuestion] = []
    for number, line in _read_objects(file):
        where = f"{file}, line {number}"
        if "query" in line:
            questions.append(_question(line, where))
        else:
            memories.append(_memory(line, where))
    ids = {(memory.collection, memory.id) for memory in memories}
    if len(ids) < len(memories):
        raise _invalid(str(file), "two memories of one collection have the same id")
    for question in questions:
        missing = [id_ for id_ in question.relevant if (question.collection, id_) not in ids]
        if missing:
            raise _invalid(
                str(file), f"the question {question.query[:60]!r} names {missing[0]!r}, which is not a memory's id"
            )
    if len(questions) < 2:  # noqa: PLR2004 - each half of the questions tests the choice of the other half
        raise _invalid(str(file), "at least two questions are needed")
    return LabelledCases(memories=tuple(memories), questions=tuple(questions))


def read_pairs(file: Path, *, least: float | None = None) -> tuple[LabelledPair, ...]:
    """Read pairs from JSON Lines, CSV or TSV. Scores from `least` on mean the same; default: 0.8 of the highest."""
    rows = list(_read_table(file) if file.suffix.lower() in (".csv", ".tsv") else _read_json(file))
    scores = [label for _, _, label in rows if not isinstance(label, bool)]
    bound = least if least is not None else _SAME_SHARE * max(scores, default=0.0)
    pairs = tuple(
        LabelledPair(first=first, second=second, same=label if isinstance(label, bool) else label >= bound)
        for first, second, label in rows
    )
    for half in (pairs[::2], pairs[1::2]):
        if len({pair.same for pair in half}) < 2:  # noqa: PLR2004 - both kinds
            raise _invalid(
                str(file), "pairs that mean the same and pairs that do not are needed, several of each, mixed"
            )
    return pairs


_Row = tuple[str, str, bool | float]


def _read_json(file: Path) -> Iterator[_Row]:
    for number, line in _read_objects(file):
        yield _pair(line, f"{file}, line {number}")


def _read_table(file: Path) -> Iterator[_Row]:
    delimiter = "\t" if file.suffix.lower() == ".tsv" else ","
    try:
        rows = list(csv.reader(io.StringIO(_read_text(file), newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise _invalid(str(file), f"this is not a table: {error}") from error
    if not rows:
        return
    names = [name.strip().lower() for name in rows[0]]
    has_header = any(first in names and second in names for first, second in _TEXT_COLUMNS)
    header = names if has_header else ["a", "b", "same"]
    for number, row in enumerate(rows[has_header:], start=1 + has_header):
        if row:
            yield _pair(dict(zip(header, row, strict=False)), f"{file}, line {number}")


def _pair(line: Mapping[str, Json], where: str) -> _Row:
    columns = next((names for names in _TEXT_COLUMNS if all(name in line for name in names)), None)
    label = next((name for name in _LABEL_COLUMNS if name in line), None)
    if columns is None or label is None:
        raise _invalid(where, "a pair has two texts `a` and `b`, and `same`: true, false or a score")
    first, second = (line[name] for name in columns)
    if not isinstance(first, str) or not isinstance(second, str):
        raise _invalid(where, "both sides of a pair must be texts")
    return first, second, _label(line[label], where)


def _label(value: Json, where: str) -> bool | float:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in (*_TRUE_LABELS, *_FALSE_LABELS):
        return value.strip().lower() in _TRUE_LABELS
    try:
        score = float(value) if isinstance(value, str | int | float) else math.nan
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise _invalid(where, f"`same` must be true, false or a score, not {value!r}")
    return score


def _memory(line: Mapping[str, Json], where: str) -> LabelledMemory:
    at = line.get("at")
    try:
        moment = parse_moment(at, field="at") if isinstance(at, str) and at else None
    except InvalidInput as error:
        raise _invalid(where, error.message) from error
    return LabelledMemory(
        collection=_text_field(line, "collection", where, required=False),
        id=_text_field(line, "id", where),
        text=_text_field(line, "text", where),
        session=_text_field(line, "session", where, required=False),
        at=moment,
    )


def _question(line: Mapping[str, Json], where: str) -> LabelledQuestion:
    relevant = line.get("relevant")
    if not isinstance(relevant, list) or not relevant or not all(isinstance(id_, str) for id_ in relevant):
        raise _invalid(where, "a question needs `relevant`, a list of the ids of memories")
    return LabelledQuestion(
        collection=_text_field(line, "collection", where, required=False),
        query=_text_field(line, "query", where),
        relevant=tuple(dict.fromkeys(map(str, relevant))),
    )


def _text_field(line: Mapping[str, Json], name: str, where: str, *, required: bool = True) -> str:
    value = line.get(name, "")
    if not isinstance(value, str) or (required and not value.strip()):
        raise _invalid(where, f"`{name}` must be a text")
    return value


def _read_objects(file: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    """Yield the JSON objects of a file with their line numbers; empty lines are skipped."""
    for number, line in enumerate(_read_text(file).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value: object = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _invalid(f"{file}, line {number}", f"this is not JSON: {error}") from error
        if not isinstance(value, dict):
            raise _invalid(f"{file}, line {number}", "this is not a JSON object")
        yield number, cast("dict[str, Json]", value)


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}", hint="Check the path", path=str(file)) from error
    except UnicodeDecodeError as error:
        raise _invalid(str(file), "this is not UTF-8 text") from error


def _invalid(where: str, problem: str) -> InvalidInput:
    return InvalidInput(f"{where}: {problem}", hint="docs/how-to/embedders.md shows examples of such a file")
