"""Three-way merge of two records, field by field."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from tests.fakes.build import START, a_memory
from tests.unit.strategies import few_examples, memories

from scrubjay.model.branch import MergeConflict
from scrubjay.model.memory import Json, Memory, Observation, Source, State, Tier
from scrubjay.versions.merge_fields import has_same_content, merge_records, with_content_of

LATER, LAST = START + timedelta(days=1), START + timedelta(days=2)
BASE = replace(a_memory("Tea is green."), name="tea", title="Tea", tags=("a", "b"), metadata={"x": 1, "y": None})


def facts(*texts: str | tuple[str, int]) -> tuple[Observation, ...]:
    """Return observations; with a number of days, one that held so long."""
    return tuple(
        Observation(text=text, recorded_at=START)
        if isinstance(text, str)
        else Observation(text=text[0], recorded_at=START, valid_until=START + timedelta(days=text[1]))
        for text in texts
    )


def joined(base: tuple[Observation, ...], ours: tuple[Observation, ...], theirs: tuple[Observation, ...]) -> Memory:
    three = (replace(BASE, observations=side) for side in (base, ours, theirs))
    merged, clashes = merge_records(*three)
    assert clashes == ()
    return merged


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        (facts(), facts("a"), facts("b"), facts("a", "b")),
        (facts("a", "b"), facts("b"), facts("a"), facts()),
        (facts("a"), facts("a", "b"), facts(), facts("b")),
        (facts(), facts("a"), facts("a"), facts("a")),
        (facts("a", "b"), facts("b", "a"), facts("a", "b", "c"), facts("b", "a", "c")),
        # An observation that one side ended is over.
        (facts("a"), facts("a", "b"), facts(("a", 1)), facts(("a", 1), "b")),
        (facts("a"), facts(("a", 1)), facts("a"), facts(("a", 1))),
        # An observation that both ended is over since the earlier end.
        (facts("a"), facts(("a", 2)), facts(("a", 1)), facts(("a", 1))),
        # It was over and was added again.
        (facts(("a", 1)), facts(("a", 1), "a"), facts(("a", 1)), facts(("a", 1), "a")),
    ],
)
def test_observations_come_together(
    base: tuple[Observation, ...],
    ours: tuple[Observation, ...],
    theirs: tuple[Observation, ...],
    merged: tuple[Observation, ...],
) -> None:
    assert joined(base, ours, theirs).observations == merged


def test_an_observation_of_both_sides_keeps_its_first_source() -> None:
    mine = replace(facts("a")[0], source=Source(agent="alice"))
    other = replace(facts("a")[0], source=Source(agent="bob"), recorded_at=LATER)
    assert joined((), (mine,), (other,)).observations == (mine,)


def test_an_observation_taken_out_here_and_ended_there_is_a_clash() -> None:
    base, ours, theirs = (replace(BASE, observations=side) for side in (facts("a"), (), facts(("a", 1))))
    merged, clashes = merge_records(base, ours, theirs)
    assert clashes == (MergeConflict(field="observations", base="a", ours="", theirs="a (until 2026-01-02T12:00:00Z)"),)
    assert merged.observations == ()
    assert merge_records(base, ours, theirs, prefer="theirs")[0].observations == theirs.observations


def test_tags_are_sets() -> None:
    ours, theirs = replace(BASE, tags=("b", "c")), replace(BASE, tags=("a", "d", "c"))
    assert merge_records(BASE, ours, theirs)[0].tags == ("c", "d")


def test_metadata_is_taken_key_by_key() -> None:
    ours = replace(BASE, metadata={"x": 2, "y": None, "mine": [1]})
    theirs = replace(BASE, metadata={"x": 1, "yours": {"a": 1}})
    merged, clashes = merge_records(BASE, ours, theirs)
    assert (merged.metadata, clashes) == ({"x": 2, "mine": [1], "yours": {"a": 1}}, ())


def test_a_key_of_metadata_can_clash() -> None:
    ours, theirs = (replace(BASE, metadata={**BASE.metadata, "x": value}) for value in (2, "two"))
    merged, clashes = merge_records(BASE, ours, theirs)
    assert clashes == (MergeConflict(field="metadata.x", base="1", ours="2", theirs='"two"'),)
    assert merged.metadata["x"] == 2
    assert merge_records(BASE, ours, theirs, prefer="theirs")[0].metadata["x"] == "two"


CHANGES: list[tuple[str, object, object, str, str]] = [
    ("title", "Green tea", "Hot tea", "Green tea", "Hot tea"),
    ("kind", "fact", "plan", "fact", "plan"),
    ("tier", Tier.SEMANTIC, Tier.EPISODIC, "semantic", "episodic"),
    ("relevance", 0.5, 0.25, "0.5", "0.25"),
    ("expires_at", LATER, LAST, "2026-01-02T12:00:00Z", "2026-01-03T12:00:00Z"),
    ("source", Source(agent="a"), Source(agent="b"), '{"agent": "a"}', '{"agent": "b"}'),
    ("content", "Tea is black.", "Tea is white.", "Tea is black.", "Tea is white."),
]


@pytest.mark.parametrize(("name", "mine", "yours", "our_text", "their_text"), CHANGES)
def test_every_other_field_is_taken_or_clashes(
    name: str, mine: object, yours: object, our_text: str, their_text: str
) -> None:
    ours, theirs = (changed(name, value) for value in (mine, yours))
    for taken in (merge_records(BASE, ours, BASE), merge_records(BASE, BASE, ours), merge_records(BASE, ours, ours)):
        assert (getattr(taken[0], name), taken[1]) == (mine, ())
    merged, clashes = merge_records(BASE, ours, theirs)
    assert [(clash.field, clash.ours, clash.theirs) for clash in clashes] == [(name, our_text, their_text)]
    assert getattr(merged, name) == mine
    assert getattr(merge_records(BASE, ours, theirs, prefer="theirs")[0], name) == yours


def changed(name: str, value: object) -> Memory:
    return replace(BASE, **{name: value})


def test_identity_and_usage_stay_ours() -> None:
    theirs = replace(
        BASE, id="x", state=State.BRANCHED, version=9, branch="draft", trunk=BASE.id, forked=3, access_count=7,
        updated_at=LAST, group="g", title="Other",
    )  # fmt: skip
    merged, _ = merge_records(BASE, BASE, theirs)
    assert merged == replace(BASE, title="Other")


def test_a_long_clash_is_shortened() -> None:
    ours, theirs = (replace(BASE, content=letter * 10_000) for letter in "ab")
    (clash,) = merge_records(BASE, ours, theirs)[1]
    assert (len(clash.ours), len(clash.theirs)) == (2_000, 2_000)


@given(memories, memories)
@few_examples
def test_one_side_alone_comes_out_as_it_is(base: Memory, other: Memory) -> None:
    for merged, clashes in (
        merge_records(base, base, other),
        merge_records(base, other, base),
        merge_records(base, other, other),
    ):
        assert has_same_content(merged, other)
        assert clashes == ()
    assert has_same_content(with_content_of(base, other), other)


@pytest.mark.parametrize("value", [1, None, [], {}, "", False, 1.5])
def test_every_value_of_metadata_survives(value: Json) -> None:
    theirs = replace(BASE, metadata={**BASE.metadata, "new": value})
    assert merge_records(BASE, BASE, theirs)[0].metadata["new"] == value


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected_clashes", "mine", "others"),
    [
        # Each side replaced it with another text.
        (["in Oslo"], ["in Kiel"], ["in Rome"], [("in Oslo", "in Kiel", "in Rome")], ["in Kiel"], ["in Rome"]),
        # Other new observations are taken from both.
        (
            ["lives in Oslo"],
            ["owns a dog", "lives in Kiel"],
            ["lives in Rome", "owns a cat"],
            [("lives in Oslo", "lives in Kiel", "lives in Rome")],
            ["owns a dog", "lives in Kiel", "owns a cat"],
            ["owns a dog", "lives in Rome", "owns a cat"],
        ),
        # An observation that both ended is removed too.
        (["a x"], [("a x", 1), "a y"], [("a x", 1), "a z"], [("a x", "a y", "a z")], ["a y"], ["a z"]),
        (
            ["a 1", "b 1"],
            ["a 2", "b 2"],
            ["b 3", "a 3"],
            [("a 1", "a 2", "a 3"), ("b 1", "b 2", "b 3")],
            ["a 2", "b 2"],
            ["b 3", "a 3"],
        ),
        # One side only removed it, or both replaced it with the same text.
        (["a"], ["b"], [], [], ["b"], ["b"]),
        (["a x"], ["a y", "dog"], ["a y", "cat"], [], ["a y", "dog", "cat"], ["a y", "dog", "cat"]),
        (["a"], ["b", "dog"], ["b"], [], ["b", "dog"], ["b", "dog"]),
        # An observation that was over before the branch began was not replaced.
        ([("a", 1)], ["b"], ["c"], [], ["b", "c"], ["b", "c"]),
    ],
)
def test_of_two_that_took_the_place_of_one_only_one_can_stand(
    base: list[str | tuple[str, int]],
    ours: list[str | tuple[str, int]],
    theirs: list[str | tuple[str, int]],
    expected_clashes: list[tuple[str, str, str]],
    mine: list[str],
    others: list[str],
) -> None:
    three = [replace(BASE, observations=facts(*side)) for side in (base, ours, theirs)]
    _, clashes = merge_records(*three)
    assert [(clash.field, clash.base, clash.ours, clash.theirs) for clash in clashes] == [
        ("observations", *clash) for clash in expected_clashes
    ]
    for prefer, expected in (("ours", mine), ("theirs", others)):
        merged, _ = merge_records(*three, prefer=prefer)
        assert [observation.text for observation in merged.observations if observation.valid_until is None] == expected


def test_very_many_replacements_go_by_their_order() -> None:
    sides = [facts(*(f"{word} {number}" for number in range(2_000))) for word in ("old", "ours", "theirs")]
    merged, clashes = merge_records(*(replace(BASE, observations=side) for side in sides), prefer="ours")
    assert (len(clashes), merged.observations) == (2_000, sides[1])
    assert (clashes[7].base, clashes[7].ours, clashes[7].theirs) == ("old 7", "ours 7", "theirs 7")
