"""The rules of a space: valid and invalid values."""

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json
from scrubjay.model.rules import Rules


def test_rules_are_read_from_a_setting() -> None:
    rules = Rules.parse("gate=report, density=reject,least_characters=40,same=.9")
    assert (rules.gate, rules.density, rules.least_characters, rules.same) == ("report", "reject", 40, 0.9)
    assert Rules.parse("") == Rules()


def test_null_takes_a_rule_back_to_its_default() -> None:
    changed = Rules().with_changes({"gate": "off", "never": ["salary of *"]})
    assert changed.with_changes({"gate": None}) == Rules(never=("salary of *",))


def test_rules_as_json_can_be_set_again() -> None:
    rules = Rules(never=("a b",), window_days=3, review="agents")
    assert Rules().with_changes(rules.as_json) == rules


def test_patterns_are_tidied_and_those_that_mean_everything_are_dropped() -> None:
    assert Rules().with_changes({"never": ["  two   words ", "*", "", "two words"]}).never == ("two words",)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gat", "merge"),
        ("gate", "sometimes"),
        ("gate", ["merge"]),
        ("window_days", -1),
        ("window_days", True),
        ("window_days", "soon"),
        ("same", 1.5),
        ("same", "near"),
        ("same", False),
        ("never", [1]),
        ("never", {"a": 1}),
        ("never", ["x" * 301]),
        ("never", [f"word {number}" for number in range(201)]),
        ("least_tags", 9),
    ],
)
def test_an_invalid_rule_is_refused_by_name(name: str, value: Json) -> None:
    with pytest.raises(InvalidInput) as error:
        Rules().with_changes({name: value})
    assert error.value.fields["field"] == name
