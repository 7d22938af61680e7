"""Passages among their neighbours."""

import pytest

from scrubjay.model.passage import StoredPassage
from scrubjay.recalling.context_window import ContextWindow, lay_out


def passage(number: int, terms: str = "x", **fields: object) -> StoredPassage:
    made = StoredPassage(id=number, memory_id=str(number), observation=None, start=0, end=1, hash=b"", terms=terms)
    return made._replace(**fields)


def around(scene: ContextWindow, number: int) -> list[int | None]:
    """The numbers around a candidate: four before, nearest first, then four after."""
    place = [candidate.id for candidate in scene.candidates].index(number)
    return [scene.rows[at].id if at >= 0 else None for at in scene.beside[place].tolist()]


def test_the_searched_come_first_then_the_nearest_then_the_rest() -> None:
    scene = lay_out([passage(5, before=(4, 3, 2, 1), after=(6,))], [passage(number) for number in (1, 2, 3, 4, 6)])
    assert [candidate.id for candidate in scene.candidates] == [5, 4, 6]
    assert scene.searched == 1
    assert {row.id for row in scene.rows} == {1, 2, 3, 4, 5, 6}
    assert around(scene, 5) == [4, 3, 2, 1, 6, None, None, None]


def test_a_neighbour_knows_what_was_read_around_it() -> None:
    scene = lay_out([passage(5, before=(4, 3, 2, 1), after=(6,))], [passage(number) for number in (1, 2, 3, 4, 6)])
    assert around(scene, 4) == [3, 2, 1, None, 5, 6, None, None]
    assert around(scene, 6) == [5, 4, 3, 2, None, None, None, None]


def test_between_two_it_counts_from_where_more_is_seen() -> None:
    few, many = passage(1, after=(2,)), passage(3, before=(2, 1), after=(4, 5))
    scene = lay_out([few, many], [passage(number) for number in (2, 4, 5)])
    assert around(scene, 2) == [1, None, None, None, 3, 4, 5, None]


def test_those_that_are_gone_are_nobody() -> None:
    scene = lay_out([passage(5, before=(4,), after=(6,))], [passage(6)])
    assert around(scene, 5) == [None, None, None, None, 6, None, None, None]


def test_near_and_short_neighbours_count_more() -> None:
    others = [passage(1, who="ann"), passage(2), passage(4, " ".join("abcd" * 8))]
    scene = lay_out([passage(3, before=(2, 1), after=(4,), who="bob")], others)
    shares = scene.shares[0].tolist()
    assert shares[:3] == pytest.approx([0.75, 0.45, 0])
    assert shares[4:6] == pytest.approx([0.6 * 8 / 32, 0])
    assert scene.weighed_lengths[0] == pytest.approx(1 + 0.75 + 0.45 + 0.6 * 8)


def test_among_what_one_says_alone_neighbours_count_less() -> None:
    scene = lay_out([passage(2, before=(1,))], [passage(1)])
    assert scene.shares[0][0] == pytest.approx(0.75 * 0.6)


def test_a_long_passage_speaks_for_itself() -> None:
    scene = lay_out([passage(2, " ".join("abcd" * 20), before=(1,), who="ann")], [passage(1, who="bob")])
    assert scene.shares[0][0] == pytest.approx(0.75 / 2)


@pytest.mark.parametrize(
    ("asks", "who", "is_reply"), [(2, "bob", True), (1, "bob", True), (0, "bob", False), (2, "ann", False)]
)
def test_who_speaks_right_after_anothers_question_replies_to_it(asks: int, who: str, *, is_reply: bool) -> None:
    scene = lay_out([passage(2, before=(1,), who="ann")], [passage(1, asks=asks, who=who)])
    assert scene.replies.tolist()[0] == is_reply
    assert [question.id for question in scene.questions] == ([1] if is_reply else [])
    assert scene.shares[0][0] == pytest.approx(1.2 if is_reply else 0.75 if who == "bob" else 0.45)


def test_nothing_is_a_scene_too() -> None:
    scene = lay_out([], [])
    assert (scene.candidates, len(scene.shares), len(scene.weighed_lengths)) == ((), 0, 0)
