"""Chat logs of every format give the same turns, and a text that is no log is refused with a hint."""

import json
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.extraction.chat_exports import AT, CHATGPT, CLAUDE, CODE, CODEX, SLACK, TELEGRAM

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.extraction import chat_log
from scrubjay.extraction.chat_log import read_conversations, read_turns
from scrubjay.extraction.formats import FORMATS

SAID = [("user", "I prefer tabs."), ("assistant", "Noted.")]


@pytest.mark.parametrize(
    "log",
    [
        "user: I prefer tabs.\nassistant: Noted.",
        "**User:** I prefer tabs.\n\n**Assistant:** Noted.",
        "**User**: I prefer tabs.\n**Assistant**: Noted.",
        "## User\n\nI prefer tabs.\n\n## Assistant\n\nNoted.\n",
        "Human: I prefer tabs.\nAI: Noted.".replace("AI", "assistant"),
        json.dumps([{"role": "user", "content": "I prefer tabs."}, {"role": "assistant", "content": "Noted."}]),
        json.dumps({"messages": [{"role": who, "content": [{"type": "text", "text": text}]} for who, text in SAID]}),
        json.dumps({"log": {"turns": [{"speaker": who, "text": text} for who, text in SAID]}}),
        json.dumps([CHATGPT]),
        json.dumps(CHATGPT),
        json.dumps([CLAUDE]),
        "\n".join(map(json.dumps, CODE)),
        "\n".join(map(json.dumps, CODEX)),
        "You said:\nI prefer tabs.\nAssistant said:\nNoted.",
        json.dumps({"contents": [{"role": who, "parts": [{"text": text}]} for who, text in SAID]}),
        json.dumps({"conversations": [{"from": who, "value": text} for who, text in SAID]}),
        "\n".join(json.dumps({"role": who, "content": text}) for who, text in SAID),
        json.dumps({"messages": [{"role": who, "content": text} for who, text in SAID]}) + "\n{}\n",
    ],
)
def test_every_format_gives_the_same_turns(log: str) -> None:
    assert [(turn.speaker, turn.text) for turn in read_turns(log)] == SAID


@pytest.mark.parametrize(
    "line",
    [
        "[2026-05-31 14:00] Ann: I moved",
        "[2026-05-31T14:00:00Z] Ann: I moved",
        "2026-05-31 14:00 Ann: I moved",
        "[31/05/2026, 14:00:00] Ann: I moved",
        "31.05.26, 14:00 - Ann: I moved",
        "[5/31/26, 2:00:00\u202fPM] Ann: I moved",
        "(2026-05-31 14:00) **Ann:** I moved",
        "[2026-05-31 14:00] <Ann> I moved",
        "Ann (2026-05-31 14:00): I moved",
    ],
)
def test_speaker_and_time_come_before_the_text(line: str) -> None:
    (turn,) = read_turns(line)
    assert (turn.speaker, turn.text, turn.at, turn.id) == ("Ann", "I moved", AT, "1")


def test_a_whatsapp_chat_keeps_its_speakers_and_drops_its_notices() -> None:
    log = (
        "31/05/2026, 13:59 - Messages and calls are end-to-end encrypted.\n"
        "31/05/2026, 14:00 - Ann Lee: I moved\nto Rome\n31/05/2026, 14:01 - Ben: Nice: really"
    )
    assert [(turn.speaker, turn.text) for turn in read_turns(log, "whatsapp")] == [
        ("Ann Lee", "I moved\nto Rome"),
        ("Ben", "Nice: really"),
    ]


def test_a_chat_from_a_phone_keeps_numbers_as_speakers_and_drops_the_phones_notices() -> None:
    log = (
        "[31.05.26, 13:59:00] Ann \U0001f338: \u200eMessages and calls are end-to-end encrypted.\r\n"
        "[31.05.26, 14:00:00] Ann \U0001f338: I moved\r\nto Rome \u200e<This message was edited>\r\n"
        "[31.05.26, 14:00:30] \u200eAnn added Ben\r\n"
        "\u200e[31.05.26, 14:01:00] Ann \U0001f338: \u200eimage omitted\r\n"
        "[31.05.26, 14:02:00] \u202a+33 6 12 34 56 78\u202c: I stay\r\n"
        "[31.05.26, 14:03:00] ~ Ben (work): Nice: really\r\n"
    )
    assert [(turn.speaker, turn.text) for turn in read_turns(log)] == [
        ("Ann \U0001f338", "I moved\nto Rome"),
        ("+33 6 12 34 56 78", "I stay"),
        ("Ben (work)", "Nice: really"),
    ]


