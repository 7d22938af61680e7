"""The spelling of tags, and which spellings are one tag: case, separators, plurals, British and American, versions."""

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

from scrubjay.lazy import dataclass
from scrubjay.text.tokens import running_terms_of
from scrubjay.text.word_lists import WordLists

__all__ = [
    "NO_PLURALS", "TAG_WORDS", "FoldedTag", "fold_tag", "initials", "is_foldable", "normalize_tag", "tag_key",
]  # fmt: skip

TAG_WORDS = WordLists("tags")
NO_PLURALS = TAG_WORDS.words("no_plurals")
_ABBREVIATIONS = dict(TAG_WORDS.pairs("abbreviations"))
_SPELLINGS = TAG_WORDS.table("spellings")

_CACHE_SIZE = 16_384
_MAX_LENGTH = 120
# Other tags have a structure of their own, such as `user:7` or `a=b`, or are not in Latin letters.
_FOLDABLE = re.compile(r"(?=.*[a-z])[a-z0-9 _./&+#\\-]+", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s_&\\-]+")
# `ci/cd` is a pair of words; `project/alpha` is a hierarchy.
_PAIR = re.compile(r"(?<![^\s_&-])([a-z0-9]{1,4})/([a-z0-9]{1,4})(?![^\s_&-])")
_DOTNET = re.compile(r"(?:(?<![a-z0-9])|(?<=asp)|(?<=ado)|(?<=vb))\.net(?![a-z])")
_SIGNS = (("+", "plus"), ("#", "sharp"))
_PART = re.compile(r"[a-z]+|\d+")
_JS = re.compile(r"(?<=[a-z]{3})js$")
_OUR = re.compile(r"^(arm|behavi|col|fav|flav|harb|hon|hum|lab|neighb|rum|vap)our")
_ISE = re.compile(r"(?<=[a-z]{3})([iy])s(e|ed|er|ers|es|ing|ation|able)$")
_DOUBLED = re.compile(r"^(cancel|channel|label|level|model|signal|travel|tunnel)l(ed|er|ing)$")
_SHORT = 3
_VERSION = 2
_LINKS = frozenset("a and by for from in of on or the to with".split())


@dataclass(frozen=True, slots=True)
class FoldedTag:
    """A tag for comparison: tags with the same key are one tag.

    `parts` are its words and numbers in order, `stems` its words without endings, `full` its key without abbreviations.
    """

    key: str
    parts: tuple[str, ...]
    words: tuple[str, ...]
    numbers: tuple[str, ...]
    stems: tuple[str, ...]
    full: str


@lru_cache(maxsize=_CACHE_SIZE)
def normalize_tag(tag: str) -> str:
    """Return a tag in lower case, with hyphens between its words; a tag that is not Latin keeps its signs."""
    tidy = " ".join(tag.split()).lstrip("# ").lower()
    if not is_foldable(tidy):
        return tidy
    return _SEPARATORS.sub("-", _PAIR.sub(r"\1-\2", tidy)).lstrip("#-").rstrip("-")


def is_foldable(tag: str) -> bool:
    """Return whether a tag is a word or a name in Latin letters; the spelling of other tags is not changed."""
    return len(tag) <= _MAX_LENGTH and _FOLDABLE.fullmatch(tag) is not None


@lru_cache(maxsize=_CACHE_SIZE)
def tag_key(tag: str) -> str:
    """Return the key that all spellings of one tag share."""
    letters = tag.replace("-", "")
    if letters.isascii() and letters.isalpha() and len(tag) <= _MAX_LENGTH:
        # Without numbers it is its words.
        return "".join(map(_key_of_piece, tag.lower().split("-")))
    return _join_parts(_trim_version(_parts(tag.lower()))) if is_foldable(tag) else _plain(tag)


@lru_cache(maxsize=_CACHE_SIZE)
def fold_tag(tag: str) -> FoldedTag:
    """Return a tag for comparison."""
    if not is_foldable(tag):
        plain = _plain(tag)
        return FoldedTag(plain, (plain,), (plain,), (), (plain,), plain)
    parts = _parts(tag.lower())
    words = tuple(part for part in parts if not part.isdigit())
    numbers = tuple(part for part in parts if part.isdigit())
    stems = tuple(map(_stem, words))
    full = _join_parts(tuple(_ABBREVIATIONS.get(part, part) for part in _trim_version(parts)))
    return FoldedTag(tag_key(tag), parts, words, numbers, stems, full)


def initials(words: tuple[str, ...]) -> tuple[str, str]:
    """Return the first letters of all words, and of those that are no connecting words."""
    # The dot of .net has no initial.
    spoken = ["net" if word == "dotnet" else word for word in words]
    return "".join(word[0] for word in spoken), "".join(word[0] for word in spoken if word not in _LINKS)


def _plain(tag: str) -> str:
    return unicodedata.normalize("NFC", " ".join(tag.split())).lower()


def _parts(tag: str) -> tuple[str, ...]:
    """Return the words of a tag, singular and in one spelling, and its numbers."""
    parts = [part for piece in tag.split("-") for part in _split_piece(piece)]
    if "v" in parts:
        # Before a number it adds nothing.
        parts = [part for part, after in pairwise([*parts, ""]) if not (part == "v" and after.isdigit())]
    return tuple(parts) or (tag,)


@lru_cache(maxsize=_CACHE_SIZE)
def _split_piece(piece: str) -> tuple[str, ...]:
    """Return the same of what is between two hyphens of a tag: many tags share it."""
    plain = _DOTNET.sub(" dotnet ", piece)
    for sign, word in _SIGNS:
        plain = plain.replace(sign, word)
    return tuple([_normalize_word(word) for part in _PART.findall(plain) for word in _JS.sub(" js", part).split()])


@lru_cache(maxsize=_CACHE_SIZE)
def _key_of_piece(piece: str) -> str:
    return "".join(_split_piece(piece))


def _trim_version(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Drop the zero or the x at the end of a version."""
    *_, major, rest = ("", "", *parts)
    return parts[:-1] if rest in ("0", "x") and major.isdigit() and len(parts) > _VERSION else parts


@lru_cache(maxsize=_CACHE_SIZE)
def _normalize_word(word: str) -> str:
    word = _singular(_SPELLINGS.get(word, word))
    word = _OUR.sub(r"\1or", _SPELLINGS.get(word, word))
    return _DOUBLED.sub(r"\1\2", _ISE.sub(r"\1z\2", word))


def _singular(word: str) -> str:
    if len(word) <= _SHORT or not word.endswith("s") or word in NO_PLURALS or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > _SHORT + 2:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zzes")) else word[:-1]


@lru_cache(maxsize=_CACHE_SIZE)
def _stem(word: str) -> str:
    # A stop word counts in a tag.
    return word if word in NO_PLURALS else "".join(running_terms_of(word)) or word


def _join_parts(parts: tuple[str, ...]) -> str:
    """Join parts to one word, with a dot between two numbers."""
    if not any(map(str.isdigit, parts)):
        return "".join(parts)
    joined = parts[0]
    for before, part in pairwise(parts):
        joined += f".{part}" if before.isdigit() and part.isdigit() else part
    return joined
