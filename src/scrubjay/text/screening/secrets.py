"""Secrets in a text: keys, tokens, passwords, private keys. Recognised by their form, or by the name before them."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass, regex
from scrubjay.text.screening.secret_formats import Span, find_credentials, find_tokens
from scrubjay.text.screening.secret_values import Work, find_names, is_mixed, is_placeholder, is_random, parse_name

__all__ = ["REDACTED", "redact", "redact_named", "require_no_secret"]

# A memory has ten labels, most of which were seen before. Only those without a secret are kept.
_LONGEST_LABEL = 40
_MAX_LABELS = 4_096
_clean_labels: set[tuple[str, bool]] = set()
# The beginning of every redaction.
REDACTED = "[redacted: "


def redact(text: str, *, any_case: bool = False) -> tuple[str, tuple[str, ...]]:
    """Return the text without its secrets, and the kind of each; `any_case`: in lower case, too."""
    if not text:
        return "", ()
    if (text, any_case) in _clean_labels:
        return text, ()
    redacted, kinds = _redact(text, any_case=any_case)
    if not kinds and len(text) <= _LONGEST_LABEL:
        if len(_clean_labels) >= _MAX_LABELS:
            _clean_labels.clear()
        _clean_labels.add((text, any_case))
    return redacted, kinds


def _redact(text: str, *, any_case: bool) -> tuple[str, tuple[str, ...]]:
    work = Work()
    masked, spans = _find_secrets(text, work=work, any_case=any_case)
    if decoded := _decode(masked):
        _, hidden = _find_secrets(decoded.text, work=work, any_case=any_case)
        hidden = [decoded.original(span) for span in hidden]
        masked, spans = _mask(masked, hidden), [*spans, *hidden]
    spans += _find_wrapped(masked)
    if not spans:
        return text, ()
    merged = _merge(spans)
    parts: list[str] = []
    at = 0
    for start, end, kind in merged:
        parts += [text[at:start], REDACTED, kind, "]"]
        at = end
    return "".join((*parts, text[at:])), tuple(kind for _, _, kind in merged)


def redact_named(name: str, value: str) -> tuple[str, tuple[str, ...]]:
    """Redact a value that has a name, as in a table."""
    text, kinds = redact(value)
    secret_name = None if kinds else parse_name(name)
    if secret_name is None or not secret_name.hides(value, is_direct=True, is_alone=True, is_quoted=True):
        return text, kinds
    return f"{REDACTED}{secret_name.kind}]", (secret_name.kind,)


@lru_cache(maxsize=1_000)
def require_no_secret(name: str, *, field: str) -> str:
    """Return a name that is stored as it is; raises InvalidInput if it contains a secret."""
    kinds = redact(name)[1] or redact(name, any_case=True)[1]
    if kinds:
        raise InvalidInput(
            f"{field} contains what looks like a secret ({kinds[0]})", hint="Choose a name without it", field=field
        )
    return name


def _find_secrets(text: str, *, work: Work, any_case: bool) -> tuple[str, list[Span]]:
    """Return the secrets of a text, and the text with these masked, at the same length."""
    spans: list[Span] = []

    def hide(secrets: Iterable[Span]) -> str:
        hidden = list(secrets)
        spans.extend(hidden)
        return _mask(text, hidden)

    if "PRIVATE KEY" in text:
        text = hide(_find_private_keys(text))
    text = hide(_continue(text, span) for span in find_tokens(text, any_case=any_case))
    text = hide(find_credentials(text))
    if "://" in text and "@" in text:
        text = hide(_find_passwords_in_addresses(text))
    text = hide(_find_headers(text))
    # A name may contain another one: "api_key" is a "key", and a "_key".
    for secret_name in find_names(text):
        text = hide((start, end, secret_name.kind) for start, end in secret_name.spans(text, work=work))
    return text, spans


def _merge(spans: Iterable[Span]) -> list[Span]:
    """Join spans that overlap; the first and longest gives its kind."""
    merged: list[Span] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:
            last = merged[-1]
            merged[-1] = (last[0], max(end, last[1]), last[2])
        else:
            merged.append((start, end, kind))
    return merged


def _mask(text: str, spans: Sequence[Span]) -> str:
    """Replace secrets by what every rule takes for a placeholder, of the same length."""
    if not spans:
        return text
    parts: list[str] = []
    at = 0
    for start, end, _ in _merge(spans):
        parts += [text[at:start], "[", "\0" * (end - start - 1)]
        at = end
    return "".join((*parts, text[at:]))


_PEM_START = regex(r"----[- ]BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?[- ]----")
_PEM_END = regex(r"----[- ]END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?[- ]----")
# The lines of a key that is cut off, or what is left of them between JSON's escapes.
_PEM_BODY = regex(r"(?:[A-Za-z0-9+/=]{16,}+|\\[nr]|[\r\n \t]|[A-Za-z0-9+/=]{1,15}+(?![\w ]))*+")


def _find_private_keys(text: str) -> Iterator[Span]:
    at, end = 0, _PEM_END.search(text)
    while start := _PEM_START.search(text, at):
        while end and end.start() < start.end():
            end = _PEM_END.search(text, end.end())
        body = _PEM_BODY.match(text, start.end())
        at = end.end() if end else body.end() if body else start.end()
        yield start.start(), at, "private key"


# The rest of a token that was wrapped: a line of its own that looks random.
_NEXT_LINE = regex(r"\\?\r?\n[ \t>|]{0,8}(?P<rest>[A-Za-z0-9_+/=.-]{6,}+)(?=[\"'`,;)]?\\?(?:\r?\n|\Z))")
_HASH = regex("(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})$|[0-9a-f]{8}-[0-9a-f]{4}-")


def _continue(text: str, span: Span) -> Span:
    """Extend a token by the lines over which it continues."""
    start, end, kind = span
    while (line := _NEXT_LINE.match(text, end)) and is_random(line["rest"]) and not _HASH.match(line["rest"]):
        end = line.end("rest")
    return start, end, kind


_AUTHORITY = regex(r"://([^\s/?#\"'<>`]{3,512}+)")
_NO_PASSWORDS = frozenset({"password", "passwd", "pass", "pwd", "secret", "token"})


def _find_passwords_in_addresses(text: str) -> Iterator[Span]:
    """Return the passwords in https://user:password@host."""
    for match in _AUTHORITY.finditer(text):
        credentials, at, _ = match[1].rpartition("@")
        user, _, password = credentials.partition(":")
        if at and password and not is_placeholder(password) and password.casefold() not in _NO_PASSWORDS:
            start = match.start(1) + len(user) + 1
            yield start, start + len(password), "password"


