"""Conflicts on the command line: find, show, resolve, and undo."""

import pytest
from tests.surfaces.shell import remember, run, run_json

from scrubjay.settings import Settings

BERLIN, PARIS = "Ann lives in Berlin near the old harbour.", "Ann lives in Paris near the old harbour."


@pytest.fixture(autouse=True)
def _no_gate(settings: Settings) -> None:
    """Turn automatic merging off."""
    assert settings.data
    run_json("rules", "set", "gate=off", "density=off")


def test_a_conflict_is_found_resolved_and_reopened() -> None:
    assert run("conflicts").out.startswith("no conflicts")
    older, newer = remember(BERLIN), remember(PARIS)
    scanned = run_json("conflicts", "scan")["scan"]
    assert isinstance(scanned, dict)
    assert scanned["memories"] == 2
    (results,) = run_json("conflicts")["conflicts"]  # type: ignore[misc]
    conflict_id = str(results["id"])  # type: ignore[index]
    table = run("conflicts", "--status", "all", "-n", "3").out
    assert conflict_id in table
    assert table.index(PARIS) < table.index(BERLIN)
    assert "--strategy supersede" in run("conflicts", "show", conflict_id).out
    done = run("conflicts", "resolve", conflict_id, "--strategy", "supersede", "--notes", "she moved")
    assert done.out.startswith(f"superseded {conflict_id} by supersede, kept {newer}")
    shown = run("conflicts", "show", conflict_id).out
    assert "resolved: supersede by cli" in shown
    assert "she moved" in shown
    again = run("conflicts", "resolve", conflict_id, "--json")
    assert (again.code, again.error()["code"]) == (4, "wrong_state")
    assert run_json("conflicts", "list", "--memory", older)["conflicts"] == []
    run("undo")
    assert len(run_json("conflicts", "--memory", older)["conflicts"]) == 1  # type: ignore[arg-type]


def test_an_unknown_conflict_or_option_is_refused() -> None:
    for unknown in ("c-0000000000000000", "no-such"):
        answer = run("conflicts", "show", unknown)
        assert (answer.code, answer.err) == (
            3, f"error: there is no conflict {unknown!r}. `scrubjay conflicts` lists them\n",
        )  # fmt: skip
    name = remember("The ferns are dry.", "--name", "ferns") and "ferns"
    assert run("conflicts", "show", name).code == 3
    assert run("conflicts", "--status", "open").code == 2
    assert run("conflicts", "resolve", "c-0000000000000000", "--strategy", "delete").code == 2
    assert run("conflicts", "--help").out.count("resolve") > 0
