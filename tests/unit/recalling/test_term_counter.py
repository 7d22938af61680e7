"""Counts of terms in many texts at once."""

from hypothesis import given
from hypothesis import strategies as st

from scrubjay.recalling.context_window import TermCounter

# Long words with the same first eight bytes, and words with more bytes than letters.
WORDS = st.sampled_from(
    ["a", "tea", "teapot", "internat", "internation", "international", "7", "\u8336", "th\u00e9", "\U0001f375"]
)
TEXTS = st.lists(st.lists(WORDS, max_size=12), max_size=12)


@given(texts=TEXTS, terms=st.lists(WORDS, unique=True))
def test_counts_and_lengths_are_exact(texts: list[list[str]], terms: list[str]) -> None:
    counter = TermCounter([" ".join(words) for words in texts])
    assert counter.lengths.tolist() == [len(words) for words in texts]
    assert counter.count(terms).tolist() == [[words.count(term) for words in texts] for term in terms]


def test_a_word_in_the_slot_of_another_is_not_counted_for_it() -> None:
    many = [f"word{number}" for number in range(5_000)]
    counts = TermCounter([" ".join(many)]).count(many[:300])
    assert counts[:, 0].tolist() == [1.0] * 300


def test_no_texts_and_no_terms_are_fine() -> None:
    counter = TermCounter([])
    assert counter.lengths.tolist() == []
    assert counter.count(["tea"]).shape == (1, 0)
    assert TermCounter(["tea"]).count([]).shape == (0, 1)
