"""What tells of the same relation of the same thing has the same slot, whatever its value."""

import pytest

from scrubjay.text.claims.relations import relation_keys


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ann lives in Berlin.", "Ann moved to Paris last month."),
        ("Ann works at Initech.", "Ann joined Globex as a clerk."),
        ("Ann works at Initech.", "Ann left Initech."),
        ("Ann's favourite colour is blue.", "Ann's favourite colour is green."),
        ("I live in Rome.", "User: I moved to Oslo."),
        ("The deadline is March 3.", "The deadline was moved to March 10."),
        ("Ann has a boat.", "Ann sold her boat."),
    ],
)
def test_what_may_contradict_by_its_value_shares_a_slot(first: str, second: str) -> None:
    assert set(relation_keys(first)) & set(relation_keys(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ann lives in Berlin.", "Bob lives in Berlin."),
        ("Ann lives in Berlin.", "Ann works at Initech."),
        ("Ann's favourite colour is blue.", "Ann's favourite food is soup."),
        ("I live in Rome.", "Ann lives in Rome."),
    ],
)
def test_other_relations_and_other_things_share_none(first: str, second: str) -> None:
    assert relation_keys(first)
    assert relation_keys(second)
    assert not set(relation_keys(first)) & set(relation_keys(second))


@pytest.mark.parametrize("text", ["Ann speaks Greek.", "", "Ann ran five miles.", "What a day!"])
def test_what_has_many_values_has_no_slot(text: str) -> None:
    assert relation_keys(text) == ()
