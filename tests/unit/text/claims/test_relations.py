"""Statements about the same relation of the same thing have a key in common, whatever its value."""

import pytest

from scrubjay.text.claims.relations import (
    CHANGE,
    CHANGE_HINTS,
    ENDED_PATTERNS,
    HELD_PATTERNS,
    SINGLE_VALUED_PATTERNS,
    RelationPattern,
    relation_keys,
)

_PATTERNS = tuple(dict.fromkeys((*SINGLE_VALUED_PATTERNS, *ENDED_PATTERNS, *HELD_PATTERNS)))
_STATEMENTS = (
    "Ada lives in Rome", "Ada is based in Rome", "Ada resides in Oslo", "LIVING at Rome", "Ada stays in Rome",
    "Ada moved to Rome", "Ada has relocated back to Rome", "Ada works at Acme", "Ada is employed by Acme",
    "Ada started at Acme", "Ada got a new job at Acme", "Ada took a position with Acme", "Ada has a role at Acme",
    "Ada left Acme to join Initech", "Ada quit her job for Initech", "Ada joined Acme last year",
    "Ada lives in a small house", "living in an old boat", "Ada is a baker", "works as a baker", "Ada became an actor",
    "Ada works from home", "Ada is working from the office", "Ada studies at Harvard", "enrolled in Oxford",
    "Ada drives a red car", "Ada is married to Boris", "Ada is dating Boris", "Ada engaged Boris",
    "Ada comes from Rome", "I am from Rome", "Ada was born in Rome", "the dog is called Rex",
    "the app was renamed to Jay", "the dog's name is Rex", "we use vim for notes", "using tabs as indentation",
    "the app is written in Go",
    "the docs are hosted on GitHub", "the port is 8080", "the deadline was moved to Friday", "our deadline = Friday",
    "the favourite colour is red", "Ada is the boss", "Ada has become our lead of design", "my phone is Pixel",
    "the house will be in New York", "his car became in March 2020", "the trip is in spring 2020", "Ada is in Rome",
    "Ada is my sister", "Ada is Boris's aunt", "Ada prefers tea", "Ada wants short answers", "expects long answers",
    "indent with tabs", "answer in German", "Ada resigned from Acme", "Ada was fired from Acme",
    "Ada was laid off by Acme", "Ada retired from Acme", "Ada left Rome", "Ada moved away from Rome",
    "Ada sold her car", "Ada got rid of his bike", "Ada cancelled their trip", "Ada gave away my book",
    "Ada left the band",
    "quit the team", "Ada has a dog", "Ada owns a boat", "they have an idea", "Ada plays in the band",
    "Ada is on a team",
    "Ada is a member of the club", "Ada is part of a choir", "our office is in Rome", "Ada's old lab is in Oslo",
    "Ada quit chess", "Boris gave up coffee", "they have given up tennis", "Ada plays chess", "Boris drinks tea",
)  # fmt: skip


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
def test_statements_that_may_contradict_each_other_share_a_key(first: str, second: str) -> None:
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
def test_other_relations_and_other_things_share_no_key(first: str, second: str) -> None:
    assert relation_keys(first)
    assert relation_keys(second)
    assert not set(relation_keys(first)) & set(relation_keys(second))


@pytest.mark.parametrize("text", ["Ann speaks Greek.", "", "Ann ran five miles.", "What a day!"])
def test_a_relation_with_many_values_has_no_key(text: str) -> None:
    assert relation_keys(text) == ()


@pytest.mark.parametrize("pattern", _PATTERNS, ids=lambda pattern: f"{pattern.relation}: {pattern.hints[0]}")
def test_every_match_of_a_pattern_has_one_of_its_hints(pattern: RelationPattern) -> None:
    matching = [text for text in _STATEMENTS if pattern.compiled.match(text)]
    assert matching
    assert all(any(hint in text.lower() for hint in pattern.hints) for text in matching)
    assert not pattern.words or not any(pattern.words.isdisjoint(text.lower().split(" ")) for text in matching)


@pytest.mark.parametrize(
    "text",
    [
        "Switched from vim to Emacs", "we MOVED the app from Heroku to Fly", "Replaced vim with Emacs",
        "tea instead of coffee", "Tea RATHER THAN coffee",
    ],
)  # fmt: skip
def test_every_match_of_a_change_has_one_of_its_hints(text: str) -> None:
    assert CHANGE.search(text)
    assert any(hint in text.lower() for hint in CHANGE_HINTS)
