"""Whom statements are about that do not say so themselves."""

import pytest
from tests.fakes.build import START, a_memory

from scrubjay.detection.subject import are_of_others, thing_of
from scrubjay.model.memory import Memory, Observation


def record(name: str, text: str = "Lives in Rome", *, entity: str = "", content: str = "") -> Memory:
    observation = Observation(text=text, recorded_at=START)
    return a_memory(content, name=name, entity=entity, observations=(observation,))


@pytest.mark.parametrize(
    ("memory", "thing"),
    [
        (record("alice"), "Alice"),
        (record("sarah-chen_2"), "Sarah Chen 2"),
        (record("alice", entity="Boris"), "Boris"),
        (record("marc-user-profile-2025"), "user"),
        (record("preferences"), "user"),
        (record("alice_profile"), "Alice"),
        (record("fact-001"), ""),
        (record("Note 7"), ""),
        (record("!"), ""),
        (record("alice", content="Alice paints."), ""),
        (a_memory("Lives in Rome", name="alice"), ""),
    ],
)
def test_a_memory_of_observations_alone_is_of_the_thing_it_is_named_after(memory: Memory, thing: str) -> None:
    assert thing_of(memory) == thing


@pytest.mark.parametrize(
    ("name", "statement", "other", "against", "apart"),
    [
        ("alice", "Lives in Rome", "bob", "Lives in Oslo", True),
        ("alice", "Favourite colour is green", "bob", "Favourite colour is blue", True),
        ("alice", "She likes tea", "bob", "He hates tea", True),
        ("alice", "Email is alice@example.org", "bob", "Email is bob@example.org", True),
        ("repo-a", "The default branch is main", "repo-b", "The default branch is master", True),
        ("marc-user-profile", "Located in California", "sarah", "Lives in Lisbon", True),
        ("marc-user-profile", "Lives in Rome", "sarah-user-profile", "Lives in Lisbon", True),
        ("alice-profile", "Lives in Rome", "bob-profile", "Lives in Oslo", True),
        ("user-1", "Lives in Rome", "user-2", "Lives in Oslo", True),
        ("alice", "Lives in Rome", "alice-work", "Lives in Oslo", False),
        ("alice", "Lives in Rome", "alice-profile", "Lives in Oslo", False),
        ("user-profile", "Lives in Rome", "marc-the-user", "Lives in Oslo", False),
        ("user-profile", "Prefers tea", "user-preferences", "Prefers coffee", False),
        ("fact-1", "Prefers tea", "fact-2", "Prefers coffee", False),
        ("home", "Ada lives in Rome", "move", "Ada moved to Oslo", False),
        ("home", "user: Never call before ten", "calls", "user: Always call before ten", False),
        (
            "standup-is-on-monday",
            "The standup is on Monday",
            "the-standup-on-friday",
            "The standup is on Friday",
            False,
        ),
        ("home", "Ada: I live in Rome", "move", "Ada: I live in Oslo", False),
    ],
)
def test_of_two_things_each_may_be_so_unless_the_statements_name_whom_they_are_about(
    name: str, statement: str, other: str, against: str, apart: bool
) -> None:
    assert are_of_others(record(name, statement), statement, record(other, against), against) is apart
    assert are_of_others(record(other, against), against, record(name, statement), statement) is apart


def test_a_memory_is_no_other_to_itself() -> None:
    memory = record("alice")
    assert not are_of_others(memory, "Lives in Rome", memory, "Lives in Oslo")
