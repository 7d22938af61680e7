"""Scripts other than plain Latin: fold spellings that mean the same, split unspaced writing, find emoji."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import add
from typing import NamedTuple

from scrubjay.lazy import regex

__all__ = [
    "WORD", "FoldedText", "ascii_words", "emoji_of", "fold", "fold_in_place", "fold_script", "is_unspaced",
    "merge_letters", "split_unspaced", "words_of_script",
]  # fmt: skip

# Folding drops Latin, Greek, Cyrillic, Hebrew and Arabic marks, except the breve of the Russian short i, which is a
# letter of its own in endings that the stemmer knows. Of the Indic marks it drops only the dot that people leave out.
_MARKS = regex(
    "(?<!\u0438)(?<!\u0418)\u0306|[\u0300-\u0305\u0307-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5"
    "\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u093c\u20d0-\u20ff]"
)
# Invisible characters inside a word: joiners, soft hyphens, directions, variants, the Arabic stretch.
_UNSEEN = regex("[\u00ad\u034f\u061c\u0640\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
_SURROGATES = regex("[\ud800-\udfff]")
# Letters that people exchange, or write without their stroke.
_SAME = {
    **dict(zip("ıøłđðħŧŋ", "iolddhtn", strict=True)),
    "æ": "ae",
    "œ": "oe",
    "þ": "th",
    **dict(
        zip(
            "\u0671\u0629\u0649\u06cc\u06d2\u06a9\u06c1\u06be\u06d5",
            "\u0627\u0647\u064a\u064a\u064a\u0643\u0647\u0647\u0647",
            strict=True,
        )
    ),
    "\u0901": "\u0902",
}
_SAME_PATTERN = regex(f"[{''.join(_SAME)}]")
_FOREIGN_DIGIT = regex(r"(?![0-9])\d")
# A Hebrew abbreviation has a mark before its last letter.
_GERSHAYIM = regex("(?<=[\u05d0-\u05ea])[\"'\u05f3\u05f4](?=[\u05d0-\u05ea])")
# Hebrew writes and, the, in, to, from, that and as as the first letter of the next word; the letter may also belong to
# that word.
_HEBREW_PREFIXED = regex("[\u05d5\u05d4\u05d1\u05dc\u05de\u05e9\u05db][\u05d0-\u05ea]{3,}$")
# The Arabic article, and the letters that are written together with it.
_ARABIC_ARTICLE = regex("(?<!\\w)(?:[\u0648\u0641\u0628\u0643]?\u0627\u0644|\u0644\u0644)(?=[\u0621-\u064a]{3})")

# Vowel signs and tones are parts of words, but no letters.
_SIGNS = "".join(
    sign
    for first, last in ((0x700, 0x1E00), (0xA800, 0xAC00), (0x11000, 0x12000))
    for sign in map(chr, range(first, last))
    if unicodedata.category(sign)[0] == "M"
)
WORD = regex(f"[\\w{_SIGNS}]+")
# By whether digits belong to words: all that separates words is a blank.
_BLANKED = {
    digits: bytes(
        code if chr(code).isascii() and (chr(code).isalpha() or (digits and chr(code).isdecimal())) else 32
        for code in range(256)
    )
    for digits in (False, True)
}
# Han, kana and bopomofo: terms are pairs of characters, and single characters.
_IDEOGRAPHS = (
    "\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# Thai, Lao, Burmese, Khmer, Tai and Javanese: terms are pairs only, since one character says little.
_RUNNING = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\ua980-\ua9ff\uaa60-\uaa7f"
_UNSPACED = regex(f"[{_IDEOGRAPHS}]+|[{_RUNNING}]+")
_MAY_SPLIT = regex(f"[{_IDEOGRAPHS}{_RUNNING}\u05d0-\u05ea]")
_IS_IDEOGRAPH = regex(f"[{_IDEOGRAPHS}]")

_PICTURE = (
    "\u231a\u231b\u2328\u23cf\u23e9-\u23f3\u23f8-\u23fa\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f0ff"
    "\U0001f170-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
)
_MODIFIERS = regex("[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff]")
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_TAGS = "[\U000e0020-\U000e007e]{1,6}\U000e007f"
_EMOJI = regex(f"{_FLAG}|[{_PICTURE}](?:{_TAGS})?(?:\u200d[{_PICTURE}]){{0,9}}")
_HAS_EMOJI = regex(f"[{_PICTURE}\U0001f1e6-\U0001f1ff]")
# The gender and hair of a person are no part of the meaning.
_PERSON_PARTS = frozenset("\u2640\u2642\U0001f9b0\U0001f9b1\U0001f9b2\U0001f9b3")


class FoldedText(NamedTuple):
    """A folded text, and the position of each of its characters in the original text; the last one is the end."""

    text: str
    positions: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the original text, with the marks that follow its last letter."""
        return self.positions[start], self.positions[end]


