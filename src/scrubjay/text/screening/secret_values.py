"""What stands under a name such as password or api_key: whether it is one, or only written about."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from scrubjay.text.screening.secret_rules import INNOCENT_ENDINGS, INNOCENT_STARTS, NAMES, ORDINARY

__all__ = ["SecretName", "is_mixed", "is_placeholder", "name_in", "named_secrets"]

_KINDS = {
    "password": "password", "short": "password", "pin": "pin", "phrase": "passphrase", "strong": "key",
    "weak": "secret",
}  # fmt: skip
_LONGEST_NAME = 32
_LONGEST_VALUE = 512
_SHORTEST = 4
_SHORTEST_KEY = 8

_REST = re.compile(r"[A-Za-z0-9_-]{0,40}+")
_DIRECT = r"[\"'`]?\s{0,4}(?:[:=\uff1a]=?>?|->)\s{0,4}"
_TOLD = (
    r"(?:\s(?:for|of|to|on|at|f\u00fcr|de|para)(?:\s[^\s.;:,=]{1,30}+){1,5}?)?"
    r"\s(?:(?:(?:is|was|has been|got)\s)?(?:changed|reset|set|updated)\sto"
    r"|(?:is|was|are|has been|ist|lautet|est|es|jest)(?:\snow)?)(?:\s{0,2}:)?\s{1,4}"
)
_SAID = "\\s{0,2}(?:\u662f|\u4e3a|\u306f|\ub294|\u0647\u064a)\uff1a?\\s{0,2}"
# Without a word between: only if it can be nothing else, and then it has a figure.
_BARE = r"\s(?=\S{0,63}[0-9])"
_TAIL = re.compile(f"(?P<direct>{_DIRECT})|(?P<told>{_TOLD})|(?P<said>{_SAID})|(?P<bare>{_BARE})", re.IGNORECASE)
_QUOTES = {'"': '"', "'": "'", "`": "`", "\u201c": "\u201d", "\u2018": "\u2019", "\u00ab": "\u00bb", "\u300c": "\u300d"}
_UNQUOTED = re.compile(rf"[^\s\"'`<>|\u3002\uff0c]{{1,{_LONGEST_VALUE}}}+")
# Under a short name: no longer than people can bear in mind, and with a figure in it.
_SHORT_VALUE = re.compile(r"(?=[^0-9\s]{0,63}[0-9])[^\s]{1,64}+(?!\S)")
_PHRASE = re.compile(r"[^\s.,;\"'`]{1,24}+(?: [^\s.,;\"'`]{1,24}+){2,23}+")
_FIELD_END = re.compile(r";|&(?=[\w.-]{1,64}+=)")
_BREAK = re.compile(r"[_\s-]+|(?<=[a-z])(?=[A-Z])")
_NAME_BACKWARDS = re.compile("[A-Za-z0-9_-]*+")


class SecretName(NamedTuple):
    """A name under which secrets stand."""

    family: str
    name: str
    before: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What people call such a secret."""
        return _KINDS[self.family]

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the secrets under this name begin and end."""
        folded = _lowered(text)
        at = folded.find(self.name)
        while at >= 0:
            after = at + len(self.name)
            span = self._span(text, at, after) if self._fits(folded, at, after) else None
            if span:
                yield span
            at = folded.find(self.name, span[1] if span else after)

    def hides(self, value: str, *, is_direct: bool, is_alone: bool, is_quoted: bool) -> bool:
        """Whether a value under it is a secret, by how it is written down."""
        if len(value) < _SHORTEST or is_placeholder(value) or value.casefold().strip(".!?") in ORDINARY:
            return False
        if self.family == "pin":
            return value.isdecimal() and is_alone
        if self.family == "short":
            return is_direct and _is_cryptic(value)
        if self.family == "phrase":
            return is_quoted or (is_direct and _is_strange(value))
        if self.family == "password":
            return _is_password(value, is_direct=is_direct, is_alone=is_alone, is_quoted=is_quoted)
        if len(value) < _SHORTEST_KEY or not _KEY_CHARACTERS.fullmatch(value):
            return False
        return is_mixed(value) if self.family == "strong" else _is_random(value)

    def _fits(self, folded: str, at: int, after: int) -> bool:
        if self.family in ("pin", "short") and (folded[at - 1 : at].isalpha() or folded[after : after + 1].isalpha()):
            return False
        return not self.before or folded[max(0, at - _LONGEST_NAME) : at].endswith(self.before)

    def _span(self, text: str, at: int, after: int) -> tuple[int, int] | None:
        rest = _REST.match(text, after)
        end_of_name = rest.end() if rest else after
        tail = _TAIL.match(text, end_of_name)
        if tail is None:
            return None
        if self.family == "short" and not _SHORT_VALUE.match(text, tail.end()):
            return None
        before = _before(text, at)
        if _is_innocent(before, text[after:end_of_name]):
            return None
        start, end, is_quoted = _value(text, tail.end(), is_phrase=self.family == "phrase", is_assigned="=" in tail[0])
        value, way = text[start:end], tail.lastgroup
        is_flag = way == "bare" and before.startswith("--")
        if way == "bare" and not is_flag and not self._is_plain_to_see(value):
            return None
        is_alone = text[end : end + 2].strip(" \t,;.\"'`")[:1] in ("", "\n", "\r", "#", "}", ")")
        if self.hides(value, is_direct=way != "told", is_alone=is_alone, is_quoted=is_quoted):
            return start, end
        # NAME=value, as files of settings have it.
        is_setting = tail[0] == "=" and text[at:after].isupper() and is_alone and len(value) >= len("secret")
        return (start, end) if is_setting and _is_setting(value) else None

    def _is_plain_to_see(self, value: str) -> bool:
        """Whether a value can be nothing else, though no word or sign says that it is one."""
        if self.family == "password":
            return _is_strange(value) or bool(_INTERLACED.fullmatch(value) and not _ALGORITHM.match(value))
        return self.family in ("strong", "weak") and bool(_LONG_HEX.fullmatch(value) and is_mixed(value))


def named_secrets(text: str) -> Iterator[SecretName]:
    """The names that stand in a text, in the order in which they are to be looked after."""
    folded = _lowered(text)
    return (named for named in _NAMES if named.name in folded)


def name_in(label: str) -> SecretName | None:
    """What a label is a name of, if of a secret."""
    folded = _lowered(label)
    for named in _NAMES:
        at = folded.rfind(named.name)
        after = at + len(named.name)
        if at >= 0 and named._fits(folded, at, after) and not _is_innocent(label[:at], label[after:]):  # noqa: SLF001
            return named
    return None


_NAMES = tuple(SecretName(*name) for name in NAMES)


def _lowered(text: str) -> str:
    folded = text.lower()
    # One letter is two in lower case, and then places do not agree.
    return folded if len(folded) == len(text) else text.replace("\u0130", "I").lower()


def _value(text: str, at: int, *, is_phrase: bool, is_assigned: bool) -> tuple[int, int, bool]:
    closing = _QUOTES.get(text[at : at + 1], "")
    if closing:
        end = text.find(closing, at + 1, at + 1 + _LONGEST_VALUE)
        if end > 0 and "\n" not in text[at:end]:
            return at + 1, end, True
    if is_phrase and (found := _PHRASE.match(text, at)):
        return at, found.end(), True
    found = _UNQUOTED.match(text, at)
    value = found[0] if found else ""
    if is_assigned and ("&" in value or ";" in value):
        # The next field of a query or of a connection string.
        value = _FIELD_END.split(value, maxsplit=1)[0]
    return at, at + len(value.rstrip(".,;:)]}\\")), False


def _before(text: str, at: int) -> str:
    """The part of the same name before a place."""
    found = _NAME_BACKWARDS.match(text[max(0, at - _LONGEST_NAME) : at][::-1])
    return found[0][::-1] if found else ""


def _is_innocent(before: str, rest: str) -> bool:
    if rest and ((rest[0].isalpha() and rest[0] not in "sS") or rest.startswith("-")):
        return True
    if any(part.casefold() in INNOCENT_ENDINGS for part in _BREAK.split(rest)):
        return True
    return any(part.casefold() in INNOCENT_STARTS for part in _BREAK.split(before))


_PLAIN_WORD = re.compile(r"[^\W\d_]+(?:['\u2019/-][^\W\d_]+)*+[!?]?")
_ALGORITHM = re.compile(
    r"(?:sha|md|aes|rsa|bcrypt|base|utf|hs|rs|es|ed|pbkdf|argon|oauth|http|tls|ssl|v)[-_]?\d", re.IGNORECASE
)
_KEY_CHARACTERS = re.compile(r"[A-Za-z0-9+/=_.~:$!@#%^&*-]++")
_CAMEL, _LETTER, _DIGIT = re.compile("[a-z][A-Z]"), re.compile("[A-Za-z]"), re.compile("[0-9]")
# Where several of these meet no sentence was written.
_KINDS_OF_SIGNS = tuple(map(re.compile, ("[a-z]", "[A-Z]", r"[^\w\s.,:/'-]")))
_CHAIN = 3
# Figures between letters, in what is too long for the name of a thing.
_INTERLACED = re.compile("(?=[A-Za-z0-9]{10,64}$)[A-Za-z]+[0-9]+[A-Za-z][A-Za-z0-9]*+")
_LONG_HEX = re.compile("[0-9a-f]{32,128}+")


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
    return not is_placeholder(value) and not value.isdecimal() and value.casefold() not in ORDINARY


_PLACEHOLDER = re.compile(
    r"\[redacted|[<{\[(%]|\$\{?\(?[A-Za-z_{(]|your[\s_-]|my[_-]|os\.|process\.env|env[.(:\[]|secrets\.|vault:|op://|arn:"
    r"|https?:|[~.]{0,2}/|\w++(?:\.\w++)*+\(|[a-z_]++(?:\.[a-z_]++)++$|\.{2,}|[-_]++$|\*",
    re.IGNORECASE,
)
_SAMPLE = re.compile(
    r"changeme|placeholder|redacted|insert[_-]|replace[_-]|your[_-]|x{6}|\*{4}|\.{3}|\u2022{3}", re.IGNORECASE
)
_LOOKED_AT = 200


def is_placeholder(value: str) -> bool:
    """Whether a value stands for one, or says where it is to be had."""
    head = value[:_LOOKED_AT]
    return len(set(head.casefold())) <= len("**") or bool(_PLACEHOLDER.match(head) or _SAMPLE.search(head))


def is_mixed(value: str) -> bool:
    """Whether it has letters and figures, or both cases in the midst of it."""
    return bool(_LETTER.search(value) and _DIGIT.search(value)) or _is_random(value)


def _is_strange(value: str) -> bool:
    """A word that nobody writes in a sentence: figures, and with them letters of both cases or signs."""
    tidy = value.strip(".,;:!?")
    kinds = sum(bool(look.search(tidy)) for look in _KINDS_OF_SIGNS)
    return len(tidy) >= _SHORTEST_KEY and kinds > 1 and bool(_DIGIT.search(tidy))


_BETWEEN = re.compile("[a-z][0-9]+[A-Za-z]")
_FIGURES = re.compile("[0-9]+")
_SIGNS = re.compile("[!@#$%^&?]")


def _is_cryptic(value: str) -> bool:
    """A word with figures for letters, as people make passwords."""
    tidy = value.rstrip("!?")
    if len(tidy) <= _LONG_PART or _ALGORITHM.match(tidy) or not _BETWEEN.search(tidy):
        return False
    return bool(_SIGNS.search(tidy)) or len(_FIGURES.findall(tidy)) > 1


_PART = re.compile(r"[-_.:/=+]+")
_COUNTED = re.compile("[A-Za-z]+[0-9]{1,4}")
_LONG_PART = 5
_LONG_KEY = 20
_LEAST_BITS = 3.2


def _is_random(value: str) -> bool:
    """Whether some part of it looks like no word, number or date."""
    parts = [part for part in _PART.split(value) if len(part) >= _LONG_PART] if _DIGIT.search(value) else ()
    if any(_LETTER.search(part) and _DIGIT.search(part) and not _COUNTED.fullmatch(part) for part in parts):
        return True
    return len(value) >= _LONG_KEY and value not in (value.lower(), value.upper()) and _bits(value) >= _LEAST_BITS


def _bits(value: str) -> float:
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)
