"""Prompt injections: orders to an agent in a text, recognised by their wording or by how they are hidden.

The rules compare texts in lower case and without accents, with one blank between words. Every gap in a rule has a
maximum of words, so that no text takes long.
"""

import binascii
import codecs
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from html import unescape
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import unquote

from scrubjay.lazy import regex
from scrubjay.text.scripts import fold_script, merge_letters
from scrubjay.text.word_lists import WordLists

__all__ = ["find_injections"]

# Invisible characters that spell ASCII, and other invisible ones in a row. The flags of regions have a few of them.
_TAGS = regex("(?<!\U0001f3f4)[\U000e0020-\U000e007e]{8,}+")
_TAG_OFFSET = 0xE0000
_INVISIBLE_ROW = regex("[\u200b-\u200d\u2060\ufeff]{8,}+")
_ZERO_WIDTH = regex("[\u200b\U000e0000-\U000e007f]")
_OVERRIDE = regex("[\u202d\u202e]")
_CURLY = str.maketrans("\u2018\u2019\u201c\u201d\u00ab\u00bb\u300c\u300d\uff3b\uff3d", '\'\'""""""[]')
# Letters of other alphabets that look like Latin ones.
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u043a\u043c\u0442\u043d\u0432"
    "\u03b1\u03bf\u03c1\u03b5\u03b9\u03ba\u03bd\u03c4\u03c5\u0261\u0131\u217c\u0578\u057d",
    "aeopcyxijshdqwkmtnbaopeikvtugilnu",
)
_LEAD_LENGTH = 24
# A single word, such as a label, orders nothing.
_LABEL = regex(r"[A-Za-z0-9_-]*+")
# The results for so many texts of so many characters are kept.
_CACHED_TEXTS, _SHORT = 1_024, 64


class OrderRule(NamedTuple):
    """A label, the words with which an order begins, and the pattern after one of them; see `data/orders.toml`.

    `is_whole`: no ending may follow the words.
    """

    label: str
    words: tuple[str, ...]
    after: re.Pattern[str]
    is_whole: bool
    leads: bool
    needs: str


_VERBS = WordLists("screening").ordered("tampering")
_LISTS = WordLists("orders")
_PARTS = {name: "".join(part) for name, part in _LISTS.table("parts").items()} | {"tampering": "|".join(_VERBS)}
_PART = regex(f"<({'|'.join(_PARTS)})>")


def _pattern(parts: str | Sequence[str]) -> str:
    return _PART.sub(lambda name: _PARTS[name[1]], "".join(parts))


def _rule(row: Mapping[str, Any]) -> OrderRule:
    after = _pattern(row["after"])
    return OrderRule(
        label=row["label"],
        words=tuple(row["words"]) or _VERBS,
        # One expression for all words of a rule: it takes milliseconds to compile.
        after=regex(after),
        is_whole=after.startswith((" ", "(?: ", "(?:(?: ")),
        leads=row.get("leads", False),
        needs=row.get("needs", ""),
    )


_RULES = tuple(map(_rule, _LISTS.rows("rule")))
_PAIRS = [
    (row["label"], tuple(row["words"]), regex(_pattern(row["first"])), regex(_pattern(row["second"])))
    for row in _LISTS.rows("pair")
]
_START, _SPELT = regex(_PARTS["start"]), regex(_PARTS["spelt"])


def find_injections(text: str) -> tuple[str, ...]:
    """Return a description of each suspicious part of a text; empty when it has none."""
    if len(text) < _MIN_ENCODED and _LABEL.fullmatch(text):
        return ()
    return _find_in_short(text) if len(text) <= _SHORT else _find(text)


# Mostly the tags and the entities of a text, which many texts have in common.
@lru_cache(maxsize=_CACHED_TEXTS)
def _find_in_short(text: str) -> tuple[str, ...]:
    return _find(text)


def _find(text: str) -> tuple[str, ...]:
    labels: dict[str, None] = {}
    if not text.isascii():
        hidden = _TAGS.findall(text)
        if hidden or _INVISIBLE_ROW.search(text):
            labels["invisible letters"] = None
        for run in hidden:
            spelt = "".join(chr(ord(character) - _TAG_OFFSET) for character in run)
            labels |= dict.fromkeys(_find_orders(spelt.lower()))
        if _OVERRIDE.search(text) and _find_orders(_fold(_OVERRIDE.sub("", text)[::-1])):
            labels["letters in the wrong order"] = None
    plain = _fold(text)
    labels |= dict.fromkeys(_find_orders(plain))
    if not plain.isascii():
        latin = _replace_signs(plain, _LOOKALIKES)
        labels |= dict.fromkeys(_find_orders(latin)) if latin != plain else {}
    return tuple(labels) or _find_disguised(text, plain)


