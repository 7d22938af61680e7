"""Statements that hold for every session, by their wording: preferences and instructions, decisions and conventions."""

import re

from scrubjay.lazy import regex

__all__ = ["is_decision", "is_preference"]

_MAX_TEXT = 400
# How an instruction begins.
_INSTRUCTION = regex(
    r"(?:^|[.;:!]\s)(?:please|always|never|do not|don['\u2019]t|avoid|make sure|keep|prefer|call me|answer|reply|write|"
    r"bitte|immer|niemals|nie|vermeide|"
    r"s['\u2019]il (?:te|vous) pla\u00eet|toujours|jamais|\u00e9vite[zr]?|ne [^.]{1,40} (?:pas|jamais)|"
    r"por favor|siempre|nunca|evita|no me|"
    r"per favore|sempre|mai|evitare|non mi|"
    r"sempre|n\u00e3o me|"
    r"alsjeblieft|graag|altijd|nooit|vermijd)\b",
    re.IGNORECASE,
)
# What a person wants, likes or does not like.
_PREFERENCE = regex(
    r"\b(?:i|we|user|they|he|she) (?:really |always |strongly |would |much )?"
    r"(?:prefers?|likes?|loves?|wants?|hates?|dislikes?)\b"
    r"|\bmy (?:preferred|favou?rite)\b|\b(?:prefers|dislikes)\b"
    r"|\bich (?:bevorzuge|mag|m\u00f6chte|will|hasse)\b|\b(?:bevorzugt|mag keine?n?)\b"
    r"|\bje (?:pr\u00e9f\u00e8re|veux|voudrais|d\u00e9teste)\b|\bj['\u2019]aime\b|\bpr\u00e9f\u00e8re\b"
    r"|\b(?:prefiero|prefiere|quiero que|me gusta|no me gusta|odio)\b"
    r"|\b(?:preferisco|preferisce|voglio che|mi piace|odio)\b"
    r"|\b(?:prefiro|prefere|quero que|gosto de)\b"
    r"|\bik (?:wil|verkies|heb liever|hou van)\b|\bheeft liever\b",
    re.IGNORECASE,
)
_DECISION = regex(
    r"\b(?:decided|decision|decide to|we chose|we agreed|agreed to|convention|from now on|as of (?:today|now)|policy|"
    r"we (?:always |never |only )?use|must (?:be|not|have)|is required|are required|is mandatory|not allowed|"
    r"entschieden|beschlossen|vereinbart|ab sofort|k\u00fcnftig|"
    r"d\u00e9cid\u00e9|convenu|d\u00e9sormais|"
    r"decidimos|decidido|acordamos|a partir de ahora|desde hoy|"
    r"deciso|concordato|d['\u2019]ora in poi|"
    r"decidiu|combinamos|a partir de agora|"
    r"besloten|afgesproken|voortaan)\b",
    re.IGNORECASE,
)


def is_preference(text: str) -> bool:
    """Return whether a statement is a standing instruction, or says what a person wants."""
    start = text[:_MAX_TEXT]
    return _INSTRUCTION.search(start) is not None or _PREFERENCE.search(start) is not None


def is_decision(text: str) -> bool:
    """Return whether a statement tells a decision or a convention."""
    return _DECISION.search(text[:_MAX_TEXT]) is not None
