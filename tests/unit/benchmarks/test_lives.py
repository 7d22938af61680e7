"""The data and the table of the lives; `make bench-lives` lives them."""

import json
from pathlib import Path

import pytest

from benchmarks.lives import LifeResult, table_of
from benchmarks.lives_data import load_lives, made_life
from benchmarks.recall_data import BadData


def test_a_file_is_a_life(tmp_path: Path) -> None:
    write = {
        "id": "w1",
        "day": "2026-01-01",
        "text": "The key is under the mat.",
        "source": "document",
        "project": None,
    }
    question = {
        "id": "q1",
        "day": "2026-01-02",
        "text": "Where is the key?",
        "gold": ["w1", ["w2", "w3"]],
        "stale": ["w4"],
    }
    (tmp_path / "one.json").write_text(json.dumps({"life": "one", "writes": [write], "questions": [question]}))
    (life,) = load_lives(tmp_path)
    assert life.days == ("2026-01-01", "2026-01-02")
    assert (life.writes[0].is_document, life.writes[0].project) == (True, "")
    assert life.questions[0].gold == (frozenset({"w1"}), frozenset({"w2", "w3"}))
    assert life.questions[0].right == {"w1", "w2", "w3"}


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"life": "one", "writes": [{}], "questions": []}'])
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "one.json").write_text(content)
    with pytest.raises(BadData, match="is no life"):
        load_lives(tmp_path)
    (tmp_path / "one.json").unlink()
    with pytest.raises(BadData, match="has no lives"):
        load_lives(tmp_path)


def test_writes_about_one_fact_belong_together() -> None:
    life = made_life()
    assert life.belong_together("w1", "w6")
    assert life.belong_together("w1", "w7")
    assert life.belong_together("w8", "w2")
    assert not life.belong_together("w1", "w2")


def test_the_table_has_a_column_for_each_life_and_for_all() -> None:
    first, second = LifeResult(name="one"), LifeResult(name="two")
    first.count("first", True)
    first.count("first, de", True)
    second.count("first", False, failure="Where is the key?")
    table = table_of([first, second])
    assert table.head == ("", "one", "two", "all")
    assert table.rows[0] == ("first hit right", "1.00", "0.00", "0.50")
    assert ("first hit right, de", "1.00", "-", "1.00") in table.rows
    assert second.as_json()["failures"] == ["first: Where is the key?"]
