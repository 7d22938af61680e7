"""Text to the token ids that BERT models read, written out so that the core needs no tokenizer package."""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import resources
from itertools import islice

from scrubjay.errors import EmbeddingUnavailable

VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"

# No prose needs as much for its first 256 tokens; the rest of a huge text costs nothing.
_LONGEST_TEXT = 16_384
_LONGEST_WORD = 100
# Longer runs are rare and would fill the cache with text nobody writes twice.
_LONGEST_CACHED = 48
_CACHED_WORDS = 16_384

# What separates words before anything else is looked at. Other control characters separate nothing:
# they are dropped, form feed and vertical tab included.
_SPACES = " \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_IDEOGRAPHS = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf"
    "\U0002f800-\U0002fa1f"
)
_RUN = re.compile(f"[{_IDEOGRAPHS}]|[^{_SPACES}{_IDEOGRAPHS}]+")
_ASCII_WORD = re.compile(r"[0-9a-z]+|[!-/:-@\[-`{-~]")
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_DROPPED_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs"})


class WordPiece:
    """The tokenizer of uncased BERT models: ids of a text between [CLS] and [SEP], cut to a length."""

    def __init__(self, vocabulary: Mapping[str, int], *, longest: int = 256) -> None:
        self._vocabulary = vocabulary
        self._longest = longest
        self._first, self._last = vocabulary["[CLS]"], vocabulary["[SEP]"]
        self._unknown = vocabulary["[UNK]"]
        self._longest_piece = max(map(len, vocabulary))
        self._remembered = lru_cache(maxsize=_CACHED_WORDS)(self._ids_of_run)

    def encode(self, text: str) -> list[int]:
        """The ids of a text; what lies behind the cut is not even looked at."""
        return [self._first, *islice(self._ids(text), self._longest - 2), self._last]

    def _ids(self, text: str) -> Iterator[int]:
        for results in _RUN.finditer(text, 0, _LONGEST_TEXT):
            run = results[0]
            if len(run) <= _LONGEST_CACHED:
                yield from self._remembered(run)
            else:
                for word in _words(run):
                    yield from self._pieces(word)

    def _ids_of_run(self, run: str) -> tuple[int, ...]:
        return tuple(piece for word in _words(run) for piece in self._pieces(word))

    def _pieces(self, word: str) -> list[int]:
        """The longest pieces that make up a word, from its start; unknown if some of it is."""
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        ids: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(min(len(word), start + self._longest_piece), start, -1):
                results = self._vocabulary.get(prefix + word[start:end])
                if results is not None:
                    ids.append(results)
                    start = end
                    break
            else:
                return [self._unknown]
        return ids


def load_vocabulary() -> dict[str, int]:
    """The bundled vocabulary, which is the one that the bundled model was trained with."""
    try:
        data = resources.files("scrubjay.embedding").joinpath("data/vocab.txt").read_bytes()
    except OSError as error:
        raise EmbeddingUnavailable("the bundled vocabulary cannot be read", hint="reinstall scrubjay") from error
    return read_vocabulary(data)


def read_vocabulary(data: bytes) -> dict[str, int]:
    """Token ids from the lines of the vocabulary file; refuses any other file."""
    if hashlib.sha256(data).hexdigest() != VOCABULARY_SHA256:
        raise EmbeddingUnavailable("the bundled vocabulary is damaged", hint="reinstall scrubjay")
    return numbered(data.decode())


def numbered(lines: str) -> dict[str, int]:
    """Token ids by the places of the tokens in a vocabulary."""
    # Not by splitlines, which knows line ends that a token may hold.
    return {token.rstrip("\r"): number for number, token in enumerate(lines.removesuffix("\n").split("\n"))}


def _words(run: str) -> Iterator[str]:
    """The words and punctuation marks of a run without spaces, cleaned, folded and in lower case."""
    if run.isascii():
        # A control character is dropped and joins what stands on its two sides.
        clean = run if run.isprintable() else "".join(filter(str.isprintable, run))
        yield from (results[0] for results in _ASCII_WORD.finditer(clean.lower()))
    else:
        yield from _split_at_punctuation(_folded(run))


def _folded(run: str) -> str:
    clean = "".join(c for c in run if c != "\ufffd" and unicodedata.category(c) not in _DROPPED_CATEGORIES)
    bare = "".join(c for c in unicodedata.normalize("NFD", clean) if unicodedata.category(c) != "Mn")
    # Lower-casing a whole word would give a final sigma its own letter; the model was trained without.
    return bare.replace("\u03a3", "\u03c3").lower()


def _split_at_punctuation(folded: str) -> Iterator[str]:
    start = 0
    for at, character in enumerate(folded):
        if character in _ASCII_PUNCTUATION or unicodedata.category(character)[0] == "P":
            if at > start:
                yield folded[start:at]
            yield character
            start = at + 1
    if start < len(folded):
        yield folded[start:]
