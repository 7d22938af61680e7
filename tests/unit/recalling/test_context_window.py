"""Candidates with the passages around them."""

import pytest

from scrubjay.model.passage import StoredPassage
from scrubjay.recalling.context_window import ContextWindow, build_window


def passage(number: int, terms: str = "x", **fields: object) -> StoredPassage:
    plain = StoredPassage(id=number, memory_id=str(number), observation=None, start=0, end=1, hash=b"", terms=terms)
    return plain._replace(**fields)


def around(window: ContextWindow, number: int) -> list[int | None]:
    """The numbers around a candidate: four before, nearest first, then four after."""
    position = [candidate.id for candidate in window.candidates].index(number)
    return [window.rows[at].id if at >= 0 else None for at in window.neighbours[position].tolist()]


def test_the_searched_come_first_then_the_nearest_then_the_rest() -> None:
    window = build_window(
        [passage(5, before=(4, 3, 2, 1), after=(6,))], [passage(number) for number in (1, 2, 3, 4, 6)]
    )
    assert [candidate.id for candidate in window.candidates] == [5, 4, 6]
    assert window.searched_count == 1
    assert {row.id for row in window.rows} == {1, 2, 3, 4, 5, 6}
    assert around(window, 5) == [4, 3, 2, 1, 6, None, None, None]


def test_a_neighbour_has_its_own_context() -> None:
    window = build_window(
        [passage(5, before=(4, 3, 2, 1), after=(6,))], [passage(number) for number in (1, 2, 3, 4, 6)]
    )
    assert around(window, 4) == [3, 2, 1, None, 5, 6, None, None]
    assert around(window, 6) == [5, 4, 3, 2, None, None, None, None]


def test_a_neighbour_of_two_takes_the_larger_context() -> None:
    few, many = passage(1, after=(2,)), passage(3, before=(2, 1), after=(4, 5))
    window = build_window([few, many], [passage(number) for number in (2, 4, 5)])
    assert around(window, 2) == [1, None, None, None, 3, 4, 5, None]


def test_missing_neighbours_are_skipped() -> None:
    window = build_window([passage(5, before=(4,), after=(6,))], [passage(6)])
    assert around(window, 5) == [None, None, None, None, 6, None, None, None]


def test_near_and_short_neighbours_count_more() -> None:
    others = [passage(1, who="ann"), passage(2), passage(4, " ".join("abcd" * 8))]
    window = build_window([passage(3, before=(2, 1), after=(4,), who="bob")], others)
    shares = window.shares[0].tolist()
    assert shares[:3] == pytest.approx([0.75, 0.45, 0])
    assert shares[4:6] == pytest.approx([0.6 * 8 / 32, 0])
    assert window.weighted_lengths[0] == pytest.approx(1 + 0.75 + 0.45 + 0.6 * 8)


def test_neighbours_of_the_same_speaker_count_less() -> None:
    window = build_window([passage(2, before=(1,))], [passage(1)])
    assert window.shares[0][0] == pytest.approx(0.75 * 0.6)


def test_a_long_passage_speaks_for_itself() -> None:
    window = build_window([passage(2, " ".join("abcd" * 20), before=(1,), who="ann")], [passage(1, who="bob")])
    assert window.shares[0][0] == pytest.approx(0.75 / 2)


@pytest.mark.parametrize(
    ("asks", "who", "is_reply"), [(2, "bob", True), (1, "bob", True), (0, "bob", False), (2, "ann", False)]
)
def test_a_passage_right_after_anothers_question_replies_to_it(asks: int, who: str, *, is_reply: bool) -> None:
    window = build_window([passage(2, before=(1,), who="ann")], [passage(1, asks=asks, who=who)])
    assert window.replies.tolist()[0] == is_reply
    assert [question.id for question in window.questions] == ([1] if is_reply else [])
    assert window.shares[0][0] == pytest.approx(1.2 if is_reply else 0.75 if who == "bob" else 0.45)


def test_nothing_is_a_scene_too() -> None:
    window = build_window([], [])
    assert (window.candidates, len(window.shares), len(window.weighted_lengths)) == ((), 0, 0)