def test_chats_of_other_programs_are_read() -> None:
    for export in (TELEGRAM, {"about": "", "chats": {"about": "", "list": [TELEGRAM]}}):
        assert [(turn.speaker, turn.text, turn.id, turn.at) for turn in read_turns(json.dumps(export))] == [
            ("Ann", "I read x.org", "2", AT),
            ("Ben", "Me too.", "3", AT),
        ]
    (turn,) = read_turns(json.dumps(SLACK), "slack")
    assert (turn.speaker, turn.text, turn.at) == (
        "Ann",
        "I moved & left, ben there",
        datetime.fromtimestamp(1780236000.0001, UTC),
    )


def test_each_conversation_of_an_export_keeps_its_name_and_its_times() -> None:
    first, second = read_conversations(json.dumps([CHATGPT, CHATGPT | {"conversation_id": "c-9"}]))
    assert (first.name, second.name, first.turns[0].at) == ("c-1", "c-9", AT)
    assert read_conversations("\n".join(map(json.dumps, CODE)))[0].name == "s-1"


def test_a_text_without_speakers_is_one_speakers_lines() -> None:
    turns = read_turns("I moved to Rome in May and\nfound work there.\nNote: bring the keys\nhttps://example.org: slow")
    assert {turn.speaker for turn in turns} == {""}
    assert turns[0].text == "I moved to Rome in May and\nfound work there."


def test_code_and_labels_are_no_speakers() -> None:
    log = "user: Look at this:\n```yaml\nBackend: postgres\n```\nNote: it works\nassistant: Fine."
    assert [turn.speaker for turn in read_turns(log)] == ["user", "assistant"]


@pytest.mark.parametrize(
    ("log", "format"),
    [
        ("", "auto"),
        (" \n ", "auto"),
        ("\x00\x01\x02PNG\x7f", "auto"),
        ("{", "auto"),
        ('[{"role": "user"', "json"),
        ("[" * 100_000, "auto"),
        ('{"a": ' * 100_000, "jsonl"),
        ("[]", "auto"),
        ('{"a": 1}', "auto"),
        ('[{"role": "user", "content": ""}]', "auto"),
        ("Ann: hello", "json"),
        ("Ann: hello", "morse"),
        ('{"role": "user", "content": "hi"}\n{broken', "auto"),
    ],
)
def test_a_text_that_is_no_log_is_refused(log: str, format: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_turns(log, format)
    assert refused.value.hint


def test_a_tree_with_a_cycle_ends() -> None:
    message = {"author": {"role": "user"}, "content": {"parts": ["Round."]}}
    mapping = {"a": {"message": message, "parent": "b"}, "b": {"message": message, "parent": "a"}}
    assert len(read_turns(json.dumps({"mapping": mapping, "current_node": "a"}))) == 2


def test_characters_that_no_store_keeps_are_removed() -> None:
    (turn,) = read_turns('[{"role": "user\\ud800", "content": "I moved\\ud800 to \\u0000Rome"}]')
    assert (turn.speaker, turn.text) == ("user", "I moved to Rome")


def test_there_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_log, "MAX_LENGTH", 100)
    with pytest.raises(TooLarge):
        read_turns("Ann: hello\n" * 10)
    monkeypatch.setattr(chat_log, "MAX_TURNS", 2)
    with pytest.raises(TooLarge):
        read_turns("Ann: hello\n" * 3)


@pytest.mark.parametrize(
    "piece",
    ["# ", "[", "(", "<", "12:30 ", "a: ", "**", "1/2/3 ", "Ann ", "- ", "`", " ", "\u200e[", "x\n", "Ann: x\n"],
)
def test_hostile_lines_are_read_in_no_time(piece: str) -> None:
    start = time.process_time()
    read_turns(f"# {piece * (100_000 // len(piece))} end", "text")
    assert time.process_time() - start < 5


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["role", "content", "text", "messages", "mapping", "author", "parts", "ts", "from", "id"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=80, deadline=None)
@given(VALUES, st.sampled_from(sorted(FORMATS)))
def test_any_json_is_read_or_refused(value: object, format: str) -> None:
    try:
        turns = read_turns(json.dumps(value), format)
    except InvalidInput:
        return
    assert all(turn.text.strip() for turn in turns)
