"""The words by which a pattern is passed over must be in all that it fits."""

import pytest

from scrubjay.text.claims.relation_patterns import CHANGED, ENDED, HELD, IN_CHANGED, SINGLE, RelationPattern

_TELLINGS = tuple(dict.fromkeys((*SINGLE, *ENDED, *HELD)))
_TOLD = (
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


@pytest.mark.parametrize("telling", _TELLINGS, ids=lambda one: f"{one.relation}: {one.words[0]}")
def test_what_a_pattern_fits_has_one_of_its_words(telling: RelationPattern) -> None:
    fitting = [text for text in _TOLD if telling.pattern.match(text)]
    assert fitting
    assert all(any(word in text.lower() for word in telling.words) for text in fitting)


@pytest.mark.parametrize(
    "text",
    [
        "Switched from vim to Emacs", "we MOVED the app from Heroku to Fly", "Replaced vim with Emacs",
        "tea instead of coffee", "Tea RATHER THAN coffee",
    ],
)  # fmt: skip
def test_what_tells_of_a_change_has_one_of_its_words(text: str) -> None:
    assert CHANGED.search(text)
    assert any(word in text.lower() for word in IN_CHANGED)
