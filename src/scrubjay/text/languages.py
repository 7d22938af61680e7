"""The language of a text, by its frequent words and letters; and the words of dates in each language.

Texts of an unknown language, and those that are too short to tell, count as English: words of other languages are then
searched for as they are written.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from scrubjay.lazy import regex
from scrubjay.text.scripts import WORD, ascii_words, fold
from scrubjay.text.word_lists import WordLists

__all__ = [
    "ENGLISH", "LANGUAGES", "MONTH_NAMES", "QUESTION_WORDS", "dates_in_english", "language_of", "light_words_of",
    "stop_words_of",
]  # fmt: skip

ENGLISH = "english"
LANGUAGES = ("german", "french", "spanish", "italian", "portuguese", "dutch")
_WORDS = WordLists("languages")
_TABLES = {language: _WORDS.table(language) for language in LANGUAGES}


def _fold_all(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(fold, words))


_STOP_WORDS = {
    ENGLISH: WordLists("english").words("stop_words"),
    **{language: _fold_all(table["stop_words"].split()) for language, table in _TABLES.items()},
}
QUESTION_WORDS = frozenset(word for table in _TABLES.values() for word in table["questions"].split())
_LANGUAGES_OF = {
    word: tuple(language for language, words in _STOP_WORDS.items() if word in words)
    for word in frozenset[str]().union(*_STOP_WORDS.values())
}
# A word of several languages speaks for each of them a little.
_SHARES = {word: [(language, 1 / len(its)) for language in its] for word, its in _LANGUAGES_OF.items()}
_LETTERS = {
    letter: tuple(language for language, table in _TABLES.items() if letter in table["letters"].split())
    for letter in frozenset(letter for table in _TABLES.values() for letter in table["letters"].split())
}
# So much of a text tells its language.
_MAX_TEXT = 1_000
_MAX_LETTERS = 1.5
# The least evidence, the least share of the words that must be frequent ones, and the lead over the next language.
_MIN_SCORE, _MIN_SHARE, _MIN_LEAD = 1.0, 0.12, 1.2
_MIN_SIGNS = 2


def stop_words_of(language: str) -> frozenset[str]:
    """Return the words of a language that carry no meaning for a search, folded."""
    return _STOP_WORDS.get(language, _STOP_WORDS[ENGLISH])


def light_words_of(language: str) -> tuple[str, ...]:
    """Return the words of a language that say little of what a question is about, such as "needs"; none of English."""
    return tuple(_TABLES[language]["light_words"].split()) if language in _TABLES else ()


def language_of(text: str) -> str:
    """Return the language of a text; empty if nothing tells it."""
    return _language_of(text[:_MAX_TEXT])


# The stages of one write, and those of one question, ask about the same text; of many writes, hundreds are under way.
@lru_cache(maxsize=1_024)
def _language_of(text: str) -> str:
    if text.isascii():
        # Single letters are left over from "I'm" and "l'eau".
        words = [word for word in ascii_words(text.lower(), digits=False) if len(word) > 1]
        scores = dict.fromkeys(_STOP_WORDS, 0.0)
    else:
        words = [word for word in WORD.findall(fold(text)) if len(word) > 1]
        scores = _score_letters(text.casefold())
    frequent = [word for word in words if word in _LANGUAGES_OF]
    for word in frequent:
        for language, share in _SHARES[word]:
            scores[language] += share
    best, next_best = sorted(scores, key=scores.__getitem__, reverse=True)[:2]
    score, second = scores[best], scores[next_best]
    is_clear = score >= _MIN_SCORE and score >= _MIN_LEAD * second and len(frequent) >= _MIN_SHARE * len(words)
    return best if is_clear and (best == ENGLISH or _has_evidence(best, text, frequent)) else ""


def _has_evidence(language: str, text: str, frequent: list[str]) -> bool:
    """Return whether two signs speak for a language and not for English: one word may be a name, or borrowed."""
    words = {word for word in frequent if language in _LANGUAGES_OF[word] and ENGLISH not in _LANGUAGES_OF[word]}
    letters = {letter for letter in _LETTERS.keys() & set(text.casefold()) if language in _LETTERS[letter]}
    return len(words) + len(letters) >= _MIN_SIGNS


def _score_letters(text: str) -> dict[str, float]:
    scores = dict.fromkeys(_STOP_WORDS, 0.0)
    for letter in _LETTERS.keys() & set(text):
        for language in _LETTERS[letter]:
            scores[language] = min(_MAX_LETTERS, scores[language] + 1 / len(_LETTERS[letter]))
    return scores


_DATE_WORDS = {
    language: {
        fold(form): english.strip()
        for forms, _, english in (line.partition(":") for line in reversed(table["dates"].strip().splitlines()))
        for form in ((forms,) if "'" in forms else forms.split())
    }
    for language, table in _TABLES.items()
}
_ENGLISH_MONTHS = frozenset(WordLists("dates").ordered("months"))
# The names of months in all languages, folded, with their English names.
MONTH_NAMES = {
    word: english for words in _DATE_WORDS.values() for word, english in words.items() if english in _ENGLISH_MONTHS
}
_DATE_PATTERNS = {
    language: regex(rf"(?<![\w'-])(?:{'|'.join(sorted(map(re.escape, words), key=len, reverse=True))})(?![\w-])")
    for language, words in _DATE_WORDS.items()
}
_MONTH = f"(?:{'|'.join(sorted(_ENGLISH_MONTHS))})"
_DAY_NAME = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_UNIT = f"(?:days|week|weekend|month|year|{_DAY_NAME}|spring|summer|autumn|winter)"
_NUMBER = r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten)"
# English has another order of words: "vor drei Tagen", "la semana pasada", "5 de mayo de 2023".
_REORDERED = (
    (regex(rf"\b(?:vor|hace|ha|il y a) ({_NUMBER}) (days|week|month|year)\b"), r"\1 \2 ago"),
    (regex(rf"\b({_UNIT}) (last|next)\b"), r"\2 \1"),
    (regex(r"\b(?:in|fin de|fine) (week|settimana)\b(?= last| next)"), "weekend"),
    (regex(rf"\b(\d{{1,2}})(?:\.|er|º|o)? (?:de |di )?({_MONTH})\b"), r"\1 \2"),
    (regex(rf"\b({_MONTH}) (?:de|del) (\d{{4}})\b"), r"\1 \2"),
    (regex(rf"\b(\d{{1,2}})\. (?=to \d{{1,2}} {_MONTH})"), r"\1 "),
    (regex(r"\b(\d{1,2})[./](\d{1,2})[./](\d{4})\b"), r"\1.\2.\3"),
)


def dates_in_english(text: str, language: str) -> str:
    """Return a text of another language with its words of dates in English, in the English order."""
    if language not in _DATE_WORDS:
        return text
    words = _DATE_WORDS[language]
    text = _DATE_PATTERNS[language].sub(lambda match: words[match[0]], fold(text))
    for pattern, replacement in _REORDERED:
        text = pattern.sub(replacement, text)
    return text
