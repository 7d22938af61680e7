"""Three-way merge of texts: the changes of one side alone are taken; nothing is guessed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

# Lines, and the sentences in them; the gap before a piece belongs to it, so that a text can be appended to.
_CUTS = re.compile(r"\n|(?<=[.!?\u2026\u3002\uff01\uff1f])[^\S\n]+(?=\S)")
# With more pairs of pieces the whole changed range counts as one change: a coarse result is better than a slow one.
_MAX_PAIRS = 4_000_000


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

    def overlaps(self, other: "_Change") -> bool:
        """Check whether two changes overlap; an insertion also overlaps with its neighbours."""
        if self.start == self.end or other.start == other.end:
            return self.start <= other.end and other.start <= self.end
        return self.start < other.end and other.start < self.end


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
    head = 0
    while head < min(len(base), len(other)) and base[head] == other[head]:
        head += 1
    tail = 0
    while tail < min(len(base), len(other)) - head and base[-1 - tail] == other[-1 - tail]:
        tail += 1
    before, after = base[head : len(base) - tail], other[head : len(other) - tail]
    if not before and not after:
        return []
    if len(before) * len(after) > _MAX_PAIRS:
        return [_Change(head, head + len(before), tuple(after), side)]
    opcodes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [
        _Change(head + start, head + end, tuple(after[first:last]), side)
        for kind, start, end, first, last in opcodes
        if kind != "equal"
    ]


def _clusters(changes: Sequence[_Change]) -> list[tuple[int, int, list[_Change]]]:
    """Group changes that overlap, each group with its start and end."""
    clusters: list[tuple[int, int, list[_Change]]] = []
    for change in changes:
        if clusters and any(map(change.overlaps, clusters[-1][2])):
            start, end, cluster = clusters[-1]
            clusters[-1] = (start, max(end, change.end), [*cluster, change])
        else:
            clusters.append((change.start, change.end, [change]))
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