def _find_disguised(text: str, plain: str) -> tuple[str, ...]:
    """Return the orders of a text that spells or encodes them."""
    signs = plain.encode("utf-8", "replace")
    marked = signs.translate(_MARKED).replace(b"  ", b" ").replace(b"  ", b" ")
    # Most texts have no such row, and too few digits: that is quick to see.
    if _ROW in marked and any(_SPELT.search(_SEPARATORS.sub("", run[0])) for run in _SPACED.finditer(plain)):
        return ("an order in letters that stand alone",)
    digits = _read_digits(plain) if len(signs.translate(None, _NO_DIGITS)) >= _MIN_LEET else ()
    for reading in (*digits, *map(_fold, _decode(text, plain))):
        if orders := _find_orders(reading):
            return ("an order in disguise", *orders)
    return ()


# Letters that stand alone, and what is between them.
_SPACED = regex(r"(?<![a-z0-9])(?:[a-z0-9][ ._*/|~+-]{1,3}){9,}+[a-z0-9]?")
_SEPARATORS = regex("[^a-z0-9]+")
# The same of the bytes of a text, with an `a` for each letter and digit and a blank for each sign between; the first
# of the letters may follow another sign.
_MARKED = bytes(
    32 if sign in b" ._*/|~+-" else 97 if sign in b"abcdefghijklmnopqrstuvwxyz0123456789" else 120
    for sign in range(256)
)
_ROW = b" a a a a a a a a "
# Digits in place of letters, and these letters; 1 is i or l.
_LEET = regex("[013457](?:(?<=[a-z][013457])|(?<![a-z0-9].)(?=[a-z]{2}))")
_MIN_LEET = 3
_NO_DIGITS = bytes(sign for sign in range(256) if sign not in b"013457")
_DIGITS = (str.maketrans("0134578$", "oieastbs"), str.maketrans("0134578$", "oleastbs"))


def _read_digits(plain: str) -> Iterator[str]:
    if sum(1 for _ in islice(_LEET.finditer(plain), _MIN_LEET)) == _MIN_LEET:
        yield from (_replace_signs(plain, table) for table in _DIGITS)


_MIN_ENCODED = 24
_MAX_RUNS = 20
_BASE64 = regex(f"[A-Za-z0-9+/_-]{{{_MIN_ENCODED},2000}}+={{0,2}}")
_HEX = regex("(?:[0-9A-Fa-f]{2}){16,1000}+")
_PERCENT = regex("%[2-7][0-9A-Fa-f]%[2-7][0-9A-Fa-f]")
_JSON_ESCAPE = regex(r"\\u00([2-7][0-9A-Fa-f])")
_TURNED = ("vtaber", "cerivbhf", "vafgehpgvba", "flfgrz cebzcg", "qvfertneq")
_READABLE = regex(r"[\w\s.,;:!?'\"()/@`|<>~#&=$*{}\[\]\\+%-]*+")
_MAX_ESCAPED = 20_000


def _decode(text: str, plain: str) -> Iterator[str]:
    """Return what the encoded parts of a text say, where they say something."""
    long_words = [word for word in text.split() if len(word) >= _MIN_ENCODED]
    if long_words:
        words = " ".join(long_words)
        for run in islice(_HEX.finditer(words), _MAX_RUNS):
            yield from _readable(bytes.fromhex(run[0]))
        for run in islice(_BASE64.finditer(words), _MAX_RUNS):
            digits = run[0].rstrip("=").replace("-", "+").replace("_", "/")
            # Four characters are three bytes; a single character at the end is none.
            length = len(digits) - (len(digits) % 4 == 1)
            yield from _readable(binascii.a2b_base64(digits[:length] + "=" * (-length % 4)))
    if "%" in text and _PERCENT.search(text):
        yield unquote(text[:_MAX_ESCAPED], errors="ignore")
    if "&#" in text:
        yield unescape(text[:_MAX_ESCAPED])
    if "\\u00" in text:
        yield _JSON_ESCAPE.sub(lambda match: chr(int(match[1], 16)), text[:_MAX_ESCAPED])
    if any(word in plain for word in _TURNED):
        yield codecs.decode(plain[:_MAX_ESCAPED], "rot13")


