"""Secrets in a text: keys, tokens, passwords, private keys. Found by their form, or by the name they stand under."""

import re
from functools import cache

from scrubjay.text.screening.secret_rules import TOKENS
from scrubjay.text.screening.secret_values import SecretName, is_mixed, is_placeholder, name_in, named_secrets

__all__ = ["REDACTED", "redact", "redact_named"]

# Of what kind each beginning is, the beginning, the same in lower case, and what follows.
_BEGINNINGS = tuple(
    (kind, beginning, beginning.lower(), rest) for kind, beginnings, rest in TOKENS for beginning in beginnings
)
# How every redaction begins.
REDACTED = "[redacted: "
_Kinds = list[str]


def redact(text: str, *, any_case: bool = False) -> tuple[str, tuple[str, ...]]:
    """The text without its secrets, and what kinds they were of, one for each. `any_case`: also in lower case."""
    if not text:
        return "", ()
    kinds: _Kinds = []
    text = _private_keys(text, kinds)
    text = _tokens(text, kinds, any_case=any_case)
    text = _in_addresses(text, kinds)
    text = _in_headers(text, kinds)
    return _under_names(text, kinds), tuple(kinds)


def redact_named(name: str, value: str) -> tuple[str, tuple[str, ...]]:
    """The same for a value that stands under a name, as in a table."""
    text, kinds = redact(value)
    known = None if kinds else name_in(name)
    if known is None or not known.hides(value, is_direct=True, is_alone=True, is_quoted=True):
        return text, kinds
    return f"{REDACTED}{known.kind}]", (known.kind,)


def _cut(kind: str, kinds: _Kinds) -> str:
    kinds.append(kind)
    return f"{REDACTED}{kind}]"


_PEM_START = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
# Of a key that was cut off: its lines, or what is left of them between JSON's escapes.
_PEM_BODY = re.compile(r"(?:[A-Za-z0-9+/=]{16,}+|\\[nr]|[\r\n \t]|[A-Za-z0-9+/=]{1,15}+(?![\w ]))*+")


def _private_keys(text: str, kinds: _Kinds) -> str:
    if "PRIVATE KEY" not in text:
        return text
    parts: list[str] = []
    at, end = 0, _PEM_END.search(text)
    while start := _PEM_START.search(text, at):
        parts += [text[at : start.start()], _cut("private key", kinds)]
        while end and end.start() < start.end():
            end = _PEM_END.search(text, end.end())
        body = _PEM_BODY.match(text, start.end())
        at = end.end() if end else body.end() if body else start.end()
    return "".join((*parts, text[at:]))


def _tokens(text: str, kinds: _Kinds, *, any_case: bool) -> str:
    """What has a form of its own. A look for how it begins costs next to nothing, and mostly there is none."""
    folded = text.lower() if any_case else text
    for kind, beginning, lowered, rest in _BEGINNINGS:
        if (lowered if any_case else beginning) in folded:
            text = _without(text, kind, _token(beginning, rest, any_case=any_case), kinds)
    return text


def _without(text: str, kind: str, look: re.Pattern[str], kinds: _Kinds) -> str:
    def cut(found: re.Match[str]) -> str:
        return found[0] if is_placeholder(found[0]) else _cut(kind, kinds)

    return look.sub(cut, text)


@cache
def _token(beginning: str, rest: str, *, any_case: bool) -> re.Pattern[str]:
    start = re.escape(beginning)
    # Not in the midst of a word. It is asked after the beginning, which is looked for quickly.
    return re.compile(f"{start}(?<![A-Za-z0-9_-]{start}){rest}", re.IGNORECASE if any_case else re.NOFLAG)


_AUTHORITY = re.compile(r"://([^\s/?#\"'<>`]{3,512}+)")
_NO_PASSWORDS = frozenset({"password", "passwd", "pass", "pwd", "secret", "token"})


def _in_addresses(text: str, kinds: _Kinds) -> str:
    """As in https://user:password@host."""

    def cut(found: re.Match[str]) -> str:
        credentials, at, host = found[1].rpartition("@")
        user, _, password = credentials.partition(":")
        if not (at and password) or is_placeholder(password) or password.casefold() in _NO_PASSWORDS:
            return found[0]
        return f"://{user}:{_cut('password', kinds)}@{host}"

    return _AUTHORITY.sub(cut, text) if "://" in text and "@" in text else text


_HEADER = re.compile(
    r"(?P<lead>[Aa](?:uthorization|UTHORIZATION)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    r"(?:(?i:basic|bearer|token|digest|apikey)\s{1,3})?"
    r"|[Bb](?:earer|EARER)\s{1,3})(?P<value>[A-Za-z0-9._~+/=-]{8,}+)"
)
_LOGIN = re.compile(r"(?P<lead>\s(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}+:)(?P<value>[^\s\"']{3,128}+)")


def _in_headers(text: str, kinds: _Kinds) -> str:
    def cut(found: re.Match[str]) -> str:
        if is_placeholder(found["value"]) or not is_mixed(found["value"]):
            return found[0]
        return found["lead"] + _cut("credentials", kinds)

    def cut_login(found: re.Match[str]) -> str:
        return found[0] if is_placeholder(found["value"]) else found["lead"] + _cut("password", kinds)

    text = _HEADER.sub(cut, text)
    return _LOGIN.sub(cut_login, text) if "curl " in text else text


def _under_names(text: str, kinds: _Kinds) -> str:
    # An answer may be a name to another pass: "api_key" is one of a "key", and of a "_key".
    for named in named_secrets(text):
        text = _replaced(text, named, kinds)
    return text


def _replaced(text: str, named: SecretName, kinds: _Kinds) -> str:
    parts: list[str] = []
    at = 0
    for start, end in named.spans(text):
        parts += [text[at:start], _cut(named.kind, kinds)]
        at = end
    return "".join((*parts, text[at:])) if at else text
