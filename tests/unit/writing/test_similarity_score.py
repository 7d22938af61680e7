"""The similarity of two texts, and the differences that keep them apart."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.writing_swaps import made_facts, names_in, swaps_of
from scrubjay.text.related_words import related_terms
from scrubjay.writing.similarity_score import compare_texts, exchanged_word, overlap

# Words that are related, that join to one, or neither.
TERMS = "woman girl man sun glass sunglass guitar instrument play music road street car vehicl dog cat tea".split()


def test_a_text_is_the_same_as_itself() -> None:
    similarity = compare_texts("Ann likes tea.", "Ann likes tea.", cosine=1.0)
    assert (similarity.similarity, similarity.differs) == (1.0, ())


def test_words_in_common_make_texts_more_alike_and_figures_of_one_alone_less() -> None:
    plain = compare_texts("A dog runs over the street.", "A cat sleeps.", cosine=0.8).similarity
    akin = compare_texts("A dog runs over the street.", "A dog runs over the road.", cosine=0.8).similarity
    figure = compare_texts("A dog runs over 3 streets.", "A dog runs over the road.", cosine=0.8).similarity
    assert figure < akin
    assert plain < akin
    assert compare_texts("x", "y", cosine=-0.5).similarity == 0.0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("A man carries a dog.", "A dog carries a man."),
        ("Caroline went hiking.", "Lord went hiking."),
        ("We asked Harry Potter and Harry Potter came.", "We asked Harry Under and Harry Under came."),
        ("The target is $2M.", "The target is $3M."),
        ("The project uses tabs for indentation.", "The project uses spaces for indentation."),
        ("Always deploy to staging first.", "Always deploy to production first."),
        ("the api key belongs to mike", "the api key belongs to anna"),
        ("He is allergic to peanuts.", "He is allergic to walnuts."),
        ("Feature flags are opt-in.", "Feature flags are opt-out."),
        ("We chose option A.", "We chose option B."),
    ],
)
def test_an_exchanged_word_makes_another_statement(first: str, second: str) -> None:
    assert compare_texts(first, second, cosine=1.0).differs
    assert compare_texts(second, first, cosine=1.0).differs


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Deployments finden donnerstags statt.", "Deployments finden jetzt dienstags statt."),
        ("Wir treffen uns montags im Büro.", "Jetzt treffen wir uns freitags im Büro."),
        ("Der Vertrag läuft bis März.", "Der Vertrag läuft nun bis Oktober."),
        ("Die Logs werden nach dreißig Tagen gelöscht.", "Die Logs werden jetzt nach neunzig Tagen gelöscht."),
        ("I deploy si fanno il giovedì.", "I deploy ora si fanno il martedì."),
        ("Il contratto scade a marzo.", "Il contratto ora scade a maggio."),
        ("El informe se entrega el jueves.", "Ahora el informe se entrega el martes."),
        ("Las copias se guardan treinta días.", "Las copias ahora se guardan noventa días."),
        ("Le bail expire en février.", "Le bail expire désormais en juillet."),
        ("Os deploys acontecem às quintas-feiras.", "Agora os deploys acontecem às terças-feiras."),
        ("Het contract loopt tot maart.", "Het contract loopt nu tot oktober."),
        ("De back-up draait om twee uur.", "De back-up draait voortaan om drie uur."),
        ("The key is with the neighbour.", "The key is now with the janitor."),
        ("Tickets go to the support queue.", "From now on tickets go to the billing queue."),
    ],
)
def test_a_changed_value_is_a_difference_also_beside_a_word_for_the_change(first: str, second: str) -> None:
    assert compare_texts(first, second, cosine=1.0).differs
    assert compare_texts(second, first, cosine=1.0).differs


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("A man plays the guitar and sings.", "The man is singing and playing a guitar."),
        ("A man dives into a pool.", "A man dives into a swimming pool."),
        ("There are people out on the street.", "People are out on the street."),
        ("We shipped it.", "The fix is shipped."),
        ("The street is closed.", "The road is closed."),
        ("The man is practicing.", "The man practices."),
        ("The job runs at noon.", "A job runs at noon."),
        ("Maria wohnt in Porto.", "Maria wohnt jetzt in Porto."),
        ("Le cours est le mardi.", "Le cours est maintenant le mardi."),
        ("Some 1800 people came on Friday.", "Some 1,800 people came on Friday."),
    ],
)
def test_the_same_in_other_words_does_not_differ(first: str, second: str) -> None:
    assert compare_texts(first, second, cosine=0.9).differs == ()


def test_sunglasses_are_sun_glasses() -> None:
    assert overlap(("woman", "sun", "glass"), ("woman", "sunglass")) == 1.0
    assert overlap((), ()) == 1.0
    assert overlap((), ("woman",)) == 0.0


@given(st.lists(st.sampled_from(TERMS), min_size=1, unique=True), st.lists(st.sampled_from(TERMS), min_size=1))
def test_overlap_is_the_lesser_share_that_each_covers_of_the_other(first: list[str], second: list[str]) -> None:
    assert overlap(first, second) == min(covered(first, second), covered(second, first))


def covered(terms: list[str], others: list[str]) -> float:
    """Return the share of terms that others cover, term by term."""
    joined = {"".join(pair) for pair in pairwise(others)}
    parts = {part for pair in pairwise(terms) if "".join(pair) in others for part in pair}
    shares: list[float] = []
    for term in terms:
        listed = [each.closeness for each in related_terms(term) if each.term in others]
        listed += [each.closeness for other in others for each in related_terms(other) if each.term == term]
        is_there = term in others or term in joined or term in parts
        shares.append(1.0 if is_there else max(listed, default=0.0))
    return sum(shares) / len(terms)


def test_no_single_thing_can_be_swapped_unnoticed() -> None:
    facts = made_facts()
    names = names_in(facts)
    random = Random(3)
    swapped = [(fact, changed) for fact in facts for _, changed in swaps_of(fact, names=names, random=random)]
    assert len(swapped) > 200
    assert [pair for pair in swapped if not compare_texts(*pair, cosine=1.0).differs] == []


def test_a_replacement_of_a_word_is_reported_unless_it_means_the_same() -> None:
    assert exchanged_word("The client has the key.", "The server has the key.") == ("word: client or server",)
    assert exchanged_word("The cat is at home.", "The dog is at home.") == ()
    assert exchanged_word("The cat is at home.", "The dog is at home.", is_strict=True) == ("word: cat or dog",)
    assert exchanged_word("The street is closed.", "The road is closed.", is_strict=True) == ()
