"""One score for words and meaning."""

import numpy as np
import pytest

from scrubjay.model.passage import StoredPassage, Vector
from scrubjay.ports import TermStatistics
from scrubjay.recalling.candidates import Candidates
from scrubjay.recalling.fuse import Scored, fuse

EAST = np.array([1, 0], dtype=np.float32)
NORTH = np.array([0, 1], dtype=np.float32)


def passage(number: int, *terms: str) -> StoredPassage:
    return StoredPassage(
        id=number, memory_id=f"m{number}", observation=None, start=0, end=1, hash=bytes([number]), terms=terms
    )


def scored(
    *passages: StoredPassage,
    terms: tuple[str, ...] = (),
    frequencies: dict[str, int] | None = None,
    vectors: dict[bytes, Vector] | None = None,
    query: Vector | None = None,
    total: int = 100,
) -> list[Scored]:
    statistics = TermStatistics(passages=total, total_length=total * 5, frequencies=frequencies or {})
    cosines = {
        one.id: float(vectors[one.hash] @ query)
        for one in passages
        if vectors and query is not None and one.hash in vectors
    }
    candidates = Candidates(passages=passages, statistics=statistics, cosines=cosines, weight=4.0)
    return fuse(candidates, terms)


def order(found: list[Scored]) -> list[int]:
    return [one.passage.id for one in found]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    found = scored(
        passage(1, "tea", "x"), passage(2, "jay", "x"), terms=("tea", "jay"), frequencies={"tea": 60, "jay": 2}
    )
    assert order(found) == [2, 1]


def test_more_words_count_more() -> None:
    found = scored(passage(1, "tea"), passage(2, "tea", "jay"), terms=("jay", "tea"), frequencies={"tea": 9, "jay": 9})
    assert order(found) == [2, 1]


def test_a_word_repeated_many_times_does_not_decide() -> None:
    found = scored(
        passage(1, *["tea"] * 50), passage(2, "tea", "jay"), terms=("tea", "jay"), frequencies={"tea": 9, "jay": 9}
    )
    assert order(found) == [2, 1]


def test_of_two_with_the_same_words_the_shorter_is_better() -> None:
    found = scored(passage(1, "tea", "x", "y", "z"), passage(2, "tea"), terms=("tea",), frequencies={"tea": 9})
    assert order(found) == [2, 1]


def test_meaning_is_worth_its_weight() -> None:
    found = scored(
        passage(1, "x"), passage(2, "x"), vectors={b"\x01": EAST, b"\x02": NORTH * 0.5}, query=EAST + NORTH,
    )  # fmt: skip
    assert [(one.passage.id, one.cosine, one.score) for one in found] == [(1, 1.0, 4.0), (2, 0.5, 2.0)]


def test_words_and_meaning_add_up() -> None:
    (both,) = scored(passage(1, "tea"), terms=("tea",), frequencies={"tea": 9}, vectors={b"\x01": EAST}, query=EAST)
    assert both.score == pytest.approx(both.lexical + 4.0)
    assert both.lexical > 0


def test_ties_go_to_the_newest() -> None:
    found = scored(*(passage(number, "tea") for number in (2, 9, 5)), terms=("tea",), frequencies={"tea": 3})
    assert order(found) == [9, 5, 2]


def test_what_neither_word_nor_meaning_speaks_for_is_left_out() -> None:
    found = scored(
        passage(1, "x"), passage(2, "tea"), passage(3, "x"),
        terms=("tea",), frequencies={"tea": 1}, vectors={b"\x03": -EAST}, query=EAST,
    )  # fmt: skip
    assert order(found) == [2]


def test_a_word_in_every_passage_still_counts_for_something() -> None:
    assert scored(passage(1, "tea"), terms=("tea",), frequencies={"tea": 1}, total=1)[0].score > 0


def test_a_word_is_heard_where_the_meaning_points_away() -> None:
    found = scored(
        passage(1, "tea"), passage(2, "jay"), terms=("tea",), frequencies={"tea": 99}, query=EAST,
        vectors={bytes([1]): -EAST, bytes([2]): -EAST},
    )  # fmt: skip
    assert order(found) == [1]


def test_an_empty_space_has_nothing_to_rank() -> None:
    assert scored(terms=("tea",), total=0) == []


def test_words_the_space_does_not_know_match_nothing() -> None:
    assert scored(passage(1, "tea"), terms=("tea",), frequencies={}) == []
