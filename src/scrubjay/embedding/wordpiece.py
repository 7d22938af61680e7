"""The tokenizer of BERT models, implemented here so that the core needs no tokenizer package."""

import hashlib
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import resources
from itertools import islice

from scrubjay.errors import EmbeddingUnavailable
from scrubjay.lazy import regex

VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"

# More than prose needs for its first 256 tokens; the rest of a huge text costs nothing.
_MAX_TEXT = 16_384
_MAX_WORD = 100
# Longer runs are rare and would fill the cache with text that does not recur.
_MAX_CACHED_RUN = 48
_CACHE_SIZE = 16_384
# A sign counts as so many letters beside words: enough where it stands alone.
_SIGN = 0.1

# The characters that separate words. Other control characters, such as form feed and vertical tab, are dropped and
# separate nothing.
_SPACES = " \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_IDEOGRAPHS = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf"
    "\U0002f800-\U0002fa1f"
)
_RUN = regex(f"[{_IDEOGRAPHS}]|[^{_SPACES}{_IDEOGRAPHS}]+")
_ASCII_WORD = regex(r"[0-9a-z]+|[!-/:-@\[-`{-~]")
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_DROPPED_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs"})


class WordPiece:
    """The tokenizer of uncased BERT models: the ids of a text between [CLS] and [SEP], cut to a length."""

    def __init__(self, vocabulary: Mapping[str, int], *, max_tokens: int = 256) -> None:
        self._vocabulary = vocabulary
        self._max_tokens = max_tokens
        self._first, self._last = vocabulary["[CLS]"], vocabulary["[SEP]"]
        self._unknown = vocabulary["[UNK]"]
        self._max_piece = max(map(len, vocabulary))
        self._cached_ids = lru_cache(maxsize=_CACHE_SIZE)(self._ids_of_run)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text; the part after the cut is not processed."""
        return [self._first, *islice(self._ids(text), self._max_tokens - 2), self._last]

    def unread(self, text: str) -> dict[str, float]:
        """Return the words and signs that the vocabulary lacks, such as Thai ones, with their shares of the letters.

        A word in Latin letters is read; if it is too long for the vocabulary, such as a key, its context matters more.
        """
        if text.isascii() or self._unknown not in self._ids(text):
            return {}
        weights: defaultdict[str, float] = defaultdict(float)
        read = 0
        for match in _RUN.finditer(text, 0, _MAX_TEXT):
            # With their marks, which tell Thai words apart.
            for word in _split_at_punctuation(unicodedata.normalize("NFC", _clean(match[0]))):
                folded = _fold(word)
                letters = sum(map(str.isalnum, folded))
                if folded.isascii() or self._pieces(folded) != [self._unknown]:
                    read += letters
                else:
                    weights[word] += letters or _SIGN
        total = read + sum(weights.values())
        return {word: weight / total for word, weight in weights.items()}

    def _ids(self, text: str) -> Iterator[int]:
        for match in _RUN.finditer(text, 0, _MAX_TEXT):
            run = match[0]
            if len(run) <= _MAX_CACHED_RUN:
                yield from self._cached_ids(run)
            else:
                for word in _words(run):
                    yield from self._pieces(word)

    def _ids_of_run(self, run: str) -> tuple[int, ...]:
        return tuple(piece for word in _words(run) for piece in self._pieces(word))

    def _pieces(self, word: str) -> list[int]:
        """Split a word into the longest known pieces, from its start; a word with an unknown part is unknown."""
        if len(word) > _MAX_WORD:
            return [self._unknown]
        ids: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(min(len(word), start + self._max_piece), start, -1):
                id_ = self._vocabulary.get(prefix + word[start:end])
                if id_ is not None:
                    ids.append(id_)
                    start = end
                    break
            else:
                return [self._unknown]
        return ids


def load_vocabulary() -> dict[str, int]:
    """Load the vocabulary of the bundled model."""
    try:
        data = resources.files("scrubjay.embedding").joinpath("data/vocab.txt").read_bytes()
    except OSError as error:
        raise EmbeddingUnavailable("the bundled vocabulary cannot be read", hint="reinstall scrubjay") from error
    return read_vocabulary(data)


def read_vocabulary(data: bytes) -> dict[str, int]:
    """Read token ids from the bytes of the bundled vocabulary; refuses any other bytes."""
    if hashlib.sha256(data).hexdigest() != VOCABULARY_SHA256:
        raise EmbeddingUnavailable("the bundled vocabulary is damaged", hint="reinstall scrubjay")
    return number_tokens(data.decode())


def number_tokens(lines: str) -> dict[str, int]:
    """Number the tokens of a vocabulary by their lines."""
    # Not splitlines: it also splits at characters that a token may contain.
    return {token.rstrip("\r"): number for number, token in enumerate(lines.removesuffix("\n").split("\n"))}


def _words(run: str) -> Iterator[str]:
    """Split a run without spaces into words and punctuation marks: cleaned, without accents, in lower case."""
    if run.isascii():
        # A dropped control character joins the characters around it.
        clean = run if run.isprintable() else "".join(filter(str.isprintable, run))
        yield from (match[0] for match in _ASCII_WORD.finditer(clean.lower()))
    else:
        yield from _split_at_punctuation(_fold(run))


def _clean(run: str) -> str:
    return "".join(c for c in run if c != "\ufffd" and unicodedata.category(c) not in _DROPPED_CATEGORIES)


def _fold(run: str) -> str:
    bare = "".join(c for c in unicodedata.normalize("NFD", _clean(run)) if unicodedata.category(c) != "Mn")
    # Lower-casing a whole word would turn a final sigma into another letter, which the model was not trained with.
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
