"""Conversations for a machine without data: they show that the benchmark works, not what recall is worth."""

import random
from datetime import UTC, datetime, timedelta

from benchmarks.corpus import SEED
from benchmarks.invented import invented_pair, invented_sentence
from benchmarks.recall_data import Asked, Collection, Turn, collection

_SPEAKERS = (("Anouk", "Bartek"), ("Celia", "Dario"), ("Edda", "Femi"))
_SESSIONS = 10
_TURNS = 16
_ASKED_EVERY = 4
_BEGIN = datetime(2024, 2, 1, 18, 0, tzinfo=UTC)
_A_WEEK = timedelta(days=7)


def make_conversations() -> list[Collection]:
    """The same conversations at every run: every fourth turn is asked about."""
    source = random.Random(SEED)
    return [_conversation(pair, source) for pair in _SPEAKERS]


def _conversation(speakers: tuple[str, str], source: random.Random) -> Collection:
    memories: list[Turn] = []
    questions: list[Asked] = []
    end = _BEGIN + _SESSIONS * _A_WEEK
    for number in range(_SESSIONS * _TURNS):
        session, place = divmod(number, _TURNS)
        speaker = speakers[place % 2]
        text, question = invented_sentence(source), ""
        if number % _ASKED_EVERY == 0:
            text, question = invented_pair(source)
        name = f"{session + 1}:{place + 1}"
        memories.append(
            Turn(
                id=name,
                text=f"{speaker}: {text}",
                session=f"session {session + 1}",
                at=_BEGIN + session * _A_WEEK,
                speaker=speaker,
            )
        )
        if question:
            asked_for = question.split(maxsplit=1)[0].lower()
            questions.append(Asked(text=question, category=asked_for, gold=frozenset({name}), today=end))
    return collection(" and ".join(speakers), memories, questions)