def _readable(content: bytes) -> Iterator[str]:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return
    if " " in text and _READABLE.fullmatch(text):
        yield text


def _fold(text: str) -> str:
    if not text.isascii():
        text = merge_letters(fold_script(_replace_signs(_ZERO_WIDTH.sub("", text), _CURLY)).lower())
    lines = (" ".join(line.split()) for line in text.lower().split("\n"))
    # A role marker is at the start of a line, which the beginning of the text is, too.
    return "\n" + "\n".join([line for line in lines if line])


def _replace_signs(text: str, table: dict[int, int]) -> str:
    """Translate a text; where it is not ASCII, one replacement after the other is several times as fast."""
    if text.isascii():
        return text.translate(table)
    for sign, plain in table.items():
        text = text.replace(chr(sign), chr(plain))
    return text


def _find_orders(folded: str) -> list[str]:
    words = set(folded.encode("utf-8", "replace").translate(_BLANKED).split())
    orders = _apply_rules(_candidates(words, folded), folded)
    # A sentence may continue in the next line.
    if orders or "\n" not in folded[1:]:
        return orders
    joined = folded[1:].replace("\n", " ")
    return _apply_rules(_candidates(words, joined), joined)


_Candidate = tuple[int, str]
# All but a-z separates words, in UTF-8, too; bytes are translated in a tenth of the time of a text.
_BLANKED = bytes(code if chr(code).islower() and code < 128 else 32 for code in range(256))  # noqa: PLR2004
_WORD = regex("[a-z]+")
_HEAD_LENGTH = 3


def _group_words() -> tuple[dict[bytes, list[_Candidate]], dict[bytes, list[_Candidate]], list[_Candidate]]:
    """Return the words of the rules by their first word, or its beginning if it may have an ending, and all others."""
    by_word: dict[bytes, list[_Candidate]] = {}
    by_head: dict[bytes, list[_Candidate]] = {}
    others: list[_Candidate] = []
    for number, rule in enumerate(_RULES):
        for word in rule.words:
            first = _WORD.match(word)
            if first is None:
                others.append((number, word))
            elif first[0] != word or rule.is_whole:
                by_word.setdefault(first[0].encode(), []).append((number, word))
            else:
                by_head.setdefault(word[:_HEAD_LENGTH].encode(), []).append((number, word))
    return by_word, by_head, others


_BY_WORD, _BY_HEAD, _OTHERS = _group_words()
_BY_SIGN = {word[0]: [other for other in _OTHERS if other[1][0] == word[0]] for _, word in _OTHERS}
_ASCII_FIRST = [sign for sign in _BY_SIGN if sign.isascii()]


def _candidates(words: Iterable[bytes], folded: str) -> list[_Candidate]:
    """Return the rules with a word that a text has, each with that word, in order; most texts have few of them."""
    candidates: list[_Candidate] = []
    for word in words:
        if word in _BY_WORD:
            candidates += [candidate for candidate in _BY_WORD[word] if candidate[1] in folded]
        if (head := word[:_HEAD_LENGTH]) in _BY_HEAD:
            spelt = word.decode()
            candidates += [candidate for candidate in _BY_HEAD[head] if spelt.startswith(candidate[1])]
    for sign in _ASCII_FIRST if folded.isascii() else _BY_SIGN:
        if sign in folded:
            candidates += [candidate for candidate in _BY_SIGN[sign] if candidate[1] in folded]
    # Several words may have the same beginning.
    return sorted(set(candidates)) if candidates else candidates


def _apply_rules(candidates: Iterable[_Candidate], folded: str) -> list[str]:
    labels = [_RULES[number].label for number, word in candidates if _matches(_RULES[number], word, folded)]
    for label, words, first, second in _PAIRS:
        for word in words:
            if word in folded:
                if first.search(folded) and second.search(folded):
                    labels.append(label)
                break
    return list(dict.fromkeys(labels)) if labels else labels


def _matches(rule: OrderRule, word: str, folded: str) -> bool:
    """Return whether a text has a word and what follows it in an order."""
    if rule.needs not in folded:
        return False
    is_word = word[0].isascii() and word[0].isalpha()
    at = folded.find(word)
    while at >= 0:
        # A word does not begin inside another one.
        follows = None if is_word and "a" <= folded[at - 1 : at] <= "z" else rule.after.match(folded, at + len(word))
        if follows and (not rule.leads or _START.search(folded[max(0, at - _LEAD_LENGTH) : at])):
            return True
        at = folded.find(word, follows.end() if follows else at + 1)
    return False
