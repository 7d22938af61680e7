"""`scrubjay related`, `graph` and `path`."""

from pathlib import Path

import pytest
from tests.surfaces.shell import remember, run, run_json


@pytest.fixture
def relations(home: Path) -> Path:
    for name in ("ada", "acme", "oslo", "bo"):
        remember(f"{name.title()} has a page of its own here.", "--name", name, "--kind", "page")
    for source, target, relation in (
        ("ada", "acme", "works_at"),
        ("acme", "oslo", "sits_in"),
        ("bo", "ada", "knows"),
        ("bo", "acme", "sues"),
    ):
        run_json("relate", source, target, "--relation", relation)
    return home


@pytest.mark.usefixtures("relations")
def test_the_neighbourhood_of_a_memory_is_a_tree() -> None:
    lines = [line.rsplit("  ", 1)[0] for line in run("graph", "ada").out.splitlines()]
    assert lines[:1] == ["ada  (page)"]
    assert set(lines[1:4]) == {"├─  works_at → acme  (page)", "│  └─  sits_in → oslo  (page)", "└─  ← knows bo  (page)"}
    assert run("graph", "ada").out.splitlines()[4:] == ["also:", "  bo sues → acme"]
    assert run("related", "oslo").out.splitlines()[1].startswith("└─  ← sits_in acme")
    assert run("related", "oslo", "--type", "knows").out.splitlines()[1] == "nothing is related to it"
    assert run("graph", "ada", "--limit", "2").out.splitlines()[-1] == "there are more: --limit shows them"
    results = run_json("graph", "ada", "--depth", "1", "--direction", "out")
    assert [(item["name"], item["distance"]) for item in results["nodes"]] == [("ada", 0), ("acme", 1)]  # type: ignore[index, union-attr, call-overload]


@pytest.mark.usefixtures("relations")
def test_a_path_is_shown_step_by_step() -> None:
    lines = [line.rsplit("  ", 1)[0].strip() for line in run("path", "oslo", "ada").out.splitlines()]
    assert lines == ["oslo  (page)", "← sits_in acme  (page)", "← works_at ada  (page)"]
    assert run("path", "oslo", "ada", "--direction", "out").out == "no path connects them\n"
    assert run_json("path", "oslo", "ada", "--most", "1") == {
        "nodes": [], "edges": [], "truncated": False, "suggested": [],
    }  # fmt: skip


@pytest.mark.usefixtures("relations")
def test_an_unknown_name_is_reported_with_suggestions() -> None:
    answer = run("graph", "adda", "--json")
    assert (answer.code, answer.error()["suggestions"]) == (3, ["ada"])
    assert run("related", "ada", "--as-of", "2001-01-01").code == 3
    assert run("graph", "ada", "--depth", "11", "--json").error()["field"] == "depth"
