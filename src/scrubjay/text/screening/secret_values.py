"""Values after a name such as password or api_key: whether one is a secret, or a text about secrets."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from scrubjay.lazy import regex
from scrubjay.text.word_lists import WordLists

__all__ = ["SecretName", "Work", "find_names", "is_mixed", "is_placeholder", "is_random", "parse_name"]

_WORDS = WordLists("screening")
_INNOCENT_ENDINGS = _WORDS.words("innocent_endings")
_INNOCENT_STARTS = _WORDS.words("innocent_starts")
_ORDINARY = _WORDS.words("ordinary")

_KINDS = {
    "password": "password", "short": "password", "pin": "pin", "phrase": "passphrase", "strong": "key",
    "weak": "secret",
}  # fmt: skip
_MAX_NAME = 32
_MAX_VALUE = 512
_MIN_VALUE = 4
_MIN_KEY = 8
# What it costs to look at a name, in characters of a value.
_COST = 64

_REST = r"(?P<rest>[a-z0-9_-]{0,40}+)"
_DIRECT = r"[\"'`]?\s{0,4}(?:[:=\uff1a]=?>?|->)\s{0,4}"
_STATED = (
    r"(?:\s(?:for|of|to|on|at|f\u00fcr|de|para)(?:\s[^\s.;:,=]{1,30}+){1,5}?)?"
    r"\s(?:(?:(?:is|was|has been|got)\s)?(?:changed|reset|set|updated)\sto"
    r"|(?:is|was|are|has been|ist|lautet|est|es|jest)(?:\snow)?)(?:\s{0,2}:)?\s{1,4}"
)
_STATED_ABROAD = "\\s{0,2}(?:\u662f|\u4e3a|\u306f|\ub294|\u0647\u064a)\uff1a?\\s{0,2}"
# Without a word between: only a value that can be nothing else, which has a digit.
_BARE = r"\s(?=\S{0,63}[0-9])"
_TAIL = rf"(?:(?P<direct>{_DIRECT})|(?P<stated>{_STATED})|(?P<stated_abroad>{_STATED_ABROAD})|(?P<bare>{_BARE}))"
_QUOTES = {'"': '"', "'": "'", "`": "`", "\u201c": "\u201d", "\u2018": "\u2019", "\u00ab": "\u00bb", "\u300c": "\u300d"}
_UNQUOTED = regex(rf"[^\s\"'`<>|\u3002\uff0c]{{1,{_MAX_VALUE}}}+")
# After a short name: short enough to remember, and with a digit.
_SHORT_VALUE = regex(r"(?=[^0-9\s]{0,63}[0-9])[^\s]{1,64}+(?!\S)")
_PHRASE = regex(r"[^\s.,;\"'`]{1,24}+(?: [^\s.,;\"'`]{1,24}+){2,23}+")
_FIELD_END = regex(r";|&(?=[\w.-]{1,64}+=)")
_BREAK = regex(r"[_\s-]+|(?<=[a-z])(?=[A-Z])")
_NAME_BACKWARDS = regex("[A-Za-z0-9_-]*+")


@dataclass
class Work:
    """How much more may be read of the values in a text; where that is used up, values are hidden unread.

    No ordinary text has tens of thousands of names of secrets, and each of them with the next ones in its value.
    """

    left: int = 1_000_000

    def spend(self, amount: int) -> bool:
        """Return whether so much may still be read."""
        self.left -= amount
        return self.left > 0


class SecretName(NamedTuple):
    """A name of secrets, its family, and the texts one of which must come before it; with none, it is always one.

    A password may be any word, so its name alone decides. A short name may be the name of anything: its value must
    look like no word. A phrase has several words. The value of a strong name is a secret if it has letters and digits,
    that of a weak one if it looks random.
    """

    family: str
    name: str
    before: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The word for such a secret in a redaction."""
        return _KINDS[self.family]

    def spans(self, text: str, *, work: Work) -> Iterator[tuple[int, int]]:
        """Return the spans of the secrets after this name."""
        folded, pattern = _lowered(text), _name_pattern(self.name)
        match = pattern.search(folded)
        while match:
            at, after = match.start(), match.end("name")
            span = self._span(text, match, work) if self._fits(folded, at, after) else None
            if span:
                yield span
            at = span[1] if span else after
            if work.left < 0:
                yield from (unread.span("value") for unread in _unread_pattern(self.name).finditer(folded, at))
                return
            match = pattern.search(folded, at)

    def hides(self, value: str, *, is_direct: bool, is_alone: bool, is_quoted: bool) -> bool:
        """Return whether a value of this name is a secret, by how it is written."""
        if len(value) < _MIN_VALUE or is_placeholder(value) or value.casefold().strip(".!?") in _ORDINARY:
            return False
        if self.family == "pin":
            return value.isdecimal() and is_alone
        if self.family == "short":
            return is_direct and _is_cryptic(value)
        if self.family == "phrase":
            return is_quoted or (is_direct and _is_strange(value))
        if self.family == "password":
            return _is_password(value, is_direct=is_direct, is_alone=is_alone, is_quoted=is_quoted)
        if len(value) < _MIN_KEY or not _KEY_CHARACTERS.fullmatch(value):
            return False
        return is_mixed(value) if self.family == "strong" else is_random(value)

    def _fits(self, folded: str, at: int, after: int) -> bool:
        if self.family in ("pin", "short") and (folded[at - 1 : at].isalpha() or folded[after : after + 1].isalpha()):
            return False
        return not self.before or folded.endswith(self.before, 0, at)

    def _span(self, text: str, match: re.Match[str], work: Work) -> tuple[int, int] | None:
        at, after, end_of_name = match.start(), match.end("name"), match.end("rest")
        link = match.lastgroup or ""
        tail = match[link]
        if not work.spend(_COST) or (self.family == "short" and not _SHORT_VALUE.match(text, match.end())):
            return None
        start, end, is_quoted = _value(text, match.end(), is_phrase=self.family == "phrase", is_assigned="=" in tail)
        value = text[start:end]
        if len(value) < _MIN_VALUE or not work.spend(len(value)):
            return None
        before = _name_before(text, at)
        if _is_innocent(before, text[after:end_of_name]):
            return None
        if link == "bare" and not before.startswith("--"):
            # Three letters in the base64 of a picture are no name.
            is_name = not is_random(before + text[after:end_of_name])
            if not (is_name and self._is_obvious(value)):
                return None
        is_alone = text[end : end + 2].strip(" \t,;.\"'`")[:1] in ("", "\n", "\r", "#", "}", ")")
        if self.hides(value, is_direct=link != "stated", is_alone=is_alone, is_quoted=is_quoted):
            return start, end
        # NAME=value, as in a settings file.
        is_setting = tail == "=" and text[at:after].isupper() and is_alone and len(value) >= len("secret")
        return (start, end) if is_setting and _is_setting(value) else None

    def _is_obvious(self, value: str) -> bool:
        """Return whether a value can be nothing but a secret, without a word or sign before it."""
        if self.family == "password":
            return _is_strange(value) or bool(_INTERLACED.fullmatch(value) and not _ALGORITHM.match(value))
        return self.family in ("strong", "weak") and bool(_LONG_HEX.fullmatch(value) and is_mixed(value))


