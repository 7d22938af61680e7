"""What code and figures are found by besides their plain words: parts of names, versions, hashes, addresses."""

import re
from collections.abc import Iterator

__all__ = ["DOT", "extra_words", "spelled"]

# Stands for the dots inside one term: an index takes any ASCII sign for the end of a word.
DOT = "\u00b7"
# Names that punctuation would destroy, spelled as words before anything is split.
_SYMBOLIC = {
    "c++": "cplusplus ",
    "g++": "gplusplus ",
    "c#": "csharp ",
    "f#": "fsharp ",
    ".net": "dotnet ",
    "asp.net": "asp dotnet ",
    "node.js": "node js nodejs ",
}
_SYMBOLIC_PATTERN = re.compile(r"(?<!\w)(?:[cg]\+\+|[cf]#|(?:asp)?\.net|node\.js)(?![^\W\d]|\+)")
_THOUSANDS = re.compile(r"(?<![\w,.])\d{1,3}(?:,\d{3})+(?!\d|,\d)")
_HAS_CAMEL = re.compile("[A-Z](?:(?<=[a-z][A-Z])|[A-Z]{2}[a-z]{2})")
_CAMEL_NAME = re.compile(r"\b\w*(?:[a-z][A-Z]|[A-Z]{3}[a-z]{2})\w*")
_CAMEL_PART = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])|\d+")
_SNAKE_NAME = re.compile(r"\b\w*[^\W_]_[^\W_]\w*")
_DIGIT = re.compile(r"[0-9]")
# What each of the longer patterns must have in it, found quickly: most texts have none of them.
_COMMA_IN_FIGURE = re.compile(r"\d,\d")
_DOT_IN_FIGURE = re.compile(r"[0-9]\.[0-9]")
_LONG_HEX = re.compile(r"[0-9a-f]{8}")
_VERSION = re.compile(r"(?<![\d.])[0-9]{1,9}(?:\.[0-9]{1,9}){1,5}(?!\d)")
# A long hash is quoted by its beginning.
_HASH = re.compile(r"(?<![^\W_])(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{8,}(?![^\W_])")
_SHORT_HASH = 7
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_EMAIL_SIGNS = re.compile(r"[.+@_-]+")


def spelled(folded: str) -> str:
    """The text with names made of signs and figures with commas as words; nothing else is changed."""
    if "++" in folded or "#" in folded or ".net" in folded or "node.js" in folded:
        folded = _SYMBOLIC_PATTERN.sub(lambda found: _SYMBOLIC[found[0]], folded)
    if "," in folded and _COMMA_IN_FIGURE.search(folded):
        folded = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), folded)
    return folded


def extra_words(text: str, folded: str) -> Iterator[str]:
    """Words that splitting at signs does not give; `folded` is the text in lower case, as `spelled` returns it."""
    if _HAS_CAMEL.search(text):
        for name in _CAMEL_NAME.findall(text):
            yield from (part.lower() for part in _CAMEL_PART.findall(name))
    if "_" in folded:
        yield from (name.replace("_", "") for name in _SNAKE_NAME.findall(folded))
    if "@" in folded:
        yield from (_EMAIL_SIGNS.sub(DOT, address) for address in _EMAIL.findall(folded))
    if _DIGIT.search(folded):
        if _DOT_IN_FIGURE.search(folded):
            for version in _VERSION.findall(folded):
                yield from _leading(version.split("."))
        if _LONG_HEX.search(folded):
            yield from (found[:_SHORT_HASH] for found in _HASH.findall(folded))


def _leading(parts: list[str]) -> Iterator[str]:
    """Whoever asks for 3.11 means 3.11.2 too."""
    return (DOT.join(parts[:count]) for count in range(2, len(parts) + 1))
