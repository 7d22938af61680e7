"""The data of the recall benchmark: memories, questions, and the memories that answer each question."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

Table = dict[str, object]
# The formats of the published files.
_MOMENTS = (
    "%I:%M %p on %d %B, %Y",  # 1:56 pm on 8 May, 2023
    "%Y/%m/%d (%a) %H:%M",  # 2023/05/28 (Sun) 06:47
    "%d.%m.%Y, %H:%M:%S",  # 29.12.2023, 00:51:12
    "%B-%d-%Y",  # March-15-2024
    "%Y/%m/%d",
)


class BadData(Exception):
    """A file has another format; the message describes the expected one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One memory: its text, session and time, and its speaker if the data names one."""

    id: str
    text: str
    session: str
    at: datetime | None = None
    speaker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """One question: the turns that answer it, their sessions if the data has them, and the date of the question."""

    text: str
    category: str
    gold: frozenset[str]
    sessions: frozenset[str] = frozenset()
    today: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Memories that share a space, and the questions about them."""

    name: str
    memories: tuple[Turn, ...]
    questions: tuple[LabelledQuestion, ...]


def collection(name: str, memories: list[Turn], questions: list[LabelledQuestion]) -> Collection:
    """Make a collection; drop evidence that is not among the memories, and questions without evidence."""
    ids = frozenset(turn.id for turn in memories)
    labelled = (replace(question, gold=question.gold & ids) for question in questions if question.text)
    return Collection(
        name=name, memories=tuple(memories), questions=tuple(question for question in labelled if question.gold)
    )


def as_plain_texts(collection: Collection) -> Collection:
    """Write the date of each turn before its text, as a chat that was copied has it."""
    return replace(
        collection,
        memories=tuple(
            replace(turn, text=f"({_spoken(turn.at)}) {turn.text}") if turn.at else turn for turn in collection.memories
        ),
    )


def read_json(path: Path) -> object:
    """Read a file of JSON or JSON Lines."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise BadData(f"{path} cannot be read: {error}") from error
    try:
        return json.loads(text)
    except json.JSONDecodeError as whole:
        try:
            return [json.loads(line) for line in text.split("\n") if line.strip()]
        except json.JSONDecodeError:
            raise BadData(f"{path} is neither JSON nor JSON Lines: {whole}") from None


def files_of(path: Path) -> list[Path]:
    """Return a file, or the JSON files of a folder in the order of their names."""
    if not path.is_dir():
        return [path]
    return sorted((file for file in path.iterdir() if file.suffix in (".json", ".jsonl")), key=by_number)


def tables_of(value: object) -> Iterator[Table]:
    """Yield the objects of a list, or a single object; skip other values."""
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    yield from (cast("Table", entry) for entry in values if isinstance(entry, dict))


def list_of(value: object) -> list[object]:
    """Return a list, or an empty one for another value."""
    return cast("list[object]", value) if isinstance(value, list) else []


def text_of(value: object) -> str:
    """Return a stripped text, or an empty one for another value; numbers count as texts."""
    return str(value).strip() if isinstance(value, str | int | float) else ""


def moment_of(value: object) -> datetime | None:
    """Parse a time in one of the formats of the published files, which name no time zone."""
    text = text_of(value)
    for form in _MOMENTS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def _spoken(at: datetime) -> str:
    return f"{f'{at:%I:%M %p}'.lower()} on {at.day} {at:%B, %Y}"


def by_number(path: Path) -> tuple[int, str]:
    """Return the sort key of a numbered file or folder: 2 before 10."""
    digits = "".join(sign for sign in path.stem if sign.isdecimal())
    return int(digits or 0), path.name
