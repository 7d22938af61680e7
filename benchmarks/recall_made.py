"""Generated conversations for a machine without data: they show that the benchmark works, not how good recall is."""

import random
from datetime import UTC, datetime, timedelta

from benchmarks.corpus import SEED
from benchmarks.invented import invented_pair, invented_sentence
from benchmarks.recall_data import Collection, LabelledQuestion, Turn, collection

_SPEAKERS = (("Anouk", "Bartek"), ("Celia", "Dario"), ("Edda", "Femi"))
_SESSIONS = 10
_TURNS = 16
_QUESTION_EVERY = 4
_BEGIN = datetime(2024, 2, 1, 18, 0, tzinfo=UTC)
_A_WEEK = timedelta(days=7)


def make_conversations() -> list[Collection]:
    """Return the same conversations on every run, with a question about every fourth turn."""
    source = random.Random(SEED)
    return [_conversation(pair, source) for pair in _SPEAKERS]


def _conversation(speakers: tuple[str, str], source: random.Random) -> Collection:
    memories: list[Turn] = []
    questions: list[LabelledQuestion] = []
    end = _BEGIN + _SESSIONS * _A_WEEK
    for number in range(_SESSIONS * _TURNS):
        session, place = divmod(number, _TURNS)
        speaker = speakers[place % 2]
        text, question = invented_sentence(source), ""
        if number % _QUESTION_EVERY == 0:
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
            question_word = question.split(maxsplit=1)[0].lower()
            questions.append(LabelledQuestion(text=question, category=question_word, gold=frozenset({name}), today=end))
    return collection(" and ".join(speakers), memories, questions)
