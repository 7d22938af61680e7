"""`scrubjay curate`: the plan, the run, its report and its undo, as a person sees them."""

from pathlib import Path

import pytest
from tests.surfaces.shell import run, run_json


def test_a_person_plans_runs_looks_and_takes_back(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = tmp_path / "clock"
    monkeypatch.setenv("SCRUBJAY_CLOCK_FILE", str(clock))
    clock.write_text("2026-01-01T12:00:00Z")
    run("remember", "Sarah parked on level three", "--name", "parking")
    assert run("curate", "--last").code == 3
    clock.write_text("2026-03-01T18:00:00Z")

    plan = run("curate", "tiers", "--dry-run").out
    assert plan.startswith("would make 1 changes (tiers); nothing was written\n  tiers: 1 working → episodic")
    assert "parking" in plan
    assert "59 days old, read 0 times" in plan
    assert run_json("status")["tiers"] == {"working": 1}

    done = run("curate", "tiers").out
    assert done.startswith("done: changed 1 of 1 (tiers")
    assert "scrubjay curate --undo " in done
    status = run_json("status")
    assert (status["tiers"], status["tier_flow"]) == ({"episodic": 1}, {"working → episodic": 1})
    assert "episodic 1 (in 30 days: 1 working → episodic)" in run("status").out

    report = run_json("curate", "--last")["report"]
    assert run("curate", "--last").out == done
    assert run("curate", "--undo", str(report["run"])).out.startswith("undone")  # type: ignore[index]
    again = run("curate", "--undo", str(report["run"])).out  # type: ignore[index]
    assert again.splitlines()[2].strip() == "it was taken back already"
    assert run_json("status")["tier_flow"] == {}
    assert run("curate", "--last").out.startswith("undone: ")
    assert "later jobs see what earlier ones change" not in run("curate", "--dry-run").out, "nothing is planned"
    assert run_json("curate", "tiers")["report"]["planned"] == 0  # type: ignore[index]


def test_a_prune_is_a_run_like_any_other_and_one_without_changes_has_nothing_to_take_back(home: Path) -> None:
    for name in ("parking", "printer"):
        run("remember", f"Sarah wrote down where the {name} is", "--name", name)
    assert run("curate", "tiers").code == 0
    nothing = run("curate", "--undo", "last")
    assert (nothing.code, nothing.out.splitlines()[-1].strip()) == (
        0, "it has changed nothing: there is nothing to take back",
    )  # fmt: skip
    pruned = run("prune", "--keep", "1", "--include", "stated").out
    assert run("curate", "--last").out == pruned
    assert pruned.startswith("done: changed 1 of 1 (prune")
    assert run_json("status")["memories"] == {"live": 1, "trashed": 1}
    assert run("curate", "--undo", "last").code == 0
    assert run_json("status")["memories"] == {"live": 2}
    # What was taken back before does not matter to a new request.
    assert run("prune", "--keep", "1", "--include", "stated").out.startswith("done: changed 1 of 1 (prune")


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        (("curate", "sweep"), 2),
        (("curate", "tiers", "--last"), 2),
        (("curate", "--last", "--undo", "x"), 2),
        (("curate", "--undo", "no-such-run"), 3),
        (("curate", "--undo", "last"), 3),
    ],
)
def test_what_makes_no_sense_is_refused(home: Path, typed: tuple[str, ...], code: int) -> None:
    assert run(*typed).code == code


def test_a_person_sees_what_is_used(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = tmp_path / "clock"
    monkeypatch.setenv("SCRUBJAY_CLOCK_FILE", str(clock))
    clock.write_text("2026-01-01T12:00:00Z")
    run("remember", "Sarah parked on level three", "--name", "parking")
    run("remember", "The printer needs blue ink", "--name", "printer")
    run("recall", "Where did Sarah park?")
    run("recall", "Who won the chess tournament of 1972?")
    run("read", "parking")
    assert run("usage").out == (
        "since 2025-12-03: asked 2 times, once without an answer; 1 memories read\n"
        "  2026-01-01  asked 2, unanswered 1, read 1\n"
        "\nmost asked\n"
        "  1 where did sarah park\n"
        "  1 who won the chess tournament of 1972 (nothing relevant once)\n"
        "\nmost used\n  parking: found 1, read 1\n"
        "\nnever read: 1\n  printer, since 2026-01-01\n"
    )
    monkeypatch.setenv("SCRUBJAY_USAGE", "off")
    assert (run_json("usage")["counted"], run_json("usage")["recalls"]) == (False, 2)
    run("recall", "Where did Sarah park?")
    assert run("usage").out.startswith("questions are not counted: SCRUBJAY_USAGE is off\n")
    assert run_json("usage")["recalls"] == 0
