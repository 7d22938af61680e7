"""How often texts have some words."""

from hypothesis import given
from hypothesis import strategies as st

from scrubjay.recalling.term_counts import Spoken

# Long ones begin alike, so that eight bytes do not tell them apart; others are longer in bytes than in letters.
WORDS = st.sampled_from(
    ["a", "tea", "teapot", "internat", "internation", "international", "7", "\u8336", "th\u00e9", "\U0001f375"]
)
TEXTS = st.lists(st.lists(WORDS, max_size=12), max_size=12)


@given(texts=TEXTS, sought=st.lists(WORDS, unique=True))
def test_words_are_counted_as_they_stand(texts: list[list[str]], sought: list[str]) -> None:
    spoken = Spoken([" ".join(words) for words in texts])
    assert spoken.lengths.tolist() == [len(words) for words in texts]
    assert spoken.count(sought).tolist() == [[words.count(one) for words in texts] for one in sought]


def test_a_word_that_stands_in_the_slot_of_another_is_not_taken_for_it() -> None:
    many = [f"word{number}" for number in range(5_000)]
    counts = Spoken([" ".join(many)]).count(many[:300])
    assert counts[:, 0].tolist() == [1.0] * 300


def test_nobody_says_nothing() -> None:
    spoken = Spoken([])
    assert spoken.lengths.tolist() == []
    assert spoken.count(["tea"]).shape == (1, 0)
    assert Spoken(["tea"]).count([]).shape == (0, 1)
