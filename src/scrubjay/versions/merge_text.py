"""Two texts that came of one, brought together: what one side alone has changed is taken, and nothing is guessed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

# Lines, and the sentences in them; what stands between two goes with the second, so that a text can be added to.
_CUTS = re.compile(r"\n|(?<=[.!?\u2026\u3002\uff01\uff1f])[^\S\n]+(?=\S)")
# Above this many pairs of pieces the whole changed stretch counts as one change: slower is worse than coarser.
_MOST_PAIRS = 4_000_000


@dataclass(frozen=True, slots=True)
class Difference:
    """One stretch that each side has changed in its own way."""

    base: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class _Change:
    """Pieces of the base from `start` to before `end` became others; `side` is 0 for ours, 1 for theirs."""

    start: int
    end: int
    pieces: tuple[str, ...]
    side: int

    def touches(self, other: "_Change") -> bool:
        """Whether it changes what another change does: where something is put in, right beside counts too."""
        if self.start == self.end or other.start == other.end:
            return self.start <= other.end and other.start <= self.end
        return self.start < other.end and other.start < self.end


def weave(base: str, ours: str, theirs: str, *, prefer: str = "") -> tuple[str, tuple[Difference, ...]]:
    """The text with the changes of both, and where they differ; there it has the side that is preferred, or ours.

    Who prefers `both` has them one after the other.
    """
    if theirs in (ours, base):
        return ours, ()
    if ours == base:
        return theirs, ()
    whole = _pieces(base)
    changes = sorted(
        [change for side, text in enumerate((ours, theirs)) for change in _changes(whole, _pieces(text), side=side)],
        key=lambda one: (one.start, one.end),
    )
    woven: list[str] = []
    differing: list[Difference] = []
    done = 0
    for start, end, together in _clusters(changes):
        woven += whole[done:start]
        mine, others = (_side(whole, start, end, together, side=side) for side in (0, 1))
        both = {one.side for one in together} == {0, 1}
        if both and mine != others:
            differing.append(Difference("".join(whole[start:end]), "".join(mine), "".join(others)))
        takes_theirs = prefer == "theirs" if both else together[0].side == 1
        woven += others if takes_theirs else mine
        if both and mine != others and prefer == "both":
            woven += _after(mine, others)
        done = end
    return "".join((*woven, *whole[done:])), tuple(differing)


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
    if len(before) * len(after) > _MOST_PAIRS:
        return [_Change(head, head + len(before), tuple(after), side)]
    opcodes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [
        _Change(head + start, head + end, tuple(after[first:last]), side)
        for kind, start, end, first, last in opcodes
        if kind != "equal"
    ]


def _clusters(changes: Sequence[_Change]) -> list[tuple[int, int, list[_Change]]]:
    """Changes that touch each other, together with where they begin and end."""
    found: list[tuple[int, int, list[_Change]]] = []
    for change in changes:
        if found and any(map(change.touches, found[-1][2])):
            start, end, together = found[-1]
            found[-1] = (start, max(end, change.end), [*together, change])
        else:
            found.append((change.start, change.end, [change]))
    return found


def _after(mine: Sequence[str], others: Sequence[str]) -> list[str]:
    """What the other side has made of a stretch, in a line of its own."""
    told = "".join(others)
    return [told if not mine or not told or told.startswith("\n") else f"\n{told.lstrip(' ')}"]


def _side(base: Sequence[str], start: int, end: int, together: Sequence[_Change], *, side: int) -> list[str]:
    """What one side has made of a stretch of the base."""
    made: list[str] = []
    at = start
    for change in together:
        if change.side == side:
            made += [*base[at : change.start], *change.pieces]
            at = change.end
    return [*made, *base[at:end]]
