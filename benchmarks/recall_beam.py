"""BEAM: very long chats with an assistant. One collection per chat, one memory per message of either side."""

import ast
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import cast

from benchmarks.recall_data import (
    BadData,
    Collection,
    LabelledQuestion,
    Table,
    Turn,
    by_number,
    collection,
    moment_of,
    read_json,
    tables_of,
    text_of,
)

_EXPECTED = (
    "rows with `chat` (batches of messages with `role`, `id` and `content`) and `probing_questions`, or a folder with "
    "`chat.json` and `probing_questions/probing_questions.json`, or a folder of such folders"
)
_QUESTIONS = Path("probing_questions", "probing_questions.json")
# The generator's mark of a message's place in its plan; it is no part of the message.
_MARK = re.compile(r"\s*->->\s*[\d,.\s]*$")
_ABSTENTION = "abstention"


def load_beam(path: Path) -> list[Collection]:
    """Load the chats of a file of rows, or of the folders of the repository."""
    files = [path] if (path.parent / _QUESTIONS).exists() and path.is_file() else _chats(path)
    if files or path.is_dir():
        collections = [
            _collection(file.parent.name, read_json(file), read_json(file.parent / _QUESTIONS)) for file in files
        ]
    else:
        collections = [
            _collection(text_of(row.get("conversation_id")) or str(number), row.get("chat"), _probing_questions(row))
            for number, row in enumerate(tables_of(read_json(path)), 1)
        ]
    if not any(collection.questions for collection in collections):
        raise BadData(f"{path} is not of BEAM: expected {_EXPECTED}")
    return collections


def _collection(name: str, chat: object, probing: object) -> Collection:
    memories = list(_turns(chat))
    if len({turn.id for turn in memories}) < len(memories):
        raise BadData(f"chat {name}: ids of messages occur twice, so the evidence is ambiguous (as in the 10M chats)")
    last = max((turn.at for turn in memories if turn.at is not None), default=None)
    questions = [
        LabelledQuestion(
            text=text_of(table.get("question")),
            category=category.replace("_", " "),
            gold=frozenset(_numbers(table.get("source_chat_ids"))),
            today=last,
        )
        for category, entries in _first(probing).items()
        # These questions have no evidence.
        if category != _ABSTENTION
        for table in tables_of(entries)
    ]
    return collection(f"chat {name}", memories, questions)


def _first(value: object) -> Table:
    return next(tables_of(value), Table())


def _turns(chat: object) -> Iterator[Turn]:
    """Yield every message at any depth: chats are batches of turns of messages, or batches of messages."""
    at: datetime | None = None
    for session, message in _messages(chat, ""):
        # Only the first message of a day has its date.
        at = moment_of(message.get("time_anchor")) or at
        text = _MARK.sub("", text_of(message.get("content")))
        if text:
            role = text_of(message.get("role"))
            yield Turn(id=text_of(message.get("id")), text=f"{role}: {text}", session=session or "chat", at=at)


def _messages(value: object, session: str) -> Iterator[tuple[str, Table]]:
    if isinstance(value, list):
        for place, entry in enumerate(cast("list[object]", value), 1):
            # The outermost list has the sessions.
            yield from _messages(entry, session or (f"batch {place}" if isinstance(entry, list | dict) else ""))
    elif isinstance(value, dict):
        table = cast("Table", value)
        if "role" in table and "content" in table:
            yield session, table
        else:
            for inner in table.values():
                yield from _messages(inner, session)


def _numbers(value: object) -> Iterator[str]:
    """Yield the ids of the evidence: a list, or several lists by topic."""
    if isinstance(value, dict):
        value = list(cast("Table", value).values())
    if isinstance(value, list):
        for entry in cast("list[object]", value):
            yield from _numbers(entry)
    elif text := text_of(value):
        yield text


def _probing_questions(row: Table) -> object:
    """Return the questions of a row, which are written as a Python literal."""
    probing = row.get("probing_questions")
    if not isinstance(probing, str):
        return probing
    try:
        return ast.literal_eval(probing)
    except (ValueError, SyntaxError) as error:
        raise BadData(f"`probing_questions` cannot be read: {error}") from error


def _chats(path: Path) -> list[Path]:
    """Return the chat files with questions, in a folder or in the folders in it."""
    files = [*path.glob("chat.json"), *path.glob("*/chat.json")]
    return sorted(
        (file for file in files if (file.parent / _QUESTIONS).exists()), key=lambda file: by_number(file.parent)
    )