def find_names(text: str) -> Iterator[SecretName]:
    """Return the names that a text has, in the order in which to look for their values."""
    folded = _lowered(text)
    names = _ASCII_NAMES if folded.isascii() else _NAMES
    return (secret_name for secret_name in names if secret_name.name in folded)


def parse_name(label: str) -> SecretName | None:
    """Return the name that makes a label the label of a secret, if any does."""
    folded = _lowered(label)
    for secret_name in _NAMES:
        at = folded.rfind(secret_name.name)
        after = at + len(secret_name.name)
        fits = at >= 0 and secret_name._fits(folded, at, after)  # noqa: SLF001
        if fits and not _is_innocent(label[:at], label[after:]):
            return secret_name
    return None


_NAMES = (
    *(SecretName("password", name) for name in _WORDS.lines("password_names")),
    SecretName("pin", "pin"),
    SecretName("short", "pw"),
    SecretName("short", "pass"),
    *(SecretName("phrase", name) for name in _WORDS.lines("phrase_names")),
    *(
        SecretName(
            "strong", name, tuple(word + joint for word in _WORDS.ordered(words) for joint in ("", " ", "_", "-"))
        )
        for name, words in (("key", "key_prefixes"), ("token", "token_prefixes"), ("secret", "secret_prefixes"))
    ),
    *(SecretName("strong", name) for name in _WORDS.ordered("strong_names")),
    SecretName("weak", "key", ("_",)),
    SecretName("weak", "token"),
    SecretName("weak", "secret"),
)
_ASCII_NAMES = tuple(secret_name for secret_name in _NAMES if secret_name.name.isascii())


