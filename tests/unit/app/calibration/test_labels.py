"""Labelled data is read in the forms that people write, and an error names the line."""

from pathlib import Path

import pytest

from scrubjay.app.calibration.labels import LabelledPair, read_cases, read_pairs
from scrubjay.errors import InvalidInput

CASES = """
{"collection": "c", "id": "1", "text": "tea", "session": "s", "at": "2026-05-31"}
{"collection": "c", "id": "2", "text": "coffee"}

{"collection": "c", "query": "what?", "relevant": ["1", "2", "1"]}
{"collection": "c", "query": "who?", "relevant": ["2"]}
"""


def write(tmp_path: Path, text: str, name: str = "labels.jsonl") -> Path:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def test_memories_and_questions_are_read(tmp_path: Path) -> None:
    cases = read_cases(write(tmp_path, CASES))
    assert [(memory.id, memory.text, memory.session) for memory in cases.memories] == [
        ("1", "tea", "s"),
        ("2", "coffee", ""),
    ]
    assert cases.memories[0].at is not None
    assert cases.memories[0].at.isoformat() == "2026-05-31T00:00:00+00:00"
    assert [question.relevant for question in cases.questions] == [("1", "2"), ("2",)]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("{", "line 7: this is not JSON"),
        ("[]", "line 7: this is not a JSON object"),
        ('{"text": "a"}', "line 7: `id` must be a text"),
        ('{"id": "3", "text": " "}', "line 7: `text` must be a text"),
        ('{"id": "3", "text": "a", "at": "yesterday"}', "line 7: at: 'yesterday' is not a date"),
        ('{"query": "a", "relevant": []}', "line 7: a question needs `relevant`"),
        ('{"query": "a", "relevant": "1"}', "line 7: a question needs `relevant`"),
        ('{"query": "a", "relevant": ["9"]}', "names '9', which is not a memory's id"),
        ('{"query": "another collection", "relevant": ["1"]}', "names '1', which is not a memory's id"),
        ('{"collection": "c", "id": "1", "text": "again"}', "have the same id"),
    ],
)
def test_an_error_names_its_line(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        read_cases(write(tmp_path, CASES + more))
    assert "embedders.md" in caught.value.hint


@pytest.mark.parametrize("text", ["", '{"id": "1", "text": "a"}\n{"query": "a", "relevant": ["1"]}'])
def test_one_question_is_not_enough(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match="at least two questions"):
        read_cases(write(tmp_path, text))


def test_a_file_that_is_missing_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read: No such file"):
        read_cases(tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="not UTF-8"):
        read_pairs(tmp_path / "binary")


JSON = '{"a": "x", "b": "y", "same": %s}\n'
EXPECTED = (
    LabelledPair(first="x", second="y", same=True),
    LabelledPair(first="x", second="y", same=True),
    LabelledPair(first="x", second="y", same=False),
    LabelledPair(first="x", second="y", same=False),
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.jsonl", "".join(JSON % label for label in ("true", "true", "false", "false"))),
        ("p.jsonl", "".join(JSON % label for label in ("5", "4.0", "3.9", "0"))),
        (
            "p.jsonl",
            '\ufeff{"sentence1": "x", "sentence2": "y", "label": 1}\n' + JSON % "1" + JSON % "0" + JSON % "0.7",
        ),
        ("p.csv", "x,y,1\nx,y,1\nx,y,0\nx,y,0\n"),
        ("p.csv", "x,y,yes\r\nx,y,Same\r\nx,y,no\r\nx,y,FALSE\r\n"),
        ("P.TSV", "n\tlabel\tsentence1\tsentence2\n0\t1\tx\ty\n1\t1\tx\ty\n2\t0\tx\ty\n\n3\t0\tx\ty\n"),
    ],
)
def test_pairs_are_read_in_many_forms(tmp_path: Path, name: str, text: str) -> None:
    assert read_pairs(write(tmp_path, text, name)) == EXPECTED


def test_the_lowest_score_that_means_the_same_can_be_set(tmp_path: Path) -> None:
    file = write(tmp_path, "".join(JSON % label for label in ("5", "3", "2", "2.5")))
    assert read_pairs(file, least=2.6) == EXPECTED


def test_a_field_of_a_table_may_hold_anything(tmp_path: Path) -> None:
    file = write(tmp_path, 'a,b,same\n"x, ""x""\nx\u2028x",y,1\nx,y,1\nx,y,0\nx,y,0\n', "p.csv")
    assert read_pairs(file)[0].first == 'x, "x"\nx\u2028x'


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.jsonl", '{"a": "x", "same": true}', "line 1: a pair has two texts"),
        ("p.jsonl", '{"a": "x", "b": 3, "same": true}', "line 1: both sides of a pair must be texts"),
        ("p.jsonl", JSON % '"perhaps"', "line 1: `same` must be true, false or a score"),
        ("p.jsonl", JSON % "null", "line 1: `same` must be"),
        ("p.jsonl", JSON % "NaN", "line 1: `same` must be"),
        ("p.csv", "x,y\n", "line 1: a pair has two texts"),
        ("p.csv", '"x,y,1\n', "this is not a table"),
        ("p.csv", "", "several of each"),
        ("p.jsonl", (JSON % "true") * 4, "several of each"),
        ("p.jsonl", JSON % "true" + JSON % "false", "several of each"),
    ],
)
def test_bad_pairs_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_pairs(write(tmp_path, text, name))
