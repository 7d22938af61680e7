"""The difference of two lists of lines: exact for short ones, complete and fast for any."""

import difflib
import random
import time
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.versions.line_diff import LineChange, find_changes, unified_lines

_LINES = st.lists(st.sampled_from(["a", "b", "c", "", "  "]), max_size=30)
_LONG = 200_000


def apply(changes: Sequence[LineChange], before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Make the second list of the first."""
    result: list[str] = []
    at = 0
    for start, end, first, last in changes:
        assert at <= start <= end
        result += [*before[at:start], *after[first:last]]
        at = end
    return [*result, *before[at:]]


@given(before=_LINES, after=_LINES)
def test_the_changes_make_one_list_of_the_other(before: list[str], after: list[str]) -> None:
    assert apply(find_changes(before, after), before, after) == after


@given(numbers=st.lists(st.integers(0, 60), unique=True), added=st.lists(st.integers(61, 80), unique=True))
def test_a_unified_diff_is_what_difflib_prints(numbers: list[int], added: list[int]) -> None:
    before = [f"line {number}" for number in sorted(numbers)]
    after = [f"line {number}" for number in sorted([*numbers[::2], *added])]
    expected = list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]
    assert list(unified_lines(before, after, context=2)) == expected


def test_nothing_changed() -> None:
    assert list(unified_lines(["a"], ["a"], context=2)) == []
    assert list(unified_lines([], [], context=2)) == []


def _same_lines() -> tuple[list[str], list[str]]:
    return ["a"] * _LONG, ["b", *["a"] * (_LONG - 2), "c"]


def _few_lines_many_times() -> tuple[list[str], list[str]]:
    source = random.Random(7)
    before, after = ([str(source.randrange(90)) for _ in range(_LONG)] for _ in range(2))
    return before, after


def _shuffled_lines() -> tuple[list[str], list[str]]:
    before = [str(number) for number in range(_LONG)]
    return before, random.Random(7).sample(before, _LONG)


def _one_line_in_a_thousand() -> tuple[list[str], list[str]]:
    before = [f"line {number}" if number % 3 else "" for number in range(_LONG)]
    return before, [f"{line} changed" if number % 1000 == 1 else line for number, line in enumerate(before)]


@pytest.mark.parametrize("make", [_same_lines, _few_lines_many_times, _shuffled_lines, _one_line_in_a_thousand])
def test_many_lines_are_compared_in_seconds(make: Callable[[], tuple[list[str], list[str]]]) -> None:
    before, after = make()
    began = time.process_time()
    changes = find_changes(before, after)
    assert time.process_time() - began < 20
    assert apply(changes, before, after) == after


def test_a_long_text_still_shows_each_change_by_itself() -> None:
    before, after = _one_line_in_a_thousand()
    changes = find_changes(before, after)
    assert len(changes) == _LONG // 1000
    assert all(end - start == last - first == 1 for start, end, first, last in changes)
