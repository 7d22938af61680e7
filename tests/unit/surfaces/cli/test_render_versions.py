"""Versions, differences and branches in the output for people, on a terminal and elsewhere."""

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import UTC, datetime

import pytest
from tests.fakes.build import a_memory

from scrubjay.model.branch import Branch, Branches, BranchMerged, MergeConflict
from scrubjay.model.results import History
from scrubjay.model.version import FieldDiff, Version
from scrubjay.surfaces.cli.console import paint
from scrubjay.surfaces.cli.render import show

NOON = datetime(2026, 5, 31, 12, tzinfo=UTC)


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def with_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")


def capture(function: Callable[[], None], stream: io.StringIO) -> str:
    """Return what a function prints to a stream."""
    with redirect_stdout(stream):
        function()
    return stream.getvalue()


def a_version(number: int, *, action: str = "revised", agent: str = "jay", message: str = "") -> Version:
    return Version(
        number=number, memory=a_memory("tea"), parent=number - 1 or None, action=action, created_at=NOON, agent=agent,
        message=message,
    )  # fmt: skip


def a_history() -> History:
    versions = (a_version(12, message="changed\nher mind"), a_version(1, action="created", agent=""))
    return History(id="i", name="tea", versions=versions)


def a_difference() -> History:
    content = FieldDiff(field="content", before="", after="", lines=("@@ -1 +1 @@", "-green", "+black", " no milk"))
    observations = FieldDiff(field="observations", before="", after="", lines=("@@ -0,0 +1 @@", "+hot"))
    return History(id="i", name="tea", diff=(content, observations))


def two_branches() -> Branches:
    main = Branch(name="main", version=3, updated_at=NOON, agent="jay")
    draft = Branch(name="draft", version=14, forked=2, updated_at=NOON, description="What if?")
    return Branches(id="i", name="tea", current="draft", branches=(main, draft))


def a_merge_conflict() -> BranchMerged:
    clash = MergeConflict(field="content", base="tea", ours="green tea\nno milk", theirs="black tea")
    return BranchMerged(action="conflict", id="i", name="tea", branch="draft", into="main", version=3, clashes=(clash,))


def test_the_log_is_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    show(a_history())
    assert capsys.readouterr().out.splitlines() == [
        "VERSION  WHEN                 WHO  ACTION   BRANCH  MESSAGE",
        "12       2026-05-31 12:00:00  jay  revised  main    changed her mind",
        "1        2026-05-31 12:00:00  -    created  main",
    ]


def test_a_difference_is_beside_its_field(capsys: pytest.CaptureFixture[str]) -> None:
    show(a_difference())
    assert capsys.readouterr().out.splitlines() == [
        "content       - green",
        "              + black",
        "                no milk",
        "",
        "observations  + hot",
    ]
    show(History(id="i", name="tea"))
    assert capsys.readouterr().out == "no difference\n"


def test_the_current_branch_has_a_star(capsys: pytest.CaptureFixture[str]) -> None:
    show(two_branches())
    assert capsys.readouterr().out.splitlines() == [
        "   BRANCH  VERSION  FORKED  CHANGED              WHO  ABOUT",
        "   main    3        -       2026-05-31 12:00:00  jay",
        "*  draft   14       2       2026-05-31 12:00:00  -    What if?",
    ]


def test_conflicts_are_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    show(a_merge_conflict())
    assert capsys.readouterr().out.splitlines() == [
        "conflict: draft into main of tea (i): both changed the same part, so nothing was merged",
        "content",
        "  main      | draft",
        "  green tea | black tea",
        "  no milk   |",
        "  before: tea",
        "use --prefer ours to keep the text of main, or --prefer theirs for that of draft",
    ]


def test_a_merge_prints_its_result(capsys: pytest.CaptureFixture[str]) -> None:
    show(BranchMerged(action="merged", id="i", name="tea", branch="draft", into="main", version=4, warnings=("w",)))
    assert capsys.readouterr().out == "merged draft into main of tea (i), version 4\nwarning: w\n"


@pytest.mark.usefixtures("with_colours")
@pytest.mark.parametrize("answer", [a_history(), a_difference(), two_branches(), a_merge_conflict()])
def test_a_terminal_shows_the_same_in_colour(answer: object) -> None:
    coloured = capture(lambda: show(answer), Terminal())
    assert "\x1b[" in coloured
    lines = [line.rstrip() for line in re.sub("\x1b\\[[0-9;]*m", "", coloured).splitlines()]
    assert lines == capture(lambda: show(answer), io.StringIO()).splitlines()


@pytest.mark.usefixtures("with_colours")
def test_added_lines_are_green_and_removed_lines_red() -> None:
    shown = capture(lambda: show(a_difference()), Terminal())
    assert "\x1b[31m- green\x1b[0m" in shown
    assert "\x1b[32m+ black\x1b[0m" in shown


@pytest.mark.usefixtures("with_colours")
def test_no_color_turns_colours_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert capture(lambda: paint([("green", "green")]), Terminal()) == "green\n"


@pytest.mark.usefixtures("with_colours")
def test_a_memory_cannot_control_the_terminal() -> None:
    shown = capture(lambda: paint([("\x1b]52;c;evil\x07 [red]tea[/red] :smile:", "")]), Terminal())
    assert shown == "\\x1b]52;c;evil\\x07 [red]tea[/red] :smile:\n"


@pytest.mark.usefixtures("with_colours")
def test_long_lines_are_left_to_the_terminal() -> None:
    assert capture(lambda: paint([("tea " * 100 + "end", "")]), Terminal()).count("\n") == 1
