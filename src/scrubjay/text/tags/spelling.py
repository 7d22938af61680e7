"""How tags are spelt, and which spellings are one tag: case, separators, plurals, British and American, versions."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from scrubjay.text.tags.builtin import ABBREVIATIONS, NO_PLURALS, SPELLINGS
from scrubjay.text.tokens import running_terms_of

__all__ = ["FoldedTag", "fold_tag", "initials", "is_foldable", "normalize_tag", "tag_key"]

_KNOWN_TAGS = 16_384
_LONGEST = 120
# Others have a structure of their own, such as `user:7` or `a=b`, or are not in Latin letters.
_FOLDABLE = re.compile(r"(?=.*[a-z])[a-z0-9 _./&+#\\-]+", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s_&\\-]+")
# `ci/cd` is a pair of words; `project/alpha` is a place in somebody's order of things.
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
    """A tag as it is compared: tags with one key are one tag.

    `parts` are its words and numbers in order, `stems` the words without endings, `full` without abbreviations.
    """

    key: str
    parts: tuple[str, ...]
    words: tuple[str, ...]
    numbers: tuple[str, ...]
    stems: tuple[str, ...]
    full: str


@lru_cache(maxsize=_KNOWN_TAGS)
def normalize_tag(tag: str) -> str:
    """A tag as it is written: lower case, words joined by hyphens; what is not Latin keeps its signs."""
    tidy = " ".join(tag.split()).lstrip("# ").lower()
    if not is_foldable(tidy):
        return tidy
    return _SEPARATORS.sub("-", _PAIR.sub(r"\1-\2", tidy)).lstrip("#-").rstrip("-")


def is_foldable(tag: str) -> bool:
    """Whether it is a word or a name in Latin letters, whose spellings are known; others are left alone."""
    return len(tag) <= _LONGEST and _FOLDABLE.fullmatch(tag) is not None


def tag_key(tag: str) -> str:
    """What is equal for all spellings of one tag."""
    return fold_tag(tag).key


@lru_cache(maxsize=_KNOWN_TAGS)
def fold_tag(tag: str) -> FoldedTag:
    """What a tag is compared by."""
    if not is_foldable(tag):
        plain = unicodedata.normalize("NFC", " ".join(tag.split())).lower()
        return FoldedTag(plain, (plain,), (plain,), (), (plain,), plain)
    parts = _parts(tag.lower())
    words = tuple(part for part in parts if not part.isdigit())
    numbers = tuple(part for part in parts if part.isdigit())
    stems = tuple(map(_stem, words))
    full = _joined(tuple(ABBREVIATIONS.get(part, part) for part in _without_rest(parts)))
    return FoldedTag(_joined(_without_rest(parts)), parts, words, numbers, stems, full)


def initials(words: tuple[str, ...]) -> tuple[str, str]:
    """The first letters of words, of all and of those that are no mere links."""
    # The sign that it begins with is not read aloud.
    told = ["net" if word == "dotnet" else word for word in words]
    return "".join(one[0] for one in told), "".join(one[0] for one in told if one not in _LINKS)


def _parts(tag: str) -> tuple[str, ...]:
    """Its words, singular and in one spelling, and its numbers."""
    plain = _DOTNET.sub(" dotnet ", tag)
    for sign, word in _SIGNS:
        plain = plain.replace(sign, word)
    found = [piece for part in _PART.findall(plain) for piece in _JS.sub(" js", part).split()]
    # A v before a number says that it is a version, which is plain without.
    kept = [one for one, after in pairwise([*found, ""]) if not (one == "v" and after.isdigit())]
    return tuple(map(_plain_word, kept)) or (tag,)


def _without_rest(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Without the zero or the x that a version ends in."""
    *_, major, rest = ("", "", *parts)
    return parts[:-1] if rest in ("0", "x") and major.isdigit() and len(parts) > _VERSION else parts


def _plain_word(word: str) -> str:
    word = _singular(SPELLINGS.get(word, word))
    word = _OUR.sub(r"\1or", SPELLINGS.get(word, word))
    return _DOUBLED.sub(r"\1\2", _ISE.sub(r"\1z\2", word))


def _singular(word: str) -> str:
    if len(word) <= _SHORT or not word.endswith("s") or word in NO_PLURALS or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > _SHORT + 2:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zzes")) else word[:-1]


@lru_cache(maxsize=_KNOWN_TAGS)
def _stem(word: str) -> str:
    # What is left out of a search is not left out of a tag.
    return word if word in NO_PLURALS else "".join(running_terms_of(word)) or word


def _joined(parts: tuple[str, ...]) -> str:
    """One word; but two numbers stay two."""
    joined = parts[0]
    for before, part in pairwise(parts):
        joined += f".{part}" if before.isdigit() and part.isdigit() else part
    return joined
