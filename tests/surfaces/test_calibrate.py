"""`scrubjay calibrate` from the command line, with the bundled model."""

import json
from pathlib import Path
from typing import cast

import pytest
from tests.surfaces.shell import run, run_json

from scrubjay.embedding.profiles import BUNDLED
from scrubjay.model.memory import Json

pytestmark = [pytest.mark.usefixtures("home"), pytest.mark.embedded]

CASES = [
    {"id": "jay", "text": "A scrub jay hides acorns under oaks"},
    {"id": "rent", "text": "Rent is due on the first of the month"},
    {"id": "tea", "text": "Sarah drinks green tea in the morning"},
    {"query": "Which bird buries its food?", "relevant": ["jay"]},
    {"query": "When must the flat be paid for?", "relevant": ["rent"]},
]
PAIRS = "a,b,same\n" + "".join(
    f"{first},{second},{same}\n"
    for first, second, same in (
        ("The rent is due on Monday", "Rent is due on Monday", 1),
        ("Sarah drinks tea", "Sarah drinks her tea", 1),
        ("The rent is due on Monday", "Sarah drinks tea", 0),
        ("A jay hides acorns", "The compiler inlines functions", 0),
    )
)


@pytest.fixture
def labelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "bundled")
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, CASES)), encoding="utf-8")
    (tmp_path / "pairs.csv").write_text(PAIRS, encoding="utf-8")
    return tmp_path


def test_a_weight_is_found_and_written(labelled: Path, home: Path) -> None:
    file, before = str(labelled / "cases.jsonl"), {path.name for path in home.iterdir()}
    shown = run("calibrate", "recall", file, "--weights", "9,0,9", "--write")
    assert (shown.code, shown.err) == (0, "")
    lines = shown.out.splitlines()
    assert lines[0] == f"{BUNDLED}: 2 questions about 3 memories"
    assert lines[1].split() == ["weight", "R@10", "MRR"]
    assert [line.split()[0] for line in lines[2:4]] == ["0", "9"]
    assert lines[3].split() == ["9", "1.000", "1.000", "chosen"]
    assert lines[-2:] == ["weight 9; before: 8", f"saved in {home / 'profiles.json'}"]
    assert json.loads((home / "profiles.json").read_bytes()) == {BUNDLED: {"weight": 9.0, "measured": ["weight"]}}
    # The written value is used, and nothing else in the data folder has changed.
    assert {path.name for path in home.iterdir()} == {*before, "profiles.json"}
    answer = run_json("calibrate", "recall", file, "--weights", "4")
    curve = cast("dict[str, Json]", answer["curve"])
    assert (answer["written"], curve["before"], curve["chosen"]) == (
        "",
        9.0,
        {"weight": 4.0, "recall": 1.0, "mrr": 1.0},
    )


def test_a_threshold_is_found_and_written(labelled: Path, home: Path) -> None:
    answer = run("calibrate", "same", str(labelled / "pairs.csv"), "--write")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == f"{BUNDLED}: 4 pairs, 2 of them the same"
    assert lines[1].split() == ["same", "found", "wrong"]
    (chosen,) = [line.split() for line in lines if line.endswith("chosen")]
    assert chosen[1:3] == ["1.000", "0.0000"]
    assert lines[-1] == f"saved in {home / 'profiles.json'}"
    assert json.loads((home / "profiles.json").read_bytes())[BUNDLED]["same"] == float(chosen[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("recall", "none.jsonl"), "none.jsonl cannot be read"),
        (("same", "none.csv"), "none.csv cannot be read"),
        (("recall", "cases.jsonl", "--weights", "many"), "--weights must be numbers"),
        (("recall", "cases.jsonl", "--weights", "-1"), "--weights must be numbers"),
        (("recall", "cases.jsonl", "--weights", "nan"), "--weights must be numbers"),
        (("same", "pairs.csv", "--wrong", "1"), "--wrong must be a share"),
        (("same", "cases.jsonl"), "a pair has two texts"),
    ],
)
def test_an_error_says_what_is_wrong(labelled: Path, options: tuple[str, ...], message: str) -> None:
    kind, file, *more = options
    answer = run("calibrate", kind, str(labelled / file), *more)
    assert answer.code == 2
    assert message in answer.err


def test_calibration_needs_an_embedder(labelled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "none")
    answer = run("calibrate", "recall", str(labelled / "cases.jsonl"))
    assert answer.code == 2
    assert "SCRUBJAY_EMBEDDER" in answer.err