@cache
def _name_pattern(name: str) -> re.Pattern[str]:
    return regex(f"(?P<name>{re.escape(name)}){_REST}{_TAIL}")


@cache
def _unread_pattern(name: str) -> re.Pattern[str]:
    return regex(rf"{re.escape(name)}[a-z0-9_-]{{0,40}}+[\"'`]?\s{{0,4}}[:=]\s{{0,4}}(?P<value>[^\s\[]\S{{3,511}}+)")


def _name_before(text: str, at: int) -> str:
    match = _NAME_BACKWARDS.match(text[max(0, at - _MAX_NAME) : at][::-1])
    return match[0][::-1] if match else ""


def _lowered(text: str) -> str:
    folded = text.lower()
    # One capital has two characters in lower case; then positions would differ.
    return folded if len(folded) == len(text) else text.replace("\u0130", "I").lower()


def _value(text: str, at: int, *, is_phrase: bool, is_assigned: bool) -> tuple[int, int, bool]:
    closing = _QUOTES.get(text[at : at + 1], "")
    if closing:
        end = text.find(closing, at + 1, at + 1 + _MAX_VALUE)
        if end > 0 and "\n" not in text[at:end]:
            return at + 1, end, True
    if is_phrase and (phrase := _PHRASE.match(text, at)):
        return at, phrase.end(), True
    match = _UNQUOTED.match(text, at)
    value = match[0] if match else ""
    if is_assigned and ("&" in value or ";" in value):
        # The next field of a query or of a connection string.
        value = _FIELD_END.split(value, maxsplit=1)[0]
    return at, at + len(value.rstrip(".,;:)]}\\")), False


def _is_innocent(before: str, rest: str) -> bool:
    if rest and ((rest[0].isalpha() and rest[0] not in "sS") or rest.startswith("-")):
        return True
    if any(part.casefold() in _INNOCENT_ENDINGS for part in _BREAK.split(rest)):
        return True
    return any(part.casefold() in _INNOCENT_STARTS for part in _BREAK.split(before))


_PLAIN_WORD = regex(r"[^\W\d_]+(?:['\u2019/-][^\W\d_]+)*+[!?]?")
_ALGORITHM = regex(
    r"(?:sha|md|aes|rsa|bcrypt|base|utf|hs|rs|es|ed|pbkdf|argon|oauth|http|tls|ssl|v)[-_]?\d", re.IGNORECASE
)
_KEY_CHARACTERS = regex(r"[A-Za-z0-9+/=_.~:$!@#%^&*-]++")
_CAMEL, _LETTER, _DIGIT = regex("[a-z][A-Z]"), regex("[A-Za-z]"), regex("[0-9]")
# No sentence has a word with several of these.
_KINDS_OF_SIGNS = tuple(map(re.compile, ("[a-z]", "[A-Z]", r"[^\w\s.,:/'-]")))
_CHAIN = 3
# Digits between letters, in a word that is too long for the name of a thing.
_INTERLACED = regex("(?=[A-Za-z0-9]{10,64}$)[A-Za-z]+[0-9]+[A-Za-z][A-Za-z0-9]*+")
_LONG_HEX = regex("[0-9a-f]{32,128}+")


