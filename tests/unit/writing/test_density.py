"""A thin text gets a warning that names what it lacks."""

import pytest
from tests.fakes.build import START

from scrubjay.model.draft import Draft
from scrubjay.model.memory import Source
from scrubjay.model.rules import Rules
from scrubjay.writing.density import check_density

RULES = Rules()
DENSE = "Sarah fixed the login bug on 3 May 2024 because the cookie had expired after an hour of no use."


def test_a_text_that_says_enough_is_left_alone() -> None:
    checked = check_density(Draft(text=DENSE), rules=RULES)
    assert (checked.flags, checked.warnings, checked.trace[-1].outcome) == ((), (), "dense")


@pytest.mark.parametrize(
    ("draft", "lacks"),
    [
        (Draft(text="fixed it"), "say who or what it is about, when it was and why or how"),
        (Draft(text="Sarah fixed it"), "say when it was and why or how"),
        (Draft(text="fixed", entities=("auth",), source=Source(at=START)), "say why or how"),
        (Draft(text="Sarah fixed it yesterday because it broke"), "say more about what follows from it"),
        (Draft(text="fixed it because of rain"), "say who or what it is about and when it was"),
    ],
)
def test_a_thin_text_is_flagged_with_the_things_it_lacks(draft: Draft, lacks: str) -> None:
    checked = check_density(draft, rules=RULES)
    assert (checked.flags, checked.rejected) == (("thin",), "")
    assert checked.warnings[0].endswith(lacks)


def test_observations_count_and_the_title_does_not() -> None:
    assert check_density(Draft(text="", observations=(DENSE[:50], DENSE[50:])), rules=RULES).flags == ()
    assert check_density(Draft(text="fixed it", title=DENSE), rules=RULES).flags == ("thin",)


def test_words_without_meaning_are_thin_however_many() -> None:
    checked = check_density(Draft(text="and so it was that it is " * 9), rules=RULES)
    assert checked.flags == ("thin",)
    assert "no word that carries meaning" in checked.warnings[0]


def test_a_character_that_is_a_word_counts_as_one() -> None:
    sentence = (
        "\u6211\u4eec\u51b3\u5b9a\u5728\u660e\u5e74\u4e09\u6708\u628a\u6570\u636e\u5e93\u4ece"
        "\u65e7\u670d\u52a1\u5668\u8fc1\u79fb\u5230\u65b0\u7684\u4e91\u5e73\u53f0\u4e0a\u53bb\u4e86\u3002"
    )
    assert len(sentence) < 40
    assert check_density(Draft(text=sentence), rules=RULES).flags == ()
    assert check_density(Draft(text=sentence[:9]), rules=RULES).flags == ("thin",)


def test_a_rule_decides_about_thin_texts() -> None:
    thin = Draft(text="fixed it")
    rejected = check_density(thin, rules=Rules(density="reject"))
    assert rejected.rejected.startswith("too thin to be useful later (8 of 80 characters): say who")
    later = check_density(thin, rules=Rules(density="reconstruct"))
    assert (later.flags, later.trace[-1].outcome, later.rejected) == (("thin",), "reconstruct", "")
    assert check_density(thin, rules=Rules(density="off")) is thin
    assert check_density(thin, rules=Rules(least_characters=8)).flags == ()


def test_something_with_a_name_and_a_kind_may_be_all_there_is() -> None:
    checked = check_density(Draft(text="", name="acme", kind="firm"), rules=Rules(density="reject"))
    assert (checked.rejected, checked.flags) == ("", ())
