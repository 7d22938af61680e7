"""Prompt injections: orders to an agent in a text, recognised by their wording or by how they are hidden.

The rules compare texts in lower case and without accents, with one blank between words. Every gap in a rule has a
maximum of words, so that no text takes long.
"""

import binascii
import codecs
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from html import unescape
from itertools import islice
from typing import NamedTuple
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
    """A label, the words with which an order begins, and the pattern after one of them; see `data/orders.toml`."""

    label: str
    words: tuple[str, ...]
    after: str
    leads: bool
    needs: str


_VERBS = WordLists("screening").ordered("tampering")
_LISTS = WordLists("orders")
_PARTS = {name: "".join(part) for name, part in _LISTS.table("parts").items()} | {"tampering": "|".join(_VERBS)}
_PART = regex(f"<({'|'.join(_PARTS)})>")


def _pattern(parts: str | Sequence[str]) -> str:
    return _PART.sub(lambda name: _PARTS[name[1]], "".join(parts))


_RULES = tuple(
    OrderRule(
        row["label"],
        tuple(row["words"]) or _VERBS,
        _pattern(row["after"]),
        row.get("leads", False),
        row.get("needs", ""),
    )
    for row in _LISTS.rows("rule")
)
_PAIRS = [
    (row["label"], tuple(row["words"]), regex(_pattern(row["first"])), regex(_pattern(row["second"])))
    for row in _LISTS.rows("pair")
]
_START, _SPELT = regex(_PARTS["start"]), regex(_PARTS["spelt"])


def find_injections(text: str) -> tuple[str, ...]:
    """Return a description of each suspicious part of a text; empty when it has none."""
    if _LABEL.fullmatch(text) and len(text) < _MIN_ENCODED:
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
    if any(_SPELT.search(_SEPARATORS.sub("", run[0])) for run in _SPACED.finditer(plain)):
        return ("an order in letters that stand alone",)
    for reading in (*_read_digits(plain), *map(_fold, _decode(text, plain))):
        if orders := _find_orders(reading):
            return ("an order in disguise", *orders)
    return ()


# Letters that stand alone, and what is between them.
_SPACED = regex(r"(?<![a-z0-9])(?:[a-z0-9][ ._*/|~+-]{1,3}){9,}+[a-z0-9]?")
_SEPARATORS = regex("[^a-z0-9]+")
# Digits in place of letters, and these letters; 1 is i or l.
_LEET = regex("[013457](?:(?<=[a-z][013457])|(?<![a-z0-9].)(?=[a-z]{2}))")
_MIN_LEET = 3
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
    all_words = text.split()
    if max(map(len, all_words), default=0) >= _MIN_ENCODED:
        words = " ".join([word for word in all_words if len(word) >= _MIN_ENCODED])
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
    rules = _candidates(folded)
    # A sentence may continue in the next line.
    is_long = "\n" in folded[1:]
    return _apply_rules(rules, folded) or (_apply_rules(rules, folded[1:].replace("\n", " ")) if is_long else [])


_Candidate = tuple[int, str]
_ASCII_SIGNS = str.maketrans({chr(code): " " for code in range(128) if not chr(code).islower()})
_WORD = regex("[a-z]+")
_HEAD_LENGTH = 3


def _group_words() -> tuple[dict[str, list[_Candidate]], dict[str, list[_Candidate]], list[_Candidate]]:
    """Return the words of the rules by their first word, or its beginning if it may have an ending, and all others."""
    by_word: dict[str, list[_Candidate]] = {}
    by_head: dict[str, list[_Candidate]] = {}
    others: list[_Candidate] = []
    for number, rule in enumerate(_RULES):
        for word in rule.words:
            first = _WORD.match(word)
            if first is None:
                others.append((number, word))
            elif first[0] != word or rule.after.startswith((" ", "(?: ", "(?:(?: ")):
                by_word.setdefault(first[0], []).append((number, word))
            else:
                by_head.setdefault(word[:_HEAD_LENGTH], []).append((number, word))
    return by_word, by_head, others


_BY_WORD, _BY_HEAD, _OTHERS = _group_words()
_BY_SIGN = {word[0]: [other for other in _OTHERS if other[1][0] == word[0]] for _, word in _OTHERS}
_ASCII_FIRST = [sign for sign in _BY_SIGN if sign.isascii()]


def _candidates(folded: str) -> list[_Candidate]:
    """Return the rules that may apply to a text, each with its word; most texts have few of them."""
    is_ascii = folded.isascii()
    words = set(folded.translate(_ASCII_SIGNS).split() if is_ascii else _WORD.findall(folded))
    candidates = [candidate for word in _BY_WORD.keys() & words for candidate in _BY_WORD[word]]
    heads = _BY_HEAD.keys() & {word[:_HEAD_LENGTH] for word in words}
    candidates += [candidate for head in heads for candidate in _BY_HEAD[head]]
    signs = [sign for sign in (_ASCII_FIRST if is_ascii else _BY_SIGN) if sign in folded]
    return sorted(candidates + [candidate for sign in signs for candidate in _BY_SIGN[sign]])


def _apply_rules(candidates: Sequence[_Candidate], folded: str) -> list[str]:
    labels = [
        _RULES[number].label for number, word in candidates if word in folded and _matches(_RULES[number], word, folded)
    ]
    labels += [
        label
        for label, words, first, second in _PAIRS
        if any(word in folded for word in words) and first.search(folded) and second.search(folded)
    ]
    return list(dict.fromkeys(labels))


def _matches(rule: OrderRule, word: str, folded: str) -> bool:
    """Return whether a text has a word and what follows it in an order."""
    return rule.needs in folded and any(
        not rule.leads or _START.search(folded[max(0, match.start() - _LEAD_LENGTH) : match.start()])
        for match in _rule(word, rule.after).finditer(folded)
    )


@cache
def _rule(word: str, rest: str) -> re.Pattern[str]:
    start = re.escape(word)
    is_word = word[0].isascii() and word[0].isalpha()
    return regex(f"{start}(?<![a-z]{start}){rest}" if is_word else f"{start}{rest}")
