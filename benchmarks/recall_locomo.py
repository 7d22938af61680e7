"""LoCoMo: long conversations of two people. One collection a conversation, one memory a turn."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.recall_data import (
    Asked,
    BadData,
    Collection,
    Table,
    Turn,
    collection,
    list_of,
    moment_of,
    read_json,
    tables_of,
    text_of,
)

CATEGORIES = {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop", "5": "adversarial"}
EXPECTED = (
    "a list of conversations, each with `conversation` (`session_1`, `session_1_date_time`, …, of turns with `speaker`,"
    " `dia_id` and `text`) and `qa` (`question`, `evidence`, `category`)"
)
_SESSION = re.compile(r"session_(\d+)")
# Some are written D30:05, D:11:26 or D8:6; D9:17.
_TURN = re.compile(r"D:?\s*(\d+)\s*:\s*(\d+)")


def load_locomo(path: Path) -> list[Collection]:
    """The conversations of locomo10.json, or of a part of it."""
    results = [
        chat(text_of(item.get("sample_id")) or f"conversation {number}", talk, item.get("qa"), categories=CATEGORIES)
        for number, item in enumerate(tables_of(read_json(path)), 1)
        for talk in tables_of(item.get("conversation"))
    ]
    if not any(item.questions for item in results):
        raise BadData(f"{path} is no LoCoMo file: expected {EXPECTED}")
    return results


def chat(name: str, talk: Table, asked: object, *, categories: Mapping[str, str]) -> Collection:
    """A conversation of two people, whose sessions are fields `session_N` beside their dates."""
    memories = [turn for number in sorted(_sessions(talk)) for turn in _turns(talk, number)]
    dates = [turn.at for turn in memories if turn.at is not None]
    questions = [
        Asked(
            text=text_of(table.get("question")),
            category=categories.get(text_of(table.get("category")), f"category {text_of(table.get('category'))}"),
            gold=frozenset(_turn_ids(table.get("evidence"))),
            # Nobody asks before the conversation is over.
            today=max(dates, default=None),
        )
        for table in tables_of(asked)
    ]
    return collection(name, memories, questions)


def _sessions(talk: Table) -> Iterator[int]:
    for name, value in talk.items():
        if (results := _SESSION.fullmatch(name)) and isinstance(value, list):
            yield int(results[1])


def _turns(talk: Table, number: int) -> Iterator[Turn]:
    at = moment_of(talk.get(f"session_{number}_date_time"))
    for place, spoken in enumerate(tables_of(talk[f"session_{number}"]), 1):
        text = _said(spoken)
        if text:
            speaker = text_of(spoken.get("speaker"))
            yield Turn(
                id=next(_turn_ids(spoken.get("dia_id")), f"D{number}:{place}"),
                text=f"{speaker}: {text}" if speaker else text,
                session=f"session {number}",
                at=at,
                speaker=speaker,
            )


def _said(said: Table) -> str:
    text = text_of(said.get("text")) or text_of(said.get("clean_text"))
    caption = text_of(said.get("blip_caption")) or text_of(said.get("caption"))
    return " ".join([*([text] if text else []), *([f"[image: {caption}]"] if caption else [])])


def _turn_ids(value: object) -> Iterator[str]:
    named = " ".join([text_of(value), *(text_of(item) for item in list_of(value))])
    yield from (f"D{int(session)}:{int(turn)}" for session, turn in _TURN.findall(named))