_HEADER = regex(
    r"(?:uthorization|UTHORIZATION)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    r"(?:(?i:basic|bearer|token|digest|apikey|geniekey|ssws|bot)\s{1,3})?(?P<value>[A-Za-z0-9._~+/=-]{8,}+)"
)
_BEARER = regex(r"(?:earer|EARER)\s{1,3}(?P<value>[A-Za-z0-9._~+/=-]{8,}+)")
_LOGIN = regex(r"\s(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}+:(?P<value>[^\s\"']{3,128}+)")


def _find_headers(text: str) -> Iterator[Span]:
    for hints, pattern in ((("uthorization", "UTHORIZATION"), _HEADER), (("earer ", "EARER "), _BEARER)):
        if hints[0] in text or hints[1] in text:
            for match in pattern.finditer(text):
                if not is_placeholder(match["value"]) and is_mixed(match["value"]):
                    yield match.start("value"), match.end("value"), "credentials"
    if "curl " in text:
        for match in _LOGIN.finditer(text):
            if not is_placeholder(match["value"]):
                yield match.start("value"), match.end("value"), "password"


@dataclass(frozen=True, slots=True)
class _View:
    """A text as it is read, where its parts begin there and in the written text, and how long a character is there."""

    text: str
    starts: Sequence[int]
    origins: Sequence[int]
    lengths: Sequence[int]

    def original(self, span: Span) -> Span:
        """Return a span of the written text."""
        start, end, kind = span
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, end - 1) - 1
        begin = self.origins[first] + (start - self.starts[first]) * self.lengths[first]
        return begin, self.origins[last] + (end - self.starts[last]) * self.lengths[last], kind


