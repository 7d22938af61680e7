"""Whether a text makes a statement that can be understood later, and what it lacks if not."""

import re
from dataclasses import replace
from datetime import UTC, datetime

from scrubjay.lazy import regex
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Flag
from scrubjay.model.rules import Rules
from scrubjay.text.dates.phrases import find_dates
from scrubjay.text.empty_words import EMPTY_WORDS
from scrubjay.text.scripts import emoji_of, fold, is_unspaced, words_of_script

__all__ = ["check_density", "thinness", "without_thin"]

# A statement has a subject, and something that is said about it. What is said may be a value: "Port 8080".
_LEAST_WORDS = 2
# In scripts without spaces a word has about two ideographs, or four syllables.
_IDEOGRAPH = regex("[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_IDEOGRAPHS_PER_WORD, _SYLLABLES_PER_WORD = 2, 4
_SYLLABLE = regex("[\u3040-\u30ff\uac00-\ud7a3]")
# For a threshold in characters, such a sign counts as so many letters.
_IDEOGRAPH_LETTERS, _SYLLABLE_LETTERS = 3, 2
_REASON = regex(
    r"\b(?:because|since|so that|in order|due to|thanks to|by \w+ing|therefore|why|how|caused|fix(?:ed|es)? by|to avoid"
    "|weil|damit|wegen|denn|parce que|car|pour que|afin|porque|para que|debido|perche|quia|omdat|zodat)\\b"
    "|\u56e0\u4e3a|\u56e0\u6b64|\u7531\u4e8e|\u306e\u3067|\u304b\u3089|\ub54c\ubb38|\u043f\u043e\u0442\u043e\u043c\u0443",
    re.IGNORECASE,
)
# A longer text is not thin.
_MAX_CHECKED = 10_000
_FIRST_PART = 1_000
# Any day will do: the question is only whether the text names one.
_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)
_WARNING = "thin: "


def check_density(draft: Draft, *, rules: Rules) -> Draft:
    """Flag or reject a draft that says too little to be useful later."""
    if rules.density == "off":
        return draft
    text = " ".join((draft.text, *draft.observations)).strip()[:_MAX_CHECKED]
    if not draft.text.strip() and draft.name and draft.kind:
        # A named thing: its observations may be short, or there may be none yet.
        return draft.with_decision("density", "named")
    # A field says whom or what it is about as well as the text does.
    problem = thinness(text, rules=rules, about=(*draft.entities, draft.name, draft.title))
    if not problem:
        return draft.with_decision("density", "dense")
    if rules.density == "reject":
        return replace(draft, rejected=f"too thin to be useful later: {problem}").with_decision(
            "density", "rejected", problem
        )
    outcome = "reconstruct" if rules.density == "reconstruct" else Flag.THIN
    return draft.with_flag(Flag.THIN).with_warning(_WARNING + problem).with_decision("density", outcome, problem)


def thinness(text: str, *, rules: Rules, about: tuple[str, ...] = ()) -> str:
    """Say what a text lacks to be understood later, one thing; nothing if it is not thin.

    `about`: the names that say whom or what it is about.
    """
    text = text[:_MAX_CHECKED]
    # A long text mostly has enough words soon.
    if not (_is_statement(text[:_FIRST_PART], about) or _is_statement(text[_FIRST_PART:], about)):
        return "say what is known about it" if _has_subject(text, about) else "say who or what it is about"
    plain = " ".join(text.split())
    size = len(plain)
    if not plain.isascii():
        size += (_IDEOGRAPH_LETTERS - 1) * len(_IDEOGRAPH.findall(plain))
        size += (_SYLLABLE_LETTERS - 1) * len(_SYLLABLE.findall(plain))
    if size >= rules.least_characters:
        return ""
    return f"{size} of {rules.least_characters} characters, {_advice(text)}"


def without_thin(warnings: tuple[str, ...]) -> tuple[str, ...]:
    """Return the warnings that still matter where nothing new is stored on its own."""
    return tuple(warning for warning in warnings if not warning.startswith(_WARNING))


def _is_statement(text: str, about: tuple[str, ...]) -> bool:
    names = {word for name in about for word in words_of_script(fold(name))}
    words = _content_words(text)
    weights = [weight for word, weight in words.items() if word not in names]
    # Numbers alone say nothing, unless it is known whose they are.
    is_named = bool(names - EMPTY_WORDS) or any(not word.isdecimal() for word in words)
    return is_named and bool(weights) and sum(weights) + bool(names - EMPTY_WORDS) >= _LEAST_WORDS


def _has_subject(text: str, about: tuple[str, ...]) -> bool:
    return any(_content_words(name) for name in (text, *about))


def _content_words(text: str) -> dict[str, float]:
    """Return the words that mean something by themselves, each once, with its weight."""
    words = [word for word in words_of_script(fold(text)) if word not in EMPTY_WORDS]
    if text.isascii():
        return {word: 1.0 if len(word) > 1 else _weight(word) for word in words}
    return {word: _weight(word) for word in words} | dict.fromkeys(emoji_of(text), 1.0)


def _weight(word: str) -> float:
    if word.isascii() or not is_unspaced(word):
        # A single letter is a part of a word, such as the s of a possessive.
        return 1.0 if len(word) > 1 or word.isdecimal() else 0.0
    ideographs = len(_IDEOGRAPH.findall(word))
    return ideographs / _IDEOGRAPHS_PER_WORD + (len(word) - ideographs) / _SYLLABLES_PER_WORD


def _advice(text: str) -> str:
    """Say what a short statement could tell in addition."""
    if not _REASON.search(text):
        return "say why or how"
    return "say what follows from it" if find_dates(text, today=_ANY_DAY) else "say when it was"
