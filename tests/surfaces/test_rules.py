"""`scrubjay rules` and `scrubjay inbox`, and the output of a write."""

from dataclasses import replace
from typing import cast

import pytest
from tests.surfaces.shell import remember, run, run_json

from scrubjay.errors import CODES, Conflict, InvalidInput, NotFound
from scrubjay.model.memory import Json
from scrubjay.model.results import Decision, Remembered, Similar
from scrubjay.model.rules import Rules
from scrubjay.surfaces.cli.render import show

pytestmark = pytest.mark.usefixtures("home")

TEXT = "The kiln in the cellar of the pottery is fired on Thursdays, and must cool until Saturday before it is opened."
SECOND = "Wool from the northern farm is washed twice in rain water before anybody at the mill may begin to spin it."


def test_rules_are_shown_set_and_reset() -> None:
    assert run_json("rules", "show") == Rules().as_json
    assert "*" not in run("rules", "show").out
    changed = run_json("rules", "set", "density=reject", "window_days=30", "same = 0.9", "never=do not remember*")
    assert changed == Rules().as_json | {
        "density": "reject", "window_days": 30, "same": 0.9, "never": ["do not remember*"],
    }  # fmt: skip
    shown = run("rules", "show").out.splitlines()
    assert "* density           reject" in shown
    assert "  gate              merge" in shown
    assert run_json("rules", "reset", "density")["density"] == "warn"
    assert run_json("rules", "reset") == Rules().as_json


def test_a_list_of_patterns_grows_and_shrinks() -> None:
    assert run_json("rules", "set", "never=one", "never=two")["never"] == ["one", "two"]
    assert run_json("rules", "set", "never+=three", "never-=one")["never"] == ["two", "three"]
    assert run_json("rules", "set", "never=")["never"] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("density", "is not a change of a rule"),
        ("colour=red", "there is no rule 'colour'"),
        ("self=red", "there is no rule 'self'"),
        ("density=perhaps", "density must be one of"),
        ("density+=reject", "so += does not apply"),
        ("window_days=soon", "window_days must be a whole number"),
    ],
)
def test_an_invalid_change_of_a_rule_is_refused(change: str, message: str) -> None:
    answer = run("rules", "set", change)
    assert (answer.code, message in answer.err) == (CODES[InvalidInput].exit, True)


def test_waiting_memories_are_listed_approved_and_declined() -> None:
    assert "the inbox is empty" in run("inbox", "list").out
    run_json("rules", "set", "review=all")
    kiln, wool = remember(TEXT, "--title", "Kiln", "-e", "pottery"), remember(SECOND, "--title", "Wool")
    listed = run("inbox", "list").out
    assert "Kiln [pottery]" in listed
    assert TEXT in listed
    waiting = cast("list[dict[str, Json]]", run_json("inbox", "list")["memories"])
    assert {str(item["id"]) for item in waiting} == {kiln, wool}
    assert run("recall", "kiln").out.startswith("nothing found")
    assert "would be approved" in run("inbox", "approve", kiln, "--dry-run").out
    assert run("inbox", "approve", kiln).out.startswith("approved kiln (")
    assert wool in run("inbox", "decline", wool, "--reason", "not so").out
    assert "the inbox is empty" in run("inbox", "list").out
    assert "warning: it waits for approval" in run("restore", wool).out
    assert wool in run("inbox", "decline", "--all").out
    assert run("recall", "kiln").out.startswith("1. Kiln")
    assert run("inbox", "approve", "nobody").code == CODES[NotFound].exit
    assert run("inbox", "approve").code == CODES[InvalidInput].exit
    tea = remember("The blue tea pot of the upper kitchen leaks at its lid whenever somebody pours from it in a hurry.")
    assert tea in run("inbox", "decline", "--all").out
    assert run("inbox", "decline", "x", "--all").code == CODES[InvalidInput].exit


def test_notes_on_one_task_become_one_memory() -> None:
    first = remember(TEXT, "--name", "kiln", "--session-hint", "firing")
    answer = run("remember", SECOND, "--session-hint", "firing", "--intent", "continue")
    assert answer.out.startswith(f"merged into kiln ({first}), version 2")
    assert run("revert", "kiln", "--to", "1").code == 0
    assert "Wool" in run("recall", "wool").out


def test_a_text_that_a_rule_rejects_is_not_stored() -> None:
    run_json("rules", "set", "never=kiln in the cellar")
    answer = run("remember", TEXT)
    # A script needs to know that nothing was stored.
    assert (answer.code, answer.out.startswith("rejected: nothing was stored")) == (CODES[Conflict].exit, True)
    assert run_json("status")["memories"] == {}


def test_the_result_of_a_write_is_shown_to_people(capsys: pytest.CaptureFixture[str]) -> None:
    done = Remembered(
        action="merged", id="2", ids=("2",), name="kiln", version=3, tags=("clay", "fire"), merged_into="1",
        similarity=0.968, flags=("thin",), suggested_entities=("Sarah",), warnings=("it is short",),
        similar=(
            Similar(id="7", name="oven", similarity=0.9),
            Similar(id="8", name="target", similarity=0.97, differs="2 here, 3 there"),
            Similar(id="1", name="kiln", similarity=0.968, differs="before or after"),
        ),
    )  # fmt: skip
    show(done)
    assert capsys.readouterr().out.splitlines() == [
        "merged into kiln (1), version 3, similarity 0.97",
        "  tags: clay, fire",
        "  marked as thin",
        "  similar to oven (7), 0.90",
        "  similar to target (8), 0.97: may contradict it (2 here, 3 there); revise or forget the outdated memory",
        "  may contradict the earlier text (before or after): revise the memory if it is out of date",
        "warning: it is short",
    ]
    show(replace(done, action="created", merged_into="", similar=()))
    assert "  it seems to be about Sarah: --entity files it under them\n" in capsys.readouterr().out
    show(Remembered(action="rejected", id="", ids=(), name="", version=0, trace=(_REFUSED,)))
    assert capsys.readouterr().out == "rejected: nothing was stored (a rule says so)\n"


_REFUSED = Decision(stage="refuse", outcome="rejected", why="a rule says so")
