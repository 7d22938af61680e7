"""A language model finds facts, and only those that a turn supports are taken."""

import pytest
from tests.unit.extraction.scripted import ScriptedModel, a_fact

from scrubjay.extraction.llm import ExtractedFacts, ask_model, unsupported_reason
from scrubjay.model.fact import FactType, Turn

TURNS = [
    Turn(speaker="Ann", text="I moved to Rome in May 2024. I don't drink coffee.", id="D1:1"),
    Turn(speaker="Ben", text="Maybe I should buy a boat. Would you come along?", id="D1:2"),
]


async def batches_of(turns: list[Turn], model: ScriptedModel) -> list[ExtractedFacts]:
    return [batch async for batch in ask_model(turns, llm=model)]


async def test_supported_facts_are_taken_and_the_others_are_dropped_and_counted() -> None:
    model = ScriptedModel(
        [
            a_fact("Ann moved to Rome in May 2024."),
            a_fact("doesn't drink coffee", kind="habit", entity="Coffee Society"),
            a_fact("Ann moved to Rome in May 2023."),
            a_fact("Ann drinks coffee.", kind="habit"),
            a_fact("Ann moved to Paris."),
            a_fact("Ann is a singer.", kind="identity"),
            a_fact("Ben should buy a boat.", turn=2),
            a_fact("Ann moved to Rome.", turn=7),
            a_fact("Ann moved to Rome.", kind="rumour"),
        ]
    )
    (batch,) = await batches_of(TURNS, model)
    assert [(fact.statement, fact.type, fact.subject, fact.turn, fact.method) for fact in batch.facts] == [
        ("Ann moved to Rome in May 2024.", FactType.EVENT, "Ann", "D1:1", "llm"),
        ("Ann: doesn't drink coffee", FactType.HABIT, "Ann", "D1:1", "llm"),
    ]
    assert batch.turns == 2
    assert batch.warnings == ("7 facts of the language model were dropped: no turn says so",)
    assert "1. Ann: I moved to Rome" in model.prompts[0]


async def test_patterns_read_the_rest_when_the_model_fails() -> None:
    model = ScriptedModel([a_fact("Ann moved to Rome.")])
    turns = [TURNS[0]] * 40 + [Turn(speaker="Ben", text="I prefer tea to coffee.", id="D1:9")]
    first, rest = await batches_of(turns, model)
    assert [(fact.statement, fact.method) for fact in (*first.facts, *rest.facts)] == [
        ("Ann moved to Rome.", "llm"),
        ("Ben: I prefer tea to coffee.", "patterns"),
    ]
    assert (first.turns, rest.turns) == (40, 1)
    assert "read by patterns" in rest.warnings[-1]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("Ann moved to Rome", ""),
        ("Ann does not drink coffee", ""),
        ("Ann moved to Rome in June 2024", "invented"),
        ("Ann moved to Rome with friends", "brought the word"),
        ("Ann drinks coffee", "lost a negation"),
        ("", "says nothing"),
    ],
)
def test_a_turn_must_support_a_statement(statement: str, reason: str) -> None:
    assert reason in unsupported_reason(statement, TURNS[0])
    assert bool(reason) == bool(unsupported_reason(statement, TURNS[0]))
