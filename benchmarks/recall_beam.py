"""BEAM: very long chats with an assistant. One collection a chat, one memory a message of either side."""

import ast
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import cast

from benchmarks.recall_data import (
    Asked,
    BadData,
    Collection,
    Table,
    Turn,
    by_number,
    collection,
    moment_of,
    read_json,
    tables_of,
    text_of,
)

EXPECTED = (
    "rows with `chat` (batches of messages with `role`, `id` and `content`) and `probing_questions`, or a folder with "
    "`chat.json` and `probing_questions/probing_questions.json`, or a folder of such folders"
)
_QUESTIONS = Path("probing_questions", "probing_questions.json")
# Where a message stood in the plan of the chat, which nobody would have written.
_MARK = re.compile(r"\s*->->\s*[\d,.\s]*$")
_ABSTENTION = "abstention"


def load_beam(path: Path) -> list[Collection]:
    """The chats of a file of rows, or of the repository's folders."""
    chats = [path] if (path.parent / _QUESTIONS).exists() and path.is_file() else _chats(path)
    if chats or path.is_dir():
        results = [
            _collection(chat.parent.name, read_json(chat), read_json(chat.parent / _QUESTIONS)) for chat in chats
        ]
    else:
        results = [
            _collection(text_of(row.get("conversation_id")) or str(number), row.get("chat"), _unfolded(row))
            for number, row in enumerate(tables_of(read_json(path)), 1)
        ]
    if not any(item.questions for item in results):
        raise BadData(f"{path} is not of BEAM: expected {EXPECTED}")
    return results


def _collection(name: str, chat: object, asked: object) -> Collection:
    memories = list(_turns(chat))
    if len({turn.id for turn in memories}) < len(memories):
        raise BadData(
            f"chat {name}: ids of messages come twice, so the evidence says nothing (the 10M chats have that)"
        )
    last = max((turn.at for turn in memories if turn.at is not None), default=None)
    questions = [
        Asked(
            text=text_of(table.get("question")),
            category=category.replace("_", " "),
            gold=frozenset(_numbers(table.get("source_chat_ids"))),
            today=last,
        )
        for category, several in _first(asked).items()
        # What was never said has no evidence.
        if category != _ABSTENTION
        for table in tables_of(several)
    ]
    return collection(f"chat {name}", memories, questions)


def _first(value: object) -> Table:
    return next(tables_of(value), Table())


def _turns(chat: object) -> Iterator[Turn]:
    """Every message, however deep it is nested: chats come as batches of turns of messages, or as plain batches."""
    at: datetime | None = None
    for session, message in _messages(chat, ""):
        # Only the first message of a day says which it is.
        at = moment_of(message.get("time_anchor")) or at
        text = _MARK.sub("", text_of(message.get("content")))
        if text:
            role = text_of(message.get("role"))
            yield Turn(id=text_of(message.get("id")), text=f"{role}: {text}", session=session or "chat", at=at)


def _messages(value: object, session: str) -> Iterator[tuple[str, Table]]:
    if isinstance(value, list):
        for place, item in enumerate(cast("list[object]", value), 1):
            # The outermost list is that of the sessions, unless its batches have numbers.
            yield from _messages(item, session or (f"batch {place}" if isinstance(item, list | dict) else ""))
    elif isinstance(value, dict):
        table = cast("Table", value)
        if "role" in table and "content" in table:
            yield session, table
        else:
            for inner in table.values():
                yield from _messages(inner, session)


def _numbers(value: object) -> Iterator[str]:
    """The ids that evidence names: a list, or lists by what they are evidence of."""
    if isinstance(value, dict):
        value = list(cast("Table", value).values())
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _numbers(item)
    elif text := text_of(value):
        yield text


def _unfolded(row: Table) -> object:
    """The questions of a row, which is written as a Python value."""
    request = row.get("probing_questions")
    if not isinstance(request, str):
        return request
    try:
        return ast.literal_eval(request)
    except (ValueError, SyntaxError) as error:
        raise BadData(f"`probing_questions` cannot be read: {error}") from error


def _chats(path: Path) -> list[Path]:
    """The chat of a folder, or those of the folders in it, that questions were written for."""
    results = [*path.glob("chat.json"), *path.glob("*/chat.json")]
    request = [item for item in results if (item.parent / _QUESTIONS).exists()]
    return sorted(request, key=lambda one: by_number(one.parent))
