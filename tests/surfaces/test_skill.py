"""`scrubjay skill`: a procedure from a file to its runs."""

from pathlib import Path

import pytest
from tests.surfaces.shell import run, run_json

pytestmark = pytest.mark.usefixtures("home")
SOURCE = 'def count(kind: str):\n    """Count the memories of a kind."""\n    return len(search_nodes(kind))\n'


def test_a_skill_is_saved_shown_run_and_changed(tmp_path: Path) -> None:
    file = tmp_path / "count.py"
    file.write_text(SOURCE)
    run("remember", "Deploys happen on Thursdays", "--kind", "decision")
    saved = run("skill", "save", "count", "--file", str(file), "--tag", "report", "--example", '{"kind": "decision"}')
    assert saved.out == "created count(kind: str), version 1\n", saved
    assert run("skill", "run", "count", "--args", '{"kind": "decision"}').out.splitlines()[0] == "1"
    refused = run("skill", "run", "count", "--args", '{"sort": "decision"}')
    assert (refused.code, "has no parameter 'sort'" in refused.err) == (2, True), refused
    listed = run("skill", "list").out
    assert [word in listed for word in ("count(kind: str)", "100%", "Count the memories of a kind.")] == [True] * 3
    shown = run("skill", "show", "count").out
    assert 'example: {"kind": "decision"}\n' in shown
    assert "tags: report" in shown
    assert SOURCE in shown
    assert run("skill", "show", "count", "--source").out == SOURCE
    assert "skills" in run("status").out

    file.write_text(SOURCE.replace("return len", "return 1 /"))
    failed = run("skill", "edit", "count", "--file", str(file))
    assert (failed.code, "fails with its example in line 3" in failed.err) == (2, True), failed
    file.write_text(SOURCE.replace("return len", "return -len"))
    assert run("skill", "edit", "count", "--file", str(file)).out.startswith("updated count(kind: str), version 2\n")
    assert run_json("skill", "show", "count")["skill"]["version"] == 2  # type: ignore[index]
    for words, problem in (
        (("skill", "edit", "count"), "say what to change"),
        (("skill", "edit", "none", "--file", str(file)), "no skill is called 'none'"),
        (("skill", "run", "none"), "`scrubjay skill list` lists the skills"),
        (("skill", "save", "x", "--file", str(tmp_path / "none.py")), "cannot be read"),
        (("skill", "save", "a/b", "--file", str(file)), "Call it a_b"),
    ):
        assert problem in run(*words).err
