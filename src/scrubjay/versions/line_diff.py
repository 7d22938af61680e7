"""Which lines of two texts differ, in a time that grows with their length: the same lines, and the changes between."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

__all__ = ["LineChange", "find_changes", "unified_lines"]

LineChange = tuple[int, int, int, int]
"""The lines from `start` to before `end` of the first text are replaced by those of the second: a1, a2, b1, b2."""

# The most steps of the exact comparison, which may take the square of the length and more. What is left when they are
# used up counts as one change: a coarse result is better than a slow one.
_MAX_STEPS = 2_000_000


def find_changes(before: Sequence[str], after: Sequence[str]) -> list[LineChange]:
    """Return the changes that make one list of lines of another, in order."""
    head, tail = _common_ends(before, after)
    whole = head, len(before) - tail, head, len(after) - tail
    steps = _steps(before, after, whole)
    if steps <= _MAX_STEPS:
        return list(_compare(before, after, whole))
    # Lines that each text has once are the same ones; between them the texts are short.
    changes: list[LineChange] = []
    budget = _MAX_STEPS
    for start, end in pairwise([(head - 1, head - 1), *_anchors(before, after, whole), (whole[1], whole[3])]):
        part = start[0] + 1, end[0], start[1] + 1, end[1]
        if part[0] == part[1] and part[2] == part[3]:
            continue
        first, last = _common_ends(before[part[0] : part[1]], after[part[2] : part[3]])
        part = part[0] + first, part[1] - last, part[2] + first, part[3] - last
        if part[0] == part[1] and part[2] == part[3]:
            continue
        steps = _steps(before, after, part)
        budget -= min(steps, budget)
        # Without a line in common all of it has changed.
        changes += _compare(before, after, part) if 0 < steps <= budget else [part]
    return changes


def unified_lines(before: Sequence[str], after: Sequence[str], *, context: int) -> Iterator[str]:
    """Return a unified diff of two lists of lines, without the names of files."""
    for group in _groups(find_changes(before, after), context=context):
        start, start_after = max(0, group[0][0] - context), max(0, group[0][2] - context)
        end, end_after = min(len(before), group[-1][1] + context), min(len(after), group[-1][3] + context)
        yield f"@@ -{_range(start, end)} +{_range(start_after, end_after)} @@"
        at = start
        for first, last, first_after, last_after in group:
            yield from (f" {line}" for line in before[at:first])
            yield from (f"-{line}" for line in before[first:last])
            yield from (f"+{line}" for line in after[first_after:last_after])
            at = last
        yield from (f" {line}" for line in before[at:end])


def _common_ends(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """Return how many lines are the same at the beginning, and at the end."""
    most = min(len(before), len(after))
    head = next((at for at in range(most) if before[at] != after[at]), most)
    rest = most - head
    return head, next((at for at in range(rest) if before[-1 - at] != after[-1 - at]), rest)


def _steps(before: Sequence[str], after: Sequence[str], part: LineChange) -> int:
    """Return how many steps the exact comparison takes at most: for each line that is the same, all pairs of them."""
    counts, others = Counter(before[part[0] : part[1]]), Counter(after[part[2] : part[3]])
    pairs = sum(count * others[line] for line, count in counts.items() if line in others)
    same = sum(min(count, others[line]) for line, count in counts.items() if line in others)
    return pairs * same


def _compare(before: Sequence[str], after: Sequence[str], part: LineChange) -> Iterator[LineChange]:
    start, end, start_after, end_after = part
    matcher = SequenceMatcher(None, before[start:end], after[start_after:end_after], autojunk=False)
    for kind, first, last, first_after, last_after in matcher.get_opcodes():
        if kind != "equal":
            yield start + first, start + last, start_after + first_after, start_after + last_after


def _anchors(before: Sequence[str], after: Sequence[str], part: LineChange) -> list[tuple[int, int]]:
    """Return the places of lines that occur once in each text: the longest series in the order of both."""
    start, end, start_after, end_after = part
    places = _single_places(before, start, end)
    others = _single_places(after, start_after, end_after)
    pairs = [(at, others[line]) for line, at in places.items() if line in others]
    # The longest increasing series; `ends` are the least last places of the series of each length.
    ends: list[int] = []
    last: list[int] = []
    previous: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        previous.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [number]
    series: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        series.append(pairs[number])
        number = previous[number]
    return series[::-1]


def _single_places(lines: Sequence[str], start: int, end: int) -> dict[str, int]:
    counts = Counter(lines[start:end])
    return {line: at for at, line in enumerate(lines[start:end], start) if counts[line] == 1}


def _groups(changes: Sequence[LineChange], *, context: int) -> Iterator[list[LineChange]]:
    """Return the changes that share their context together."""
    group: list[LineChange] = []
    for change in changes:
        if group and change[0] - group[-1][1] > 2 * context:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _range(start: int, end: int) -> str:
    """Return a range of lines as patches write it: from 1, an empty one by the line before."""
    length = end - start
    return f"{start + 1}" if length == 1 else f"{start + 1 if length else start},{length}"
