"""Versions, differences and branches for people: aligned, and coloured on a terminal."""

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from scrubjay.model.branch import Branches, BranchMerged, MergeConflict
from scrubjay.model.memory import MAIN
from scrubjay.model.results import History
from scrubjay.model.version import FieldDiff, Version
from scrubjay.surfaces.cli.console import Span, paint, paint_table, say, say_warnings

_DEFAULT_WIDTH = 100
_MIN_COLUMN = 16
_DIFF_STYLES = {"+": "green", "-": "red"}
_ADDING_ACTIONS = frozenset({"created", "restored", "approved", "branched"})
_REMOVING_ACTIONS = frozenset({"trashed", "purged"})


def show_history(result: History) -> None:
    """Print the versions of a memory, or the difference between two."""
    if result.versions:
        head = ("VERSION", "WHEN", "WHO", "ACTION", "BRANCH", "MESSAGE")
        paint_table(head, [_version_row(version) for version in result.versions])
    width = max((len(difference.field) for difference in result.diff), default=0)
    for number, difference in enumerate(result.diff):
        if number:
            say("")
        _show_difference(difference, width=width)
    if not result.versions and not result.diff:
        say("no difference")


def show_branches(result: Branches) -> None:
    """Print the branches of a memory, with a star before the current one."""
    head = ("", "BRANCH", "VERSION", "FORKED", "CHANGED", "WHO", "ABOUT")
    rows: list[Sequence[Span]] = [
        (
            ("*" if branch.name == result.current else " ", "green"),
            (branch.name, "green" if branch.name == result.current else ""),
            (str(branch.version), "yellow"),
            (str(branch.forked) if branch.name != MAIN else "-", ""),
            (f"{branch.updated_at:%Y-%m-%d %H:%M:%S}", "dim"),
            (_join_lines(branch.agent) or "-", "cyan"),
            (_join_lines(branch.description), ""),
        )
        for branch in result.branches
    ]
    paint_table(head, rows)


def show_merge(result: BranchMerged) -> None:
    """Print the result of a merge, or its conflicts side by side."""
    direction = f"{result.branch} into {result.into} of {result.name} ({result.id})"
    if result.clashes:
        paint([("conflict", "bold red"), (f": {direction}: both changed the same part, so nothing was merged", "")])
        for conflict in result.clashes:
            _show_conflict(conflict, result)
        say(f"use --prefer ours to keep the text of {result.into}, or --prefer theirs for that of {result.branch}")
    else:
        paint([(result.action, "bold"), (f" {direction}, version {result.version}", "")])
    say_warnings(result.warnings)


def _version_row(version: Version) -> Sequence[Span]:
    style = "green" if version.action in _ADDING_ACTIONS else "red" if version.action in _REMOVING_ACTIONS else ""
    return (
        (str(version.number), "yellow"),
        (f"{version.created_at:%Y-%m-%d %H:%M:%S}", "dim"),
        (_join_lines(version.agent) or "-", "cyan"),
        (version.action, style),
        (version.branch, "magenta" if version.branch != MAIN else ""),
        (_join_lines(version.message), ""),
    )


def _show_difference(difference: FieldDiff, *, width: int) -> None:
    """Print the name of a field, and beside it the removed and added lines."""
    name = difference.field.ljust(width)
    for line in difference.lines:
        if not line.startswith("@@"):
            mark, text = line[:1] or " ", line[1:]
            paint([(f"{name}  ", "bold"), (f"{mark} {text}", _DIFF_STYLES.get(mark, ""))])
            name = " " * width


def _show_conflict(conflict: MergeConflict, result: BranchMerged) -> None:
    paint([(conflict.field, "bold")])
    column = max(_MIN_COLUMN, (shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns - 7) // 2)
    sides = [*zip_longest(_wrap(conflict.ours, column), _wrap(conflict.theirs, column), fillvalue="")]
    width = max(len(result.into), *(len(ours) for ours, _ in sides))
    paint([(f"  {result.into.ljust(width)}", "bold"), (" | ", "dim"), (result.branch, "bold")])
    for ours, theirs in sides:
        paint([(f"  {ours.ljust(width)}", "red"), (" | ", "dim"), (theirs, "green")])
    for number, line in enumerate(_wrap(conflict.base, 2 * column)):
        paint([("  before: " if number == 0 else "          ", "dim"), (line, "dim")])


def _wrap(text: str, width: int) -> Iterator[str]:
    for line in text.splitlines() or [""]:
        yield from textwrap.wrap(line, width) or [""]


def _join_lines(text: str) -> str:
    return " ".join(text.split())
