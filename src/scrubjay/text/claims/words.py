"""Word lists for claims and for the comparison of statements: numbers, units, negations, opposites, places."""

from functools import lru_cache

from scrubjay.text.dates.tokens import MONTHS, WEEKDAYS
from scrubjay.text.tokens import STOP_WORDS
from scrubjay.text.word_lists import WordLists

__all__ = [
    "AMBIGUOUS_MONTHS",
    "AXES",
    "BEINGS",
    "CHANGES",
    "COMPARATIVES",
    "CURRENCIES",
    "DAY_WORDS",
    "DENIALS",
    "DETERMINERS",
    "FAILINGS",
    "FILLERS",
    "HABITS",
    "LABEL_NOUNS",
    "LISTING",
    "MAGNITUDES",
    "MODALS",
    "MONTH_LEADS",
    "MONTH_NAMES",
    "NEGATING_PREFIXES",
    "NEGATIONS",
    "NEVER_NAMES",
    "NUMBER_WORDS",
    "ONCE",
    "PERIODS",
    "PERIOD_LEADS",
    "PLACES",
    "PREPOSITIONS",
    "PRONOUNS",
    "QUALIFIERS",
    "REVERSALS",
    "UNITS",
    "VERBS",
    "are_opposites",
    "is_quality",
    "may_exclude",
]  # fmt: skip

_CLAIMS, _COMPARISON = WordLists("claims"), WordLists("comparison")

NUMBER_WORDS = {
    **{word: str(number) for number, word in enumerate(_CLAIMS.ordered("numbers"))},
    **{word: f"{number}th" for number, word in enumerate(_CLAIMS.ordered("ordinals"), 1)},
    **{word: str(number * 10) for number, word in enumerate(_CLAIMS.ordered("tens"), 3)},
    **_CLAIMS.table("number_words"),
}
# Words after a figure that multiply it; a single letter only where it touches the figure or a currency is named.
MAGNITUDES = {word: int(value) for word, value in _CLAIMS.table("magnitudes").items()}
CURRENCIES = _CLAIMS.forms("currencies", with_base=True)
UNITS = _CLAIMS.forms("units", with_base=True)
NEGATIONS = _CLAIMS.words("negations")
NEGATING_PREFIXES = _CLAIMS.ordered("negating_prefixes")
# The axis of each word, and its end of it: a text at one end and a text at another cannot both be right.
AXES = {
    word: (number, end)
    for number, line in enumerate(_CLAIMS.lines("axes"))
    for end, words in enumerate(line.split("/"))
    for word in words.split()
}
MONTH_NAMES = {number: name.capitalize() for name, number in sorted(MONTHS.items(), key=lambda entry: len(entry[0]))}
# A month with one of these names needs a day, a year or a leading word.
AMBIGUOUS_MONTHS = _CLAIMS.words("ambiguous_months")
MONTH_LEADS = _CLAIMS.words("month_leads")
DAY_WORDS = _CLAIMS.words("day_words") | frozenset(WEEKDAYS)
PERIOD_LEADS = _CLAIMS.words("period_leads")
PERIODS = _CLAIMS.words("periods") | frozenset(WEEKDAYS) | frozenset(MONTHS)
# The place of each inhabitant and adjective.
PLACES = _CLAIMS.forms("places")
# Words whose capital letter does not make them names.
NEVER_NAMES = STOP_WORDS | NEGATIONS | {*NUMBER_WORDS} | _CLAIMS.words("titles") | _CLAIMS.words("capitalised")
QUALIFIERS = _CLAIMS.words("qualifiers")

# Words that say that something does not hold, or not any more.
DENIALS = NEGATIONS | _CLAIMS.words("denials")
FAILINGS = _COMPARISON.words("failings")
BEINGS = _COMPARISON.words("beings")
COMPARATIVES = _COMPARISON.words("comparatives")
LABEL_NOUNS = _COMPARISON.words("label_nouns")
FILLERS = _COMPARISON.words("fillers")
# Pronouns for someone other than the user, each with its subject form.
PRONOUNS = _COMPARISON.forms("pronouns", with_base=True)
MODALS = _COMPARISON.words("modals")
_PAIRS = _COMPARISON.ordered("reversals")
REVERSALS = dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True)) | dict(zip(_PAIRS[1::2], _PAIRS[::2], strict=True))
PREPOSITIONS = _COMPARISON.words("prepositions")
DETERMINERS = _COMPARISON.words("determiners")
ONCE = _COMPARISON.words("once")
CHANGES = _COMPARISON.words("changes")
LISTING = _COMPARISON.words("listing")
# A habit on one of these days does not exclude other days.
HABITS = frozenset(f"{day}s" for day in WEEKDAYS)
VERBS = _COMPARISON.words("verbs")

_STATELESS = _COMPARISON.words("stateless")
_QUALITIES = _COMPARISON.words("qualities")
_QUALITY_ENDINGS = ("ful", "able", "ible", "ous", "less", "ing", "ly")


def _read_states() -> dict[str, dict[int, int]]:
    """Return the axes of each word, and its end of each axis."""
    states: dict[str, dict[int, int]] = {}
    for number, line in enumerate(_COMPARISON.lines("states")):
        for end, words in enumerate(line.split("/")):
            for word in words.split():
                states.setdefault(word, {})[number] = end
    return states


_STATES = _read_states()
_NO_AXES: dict[int, int] = {}


def are_opposites(word: str, other: str) -> bool:
    """Return whether two words are at different ends of an axis."""
    if word == other or word in _STATELESS or other in _STATELESS:
        return False
    first, second = AXES.get(word), AXES.get(other)
    if first is not None and second is not None and first[0] == second[0]:
        return first[1] != second[1]
    ends, others = _STATES.get(word), _STATES.get(other, _NO_AXES)
    return bool(ends) and any(others.get(axis, end) != end for axis, end in ends.items())


@lru_cache(maxsize=20_000)
def may_exclude(word: str) -> bool:
    """Return whether some word may be the opposite of this one, or this one the negation of another."""
    return word in AXES or word in _STATES or word.startswith(NEGATING_PREFIXES)


def is_quality(word: str) -> bool:
    """Return whether a word says how something is, and not what it is."""
    return word in _QUALITIES or word in AXES or word in _STATES or word.endswith(_QUALITY_ENDINGS)
