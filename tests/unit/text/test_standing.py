"""Preferences, instructions and decisions by their wording."""

import pytest

from scrubjay.text.standing import is_decision, is_preference


@pytest.mark.parametrize(
    "text",
    [
        "Please answer briefly.", "I'd like it short. Never use emojis.", "I prefer tea in the morning.",
        "The user wants tabs.", "Dana prefers calls to mails.", "Bitte keine Anrufe vor neun.",
        "Ich m\u00f6chte kurze Antworten.", "Je pr\u00e9f\u00e8re le matin.", "Prefiero reuniones cortas.",
        "Preferisco il treno.", "Prefiro chamadas curtas.", "Ik wil korte antwoorden.",
    ],
)  # fmt: skip
def test_preferences_and_instructions(text: str) -> None:
    assert is_preference(text)


@pytest.mark.parametrize(
    "text",
    [
        "We decided to ship on Mondays.", "Decision: one branch for each release.", "From now on tests run nightly.",
        "We use ruff for formatting.", "Wir haben beschlossen, montags zu liefern.", "Desde hoy el tope es del 5 %.",
    ],
)  # fmt: skip
def test_decisions_and_conventions(text: str) -> None:
    assert is_decision(text)


@pytest.mark.parametrize(
    "text",
    [
        "The orders table has 40 million rows.",
        "Port 8081 is the admin port.",
        "Marta lives in Graz.",
        "Das Auto ist rot.",
    ],
)
def test_plain_facts_are_neither(text: str) -> None:
    assert not is_preference(text)
    assert not is_decision(text)
