"""What recall is measured with: memories, questions, and which memories answer which question."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

Table = dict[str, object]
# As the published files write them.
_MOMENTS = (
    "%I:%M %p on %d %B, %Y",  # 1:56 pm on 8 May, 2023
    "%Y/%m/%d (%a) %H:%M",  # 2023/05/28 (Sun) 06:47
    "%d.%m.%Y, %H:%M:%S",  # 29.12.2023, 00:51:12
    "%B-%d-%Y",  # March-15-2024
    "%Y/%m/%d",
)


class BadData(Exception):
    """A file is not what it was said to be; the message says what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One memory: what was said, in which session, when, and by whom if that is somebody with a name."""

    id: str
    text: str
    session: str
    at: datetime | None = None
    speaker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question: the turns that answer it, the sessions if they are told apart, and the day it is asked on."""

    text: str
    category: str
    gold: frozenset[str]
    sessions: frozenset[str] = frozenset()
    today: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Memories that belong together, in a space of their own, and what is asked about them."""

    name: str
    memories: tuple[Turn, ...]
    questions: tuple[Asked, ...]


def collection(name: str, memories: list[Turn], questions: list[Asked]) -> Collection:
    """A collection: evidence that is not among the memories is dropped, and questions that have no other."""
    existing = frozenset(turn.id for turn in memories)
    query = [replace(request, gold=request.gold & existing) for request in questions if request.text]
    return Collection(name=name, memories=tuple(memories), questions=tuple(item for item in query if item.gold))


def read_json(path: Path) -> object:
    """What a file of JSON or of JSON Lines holds."""
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
    """A file, or the JSON files of a folder in the order of their names."""
    if not path.is_dir():
        return [path]
    return sorted((item for item in path.iterdir() if item.suffix in (".json", ".jsonl")), key=by_number)


def tables_of(value: object) -> Iterator[Table]:
    """The objects of a list, or the one object there is; anything else is left out."""
    several = cast("list[object]", value) if isinstance(value, list) else [value]
    yield from (cast("Table", item) for item in several if isinstance(item, dict))


def list_of(value: object) -> list[object]:
    """A list, or nothing."""
    return cast("list[object]", value) if isinstance(value, list) else []


def text_of(value: object) -> str:
    """A text without space around it, or nothing; numbers are texts as well."""
    return str(value).strip() if isinstance(value, str | int | float) else ""


def moment_of(value: object) -> datetime | None:
    """A moment in one of the ways in which the published files write them; the files name no zone."""
    text = text_of(value)
    for form in _MOMENTS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def by_number(path: Path) -> tuple[int, str]:
    """Where a file or folder stands among others that are numbered: 2 before 10."""
    digits = "".join(sign for sign in path.stem if sign.isdecimal())
    return int(digits or 0), path.name
