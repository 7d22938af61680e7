"""Candidates for tags: the phrases of a title and of the beginning of a text, and words that look like names."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from scrubjay.text.languages import language_of, stop_words_of
from scrubjay.text.related_words import is_word
from scrubjay.text.tags.spelling import normalize_tag
from scrubjay.text.tokens import STOP_WORDS, running_terms_of

__all__ = ["TagPhrase", "find_phrases", "is_common", "is_name", "remark_few_tags"]

_MAX_TEXT = 2_000
_MAX_PHRASE_WORDS = 3
_MAX_PHRASES = 160
# A code block, an address or a path says how something is done, not the subject.
_NOISE = re.compile(r"```.*?(?:```|\Z)|\b\w+://\S+|\S+@\S+|(?<!\w)[~.]?/[\w./-]+|\[[^\]\n]{1,40}\]", re.DOTALL)
# Each of these has one of the signs, and most texts have none.
_NOISE_SIGNS = ("`", "/", "@", "[")
_WORD = re.compile(r"(?<![\w/.#+-])\.?[A-Za-z][\w+#-]*(?:\.[A-Za-z]\w*)*")
_BREAK = re.compile(r"[.!?;:,()\"\n]\s|\n")
# Programs and products have names with a capital letter inside.
_NAME = re.compile(r"[A-Za-z]+[a-z][A-Z][A-Za-z]*|[a-z]+(?:-[a-z]+)*|[A-Z]{3,6}|[A-Z]+[a-z]*[A-Z][a-z]+")
_MIN_NAME, _MAX_NAME = 4, 24


class TagPhrase(NamedTuple):
    """A few words of a text, spelt as a tag; how often the text has them, and whether the title has them."""

    tag: str
    written: str
    words: int
    times: int
    in_title: bool


def find_phrases(text: str, *, title: str = "") -> list[TagPhrase]:
    """Return phrases of up to three words: those of the title first, then long ones, then frequent ones."""
    start = text[:_MAX_TEXT]
    frequent = _frequent_words(language_of(start))
    head = set(_split_phrases(title, frequent))
    plain = _NOISE.sub(" . ", start) if any(sign in start for sign in _NOISE_SIGNS) else start
    body = list(_split_phrases(plain, frequent))
    times = Counter(tag for tag, _ in [*head, *body])
    written = dict([*body, *head])
    titled = {tag for tag, _ in head}
    phrases = [
        TagPhrase(tag, written[tag], tag.count("-") + 1, count, tag in titled) for tag, count in times.items()
    ]  # fmt: skip
    phrases.sort(
        key=lambda phrase: (not phrase.in_title, -phrase.words * min(phrase.times, 2), -phrase.times, phrase.tag)
    )
    return phrases[:_MAX_PHRASES]


@cache
def _frequent_words(language: str) -> frozenset[str]:
    return STOP_WORDS | stop_words_of(language)


def remark_few_tags(tags: Sequence[str], *, provided: int, least: int, text: str, title: str) -> str:
    """Return what to tell a writer who gave fewer tags than a memory should have; empty if there is nothing to tell."""
    if provided >= least:
        return ""
    if len(tags) >= least:
        named = ", ".join(tags)
        return f"{provided} of at least {least} tags were given; with those that its text suggests it has {named}"
    # Words that are not telling enough to become tags by themselves may still help a writer.
    words = {part for tag in tags for part in tag.split("-")}
    others: list[str] = []
    for phrase in find_phrases(text, title=title):
        parts = set(phrase.tag.split("-"))
        if (
            parts.isdisjoint(words | STOP_WORDS)
            and len(phrase.tag) >= _MIN_NAME
            and (phrase.in_title or phrase.words > 1)
        ):
            others.append(phrase.tag)
            words |= parts
    such = f", such as {', '.join(others[: least - len(tags)])}" if others else ""
    return f"it has {len(tags)} of at least {least} tags: add some{such}"


def is_common(tag: str) -> bool:
    """Return whether all words of a tag are common: such a tag says little unless the text repeats it."""
    return all(map(_is_common_word, tag.split("-")))


def is_name(phrase: TagPhrase) -> bool:
    """Return whether a single word is written like the name of a program or product, and is no common word."""
    word = phrase.written
    if phrase.words > 1 or (not _MIN_NAME <= len(word) <= _MAX_NAME and not (word.isupper() and word.isalpha())):
        return False
    return _NAME.fullmatch(word) is not None and not is_common(phrase.tag)


@lru_cache(maxsize=8_192)
def _is_common_word(word: str) -> bool:
    return all(map(is_word, running_terms_of(word)))


def _split_phrases(text: str, frequent: frozenset[str]) -> Iterator[tuple[str, str]]:
    for piece in _BREAK.split(text):
        words = _WORD.findall(piece)
        spellings = [normalize_tag(word) for word in words]
        for start, word in enumerate(words):
            if spellings[start] in frequent:
                continue
            yield spellings[start], word
            for end in range(start + 2, min(start + _MAX_PHRASE_WORDS, len(words)) + 1):
                if spellings[end - 1] not in frequent:
                    yield "-".join(spellings[start:end]), " ".join(words[start:end])
