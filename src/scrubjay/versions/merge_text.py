"""Three-way merge of texts: the changes of one side alone are taken; nothing is guessed."""

import re
from collections.abc import Sequence
from itertools import pairwise

from scrubjay.lazy import dataclass
from scrubjay.versions.line_diff import find_changes

# Lines, and the sentences in them; the gap before a piece belongs to it, so that a text can be appended to.
_CUTS = re.compile(r"\n|(?<=[.!?\u2026\u3002\uff01\uff1f])[^\S\n]+(?=\S)")


@dataclass(frozen=True, slots=True)
class TextClash:
    """One range of the text that each side has changed in its own way."""

    base: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class _Change:
    """New pieces for those of the base from `start` to before `end`; `side` is 0 for ours, 1 for theirs."""

    start: int
    end: int
    pieces: tuple[str, ...]
    side: int

    @property
    def is_insertion(self) -> bool:
        """Whether it adds pieces and removes none."""
        return self.start == self.end


def merge_text(base: str, ours: str, theirs: str, *, prefer: str = "") -> tuple[str, tuple[TextClash, ...]]:
    """Return the text with the changes of both sides, and the clashes; there the preferred side wins, or ours.

    With `both` preferred, the two follow each other.
    """
    if theirs in (ours, base):
        return ours, ()
    if ours == base:
        return theirs, ()
    pieces = _pieces(base)
    changes = sorted(
        [change for side, text in enumerate((ours, theirs)) for change in _changes(pieces, _pieces(text), side=side)],
        key=lambda change: (change.start, change.end),
    )
    merged: list[str] = []
    clashes: list[TextClash] = []
    done = 0
    for start, end, cluster in _clusters(changes):
        merged += pieces[done:start]
        mine, others = (_apply(pieces, start, end, cluster, side=side) for side in (0, 1))
        is_of_both = {change.side for change in cluster} == {0, 1}
        is_clash = is_of_both and mine != others
        if is_clash:
            clashes.append(TextClash("".join(pieces[start:end]), "".join(mine), "".join(others)))
        takes_theirs = prefer == "theirs" if is_of_both else cluster[0].side == 1
        merged += others if takes_theirs else mine
        if is_clash and prefer == "both":
            text = "".join(others)
            # On a line of its own.
            needs_break = mine and text and not text.startswith("\n")
            merged.append(f"\n{text.lstrip(' ')}" if needs_break else text)
        done = end
    return "".join((*merged, *pieces[done:])), tuple(clashes)


def _pieces(text: str) -> list[str]:
    cuts = [0, *(match.start() for match in _CUTS.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(cuts) if start < end]


def _changes(base: Sequence[str], other: Sequence[str], *, side: int) -> list[_Change]:
    return [
        _Change(start, end, tuple(other[first:last]), side) for start, end, first, last in find_changes(base, other)
    ]


def _clusters(changes: Sequence[_Change]) -> list[tuple[int, int, list[_Change]]]:
    """Group changes in order that overlap, each group with its start and end; an insertion overlaps its neighbours."""
    clusters: list[tuple[int, int, list[_Change]]] = []
    # The last insertion of the last group: another change that only touches it overlaps too.
    inserted = -1
    for change in changes:
        end = clusters[-1][1] if clusters else -1
        touches = change.start <= inserted or (change.is_insertion and change.start <= end)
        if clusters and (touches or change.start < end):
            start, _, cluster = clusters[-1]
            cluster.append(change)
            clusters[-1] = (start, max(end, change.end), cluster)
        else:
            clusters.append((change.start, change.end, [change]))
            inserted = -1
        inserted = change.end if change.is_insertion else inserted
    return clusters


def _apply(base: Sequence[str], start: int, end: int, cluster: Sequence[_Change], *, side: int) -> list[str]:
    """Return a range of the base with the changes of one side."""
    result: list[str] = []
    at = start
    for change in cluster:
        if change.side == side:
            result += [*base[at : change.start], *change.pieces]
            at = change.end
    return [*result, *base[at:end]]
