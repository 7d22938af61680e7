"""Dates and speakers at the beginning of a text."""

from datetime import UTC, datetime

import pytest

from scrubjay.text.opening import read_opening


@pytest.mark.parametrize(
    ("text", "at", "speaker"),
    [
        ("(8:56 pm on 20 July, 2023) Caroline: Hey!", "2023-07-20T20:56:00", "Caroline"),
        ("[2024-05-03 14:00] Ada: It works.", "2024-05-03T14:00:00", "Ada"),
        ("2024-05-03, Ada: It works.", "2024-05-03T00:00:00", "Ada"),
        ("2024-05-03: deployed the second version", "2024-05-03T00:00:00", ""),
        ("2024-05-03T14:00:00+02:00, Ada: It works.", "2024-05-03T12:00:00", "Ada"),
        ("[03.05.24, 14:00:12] Ada Lovelace: hi you", "2024-05-03T14:00:12", "Ada Lovelace"),
        ("5/13/24, 9:05 PM - Ada: see you", "2024-05-13T21:05:00", "Ada"),
        ("(May 3, 2024) Bob: hello all", "2024-05-03T00:00:00", "Bob"),
        ("Monday, 3 May 2024, 9:15 am: notes", "2024-05-03T09:15:00", ""),
        ("(12. Mai 2024, 8:00) Ada: Guten Morgen", "2024-05-12T08:00:00", "Ada"),
        ("Bob: hello all", None, "Bob"),
    ],
)
def test_forms_of_chats_and_diaries(text: str, at: str | None, speaker: str) -> None:
    opening = read_opening(text)
    assert opening.speaker == speaker
    assert opening.at == (at and datetime.fromisoformat(f"{at}Z").astimezone(UTC))
    assert text[opening.end :].startswith(speaker)


@pytest.mark.parametrize(
    "text",
    [
        "2019-05-03 was the launch", "[2024-13-45 10:00] Ada: hello", "2024-05-03", "The launch (2024-05-03) was late",
        "[10:00] Ada: hello", "(31 Foo 2024) Ada: hello", "[2024-02-30] Ada: hello", "",
    ],
)  # fmt: skip
def test_other_texts_have_no_date(text: str) -> None:
    assert read_opening(text).at is None
    assert read_opening(text).end == 0
