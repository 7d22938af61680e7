"""Versions, differences and branches for people: aligned, and in colour on a terminal."""

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from scrubjay.model.branch import Branches, BranchMerged, MergeConflict
from scrubjay.model.memory import MAIN
from scrubjay.model.results import History
from scrubjay.model.version import FieldDiff, Version
from scrubjay.surfaces.cli.console import Span, paint, paint_table, say, say_warnings

_WIDTH = 100
_LEAST_COLUMN = 16
_STYLES = {"+": "green", "-": "red"}
_ADDED = frozenset({"created", "restored", "approved", "branched"})
_REMOVED = frozenset({"trashed", "purged"})


def show_history(answer: History) -> None:
    """The versions of a memory, or the difference of two."""
    if answer.versions:
        head = ("VERSION", "WHEN", "WHO", "ACTION", "BRANCH", "MESSAGE")
        paint_table(head, [_version(version) for version in answer.versions])
    width = max((len(one.field) for one in answer.diff), default=0)
    for number, difference in enumerate(answer.diff):
        if number:
            say("")
        _show_difference(difference, width=width)
    if not answer.versions and not answer.diff:
        say("no difference")


def show_branches(answer: Branches) -> None:
    """The branches of a memory; the one that it is switched to has a star."""
    head = ("", "BRANCH", "VERSION", "FORKED", "CHANGED", "WHO", "ABOUT")
    rows: list[Sequence[Span]] = [
        (
            ("*" if branch.name == answer.current else " ", "green"),
            (branch.name, "green" if branch.name == answer.current else ""),
            (str(branch.version), "yellow"),
            (str(branch.forked) if branch.name != MAIN else "-", ""),
            (f"{branch.updated_at:%Y-%m-%d %H:%M:%S}", "dim"),
            (_flat(branch.agent) or "-", "cyan"),
            (_flat(branch.description), ""),
        )
        for branch in answer.branches
    ]
    paint_table(head, rows)


def show_joined(answer: BranchMerged) -> None:
    """What merging did, or what keeps it from being done, side by side."""
    ways = f"{answer.branch} into {answer.into} of {answer.name} ({answer.id})"
    if answer.clashes:
        paint([("conflict", "bold red"), (f": {ways}: both have changed the same, so nothing was merged", "")])
        for clash in answer.clashes:
            _show_clash(clash, answer)
        say(f"--prefer ours keeps what {answer.into} says, --prefer theirs what {answer.branch} says")
    else:
        paint([(answer.action, "bold"), (f" {ways}, version {answer.version}", "")])
    say_warnings(answer.warnings)


def _version(one: Version) -> Sequence[Span]:
    style = "green" if one.action in _ADDED else "red" if one.action in _REMOVED else ""
    return (
        (str(one.number), "yellow"),
        (f"{one.created_at:%Y-%m-%d %H:%M:%S}", "dim"),
        (_flat(one.agent) or "-", "cyan"),
        (one.action, style),
        (one.branch, "magenta" if one.branch != MAIN else ""),
        (_flat(one.message), ""),
    )


def _show_difference(difference: FieldDiff, *, width: int) -> None:
    """One field: its name, and beside it what was there and what is there now."""
    name = difference.field.ljust(width)
    for line in difference.lines:
        if not line.startswith("@@"):
            mark, words = line[:1] or " ", line[1:]
            paint([(f"{name}  ", "bold"), (f"{mark} {words}", _STYLES.get(mark, ""))])
            name = " " * width


def _show_clash(clash: MergeConflict, answer: BranchMerged) -> None:
    paint([(clash.field, "bold")])
    column = max(_LEAST_COLUMN, (shutil.get_terminal_size((_WIDTH, 24)).columns - 7) // 2)
    sides = [*zip_longest(_wrapped(clash.ours, column), _wrapped(clash.theirs, column), fillvalue="")]
    width = max(len(answer.into), *(len(ours) for ours, _ in sides))
    paint([(f"  {answer.into.ljust(width)}", "bold"), (" | ", "dim"), (answer.branch, "bold")])
    for ours, theirs in sides:
        paint([(f"  {ours.ljust(width)}", "red"), (" | ", "dim"), (theirs, "green")])
    for number, line in enumerate(_wrapped(clash.base, 2 * column)):
        paint([("  before: " if number == 0 else "          ", "dim"), (line, "dim")])


def _wrapped(text: str, width: int) -> Iterator[str]:
    for line in text.splitlines() or [""]:
        yield from textwrap.wrap(line, width) or [""]


def _flat(text: str) -> str:
    return " ".join(text.split())