_INVISIBLE = "\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff"
_WIDE_LETTERS = "\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff"
_CODE = "[2-7][0-9A-Fa-f]"
_MARKS = "[-_.*~+=|#/]"
# What may hide a secret: invisible letters inside a word, wide letters, escapes of Markdown, JSON, HTML and addresses.
_HIDING = regex(
    rf"(?<=[!-~])[{_INVISIBLE}]|[{_WIDE_LETTERS}]|%{_CODE}|\\(?:u00{_CODE}|x{_CODE}|{_MARKS})|&#x?[0-9A-Fa-f]{{2,3}};"
)
_HIDDEN = regex(
    rf"(?P<wide>[\uff01-\uff5e{_WIDE_LETTERS}]++)|(?P<between>(?:[!-~][{_INVISIBLE}]){{2,}}+)"
    rf"|(?P<invisible>[{_INVISIBLE}]++)|(?P<percent>(?:%{_CODE})++)|(?P<mark>(?:\\{_MARKS})++)"
    rf"|(?P<json>(?:\\u00{_CODE})++)|(?P<hex>(?:\\x{_CODE})++)|(?P<entity>&#(?:x{_CODE}|[0-9]{{2,3}});)"
)
# The end of a line inside a token, with the marks of a quotation.
_WRAP = regex(r"(?<=[A-Za-z0-9_+/=.-])(?P<invisible>\\?\r?\n[ \t>|]{0,8})(?=[A-Za-z0-9_+/=-])")
# The end of a word at the end of a line, and the beginning of the next line.
_WRAPPED = regex(r"\n(?<=[A-Za-z0-9_+/=.\\\r-]{4}\n)[ \t>|]{0,8}([A-Za-z0-9_+/=.-]{4,64}+)")
_DIGIT = regex("[0-9]")


def _decode(text: str) -> _View | None:
    """Return a text without invisible, wide and escaped characters; None when it has none."""
    may_hide = "%" in text or "\\" in text or "&#" in text or not text.isascii()
    return _build_view(text, _HIDDEN) if may_hide and _HIDING.search(text) else None


def _find_wrapped(text: str) -> Iterator[Span]:
    """Return the tokens that are complete only when their lines are joined."""
    if "\n" not in text or not any(_DIGIT.search(match[1]) for match in _WRAPPED.finditer(text)):
        return
    view = _build_view(text, _WRAP)
    for start, end, kind in find_tokens(view.text):
        joints = view.starts[bisect_right(view.starts, start) : bisect_left(view.starts, end)]
        # The next line of a text is no part of a token.
        foreign = [at for at, rest in pairwise((*joints, end)) if not is_mixed(view.text[at:rest])]
        length = _token_length(view.text[start : foreign[0]]) if foreign else end - start
        if joints and start + length > joints[0]:
            yield view.original((start, start + length, kind))


def _token_length(text: str) -> int:
    """Return the length of the token with which a text begins; 0 if it does not."""
    return max((end for start, end, _ in find_tokens(text) if start == 0), default=0)


def _build_view(text: str, pattern: re.Pattern[str]) -> _View:
    parts: list[str] = []
    starts, origins, lengths = [0], [0], [1]
    at = length = 0
    for match in pattern.finditer(text):
        start, end = match.span()
        signs = _decode_signs(match[0], match.lastgroup)
        parts += (text[at:start], signs)
        length += start - at
        if signs:
            starts.append(length)
            origins.append(start)
            lengths.append((end - start) // len(signs))
            length += len(signs)
        starts.append(length)
        origins.append(end)
        lengths.append(1)
        at = end
    parts.append(text[at:])
    return _View("".join(parts), starts, origins, lengths)


def _decode_signs(signs: str, form: str | None) -> str:
    """Return the characters that signs of one form stand for, as many as the signs."""
    match form:
        case "wide":
            return unicodedata.normalize("NFKC", signs)
        case "between":
            return signs[::2]
        case "percent":
            return bytes.fromhex(signs.replace("%", "")).decode("ascii")
        case "mark":
            return signs[1::2]
        case "json" | "hex":
            return signs.encode("ascii").decode("unicode_escape")
        case "entity":
            code = int(signs[3:-1], 16) if signs[2] == "x" else int(signs[2:-1])
            return chr(code) if " " <= chr(code) <= "~" else "?"
        case _:
            return ""
