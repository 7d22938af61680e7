"""The project's own facts, which models are trained on: well-formed, varied, and in the promised shares."""

from collections import Counter

from training import facts
from training.data import is_held_out

_KINDS = ("pairs", "questions", "texts")


def test_the_facts_are_well_formed_and_no_sentence_frame_repeats() -> None:
    rows = [row for kind in _KINDS for row in facts.read_rows(kind)]
    assert [(fault, row) for row in rows for fault in facts.find_faults(row)] == []
    assert facts.repeated_frames(rows) == {}
    texts = Counter(text.casefold() for row in rows for text in facts.texts_of(row))
    assert [text for text, count in texts.items() if count > 1] == []


def test_every_label_language_and_domain_has_its_share() -> None:
    pairs, questions = facts.read_rows("pairs"), facts.read_rows("questions")
    assert len(pairs) >= 4_000
    assert len(questions) >= 2_500
    for rows in (pairs, questions):
        languages = Counter(row["language"] for row in rows)
        assert set(languages) == set(facts.LANGUAGES)
        assert 0.6 <= languages["en"] / len(rows) <= 0.75
        assert min(Counter(row["domain"] for row in rows).values()) >= len(rows) / 12
        assert 0.08 <= sum(map(is_held_out, rows)) / len(rows) <= 0.16
    assert min(Counter(row["label"] for row in pairs).values()) >= len(pairs) / 15
    assert 0.08 <= sum(not row["answers"] for row in questions) / len(questions) <= 0.2


def test_faults_are_found() -> None:
    fact = {"text": "Backups run at two.", "date": "2026-01-02", "subject": "backups", "project": ""}
    pair = {"language": "en", "domain": "software", "label": "same", "kind": "", "a": fact, "b": fact}
    assert list(facts.find_faults(pair)) == []
    for wrong in (
        {"language": "xx"},
        {"label": "equal"},
        {"label": "near"},
        {"kind": "number"},
        {"label": "changes", "current": "b"},
        {"current": "a"},
        {"b": {**fact, "date": "soon"}},
        {"b": {**fact, "text": " "}},
    ):
        assert list(facts.find_faults({**pair, **wrong})), wrong


def test_a_template_and_a_copy_are_found() -> None:
    def row(text: str) -> facts.Row:
        return {"language": "en", "domain": "software", "text": text, "complete": True}

    rows = [row("Invoice 4471 goes to Anna on Monday."), row("Invoice 12 goes to Bertil on Friday.")]
    assert list(facts.repeated_frames(rows)) == ["invoice X goes to X on X"]
    other = "… they said that every second backup of the archive is kept for a year, and left."
    copied = row("Every second backup of the archive is kept for a year.")
    assert facts.shared_texts([*rows, copied], [other]) == [copied["text"]]
