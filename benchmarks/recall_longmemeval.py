"""LongMemEval: chats of people with an assistant. The user turns of all questions are one collection."""

from pathlib import Path

from benchmarks.recall_data import (
    BadData,
    Collection,
    LabelledQuestion,
    Table,
    Turn,
    collection,
    list_of,
    moment_of,
    read_json,
    tables_of,
    text_of,
)

_EXPECTED = (
    "a list of questions, each with `question`, `question_type`, `question_date`, `haystack_session_ids`, "
    "`haystack_dates` and `haystack_sessions` (lists of turns with `role`, `content` and `has_answer`)"
)


def load_longmemeval(path: Path) -> list[Collection]:
    """Load all sessions of a file into one collection, without the turns of the assistant."""
    turns: dict[str, Turn] = {}
    questions: list[LabelledQuestion] = []
    for entry in tables_of(read_json(path)):
        gold: set[str] = set()
        for session, at, session_turns in _sessions(entry):
            for place, turn in enumerate(session_turns):
                text = text_of(turn.get("content"))
                if turn.get("role") != "user" or not text:
                    continue
                name = f"{session}#{place}"
                # Several questions may share a session.
                turns.setdefault(name, Turn(id=name, text=text, session=session, at=moment_of(at)))
                if turn.get("has_answer") is True:
                    gold.add(name)
        questions.append(
            LabelledQuestion(
                text=text_of(entry.get("question")),
                category=text_of(entry.get("question_type")),
                gold=frozenset(gold),
                sessions=frozenset(text_of(name) for name in list_of(entry.get("answer_session_ids"))),
                today=moment_of(entry.get("question_date")),
            )
        )
    loaded = collection(path.stem, list(turns.values()), questions)
    if not loaded.questions:
        raise BadData(f"{path} is no LongMemEval file: expected {_EXPECTED}")
    return [loaded]


def _sessions(entry: Table) -> list[tuple[str, object, list[Table]]]:
    sessions = list_of(entry.get("haystack_sessions"))
    names, dates = list_of(entry.get("haystack_session_ids")), list_of(entry.get("haystack_dates"))
    if not len(sessions) == len(names) == len(dates):
        raise BadData(
            f"{text_of(entry.get('question_id')) or 'a question'} has {len(sessions)} sessions, {len(names)} ids and "
            f"{len(dates)} dates: expected as many of each"
        )
    return [(text_of(name), at, list(tables_of(text))) for name, at, text in zip(names, dates, sessions, strict=True)]
