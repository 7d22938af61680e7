"""Pairs of texts that differ in one number, day, name or negation: similar for a model, but different statements."""

import re
from collections.abc import Iterable, Iterator, Sequence
from random import Random

__all__ = ["KINDS", "made_facts", "made_pairs", "names_in", "swaps_of"]

KINDS = ("number", "date", "name", "negation")
_WORDS = "one two three four five six seven eight nine ten eleven twelve".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_MONTHS = "January February March April May June July August September October November December".split()
_SEASONS = "spring summer autumn winter".split()
_UNITS = "day week month year weekend".split()
_NUMBER = re.compile(rf"\d+|\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_WEEKDAY = re.compile(rf"\b(?:{'|'.join(_DAYS)})\b")
_MONTH = re.compile(
    rf"\b(?:{'|'.join(month for month in _MONTHS if month not in ('May', 'March'))}|(?<=in )(?:May|March))\b"
)
_RELATIVE = re.compile(rf"\b(last|next|this|past) ({'|'.join((*_UNITS, *_SEASONS, *_DAYS))})\b")
_NEAR = re.compile(r"\b(yesterday|today|tomorrow)\b", re.IGNORECASE)
_NAME = re.compile(r"(?<![.!?] )(?<!^)(?<![\"'#\w])[A-Z][a-z]{2,}\b")
_AUXILIARY = re.compile(r"\b(is|are|was|were|has|have|had|will|can|could|would|should|does|did|do|must)\b(?! not)")
_VERB = re.compile(r"^([A-Z][a-z]+(?: and [A-Z][a-z]+)?) ([a-z]{2,}(?:s|ed))\b")
_NEGATED = re.compile(r" (?:not|never)\b|n't\b|\bno (?=[a-z])", re.IGNORECASE)
_NOT_NAMES = frozenset((*_DAYS, *_MONTHS, "The", "This", "That", "They", "She", "His", "Her", "And", "But", "For"))


def names_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the capitalized words inside sentences, in the order of their first use."""
    names = dict.fromkeys(name for text in texts for name in _NAME.findall(text))
    return tuple(name for name in names if name not in _NOT_NAMES)


def swaps_of(text: str, *, names: Sequence[str], random: Random) -> Iterator[tuple[str, str]]:
    """Yield (kind, changed text) for every change of one detail."""
    yield from (("number", changed) for changed in _numbers(text, random))
    yield from (("date", changed) for changed in _dates(text, random))
    yield from (("name", changed) for changed in _names(text, names, random))
    yield from (("negation", changed) for changed in _negations(text))


def made_facts() -> tuple[str, ...]:
    """Return generated facts to swap details in."""
    names = ("Ada", "Boris", "Chen", "Dalia", "Emeka", "Farah")
    templates = (
        "{0} moved the release to 7 May 2031 and wrote to Tomas about it.",
        "{0} has three cats and a parrot that came from Lisbon.",
        "{0} is planning a trip to Norway next month with two friends.",
        "{0} does not want the login page to change before Friday.",
        "{0} loves early walks by the lake and went there last week.",
        "The budget that {0} set for the port is 2 million euros.",
        "In June {0} will start a course in pottery at the school in Graz.",
        "The service that {0} runs was down for 40 minutes yesterday.",
    )
    return tuple(template.format(name) for name in names for template in templates)


def made_pairs() -> tuple[tuple[str, str], ...]:
    """Return generated pairs with the same meaning."""
    return (
        ("The nightly copy of the database goes to the cellar.", "Every night the database is copied to the cellar."),
        ("A man is climbing a rope.", "A man climbs a rope."),
        ("The team moved the release to Friday.", "The release was moved to Friday by the team."),
        ("Dalia has a dog and two cats.", "Dalia owns two cats and a dog."),
        ("The login page loads slowly on phones.", "On phones the login page is slow to load."),
        ("Boris plays the violin in the evening.", "In the evening Boris is playing the violin."),
    )


def _replace(text: str, match: re.Match[str], by: str) -> str:
    return text[: match.start()] + by + text[match.end() :]


def _other(choices: Sequence[str], than: str, random: Random) -> str:
    return random.choice([choice for choice in choices if choice.casefold() != than.casefold()])


def _numbers(text: str, random: Random) -> Iterator[str]:
    for match in _NUMBER.finditer(text):
        if match[0].isdigit():
            yield _replace(text, match, str(int(match[0]) + random.choice((1, 2, 7, 10))))
        else:
            word = _other(_WORDS, match[0], random)
            yield _replace(text, match, word.capitalize() if match[0][0].isupper() else word)


def _dates(text: str, random: Random) -> Iterator[str]:
    for pattern, choices in ((_WEEKDAY, _DAYS), (_MONTH, _MONTHS)):
        yield from (_replace(text, match, _other(choices, match[0], random)) for match in pattern.finditer(text))
    for match in _YEAR.finditer(text):
        yield _replace(text, match, str(int(match[0]) + random.choice((-2, -1, 1, 3))))
    for match in _RELATIVE.finditer(text):
        yield _replace(text, match, f"{_other(('last', 'next'), match[1], random)} {match[2]}")
        yield _replace(text, match, f"{match[1]} {_other(_UNITS, match[2], random)}")
    for match in _NEAR.finditer(text):
        yield _replace(text, match, _other(("yesterday", "today", "tomorrow"), match[0], random))


def _names(text: str, names: Sequence[str], random: Random) -> Iterator[str]:
    for name in dict.fromkeys(re.findall(r"\b[A-Z][a-z]{2,}\b", text)):
        if name not in names or len(names) == 1:
            continue
        places = list(re.finditer(rf"\b{name}\b", text))
        for match in places:
            yield _replace(text, match, _other(names, name, random))
        if len(places) > 1:
            yield re.sub(rf"\b{name}\b", _other(names, name, random), text)


def _negations(text: str) -> Iterator[str]:
    for match in _AUXILIARY.finditer(text):
        yield text[: match.end()] + " not" + text[match.end() :]
        if match[0] in ("is", "are", "was", "were", "has", "does", "did"):
            yield text[: match.end()] + "n't" + text[match.end() :]
    if match := _VERB.match(text):
        yield f"{match[1]} never {match[2]}{text[match.end() :]}"
        if match[2].endswith("s"):
            yield f"{match[1]} does not {match[2][:-1]}{text[match.end() :]}"
    for match in _NEGATED.finditer(text):
        yield text[: match.start()] + text[match.end() :]
