"""The loaders of the recall benchmark, on small files of the published shapes."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.recall_beam import load_beam
from benchmarks.recall_data import BadData, read_json
from benchmarks.recall_locomo import load_locomo, load_realtalk
from benchmarks.recall_longmemeval import load_longmemeval
from benchmarks.recall_sources import LOADERS, choose

LOCOMO: object = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ines",
            "speaker_b": "Marek",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ines", "dia_id": "D1:1", "text": "I bought a canoe."},
                {"speaker": "Marek", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a blue canoe"},
                {"speaker": "Marek", "dia_id": "D1:3", "text": ""},
            ],
            "session_10_date_time": "9:05 am on 2 June, 2023",
            "session_10": [{"speaker": "Ines", "dia_id": "D10:1", "text": "It leaks."}],
            "session_2_date_time": "not known",
            "session_2": [{"speaker": "Ines", "dia_id": "D2:01", "text": "We paddled to the mill."}],
        },
        "qa": [
            {"question": "What did Ines buy?", "evidence": ["D1:1; D1:02"], "category": 4},
            {"question": "Where did they go?", "evidence": ["D:2:1", "D", "D7:7"], "category": 1},
            {"question": "What does Marek eat?", "evidence": list[str](), "category": 5},
            {"question": "Who knows?", "category": 3},
        ],
    }
]
CHAT: list[dict[str, list[list[object]]]] = [
    {
        "turns": [
            [
                {
                    "role": "user",
                    "id": 0,
                    "time_anchor": "March-15-2024",
                    "content": "I build a budget app. ->-> 1,1",
                },
                {"role": "assistant", "id": 1, "content": "Use a table."},
            ],
            [{"role": "user", "id": 2, "content": "It has two columns. ->-> 1,2"}],
        ],
    },
    {
        "turns": [[{"role": "user", "id": 3, "time_anchor": "April-02-2024", "content": "Three now."}]],
    },
]
PROBING = {
    "abstention": [{"question": "What is my cat called?", "rubric": ["nothing was said"]}],
    "knowledge_update": [
        {"question": "How many columns?", "source_chat_ids": {"original_info": [2], "updated_info": [3]}}
    ],
    "information_extraction": [{"question": "What do I build?", "source_chat_ids": [0, 1]}],
}


def test_locomo_turns_are_memories_with_their_day(tmp_path: Path) -> None:
    (loaded,) = load_locomo(_write(tmp_path / "locomo.json", LOCOMO))
    assert loaded.name == "conv-1"
    assert [turn.id for turn in loaded.memories] == ["D1:1", "D1:2", "D2:1", "D10:1"]
    assert loaded.memories[1].text == "Marek: Look! [image: a blue canoe]"
    assert loaded.memories[1].speaker == "Marek"
    assert loaded.memories[0].at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert loaded.memories[2].at is None
    assert loaded.memories[3].session == "session 10"


def test_locomo_evidence_is_normalised_and_questions_without_it_dropped(tmp_path: Path) -> None:
    (loaded,) = load_locomo(_write(tmp_path / "locomo.json", LOCOMO))
    assert [(question.category, sorted(question.gold)) for question in loaded.questions] == [
        ("single-hop", ["D1:1", "D1:2"]),
        ("multi-hop", ["D2:1"]),
    ]
    assert loaded.questions[0].today == datetime(2023, 6, 2, 9, 5, tzinfo=UTC)


def test_longmemeval_pools_the_turns_of_users(tmp_path: Path) -> None:
    shared = [{"role": "user", "content": "My dog is Rex.", "has_answer": True}]
    entry = {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "What is my dog called?",
        "question_date": "2023/05/30 (Tue) 06:47",
        "haystack_session_ids": ["a", "b"],
        "haystack_dates": ["2023/05/28 (Sun) 21:04", "2023/05/29 (Mon) 07:17"],
        "haystack_sessions": [
            [*shared, {"role": "assistant", "content": "A fine name.", "has_answer": False}],
            [{"role": "user", "content": "Which tea is best?", "has_answer": False}],
        ],
        "answer_session_ids": ["a"],
    }
    from_assistant = entry | {
        "question_id": "q2",
        "haystack_session_ids": ["c"],
        "haystack_dates": ["2023/05/28 (Sun) 21:04"],
        "haystack_sessions": [[{"role": "assistant", "content": "Green tea.", "has_answer": True}]],
    }
    (loaded,) = load_longmemeval(_write(tmp_path / "oracle.json", [entry, entry, from_assistant]))
    assert [(turn.id, turn.text) for turn in loaded.memories] == [
        ("a#0", "My dog is Rex."),
        ("b#0", "Which tea is best?"),
    ]
    assert [(question.gold, question.sessions) for question in loaded.questions] == [({"a#0"}, {"a"})] * 2
    assert loaded.questions[0].today == datetime(2023, 5, 30, 6, 47, tzinfo=UTC)


def test_longmemeval_without_dates_says_so(tmp_path: Path) -> None:
    entry: object = {
        "question_id": "q7",
        "haystack_sessions": [list[str]()],
        "haystack_session_ids": ["a"],
        "haystack_dates": list[str](),
    }
    with pytest.raises(BadData, match="q7 has 1 sessions, 1 ids and 0 dates"):
        load_longmemeval(_write(tmp_path / "oracle.json", [entry]))


def test_realtalk_files_of_a_folder_are_conversations(tmp_path: Path) -> None:
    chat: object = {
        "name": {"speaker_1": "Ines", "speaker_2": "Marek"},
        "session_1_date_time": "29.12.2023, 00:51:12",
        "session_1": [
            {"clean_text": "Good morning", "speaker": "Ines", "dia_id": "D1:1", "date_time": "29.12.2023, 00:51:12"},
            {"clean_text": "I run at six", "speaker": "Marek", "dia_id": "D1:2", "date_time": "29.12.2023, 00:52:00"},
        ],
        "events_session_1": {"agent_a": []},
        "qa": [{"question": "When does Marek run?", "evidence": ["D1:2"], "category": 2}],
    }
    for name in ("Chat_10.json", "Chat_2.json"):
        _write(tmp_path / name, chat)
    _write(tmp_path / "Chat_3.json", {"session_1": []})
    chats = load_realtalk(tmp_path)
    assert [entry.name for entry in chats] == ["Chat_2", "Chat_10"]
    assert chats[0].memories[1].text == "Marek: I run at six"
    assert chats[0].memories[1].at == datetime(2023, 12, 29, 0, 51, 12, tzinfo=UTC)
    assert chats[0].questions[0].category == "temporal"


def test_beam_folders_and_rows_say_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "100K" / "1"
    _write(folder / "chat.json", CHAT)
    _write(folder / "probing_questions" / "probing_questions.json", PROBING)
    flat = [[message for turn in batch["turns"] for message in turn] for batch in CHAT]
    row: dict[str, object] = {"conversation_id": "1", "chat": flat, "probing_questions": repr(PROBING)}
    rows = tmp_path / "beam.jsonl"
    rows.write_text(
        "".join(json.dumps(entry) + "\n" for entry in (row, row | {"conversation_id": "2"})), encoding="utf-8"
    )
    (loaded,) = load_beam(tmp_path / "100K")
    assert [loaded] == load_beam(folder / "chat.json") == load_beam(rows)[:1]
    assert [(turn.id, turn.text, turn.session) for turn in loaded.memories][1:3] == [
        ("1", "assistant: Use a table.", "batch 1"),
        ("2", "user: It has two columns.", "batch 1"),
    ]
    assert loaded.memories[2].at == datetime(2024, 3, 15, tzinfo=UTC)
    assert [(question.category, sorted(question.gold)) for question in loaded.questions] == [
        ("knowledge update", ["2", "3"]),
        ("information extraction", ["0", "1"]),
    ]


def test_beam_refuses_duplicate_ids(tmp_path: Path) -> None:
    row = {"conversation_id": "10", "chat": [*CHAT, *CHAT], "probing_questions": PROBING}
    with pytest.raises(BadData, match="chat 10: ids of messages occur twice"):
        load_beam(_write(tmp_path / "beam.json", [row]))


@pytest.mark.parametrize("dataset", LOADERS)
@pytest.mark.parametrize(
    "content", ["[]", "{}", "7", '["a"]', '[{"conversation": 3, "qa": "x", "chat": null}]', "[{}]"]
)
def test_another_format_is_refused_with_the_expected_one(dataset: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BadData, match=r"other\.json is (no|not) .*: expected "):
        choose(dataset, path)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text('{"a": 1', encoding="utf-8")
    with pytest.raises(BadData, match="neither JSON nor JSON Lines"):
        read_json(path)
    with pytest.raises(BadData, match="cannot be read"):
        read_json(tmp_path)


def test_data_sets_are_named_or_recognised_or_generated(tmp_path: Path) -> None:
    path = _write(tmp_path / "some.json", LOCOMO)
    environment = {"SCRUBJAY_BENCH_DATA": str(path)}
    assert [entry.name for entry in choose("", None, environment=environment)] == ["locomo"]
    assert [entry.origin for entry in choose("locomo", None, environment=environment)] == ["some.json"]
    (made,) = choose("", None, environment={})
    assert made == choose("made", path)[0]
    assert {question.category for collection in made.collections for question in collection.questions} == {
        "who",
        "what",
        "why",
        "how",
    }
    with pytest.raises(BadData, match="no file of beam"):
        choose("beam", None, environment=environment)
    with pytest.raises(BadData, match="--data needs --dataset"):
        choose("", path, environment={})
    with pytest.raises(BadData, match="does not exist"):
        choose("locomo", tmp_path / "missing.json")


def _write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path
