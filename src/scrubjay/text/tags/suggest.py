"""What in a text could be a tag: the phrases of its title and its beginning, and names that only look like names."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from scrubjay.text.related_words import is_word
from scrubjay.text.tags.spelling import normalize_tag
from scrubjay.text.tokens import STOP_WORDS, running_terms_of

__all__ = ["TagPhrase", "find_phrases", "is_common", "is_name"]

_READ = 2_000
_LONGEST_PHRASE = 3
_MOST = 160
# A code block, an address or a path says how something is done, not what it is about.
_NOISE = re.compile(r"```.*?(?:```|\Z)|\b\w+://\S+|\S+@\S+|(?<!\w)[~.]?/[\w./-]+|\[[^\]\n]{1,40}\]", re.DOTALL)
_WORD = re.compile(r"(?<![\w/.#+-])\.?[A-Za-z][\w+#-]*(?:\.[A-Za-z]\w*)*")
_BREAK = re.compile(r"[.!?;:,()\"\n]\s|\n")
# Letters with a capital or a figure inside are how programs and products are called.
_NAME = re.compile(r"[A-Za-z]+[a-z][A-Z][A-Za-z]*|[a-z]+(?:-[a-z]+)*|[A-Z]{3,6}|[A-Z]+[a-z]*[A-Z][a-z]+")
_SHORTEST_NAME, _LONGEST_NAME = 4, 24


@dataclass(frozen=True, slots=True, kw_only=True)
class TagPhrase:
    """A few words of a text, spelt as a tag; how often they stand there, and whether in the title."""

    tag: str
    written: str
    words: int
    times: int
    in_title: bool


def find_phrases(text: str, *, title: str = "") -> list[TagPhrase]:
    """Its phrases of up to three words, those in the title first, then longer ones, then those that come again."""
    head = set(_spelt_phrases(title))
    body = list(_spelt_phrases(_NOISE.sub(" . ", text[:_READ])))
    times = Counter(tag for tag, _ in [*head, *body])
    written = dict([*body, *head])
    titled = {tag for tag, _ in head}
    found = [
        TagPhrase(tag=tag, written=written[tag], words=tag.count("-") + 1, times=count, in_title=tag in titled)
        for tag, count in times.items()
    ]
    found.sort(key=lambda one: (not one.in_title, -one.words * min(one.times, 2), -one.times, one.tag))
    return found[:_MOST]


@lru_cache(maxsize=8_192)
def is_common(tag: str) -> bool:
    """Whether all its words are of everyday language: such a tag says little unless the text dwells on it."""
    return all(is_word(term) for word in tag.split("-") for term in running_terms_of(word))


def is_name(phrase: TagPhrase) -> bool:
    """Whether a single word is written as the names of programs and products are, and is no word of the language."""
    word = phrase.written
    if not _SHORTEST_NAME <= len(word) <= _LONGEST_NAME and not (word.isupper() and word.isalpha()):
        return False
    return phrase.words == 1 and _NAME.fullmatch(word) is not None and not is_common(phrase.tag)


def _spelt_phrases(text: str) -> Iterator[tuple[str, str]]:
    for piece in _BREAK.split(text):
        words = _WORD.findall(piece)
        spellings = [normalize_tag(word) for word in words]
        for start, word in enumerate(words):
            if spellings[start] in STOP_WORDS:
                continue
            yield spellings[start], word
            for end in range(start + 2, min(start + _LONGEST_PHRASE, len(words)) + 1):
                if spellings[end - 1] not in STOP_WORDS:
                    yield "-".join(spellings[start:end]), " ".join(words[start:end])
