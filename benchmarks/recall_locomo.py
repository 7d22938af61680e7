"""LoCoMo and REALTALK: long conversations of two people. One collection per conversation, one memory per turn."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.recall_data import (
    BadData,
    Collection,
    LabelledQuestion,
    Table,
    Turn,
    collection,
    files_of,
    list_of,
    moment_of,
    read_json,
    tables_of,
    text_of,
)

_LOCOMO_CATEGORIES = {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop", "5": "adversarial"}
_LOCOMO_EXPECTED = (
    "a list of conversations, each with `conversation` (`session_1`, `session_1_date_time`, …, of turns with `speaker`,"
    " `dia_id` and `text`) and `qa` (`question`, `evidence`, `category`)"
)
_REALTALK_CATEGORIES = {"1": "multi-hop", "2": "temporal", "3": "commonsense"}
_REALTALK_EXPECTED = (
    "an object with `session_1`, `session_1_date_time`, … (of turns with `speaker`, `dia_id` and `clean_text`) and "
    "`qa` (`question`, `evidence`, `category`), or a folder of such files"
)
_SESSION = re.compile(r"session_(\d+)")
# Some ids are written D30:05, D:11:26 or D8:6; D9:17.
_TURN = re.compile(r"D:?\s*(\d+)\s*:\s*(\d+)")


def load_locomo(path: Path) -> list[Collection]:
    """Load the conversations of locomo10.json, or of a part of it."""
    collections = [
        _chat(
            text_of(sample.get("sample_id")) or f"conversation {number}",
            conversation,
            sample.get("qa"),
            categories=_LOCOMO_CATEGORIES,
        )
        for number, sample in enumerate(tables_of(read_json(path)), 1)
        for conversation in tables_of(sample.get("conversation"))
    ]
    if not any(collection.questions for collection in collections):
        raise BadData(f"{path} is no LoCoMo file: expected {_LOCOMO_EXPECTED}")
    return collections


def load_realtalk(path: Path) -> list[Collection]:
    """Load one chat, or all chats of a folder."""
    collections = [
        _chat(file.stem, conversation, conversation.get("qa"), categories=_REALTALK_CATEGORIES)
        for file in files_of(path)
        for conversation in tables_of(read_json(file))
    ]
    # A folder may also have chats without questions.
    collections = [collection for collection in collections if collection.questions]
    if not collections:
        raise BadData(f"{path} is no REALTALK file: expected {_REALTALK_EXPECTED}")
    return collections


def _chat(name: str, conversation: Table, qa: object, *, categories: Mapping[str, str]) -> Collection:
    """Read a conversation, whose sessions are fields `session_N` with separate dates."""
    memories = [turn for number in sorted(_sessions(conversation)) for turn in _turns(conversation, number)]
    dates = [turn.at for turn in memories if turn.at is not None]
    questions = [
        LabelledQuestion(
            text=text_of(table.get("question")),
            category=categories.get(text_of(table.get("category")), f"category {text_of(table.get('category'))}"),
            gold=frozenset(_turn_ids(table.get("evidence"))),
            # Questions come after the end of the conversation.
            today=max(dates, default=None),
        )
        for table in tables_of(qa)
    ]
    return collection(name, memories, questions)


def _sessions(conversation: Table) -> Iterator[int]:
    for name, value in conversation.items():
        if (match := _SESSION.fullmatch(name)) and isinstance(value, list):
            yield int(match[1])


def _turns(conversation: Table, number: int) -> Iterator[Turn]:
    at = moment_of(conversation.get(f"session_{number}_date_time"))
    for place, turn in enumerate(tables_of(conversation[f"session_{number}"]), 1):
        text = _text(turn)
        if text:
            speaker = text_of(turn.get("speaker"))
            yield Turn(
                id=next(_turn_ids(turn.get("dia_id")), f"D{number}:{place}"),
                text=f"{speaker}: {text}" if speaker else text,
                session=f"session {number}",
                at=at,
                speaker=speaker,
            )


def _text(turn: Table) -> str:
    text = text_of(turn.get("text")) or text_of(turn.get("clean_text"))
    caption = text_of(turn.get("blip_caption")) or text_of(turn.get("caption"))
    return " ".join([*([text] if text else []), *([f"[image: {caption}]"] if caption else [])])


def _turn_ids(value: object) -> Iterator[str]:
    named = " ".join([text_of(value), *(text_of(entry) for entry in list_of(value))])
    yield from (f"D{int(session)}:{int(turn)}" for session, turn in _TURN.findall(named))
