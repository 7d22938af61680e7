"""Versions, branches and the start of a session, as commands."""

import json

import pytest
from tests.surfaces.shell import remember, run, run_json

from scrubjay.errors import CODES, Conflict, InvalidInput, NameTaken, NotFound, ScrubjayError

pytestmark = pytest.mark.usefixtures("home")


def test_history_is_a_table_and_log_is_the_same() -> None:
    remember("green tea\nno milk", "--name", "tea")
    run("revise", "tea", "--text", "black tea\nno milk", "-m", "changed her mind")
    head, newest, oldest = run("history", "tea").out.splitlines()
    assert head.split() == ["VERSION", "WHEN", "WHO", "ACTION", "BRANCH", "MESSAGE"]
    assert newest.startswith("2        20")
    assert newest.endswith("cli  revised  main    changed her mind")
    assert oldest.split()[3:] == ["cli", "created", "main"]
    assert run("log", "tea").out == run("history", "tea").out
    assert len(run("history", "tea", "-n", "1").out.splitlines()) == 2
    assert len(run("log", "tea", "--before", "2").out.splitlines()) == 2
    assert set(run_json("history", "tea")) == {"id", "name", "branch", "versions", "diff", "stale"}


def test_diff_compares_two_versions_and_by_default_the_last_two() -> None:
    remember("green tea\nno milk", "--name", "tea")
    assert run("diff", "tea").code == CODES[InvalidInput].exit
    run("revise", "tea", "--text", "black tea\nno milk", "--add-observation", "it is hot")
    shown = (
        "content       - green tea\n              + black tea\n                no milk\n\nobservations  + it is hot\n"
    )
    assert run("diff", "tea").out == run("diff", "tea", "1").out == run("diff", "tea", "1", "2").out == shown
    assert run("history", "tea", "--diff", "1", "2").out == shown
    assert run("diff", "tea", "1", "1").out == "no difference\n"
    assert run("diff", "tea", "1", "9").code == CODES[NotFound].exit
    assert run("diff", "tea", "1", "nowhere").code == CODES[NotFound].exit
    assert [item["field"] for item in json.loads(run("diff", "tea", "--json").out)["diff"]] == [
        "content",
        "observations",
    ]


def test_a_commit_marks_a_version() -> None:
    memory_id = remember("green tea", "--name", "tea")
    assert run("commit", "tea", "-m", "as agreed").out.splitlines()[0] == f"committed tea ({memory_id}), version 2"
    assert run("log", "tea", "-n", "1").out.splitlines()[1].endswith("as agreed")
    assert run("commit", "tea", "-m", " ").code == CODES[InvalidInput].exit
    assert run("commit", "tea").code != 0


def test_changes_on_a_branch_are_hidden_until_it_is_merged() -> None:
    memory_id = remember("green tea", "--name", "tea")
    begun = run("branch", "tea", "what/if", "-d", "What if?")
    assert begun.out.splitlines()[2].split()[:3] == ["what/if", "2", "1"]
    assert begun.out.splitlines()[2].endswith("What if?")
    done = run("revise", "tea", "--text", "black tea", "--branch", "what/if")
    assert done.out.startswith(f"updated tea ({memory_id}), version 3 of branch what/if\n")
    assert run("read", "tea", "-f", "plain").out == "green tea\n"
    assert run("read", "tea", "-f", "plain", "-b", "what/if").out.endswith("black tea\n")
    assert "black" not in run("recall", "tea").out
    assert "black tea" in run("recall", "tea", "--branch", "what/if").out
    assert run("diff", "tea", "main", "what/if").out == "content  - green tea\n         + black tea\n"
    assert run("log", "tea", "-b", "what/if").out.splitlines()[1].split()[5] == "what/if"
    merged = run("merge-branch", "tea", "what/if", "-m", "it is so")
    assert merged.out.splitlines()[0] == f"merged what/if into main of tea ({memory_id}), version 2"
    assert run("read", "tea", "-f", "plain").out == "black tea\n"


