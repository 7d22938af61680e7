"""`scrubjay tags`: list, change and preview."""

from pathlib import Path

from tests.surfaces.shell import remember, run, run_json

TEXT = "The kiln in the cellar of the pottery is fired on Thursdays, and must cool until Saturday before it is opened."


def test_tags_are_listed_with_their_counts(home: Path) -> None:
    assert run("tags", "list").out == "no tags\n"
    remember(TEXT, "--tag", "kiln", "--tag", "pottery", "--tag", "cellar")
    assert run("tags", "list").out.splitlines() == ["1  cellar", "1  kiln", "1  pottery"]
    assert run("tags", "list", "--limit", "1").out.splitlines()[1] == "there are more: --limit shows them"
    assert run_json("tags", "list", "--limit", "1") == {"tags": [{"tag": "cellar", "memories": 1}], "more": True}


def test_synonyms_are_added_and_removed(home: Path) -> None:
    assert "none; `scrubjay tags add TAG VARIANT` adds one" in run("tags", "synonyms").out
    assert "  payment: paying, pay-up" in run("tags", "add", "payment", "paying", "pay_up").out.splitlines()
    assert run_json("tags", "synonyms")["synonyms"] == [
        {"tag": "payment", "variants": ["paying", "pay-up"], "named": []}
    ]
    assert run("tags", "preview", "paying").out.startswith("payment\n  paying -> payment: a synonym in this space")
    assert "disabled in this space: db" in run("tags", "remove", "paying", "db").out
    circle = run("tags", "add", "pay-up", "payment", "--json")
    assert (circle.code, circle.error()["code"]) == (2, "invalid_input")


def test_a_preview_says_why(home: Path) -> None:
    lines = run("tags", "preview", "auth-fix", "oauth", "cli").out.splitlines()
    assert lines[0] == "auth, oauth, cli"
    assert lines[1] == "  auth-fix -> auth: a synonym"
    assert "suggested: kubectl" in run("tags", "preview", "--text", "kubectl failed, and kubectl was run again").out
    assert run("tags", "preview", "tea").out == "tea\n"
