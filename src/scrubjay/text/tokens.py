"""Text to search terms: one way for what is stored and what is asked, on every backend."""

import re
import threading
import unicodedata
from collections.abc import Iterator

import Stemmer

from scrubjay.text.words import IRREGULAR, STOP_WORDS

__all__ = ["STOP_WORDS", "terms_of"]

_LONGEST_TERM = 48
# Names that punctuation would destroy, spelled as words before anything is split.
_SYMBOLIC = {"c++": "cplusplus", "c#": "csharp", "f#": "fsharp", ".net": "dotnet", "node.js": "nodejs"}
_SYMBOLIC_PATTERN = re.compile(r"(?<!\w)(?:c\+\+|c#|f#|\.net|node\.js)(?!\w)")
# Latin, Hebrew and Arabic marks are folded away; Indic vowel signs are letters and stay.
_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]")
# Their punctuation, such as the danda that ends a Hindi sentence, does not; joiners stand only within a word.
_INDIC = "".join(sign for sign in map(chr, range(0x900, 0x10A0)) if unicodedata.category(sign)[0] in "LMN")
_WORD = re.compile(f"(?:[^\\W_]|[{_INDIC}])(?:[^\\W_]|[{_INDIC}\u200c\u200d])*")
# Scripts written without spaces are found by pairs of characters.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_CAMEL = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])|\d+")
_HAS_CAMEL = re.compile(r"\b\w*[a-z][A-Z]\w*")
_POSSESSIVE = re.compile("[\u2019']s\\b")
_APOSTROPHE = re.compile("[\u2019']")
_SURROGATES = re.compile("[\ud800-\udfff]")
_local = threading.local()


def terms_of(text: str) -> tuple[str, ...]:
    """The terms a text is found by, in order and with repetition."""
    words = [word for word in _words(text) if word not in STOP_WORDS]
    folded = [IRREGULAR.get(word, word)[:_LONGEST_TERM] for word in words]
    return tuple(_stemmer().stemWords(folded))


def _words(text: str) -> Iterator[str]:
    text = _SURROGATES.sub(" ", text)
    for identifier in _HAS_CAMEL.findall(text):
        yield from (part.lower() for part in _CAMEL.findall(identifier))
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = _SYMBOLIC_PATTERN.sub(lambda found: _SYMBOLIC[found[0]], folded)
    if not folded.isascii():
        folded = _MARKS.sub("", unicodedata.normalize("NFD", folded))
        folded = unicodedata.normalize("NFC", folded)
    folded = _APOSTROPHE.sub("", _POSSESSIVE.sub("", folded))
    for word in _WORD.findall(folded):
        if word.isascii():
            yield word
        else:
            yield from _split_unspaced(word)


def _split_unspaced(word: str) -> Iterator[str]:
    end = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > end:
            yield word[end : run.start()]
        characters = run[0]
        yield from (characters[at : at + 2] for at in range(max(1, len(characters) - 1)))
        end = run.end()
    if end < len(word):
        yield word[end:]


def _stemmer() -> Stemmer.Stemmer:
    # A stemmer keeps a cache of its own and must not be shared between threads.
    if not hasattr(_local, "stemmer"):
        _local.stemmer = Stemmer.Stemmer("english")
    return _local.stemmer