def test_reads_use_the_current_branch() -> None:
    remember("green tea", "--name", "tea")
    assert "*  draft" in run("branch", "tea", "draft", "--switch").out
    run("revise", "tea", "--text", "black tea")
    assert run("read", "tea", "-f", "plain").out.endswith("black tea\n")
    assert run_json("switch", "tea", "main")["current"] == "main"
    assert run("read", "tea", "-f", "plain").out == "green tea\n"
    assert run("drop-branch", "tea", "draft").out.count("\n") == 2
    refused = run("switch", "tea", "draft")
    assert (refused.code, "restore tea --branch draft" in refused.err) == (CODES[NotFound].exit, True)
    assert run_json("branches", "tea")["current"] == "main"
    (gone,) = json.loads(run("recall", "tea", "--state", "trashed", "--json").out)["hits"]
    assert gone["branch"] == "draft"
    assert run("restore", "tea", "--branch", "draft").out.endswith(" of branch draft\n")
    assert run("read", "tea", "-f", "plain", "-b", "draft").out.endswith("black tea\n")
    assert "(branch draft)" in run("recall", "tea", "--branch", "draft").out
    assert "note: no memory has a branch 'darft'" in run("recall", "tea", "--branch", "darft").out
    run("drop-branch", "tea", "draft")
    assert run("purge", gone["id"], "--yes").out.endswith(" of branch draft\n")
    assert run("restore", "tea", "--branch", "draft").code == CODES[NotFound].exit
    assert run("read", "tea", "-f", "plain").out == "green tea\n"


def test_merge_conflicts_are_shown_and_resolved_by_hand() -> None:
    remember("tea", "--name", "tea")
    run("branch", "tea", "draft")
    run("revise", "tea", "--text", "green tea")
    run("revise", "tea", "--text", "black tea", "-b", "draft")
    refused = run("merge-branch", "tea", "draft")
    assert refused.code == CODES[Conflict].exit
    assert "  main      | draft\n  green tea | black tea\n  before: tea\n" in refused.out
    as_json = run("merge-branch", "tea", "draft", "--json")
    assert (as_json.code, as_json.json()["action"]) == (CODES[Conflict].exit, "conflict")
    assert run("read", "tea", "-f", "plain").out == "green tea\n"
    assert run("merge-branch", "tea", "draft", "--prefer", "theirs").code == 0
    assert run("read", "tea", "-f", "plain").out == "black tea\n"


_REFUSED: tuple[tuple[tuple[str, ...], type[ScrubjayError]], ...] = (
    (("branch", "tea", "main"), InvalidInput),
    (("branch", "tea", "a b"), InvalidInput),
    (("branch", "tea", "draft"), NameTaken),
    (("branch", "nobody", "draft"), NotFound),
    (("branch", "tea", "other", "--at", "9"), NotFound),
    (("switch", "tea", "nowhere"), NotFound),
    (("drop-branch", "tea", "main"), InvalidInput),
    (("merge-branch", "tea", "main"), InvalidInput),
    (("merge-branch", "tea", "draft", "--prefer", "mine"), InvalidInput),
    (("read", "tea", "--branch", "nowhere"), NotFound),
    (("revert", "tea", "--to", "9", "--branch", "draft"), NotFound),
    (("recall", "tea", "--as-of", "yesterday"), InvalidInput),
    (("context", "--max-tokens", "0"), InvalidInput),
)


def test_invalid_changes_are_refused() -> None:
    remember("tea", "--name", "tea")
    run("branch", "tea", "draft")
    for arguments, error in _REFUSED:
        answer = run(*arguments)
        assert (answer.code, answer.err[:7]) == (CODES[error].exit, "error: "), (arguments, answer)


def test_memories_as_of_a_time() -> None:
    remember("green tea", "--name", "tea")
    then = str(run_json("history", "tea")["versions"][0]["created_at"])  # type: ignore[index]
    run("revise", "tea", "--text", "black tea")
    assert run("read", "tea", "-f", "plain", "--as-of", then).out == "green tea\n"
    assert "green tea" in run("recall", "--as-of", then).out
    before = run("read", "tea", "--as-of", "2020-01-01")
    assert before.code == CODES[NotFound].exit
    assert before.out.startswith("Cannot read 'tea': it did not exist at 2020-01-01")


def test_the_start_of_a_session() -> None:
    assert run("context").out == "Nothing is remembered here yet.\n"
    remember("Sarah prefers voice calls", "--kind", "preference", "--pinned")
    remember("Renew the passport", "--name", "passport", "--remind-at", "2026-01-02")
    remember("We chose green", "--session", "monday")
    shown = run("context", "--session", "tuesday").out
    assert "## Profile\n- Sarah prefers voice calls [sarah-prefers-voice]\n" in shown
    assert "## Reminders due\n- due 2026-01-02: Renew the passport [passport]\n" in shown
    assert "## Last session (monday)\n- We chose green [chose]\n" in shown
    results = run_json("context", "--max-tokens", "60")
    assert int(str(results["tokens"])) <= 60
    assert results["left_out"]
    run("revise", "passport", "--remind-at", "never")
    assert "Reminders" not in run("context").out
