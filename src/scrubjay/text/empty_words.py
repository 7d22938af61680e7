"""Words that say nothing without another text, in the languages that the rules know."""

from scrubjay.text.languages import ENGLISH, LANGUAGES
from scrubjay.text.scripts import fold, words_of_script
from scrubjay.text.word_lists import WordLists

__all__ = ["EMPTY_WORDS", "empty_words_of"]

_LISTS = WordLists("empty_words")
_WORDS_OF = {
    language: frozenset(word for entry in _LISTS.ordered(language) for word in words_of_script(fold(entry)))
    for language in (ENGLISH, *LANGUAGES)
}
# The language of a scrap is often not known.
EMPTY_WORDS = frozenset[str]().union(*_WORDS_OF.values())


def empty_words_of(language: str) -> frozenset[str]:
    """Return the words of a language, folded; those of all if it is not known."""
    return _WORDS_OF.get(language, EMPTY_WORDS)
