"""Secrets in a text: keys, tokens, passwords, private keys. Recognised by their form, or by the name before them."""

import re
from functools import cache

from scrubjay.text.screening.secret_values import find_names, is_mixed, is_placeholder, parse_name

__all__ = ["REDACTED", "redact", "redact_named"]

_WORD, _DASHED, _HEX = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[0-9a-f]"
# A kind, its prefixes, and the pattern after one. Quantifiers are possessive: no match is tried twice.
_TOKENS = (
    ("aws access key", ("AKIA", "ASIA", "ABIA", "ACCA"), "[0-9A-Z]{16}(?![0-9A-Za-z])"),
    ("github token", ("ghp_", "gho_", "ghs_", "ghu_", "ghr_"), f"{_WORD}{{30,}}+"),
    ("github token", ("github_pat_",), "[A-Za-z0-9_]{22,}+"),
    ("gitlab token", ("glpat-", "gldt-", "glrt-", "glptt-", "glsoat-", "glcbt-"), f"{_DASHED}{{20,}}+"),
    ("slack token", ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxc-", "xapp-"), "[A-Za-z0-9-]{10,}+"),
    ("stripe key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), f"{_WORD}{{10,}}+"),
    ("webhook secret", ("whsec_",), "[A-Za-z0-9+/=]{20,}+"),
    ("google api key", ("AIza",), f"{_DASHED}{{35}}(?!{_DASHED})"),
    ("google oauth token", ("ya29.",), "[0-9A-Za-z_.-]{20,}+"),
    ("google client secret", ("GOCSPX-",), f"{_DASHED}{{20,}}+"),
    ("anthropic api key", ("sk-ant-",), f"{_DASHED}{{16,}}+"),
    ("openrouter api key", ("sk-or-",), f"{_DASHED}{{20,}}+"),
    ("openai api key", ("sk-proj-", "sk-svcacct-", "sk-admin-"), f"{_DASHED}{{16,}}+"),
    ("api key", ("sk-",), "(?=[A-Za-z]{0,64}[0-9])[A-Za-z0-9_]{20,}+"),
    ("npm token", ("npm_",), f"{_WORD}{{30,}}+"),
    ("pypi token", ("pypi-",), f"{_DASHED}{{40,}}+"),
    ("hugging face token", ("hf_",), f"{_WORD}{{30,}}+"),
    ("docker token", ("dckr_pat_", "dckr_oat_"), f"{_DASHED}{{20,}}+"),
    ("sendgrid key", ("SG.",), rf"{_DASHED}{{16,32}}+\.{_DASHED}{{16,64}}+"),
    ("twilio key", ("SK",), f"{_HEX}{{32}}(?!{_WORD})"),
    ("shopify token", ("shpat_", "shpca_", "shppa_", "shpss_"), f"[A-Fa-f0-9]{{32}}(?!{_WORD})"),
    ("digitalocean token", ("dop_v1_", "doo_v1_", "dor_v1_"), f"{_HEX}{{40,}}+"),
    ("databricks token", ("dapi",), f"{_HEX}{{32}}(?!{_WORD})"),
    ("atlassian token", ("ATATT3",), "[A-Za-z0-9_=-]{40,}+"),
    ("linear api key", ("lin_api_",), f"{_WORD}{{30,}}+"),
    ("notion token", ("ntn_", "secret_"), f"(?=[A-Za-z]{{0,42}}[0-9]){_WORD}{{40,}}+"),
    ("vault token", ("hvs.", "hvb."), f"{_DASHED}{{20,}}+"),
    ("square token", ("sq0atp-", "sq0csp-"), f"{_DASHED}{{20,}}+"),
    ("mailgun key", ("key-",), f"{_HEX}{{32}}(?!{_WORD})"),
    ("postman key", ("PMAK-",), f"{_HEX}{{24}}-{_HEX}{{34}}"),
    ("new relic key", ("NRAK-",), "[A-Z0-9]{27}"),
    ("grafana token", ("glsa_", "glc_"), "[A-Za-z0-9_=+/]{32,}+"),
    ("groq api key", ("gsk_",), f"{_WORD}{{40,}}+"),
    ("replicate token", ("r8_",), f"{_WORD}{{30,}}+"),
    ("perplexity api key", ("pplx-",), f"{_WORD}{{40,}}+"),
    ("xai api key", ("xai-",), f"{_WORD}{{40,}}+"),
    ("supabase token", ("sbp_", "sb_secret_"), "[A-Za-z0-9_]{20,}+"),
    ("doppler token", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa."), "[A-Za-z0-9_.-]{30,}+"),
    ("figma token", ("figd_",), f"{_DASHED}{{30,}}+"),
    ("planetscale token", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), "[A-Za-z0-9_.-]{30,}+"),
    ("sentry token", ("sntrys_", "sntryu_"), "[A-Za-z0-9_=+/-]{30,}+"),
    ("age secret key", ("AGE-SECRET-KEY-1",), "[0-9A-Z]{50,}+"),
    ("scrubjay token", ("sj_",), f"{_DASHED}{{49}}(?!{_DASHED})"),
    ("telegram bot token", ("bot",), f"[0-9]{{8,10}}+:{_DASHED}{{35}}(?!{_DASHED})"),
    ("json web token", ("eyJ",), rf"{_DASHED}{{8,}}+\.eyJ{_DASHED}{{6,}}+(?:\.{_DASHED}*+)?"),
    ("slack webhook", ("hooks.slack.com/",), "(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}+"),
    (
        "discord webhook",
        ("discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
        rf"[0-9]{{10,}}+/{_DASHED}{{20,}}+",
    ),
)
# The kind of each prefix, the prefix, the same in lower case, and the pattern after it.
_PREFIXES = tuple((kind, prefix, prefix.lower(), rest) for kind, prefixes, rest in _TOKENS for prefix in prefixes)
# The beginning of every redaction.
REDACTED = "[redacted: "
_Kinds = list[str]


def redact(text: str, *, any_case: bool = False) -> tuple[str, tuple[str, ...]]:
    """Return the text without its secrets, and the kind of each; `any_case`: in lower case, too."""
    if not text:
        return "", ()
    kinds: _Kinds = []
    text = _redact_private_keys(text, kinds)
    text = _redact_tokens(text, kinds, any_case=any_case)
    text = _redact_addresses(text, kinds)
    text = _redact_headers(text, kinds)
    return _redact_values(text, kinds), tuple(kinds)


def redact_named(name: str, value: str) -> tuple[str, tuple[str, ...]]:
    """Redact a value that has a name, as in a table."""
    text, kinds = redact(value)
    secret_name = None if kinds else parse_name(name)
    if secret_name is None or not secret_name.hides(value, is_direct=True, is_alone=True, is_quoted=True):
        return text, kinds
    return f"{REDACTED}{secret_name.kind}]", (secret_name.kind,)


def _replacement(kind: str, kinds: _Kinds) -> str:
    kinds.append(kind)
    return f"{REDACTED}{kind}]"


_PEM_START = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
# The lines of a key that is cut off, or what is left of them between JSON's escapes.
_PEM_BODY = re.compile(r"(?:[A-Za-z0-9+/=]{16,}+|\\[nr]|[\r\n \t]|[A-Za-z0-9+/=]{1,15}+(?![\w ]))*+")


def _redact_private_keys(text: str, kinds: _Kinds) -> str:
    if "PRIVATE KEY" not in text:
        return text
    parts: list[str] = []
    at, end = 0, _PEM_END.search(text)
    while start := _PEM_START.search(text, at):
        parts += [text[at : start.start()], _replacement("private key", kinds)]
        while end and end.start() < start.end():
            end = _PEM_END.search(text, end.end())
        body = _PEM_BODY.match(text, start.end())
        at = end.end() if end else body.end() if body else start.end()
    return "".join((*parts, text[at:]))


def _redact_tokens(text: str, kinds: _Kinds, *, any_case: bool) -> str:
    """Redact tokens with a form of their own. Looking for their prefixes first is cheap, and mostly finds none."""
    folded = text.lower() if any_case else text
    for kind, prefix, lowered, rest in _PREFIXES:
        if (lowered if any_case else prefix) in folded:
            text = _redact_pattern(text, kind, _token_pattern(prefix, rest, any_case=any_case), kinds)
    return text


def _redact_pattern(text: str, kind: str, pattern: re.Pattern[str], kinds: _Kinds) -> str:
    def replace(match: re.Match[str]) -> str:
        return match[0] if is_placeholder(match[0]) else _replacement(kind, kinds)

    return pattern.sub(replace, text)


@cache
def _token_pattern(prefix: str, rest: str, *, any_case: bool) -> re.Pattern[str]:
    start = re.escape(prefix)
    # Not in the middle of a word. The lookbehind follows the prefix, which the engine finds quickly.
    return re.compile(f"{start}(?<![A-Za-z0-9_-]{start}){rest}", re.IGNORECASE if any_case else re.NOFLAG)


_AUTHORITY = re.compile(r"://([^\s/?#\"'<>`]{3,512}+)")
_NO_PASSWORDS = frozenset({"password", "passwd", "pass", "pwd", "secret", "token"})


def _redact_addresses(text: str, kinds: _Kinds) -> str:
    """Redact the password in https://user:password@host."""

    def replace(match: re.Match[str]) -> str:
        credentials, at, host = match[1].rpartition("@")
        user, _, password = credentials.partition(":")
        if not (at and password) or is_placeholder(password) or password.casefold() in _NO_PASSWORDS:
            return match[0]
        return f"://{user}:{_replacement('password', kinds)}@{host}"

    return _AUTHORITY.sub(replace, text) if "://" in text and "@" in text else text


_HEADER = re.compile(
    r"(?P<lead>[Aa](?:uthorization|UTHORIZATION)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    r"(?:(?i:basic|bearer|token|digest|apikey)\s{1,3})?"
    r"|[Bb](?:earer|EARER)\s{1,3})(?P<value>[A-Za-z0-9._~+/=-]{8,}+)"
)
_LOGIN = re.compile(r"(?P<lead>\s(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}+:)(?P<value>[^\s\"']{3,128}+)")


def _redact_headers(text: str, kinds: _Kinds) -> str:
    def replace(match: re.Match[str]) -> str:
        if is_placeholder(match["value"]) or not is_mixed(match["value"]):
            return match[0]
        return match["lead"] + _replacement("credentials", kinds)

    def replace_login(match: re.Match[str]) -> str:
        return match[0] if is_placeholder(match["value"]) else match["lead"] + _replacement("password", kinds)

    text = _HEADER.sub(replace, text)
    return _LOGIN.sub(replace_login, text) if "curl " in text else text


def _redact_values(text: str, kinds: _Kinds) -> str:
    # A name may contain another one: "api_key" is a "key", and a "_key".
    for secret_name in find_names(text):
        parts: list[str] = []
        at = 0
        for start, end in secret_name.spans(text):
            parts += [text[at:start], _replacement(secret_name.kind, kinds)]
            at = end
        text = "".join((*parts, text[at:])) if at else text
    return text