def fold(text: str) -> str:
    """Return a text for comparison: without regard to case, accents and width."""
    return text.lower() if text.isascii() else merge_letters(fold_script(text).casefold())


def fold_in_place(text: str) -> FoldedText:
    """Fold a text letter by letter, so that a match can be shown in the original text."""
    if text.isascii():
        return FoldedText(text.lower(), range(len(text) + 1))
    folded = {character: _fold_character(character) for character in set(text)}
    parts = [folded[character] for character in text]
    positions = [at for at, part in enumerate(parts) for _ in part]
    return FoldedText("".join(parts), [*positions, len(text)])


@lru_cache(maxsize=8192)
def _fold_character(character: str) -> str:
    return merge_letters(fold_script(character).casefold())


def fold_script(text: str) -> str:
    """Write the same whatever looks or sounds the same; upper and lower case stay."""
    text = unicodedata.normalize("NFKC", _SURROGATES.sub(" ", text))
    text = _UNSEEN.sub("", text)
    text = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text)))
    return _FOREIGN_DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text)


def merge_letters(folded: str) -> str:
    """Replace letters that people exchange by one of them, in a text in lower case."""
    return _SAME_PATTERN.sub(lambda match: _SAME[match[0]], folded)


def words_of_script(folded: str) -> list[str]:
    """Return the words of a text that is folded and in lower case."""
    if folded.isascii():
        return ascii_words(folded)
    folded = _ARABIC_ARTICLE.sub("", _GERSHAYIM.sub("", folded))
    return WORD.findall(folded.replace("_", " "))


def ascii_words(text: str, *, digits: bool = True) -> list[str]:
    """Return the words of a text in ASCII, with or without digits; a regular expression takes several times as long."""
    return text.encode().translate(_BLANKED[digits]).decode().split()


def is_unspaced(word: str) -> bool:
    """Return whether a word has letters of a script without spaces: then another word may follow at once."""
    return _UNSPACED.search(word) is not None


def split_unspaced(words: Iterable[str], *, singles: list[str]) -> list[str]:
    """Split words in scripts without spaces, in order; add single ideographs and bare stems to `singles`."""
    split: list[str] = []
    for word in words:
        if not _MAY_SPLIT.search(word):
            split.append(word)
            continue
        if _HEBREW_PREFIXED.match(word):
            singles.append(word[1:])
        end = 0
        for run in _UNSPACED.finditer(word):
            if run.start() > end:
                split.append(word[end : run.start()])
            characters = run[0]
            split += map(add, characters, characters[1:]) if len(characters) > 1 else characters
            if len(characters) > 1 and _IS_IDEOGRAPH.match(characters):
                singles.extend(characters)
            end = run.end()
        if end < len(word):
            split.append(word[end:])
    return split


def emoji_of(text: str) -> Iterator[str]:
    """Return each emoji without its modifiers; a joined one both as a whole and by its parts."""
    if not _HAS_EMOJI.search(text):
        return
    matches = _EMOJI.findall(_MODIFIERS.sub("", text))
    if "\u200d" not in text:
        yield from matches
        return
    for emoji in matches:
        parts = [part for part in emoji.split("\u200d") if part not in _PERSON_PARTS] or [emoji[0]]
        yield from parts
        if len(parts) > 1:
            yield "".join(parts)
