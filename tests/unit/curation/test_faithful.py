"""The nothing-lost check, text by text."""

import pytest

from scrubjay.curation.faithful import unfaithful

TEXT = "Sarah moved the 14:30 review to 3 May 2026. The build `make check` fails with E1234. Do not deploy v2.1.0!"


@pytest.mark.parametrize(
    "said",
    [
        TEXT,
        "The build `make check` fails with E1234, so do not deploy v2.1.0. Sarah moved the 14:30 review to 3 May 2026.",
        "Sarah moved the 14:30 review to 3 May 2026\nThe build `make check` fails with E1234\nDo not deploy v2.1.0",
    ],
)
def test_the_same_in_another_order_is_faithful(said: str) -> None:
    assert unfaithful([TEXT], said) == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("14:30", "13:30"), ("3 May", "4 May"), ("2026", "2025"), ("Sarah", "Sara"), ("Sarah", "She"),
        ("E1234", "E1235"), ("make check", "make test"), ("not ", ""), ("v2.1.0", "v2.1.1"), ("v2.1.0", "it"),
        ("Sarah moved the 14:30 review to 3 May 2026. ", ""), ("fails", "never fails"),
        ("v2.1.0!", "v2.1.0! Ask Peter."), ("v2.1.0!", "v2.1.0! It has 7 bugs."),
    ],
)  # fmt: skip
def test_one_thing_changed_is_enough(before: str, after: str) -> None:
    assert before in TEXT
    assert unfaithful([TEXT], TEXT.replace(before, after)) != ""


def test_a_sentence_without_names_or_figures_must_come_back_too() -> None:
    first = " ".join(f"The heron number {number} stands in the reeds of the lake." for number in range(40))
    text = f"{first} Otters prefer colder water downstream."
    assert "downstream" in unfaithful([text], f"{first} Otters.")


def test_what_lies_beside_may_be_used_and_need_not_be() -> None:
    assert unfaithful(["fixed the login"], "Fixed the login of Keycloak.", beside=["Keycloak logs people in"]) == ""
    assert unfaithful(["fixed the login"], "Fixed the login.", beside=["Keycloak logs people in"]) == ""
    assert "keycloak" in unfaithful(["fixed the login"], "Fixed the login of Keycloak.")


def test_nothing_is_no_answer() -> None:
    assert unfaithful(["something"], " \n") == "it is empty"
