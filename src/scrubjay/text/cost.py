"""The number of tokens of a text, estimated without a model's vocabulary: from the kinds of its characters.

The estimate is fitted to a published vocabulary of 65,000 tokens. For English prose it is a third to a half too high;
for keys, logs, tables and most scripts it is right or a little too high. It is too low, by up to a third, for foreign
names in Latin letters and for words of random letters.
"""

from functools import lru_cache

from scrubjay.lazy import regex

__all__ = ["end_within", "estimate_tokens"]

_CONSONANT = "[bcdfghjklmnpqrstvwxz]"
_VOWEL = "[aeiouy]"
_SYLLABLE = f"{_CONSONANT}{_CONSONANT}?(?:{_VOWEL}{{1,2}}{_CONSONANT}{{0,2}})?|{_VOWEL}{_VOWEL}?{_CONSONANT}{{0,2}}"
_TOKEN = (
    f"{_SYLLABLE}|[A-Z](?:{_SYLLABLE}|[A-Z])?|[0-9][0-9]?"
    # Rulers, and the punctuation of JSON.
    r'|--{0,15}|=={0,15}|\.\.{0,15}|##{0,7}|\*\*{0,3}|"[,:]"?'
    r"|[!-/:-@\[-`{-~]"
)
# Each beginning of a piece is a piece itself, so that a longer text never costs less. Each kind of piece begins with
# one character or set: others are passed over without being tried.
_PIECE = regex(
    # A long run of letters is no word: keys and hashes have few letters per token.
    "[a-z](?<=[A-Za-z0-9+/]{13})[a-z]?|[A-Z](?<=[A-Za-z0-9+/]{13})[A-Z]?"
    # A syllable or a sign, with the space before it.
    f"| (?:{_TOKEN})|{_TOKEN}"
    r"|\n\n? {0,16}|\t\t{0,3}|  {0,15}|[\x00-\x7f]|[^\x00-\x7f]"
)
# What no piece goes on after, nor looks back before.
_WORD = regex("[^A-Za-z0-9+/]*[A-Za-z0-9+/]+|[^A-Za-z0-9+/]+")
# A character outside ASCII costs one token, and one of these two: alphabets other than Cyrillic, Arabic and Hebrew,
# Han, kana, Hangul, marks, most symbols …
_HEAVY = regex(
    "[\u0080-\u00a0\u0300-\u03ff\u0530-\u05cf\u0610-\u061f\u064b-\u065f\u0670\u0700-\u1fff\u200b-\u200f\u2028-\u24ff"
    "\u2580-\uff00\uff5f-\U0010ffff]+"
)
# … and one of these costs three: the scripts and symbols that a vocabulary encodes byte by byte.
_HEAVIEST = regex(
    "[\u0700-\u08ff\u0a00-\u0b7f\u0c00-\u0dff\u0e80-\u0fff\u1200-\u1dff\u200b-\u200f\u2190-\u24ff\u2600-\u2fff"
    "\u3100-\u33ff\ua000-\uabff\ud7b0-\uff00\uff5f-\U0010ffff]+"
)
# A text of this cost exceeds every budget of an agent: the rest of it is counted as prose.
_EXACT_UP_TO = 16_384
_CHARACTERS_PER_TOKEN = 3
_CHUNK = 65_536
# The same passages answer many questions: the cost of a text up to this length is cached.
_SHORT = 2_048
_CACHE_SIZE = 4_096
# So do the words of other passages: the number of pieces of a word up to this length is cached.
_SHORT_WORD = 24
_CACHED_WORDS = 16_384


def estimate_tokens(text: str) -> int:
    """Return the number of tokens of a text, rather too high than too low."""
    if len(text) <= _SHORT:
        return _cached_cost(text)
    if len(text) <= _CHUNK:
        return _cost(text)
    count = 0
    for start in range(0, len(text), _CHUNK):
        if count > _EXACT_UP_TO:
            return count + (len(text) - start) // _CHARACTERS_PER_TOKEN
        count += _cost(text[start : start + _CHUNK])
    return count


def end_within(text: str, *, start: int = 0, tokens: int) -> int:
    """Return the end of the longest part from `start` on that costs at most so many tokens."""
    end = start
    for piece in _PIECE.finditer(text, start):
        tokens -= 1 if piece[0].isascii() else 1 + _excess(piece[0])
        if tokens < 0:
            return end
        end = piece.end()
    return len(text)


def _cost(text: str) -> int:
    words = _WORD.findall(text)
    count = 1 + sum([_cached_pieces(word) if len(word) <= _SHORT_WORD else _pieces(word) for word in words])
    return count if text.isascii() else count + _excess(text)


def _pieces(word: str) -> int:
    return len(_PIECE.findall(word))


_cached_cost = lru_cache(maxsize=_CACHE_SIZE)(_cost)
_cached_pieces = lru_cache(maxsize=_CACHED_WORDS)(_pieces)


def _excess(text: str) -> int:
    """Return the tokens of a text beyond one per character."""
    return sum(map(len, _HEAVY.findall(text))) + sum(map(len, _HEAVIEST.findall(text)))
