"""A statement is removed from its memory, and all others stay unchanged."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fakes.build import START, a_memory, moment

from scrubjay.detection.statement import (
    DisputedStatement,
    find_statement,
    replace_statement,
    supersede_statement,
    without_statement,
)
from scrubjay.errors import WrongState
from scrubjay.model.conflict import statement_key
from scrubjay.model.memory import Memory, Observation, Source, Trust
from scrubjay.text.claims.statements import comparison_key, statements_of

PIECES = st.sampled_from(
    [
        "The login failed.", "Ann fixed it.", "It has 3 retries.", "- tea", "- coffee", "They say Ann fixed it.",
        "# Head", "```\nx = 1\n```", "| a | b |", "no full stop", "Open:", "> said",
    ]
)  # fmt: skip
CONTENTS = st.lists(st.tuples(PIECES, st.sampled_from([" ", "\n", "\n\n"])), min_size=1, max_size=6).map(
    lambda parts: "".join(map("".join, parts))
)


def end(memory: Memory, text: str) -> DisputedStatement:
    statement = find_statement(memory, statement_key(text))
    assert statement is not None
    return statement


def keys(text: str) -> list[str]:
    return [comparison_key(statement) for statement in statements_of(text)]


@settings(max_examples=150, deadline=None)
@given(CONTENTS, st.integers(0, 5))
def test_no_word_of_a_superseded_statement_is_lost(content: str, place: int) -> None:
    statements = statements_of(content)
    memory = a_memory(content)
    chosen = statements[place % len(statements)] if statements else ""
    if not chosen:
        return
    try:
        after = supersede_statement(end(memory, chosen), until=moment(60))
    except WrongState:
        # Then nothing is changed.
        return
    if after.valid_until is not None:
        assert (after.content, len(statements)) == (content, 1)
        return
    (ended,) = after.observations
    assert (statement_key(ended.text), ended.valid_until) == (statement_key(chosen), moment(60))
    assert sorted([*keys(after.content), comparison_key(ended.text)]) == sorted(keys(content))


def test_a_paragraph_closes_up() -> None:
    memory = a_memory("One is red. Two is blue.\n\nThree is green.\n\nFour is grey.")
    for text, left in (
        ("One is red.", "Two is blue.\n\nThree is green.\n\nFour is grey."),
        ("Two is blue.", "One is red.\n\nThree is green.\n\nFour is grey."),
        ("Three is green.", "One is red. Two is blue.\n\nFour is grey."),
        ("Four is grey.", "One is red. Two is blue.\n\nThree is green."),
    ):
        assert without_statement(end(memory, text)).content == left


def test_the_other_one_is_said_in_its_place() -> None:
    older = a_memory("They say Ann is in Rome. Ann is in Rome. She sings.")
    newer = replace(a_memory("Ann is in Oslo."), created_at=moment(60))
    put = replace_statement(end(older, "Ann is in Rome."), end(newer, "Ann is in Oslo."))
    assert put.content == "They say Ann is in Rome. Ann is in Oslo. She sings."
    listed = replace_statement(end(older, "Ann is in Rome."), DisputedStatement(memory=a_memory("- one\n- two")))
    assert listed.content == "They say Ann is in Rome. She sings."
    assert listed.observations[0].text == "- one\n- two"
    whole = replace_statement(DisputedStatement(memory=older), DisputedStatement(memory=newer))
    assert whole.content == newer.content


def test_a_statement_is_found_where_it_stands_and_holds() -> None:
    observations = (
        Observation(text="likes tea", recorded_at=START, valid_until=moment(1)),
        Observation(text="likes  Tea", recorded_at=moment(2)),
    )
    memory = a_memory("Ann sings. She has a dog", observations=observations)
    assert end(memory, "LIKES TEA").observation == 1
    assert end(memory, "Ann sings.").sentence == "Ann sings."
    assert end(memory, memory.content).sentence == memory.content
    assert without_statement(end(memory, memory.content)).content == ""
    assert find_statement(memory, statement_key("something else")) is None
    with pytest.raises(WrongState, match="cannot be taken out"):
        supersede_statement(
            DisputedStatement(memory=a_memory("Open:\n- tea\n\nAnn sings."), sentence="Open:"), until=START
        )


def test_the_word_of_another_trust_takes_a_place_as_an_observation_with_its_source() -> None:
    user, document = Source(trust=Trust.USER), Source(trust=Trust.DOCUMENT)
    older = a_memory("Ann is in Rome. Ann has a dog.", source=user)
    newer = a_memory("Ann is in Oslo.", source=document, observations=(Observation(text="cold", recorded_at=START),))
    put = replace_statement(end(older, "Ann is in Rome."), end(newer, "Ann is in Oslo."))
    assert (put.content, put.source) == ("Ann has a dog.", user)
    assert [(observation.text, observation.source) for observation in put.observations] == [
        ("Ann is in Oslo.", document)
    ]
    whole = replace_statement(DisputedStatement(memory=older), DisputedStatement(memory=newer))
    assert (whole.content, whole.source, whole.observations) == (newer.content, document, newer.observations)


@pytest.mark.parametrize("order", list(permutations((moment(1), moment(9), None))))
def test_of_a_repeated_observation_the_one_that_holds_longest_counts(order: Sequence[datetime | None]) -> None:
    for several in (order, [end for end in order if end is not None]):
        observations = tuple(Observation(text="likes tea", recorded_at=START, valid_until=end) for end in several)
        statement = find_statement(a_memory("", observations=observations), statement_key("likes tea"))
        assert statement is not None
        assert statement.memory.observations[statement.observation or 0].valid_until == (
            None if None in several else moment(9)
        )
        assert statement.holds(moment(5))
