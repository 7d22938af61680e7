"""The subjects of statements that name none themselves."""

import pytest
from tests.fakes.build import START, a_memory

from scrubjay.detection.describe import have_different_subjects, subject_of
from scrubjay.model.memory import Memory, Observation


def record(name: str, text: str = "Lives in Rome", *, entity: str = "", content: str = "") -> Memory:
    observation = Observation(text=text, recorded_at=START)
    return a_memory(content, name=name, entity=entity, observations=(observation,))


@pytest.mark.parametrize(
    ("memory", "subject"),
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
def test_a_memory_of_observations_alone_has_its_name_as_its_subject(memory: Memory, subject: str) -> None:
    assert subject_of(memory) == subject


@pytest.mark.parametrize(
    ("name", "statement", "other", "against", "differs"),
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
def test_two_subjects_may_differ_unless_the_statements_name_their_own(
    name: str, statement: str, other: str, against: str, differs: bool
) -> None:
    assert have_different_subjects(record(name, statement), statement, record(other, against), against) is differs
    assert have_different_subjects(record(other, against), against, record(name, statement), statement) is differs


def test_a_memory_has_one_subject() -> None:
    memory = record("alice")
    assert not have_different_subjects(memory, "Lives in Rome", memory, "Lives in Oslo")
