"""Orders to an agent that are hidden in a text, told by how they are worded or by how they are hidden."""

import re
from collections.abc import Sequence
from functools import cache

from scrubjay.text.screening.injection_rules import ANYWHERE, ORDERS, STARTS
from scrubjay.text.scripts import folded_script, same_letters

__all__ = ["find_injections"]

# Letters nobody sees that spell ASCII, and others that nobody sees in a row: the flags of regions have a few of them.
_TAGS = re.compile("(?<!\U0001f3f4)[\U000e0020-\U000e007e]{8,}+")
_TAG_OFFSET = 0xE0000
_UNSEEN_ROW = re.compile("[\u200b-\u200d\u2060\ufeff]{8,}+")
_ZERO_WIDTH = re.compile("[\u200b\U000e0000-\U000e007f]")
_OVERRIDE = re.compile("[\u202d\u202e]")
_BLANKS, _LINES = re.compile(r"[^\S\n]+"), re.compile(r" ?\n[ \n]*")
_CURLY = str.maketrans("\u2018\u2019\u201c\u201d\u00ab\u00bb\u300c\u300d\uff3b\uff3d", '\'\'""""""[]')
# Letters of other alphabets that look like ours.
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u043a\u043c\u0442\u043d\u0432"
    "\u03b1\u03bf\u03c1\u03b5\u03b9\u03ba\u03bd\u03c4\u03c5\u0261\u0131\u217c\u0578\u057d",
    "aeopcyxijshdqwkmtnbaopeikvtugilnu",
)
_BEFORE = 24
# Nobody is ordered anything by one word, of which labels are made.
_LABEL = re.compile(r"[A-Za-z0-9_-]*+")
_START = re.compile(STARTS)


def find_injections(text: str) -> tuple[str, ...]:
    """What in a text seems to be meant for whoever reads it as an agent, in words; empty when nothing does."""
    found: dict[str, None] = {}
    if _LABEL.fullmatch(text):
        return ()
    if not text.isascii():
        hidden = _TAGS.findall(text)
        if hidden or _UNSEEN_ROW.search(text):
            found["letters that nobody sees"] = None
        for run in hidden:
            found |= dict.fromkeys(_orders("".join(chr(ord(one) - _TAG_OFFSET) for one in run).lower()))
        if _OVERRIDE.search(text) and _orders(_folded(_OVERRIDE.sub("", text)[::-1])):
            found["letters in the wrong order"] = None
    plain = _folded(text)
    found |= dict.fromkeys(_orders(plain))
    if not plain.isascii():
        alike = plain.translate(_LOOKALIKES)
        found |= dict.fromkeys(_orders(alike)) if alike != plain else {}
    return tuple(found)


def _folded(text: str) -> str:
    if not text.isascii():
        text = same_letters(folded_script(_ZERO_WIDTH.sub("", text).translate(_CURLY)).lower())
    # A marker is one at the start of a line, and the text begins with one.
    return _LINES.sub("\n", _BLANKS.sub(" ", f"\n{text.lower()}"))


def _orders(folded: str) -> list[str]:
    # A sentence may go on in the next line.
    joined = folded[1:].replace("\n", " ")
    return _orders_in(folded) or (_orders_in(joined) if "\n" in folded[1:] else [])


def _orders_in(folded: str) -> list[str]:
    found = [what for what, words, rest in ORDERS if _any(words, rest, folded, led=True)]
    found += [what for what, words, rest in ANYWHERE if _any(words, rest, folded, led=False)]
    return list(dict.fromkeys(found))


def _any(words: Sequence[str], rest: str, folded: str, *, led: bool) -> bool:
    """Whether one of some words stands there and goes on like this; `led`: where an order may begin."""
    # Mostly none of them stands there, and that should be known soon.
    there = [word for word in words if word in folded]
    return bool(there) and any(
        not led or _START.search(folded[max(0, one.start() - _BEFORE) : one.start()])
        for word in there
        for one in _rule(word, rest).finditer(folded)
    )


@cache
def _rule(word: str, rest: str) -> re.Pattern[str]:
    start = re.escape(word)
    is_word = word[0].isascii() and word[0].isalpha()
    return re.compile(f"{start}(?<![a-z]{start}){rest}" if is_word else f"{start}{rest}")