def _is_password(value: str, *, is_direct: bool, is_alone: bool, is_quoted: bool) -> bool:
    if _ALGORITHM.match(value):
        return False
    if value.isdecimal():
        return is_alone
    if _PLAIN_WORD.fullmatch(value):
        if value.count("-") >= _CHAIN or _CAMEL.search(value):
            return True
        return is_alone and (is_direct or is_quoted)
    return is_direct or is_quoted or is_mixed(value) or not value.isalnum()


def _is_setting(value: str) -> bool:
    return not is_placeholder(value) and not value.isdecimal() and value.casefold() not in _ORDINARY


_PLACEHOLDER = regex(
    r"\[redacted|[<{\[(%]|\$\{?\(?[A-Za-z_{(]|your[\s_-]|my[_-]|os\.|process\.env|env[.(:\[]|secrets\.|vault:|op://|arn:"
    r"|https?:|[~.]{0,2}/|\w++(?:\.\w++)*+\(|[a-z_]++(?:\.[a-z_]++)++$|\.{2,}|[-_]++$|\*",
    re.IGNORECASE,
)
_SAMPLE = regex(
    r"changeme|placeholder|redacted|insert[_-]|replace[_-]|your[_-]|x{6}|\*{4}|\.{3}|\u2022{3}", re.IGNORECASE
)
_MAX_TEXT = 200


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder, or says where the secret is kept."""
    head = value[:_MAX_TEXT]
    return len(set(head.casefold())) <= len("**") or bool(_PLACEHOLDER.match(head) or _SAMPLE.search(head))


def is_mixed(value: str) -> bool:
    """Return whether a value has letters and digits, or both cases inside."""
    return bool(_LETTER.search(value) and _DIGIT.search(value)) or is_random(value)


def _is_strange(value: str) -> bool:
    """Return whether no sentence has such a word: with digits, and with letters of both cases or signs."""
    tidy = value.strip(".,;:!?")
    kinds = sum(bool(look.search(tidy)) for look in _KINDS_OF_SIGNS)
    return len(tidy) >= _MIN_KEY and kinds > 1 and bool(_DIGIT.search(tidy))


_BETWEEN = regex("[a-z][0-9]+[A-Za-z]")
_FIGURES = regex("[0-9]+")
_SIGNS = regex("[!@#$%^&?]")


def _is_cryptic(value: str) -> bool:
    """Return whether a word has digits in place of letters, as people make passwords."""
    tidy = value.rstrip("!?")
    if len(tidy) <= _LONG_PART or _ALGORITHM.match(tidy) or not _BETWEEN.search(tidy):
        return False
    return bool(_SIGNS.search(tidy)) or len(_FIGURES.findall(tidy)) > 1


_PART = regex(r"[-_.:/=+]+")
_COUNTED = regex("[A-Za-z]+[0-9]{1,4}")
_LONG_PART = 5
_LONG_KEY = 20
_LEAST_BITS = 3.2


def is_random(value: str) -> bool:
    """Return whether some part of a value looks like no word, number or date."""
    parts = [part for part in _PART.split(value) if len(part) >= _LONG_PART] if _DIGIT.search(value) else ()
    if any(_LETTER.search(part) and _DIGIT.search(part) and not _COUNTED.fullmatch(part) for part in parts):
        return True
    return len(value) >= _LONG_KEY and value not in (value.lower(), value.upper()) and _bits(value) >= _LEAST_BITS


def _bits(value: str) -> float:
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)
