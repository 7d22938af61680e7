"""Secrets with a form of their own: the tokens of services, most of them with a prefix, and lines of known files.

Every quantifier is bounded or possessive, so that no text takes long. The prefixes and lengths agree with the rules of
gitleaks; decision 38 says why they are a table of ours.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache

from scrubjay.lazy import regex
from scrubjay.text.screening.secret_values import is_mixed, is_placeholder, is_random

__all__ = ["Span", "find_credentials", "find_tokens"]

# The start and end of a secret, and its kind.
Span = tuple[int, int, str]
# The shortest token has so many characters: a text without so long a word has none.
_MIN_TOKEN = 15

_WORD, _DASHED, _HEX = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[0-9a-f]"
_END, _DASHED_END = "(?![A-Za-z0-9])", "(?![A-Za-z0-9_-])"
_UUID = f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"
# A kind, its prefixes, and the pattern after one.
_TOKENS = (
    ("aws access key", ("AKIA", "ASIA", "ABIA", "ACCA"), f"[0-9A-Z]{{16}}{_END}"),
    ("aws bedrock key", ("ABSK",), "[A-Za-z0-9+/]{100,}+={0,2}"),
    ("aws bedrock key", ("bedrock-api-key-",), "[A-Za-z0-9+/=]{40,}+"),
    ("amazon token", ("amzn.mws.", "amzn1.oa2-cs.v1."), f"{_DASHED}{{30,}}+"),
    ("github token", ("ghp_", "gho_", "ghs_", "ghu_", "ghr_"), f"{_WORD}{{30,}}+"),
    ("github token", ("github_pat_",), "[A-Za-z0-9_]{22,}+"),
    (
        "gitlab token",
        (
            "glpat-", "gldt-", "glrt-", "glptt-", "glsoat-", "glcbt-", "glft-", "glffct-", "glimt-", "glagent-",
            "gloas-", "glwt-",
        ),
        "[A-Za-z0-9_.-]{20,}+",
    ),
    ("gitlab token", ("GR1348941",), f"{_DASHED}{{20,}}+"),
    (
        "slack token",
        (
            "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxe-", "xoxe.xoxp-", "xoxe.xoxb-", "xoxc-", "xoxd-",
            "xapp-", "xwfp-",
        ),
        "[A-Za-z0-9%-]{10,}+",
    ),
    (
        "stripe key",
        ("sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"),
        f"{_WORD}{{10,}}+",
    ),
    ("webhook secret", ("whsec_",), "[A-Za-z0-9+/=]{20,}+"),
    ("google api key", ("AIza",), f"{_DASHED}{{35}}{_DASHED_END}"),
    ("google oauth token", ("ya29.",), "[0-9A-Za-z_.-]{20,}+"),
    ("google client secret", ("GOCSPX-",), f"{_DASHED}{{20,}}+"),
    ("firebase key", (":APA91b",), f"{_DASHED}{{100,}}+"),
    ("anthropic api key", ("sk-ant-",), f"{_DASHED}{{16,}}+"),
    ("openrouter api key", ("sk-or-",), f"{_DASHED}{{20,}}+"),
    ("openai api key", ("sk-proj-", "sk-svcacct-", "sk-admin-"), f"{_DASHED}{{16,}}+"),
    ("api key", ("sk-",), "(?=[A-Za-z]{0,64}[0-9])[A-Za-z0-9_]{20,}+"),
    ("langfuse key", ("sk-lf-",), f"{_DASHED}{{20,}}+"),
    ("langsmith key", ("lsv2_pt_", "lsv2_sk_"), "[a-f0-9_]{30,}+"),
    ("nvidia api key", ("nvapi-",), f"{_DASHED}{{30,}}+"),
    ("api key", ("csk-", "tvly-", "jina_", "fw_", "rnd_", "wandb_v1_"), f"(?=[A-Za-z]{{0,64}}[0-9]){_WORD}{{24,}}+"),
    ("npm token", ("npm_",), f"{_WORD}{{30,}}+"),
    ("pypi token", ("pypi-",), f"{_DASHED}{{40,}}+"),
    ("rubygems key", ("rubygems_",), f"{_HEX}{{40,}}+"),
    ("clojars token", ("CLOJARS_",), f"{_WORD}{{50,}}+"),
    ("hugging face token", ("hf_", "api_org_"), f"{_WORD}{{30,}}+"),
    ("docker token", ("dckr_pat_", "dckr_oat_"), f"{_DASHED}{{20,}}+"),
    ("sendgrid key", ("SG.",), rf"{_DASHED}{{16,32}}+\.{_DASHED}{{16,64}}+"),
    ("brevo key", ("xkeysib-", "xsmtpsib-"), f"{_HEX}{{64}}-{_WORD}{{12,}}+"),
    ("twilio key", ("SK",), f"{_HEX}{{32}}{_END}"),
    ("shopify token", ("shpat_", "shpca_", "shppa_", "shpss_", "shpua_"), f"[A-Fa-f0-9]{{32}}{_END}"),
    ("digitalocean token", ("dop_v1_", "doo_v1_", "dor_v1_"), f"{_HEX}{{40,}}+"),
    ("databricks token", ("dapi",), f"{_HEX}{{32}}{_END}"),
    ("atlassian token", ("ATATT3", "ATCTT3"), "[A-Za-z0-9_=-]{40,}+"),
    ("bitbucket password", ("ATBB",), f"{_WORD}{{32}}{_END}"),
    ("linear api key", ("lin_api_", "lin_oauth_"), f"{_WORD}{{30,}}+"),
    ("notion token", ("ntn_", "secret_"), f"(?=[A-Za-z]{{0,42}}[0-9]){_WORD}{{40,}}+"),
    ("vault token", ("hvs.", "hvb.", "hvr."), f"{_DASHED}{{20,}}+"),
    ("pulumi token", ("pul-",), f"{_HEX}{{40}}{_END}"),
    ("prefect key", ("pnu_", "pnb_"), f"{_WORD}{{36}}{_END}"),
    ("infracost key", ("ico-",), f"(?=[A-Za-z]{{0,31}}[0-9]){_WORD}{{32}}{_END}"),
    ("square token", ("sq0atp-", "sq0csp-"), f"{_DASHED}{{20,}}+"),
    ("square token", ("EAAA",), f"{_DASHED}{{60}}{_DASHED_END}"),
    ("facebook token", ("EAA",), f"{_WORD}{{80,}}+"),
    ("mailgun key", ("key-",), f"{_HEX}{{32}}{_END}"),
    ("airtable token", ("pat",), rf"{_WORD}{{14}}\.{_HEX}{{64}}{_END}"),
    ("harness key", ("pat.", "sat."), rf"{_DASHED}{{22}}\.{_WORD}{{24}}\.{_WORD}{{20}}{_END}"),
    ("hubspot token", ("pat-na1-", "pat-eu1-", "pat-na2-", "pat-ap1-"), _UUID),
    ("heroku key", ("HRKU-",), f"{_DASHED}{{36,}}+"),
    ("plaid token", ("access-sandbox-", "access-development-", "access-production-"), _UUID),
    ("mapbox token", ("sk.eyJ",), rf"{_DASHED}{{40,512}}+\.{_DASHED}{{20,}}+"),
    ("postman key", ("PMAK-",), f"{_HEX}{{24}}-{_HEX}{{34}}"),
    ("new relic key", ("NRAK-",), "[A-Z0-9]{27}"),
    ("new relic key", ("NRII-", "NRJS-"), f"{_DASHED}{{19,}}+"),
    ("grafana token", ("glsa_", "glc_"), "[A-Za-z0-9_=+/]{32,}+"),
    ("grafana key", ("eyJrIjoi",), "[A-Za-z0-9]{60,}+={0,3}"),
    ("groq api key", ("gsk_",), f"{_WORD}{{40,}}+"),
    ("replicate token", ("r8_",), f"{_WORD}{{30,}}+"),
    ("perplexity api key", ("pplx-",), f"{_WORD}{{40,}}+"),
    ("xai api key", ("xai-",), f"{_WORD}{{40,}}+"),
    ("supabase token", ("sbp_", "sb_secret_"), "[A-Za-z0-9_]{20,}+"),
    ("neon key", ("napi_",), f"{_WORD}{{40,}}+"),
    ("doppler token", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."), "[A-Za-z0-9_.-]{30,}+"),
    ("figma token", ("figd_", "figo_"), f"{_DASHED}{{30,}}+"),
    ("planetscale token", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), "[A-Za-z0-9_.=-]{30,}+"),
    ("sentry token", ("sntrys_", "sntryu_"), "[A-Za-z0-9_=+/-]{30,}+"),
    ("snyk token", ("snyk_uat.", "snyk_sat."), "[A-Za-z0-9_.-]{30,}+"),
    ("sonar token", ("squ_", "sqp_", "sqa_"), f"{_HEX}{{40}}{_END}"),
    ("sourcegraph token", ("sgp_",), "(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}"),
    ("circleci token", ("CCIPAT_", "CCIPRJ_"), "[A-Za-z0-9_]{30,}+"),
    ("buildkite token", ("bkua_",), f"{_WORD}{{30,}}+"),
    ("fly token", ("fo1_",), f"{_DASHED}{{40,}}+"),
    ("fly token", ("fm1a_", "fm1r_", "fm2_"), "[A-Za-z0-9+/]{80,}+={0,3}"),
    ("tailscale key", ("tskey-",), "[a-z]{3,8}-[A-Za-z0-9-]{16,}+"),
    ("dynatrace token", ("dt0c01.", "dt0s01."), rf"{_WORD}{{24}}\.{_WORD}{{64}}"),
    ("duffel token", ("duffel_test_", "duffel_live_"), "[A-Za-z0-9_=-]{40,}+"),
    ("shippo token", ("shippo_live_", "shippo_test_"), f"{_HEX}{{40}}"),
    ("easypost key", ("EZAK", "EZTK"), f"{_WORD}{{54}}{_END}"),
    ("flutterwave key", ("FLWSECK-", "FLWSECK_TEST-"), f"{_WORD}{{12,}}+(?:-X)?"),
    ("paddle key", ("pdl_live_apikey_", "pdl_sdbx_apikey_"), "[A-Za-z0-9_]{30,}+"),
    ("typeform token", ("tfp_",), "[A-Za-z0-9_.=-]{40,}+"),
    ("readme key", ("rdme_",), f"{_WORD}{{60,}}+"),
    ("resend key", ("re_",), f"{_WORD}{{8}}_{_WORD}{{24}}{_END}"),
    ("vercel token", ("vercel_blob_rw_", "vcp_"), f"{_DASHED}{{24,}}+"),
    ("contentful token", ("CFPAT-",), f"{_DASHED}{{40,}}+"),
    ("frame.io token", ("fio-u-",), "[A-Za-z0-9_=-]{60,}+"),
    ("intercom token", ("dG9rO",), "[A-Za-z0-9+/]{40,}+={0,2}"),
    ("dropbox token", ("sl.u.", "sl.B"), f"{_DASHED}{{100,}}+"),
    ("artifactory key", ("AKCp",), f"{_WORD}{{60,}}+"),
    ("artifactory token", ("cmVmd",), f"{_WORD}{{59}}{_END}"),
    ("octopus key", ("API-",), f"(?=[A-Z]{{0,25}}[0-9])[A-Z0-9]{{26}}{_END}"),
    ("openshift token", ("sha256~",), f"{_DASHED}{{43}}{_DASHED_END}"),
    ("alibaba key", ("LTAI",), f"(?=[A-Za-z]{{0,19}}[0-9]){_WORD}{{20}}{_END}"),
    ("yandex key", ("AQVN",), f"{_DASHED}{{35,38}}{_DASHED_END}"),
    ("cloudflare origin key", ("v1.0-",), f"{_HEX}{{24}}-{_HEX}{{146}}"),
    ("adobe secret", ("p8e-",), f"(?=[A-Za-z]{{0,31}}[0-9]){_WORD}{{32}}{_END}"),
    ("1password key", ("A3-",), "[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("1password token", ("ops_eyJ",), "[A-Za-z0-9+/]{80,}+={0,3}"),
    ("age secret key", ("AGE-SECRET-KEY-1",), "[0-9A-Z]{50,}+"),
    ("extended private key", ("xprv", "yprv", "zprv"), f"{_WORD}{{100,}}+"),
    ("scrubjay token", ("sj_",), f"{_DASHED}{{49}}{_DASHED_END}"),
    ("telegram bot token", ("bot",), f"[0-9]{{8,10}}+:{_DASHED}{{35}}{_DASHED_END}"),
    ("json web token", ("eyJ",), rf"{_DASHED}{{8,}}+\.eyJ{_DASHED}{{6,}}+(?:\.{_DASHED}*+)?"),
    ("json web token", ("ZXlKaGJHY2lPaU", "ZXlKMGVYQWlPaU", "ZXlKcmFXUWlPaU"), "[A-Za-z0-9+/=_-]{40,}+"),
    ("slack webhook", ("hooks.slack.com/",), "(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}+"),
    (
        "discord webhook",
        ("discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
        rf"[0-9]{{10,}}+/{_DASHED}{{20,}}+",
    ),
    ("teams webhook", (".webhook.office.com/webhookb2/",), "[A-Za-z0-9/@-]{40,}+"),
)  # fmt: skip
# The kind of each prefix, the prefix, the same in lower case, and the pattern after it.
_PREFIXES = tuple((kind, prefix, prefix.lower(), rest) for kind, prefixes, rest in _TOKENS for prefix in prefixes)
# After a letter these are the end of a word: task-, monkey-, core_. All others may be glued to what precedes them.
_WHOLE_WORDS = frozenset({
    "sk-", "key-", "csk-", "re_", "fw_", "rnd_", "r8_", "hf_", "sj_", "secret_", "pul-", "ico-", "xai-", "API-", "A3-",
    "pat.", "sat.", "v1.0-",
})  # fmt: skip
# As much may precede a token without a blank; more is a long run such as a picture in base64.
_MAX_GLUED = 32


def find_tokens(text: str, *, any_case: bool = False) -> Iterator[Span]:
    """Return the tokens with a form of their own; `any_case`: in lower case, too."""
    long_words = "\n".join([word for word in text.split() if len(word) >= _MIN_TOKEN])
    if not long_words:
        return
    folded = long_words.lower() if any_case else long_words
    for kind, prefix, lowered, rest in _PREFIXES:
        # Looking for the prefixes first is cheap, and mostly finds none.
        if (lowered if any_case else prefix) in folded:
            for match in _token_pattern(prefix, rest, any_case=any_case).finditer(text):
                if not is_placeholder(match[0]):
                    yield match.start(), match.end(), kind
    for kind, hint, pattern, head, is_secret in _HEADLESS:
        if hint in long_words:
            for match in pattern.finditer(text):
                start = _start_of_head(text, match.start(), head)
                if start is not None and is_secret(text[start : match.end()]):
                    yield start, match.end(), kind


@cache
def _token_pattern(prefix: str, rest: str, *, any_case: bool) -> re.Pattern[str]:
    start = re.escape(prefix)
    is_whole = any_case or prefix in _WHOLE_WORDS
    # The lookbehind follows the prefix, which the engine finds quickly.
    before = f"(?<![A-Za-z0-9_-]{start})" if is_whole else f"(?<![A-Za-z0-9+/_-]{{{_MAX_GLUED}}}{start})"
    return regex(f"{start}{before}{rest}", re.IGNORECASE if any_case else re.NOFLAG)


def _has_all_kinds(value: str) -> bool:
    return value not in (value.lower(), value.upper()) and any(character.isdecimal() for character in value)


def _is_discord(value: str) -> bool:
    head, _, rest = value.partition(".")
    return value[0] in "MNO" and _has_all_kinds(head) and _has_all_kinds(rest)


def _always(_: str) -> bool:
    return True


# Tokens without a prefix: a kind, a text that they have, the pattern from that text on, the pattern of what stands
# before it, backwards, and a test of the whole.
_HEADLESS: tuple[tuple[str, str, re.Pattern[str], re.Pattern[str], Callable[[str], bool]], ...] = (
    (
        "telegram bot token",
        ":",
        regex(rf":(?<=[0-9]{{8}}:){_DASHED}{{35}}{_DASHED_END}"),
        regex("[0-9]{8,10}+(?![0-9A-Za-z])"),
        _has_all_kinds,
    ),
    (
        "discord token",
        ".",
        regex(rf"\.(?<={_DASHED}{{23}}\.){_DASHED}{{6,7}}\.{_DASHED}{{27,40}}{_DASHED_END}"),
        regex(rf"{_DASHED}{{23,28}}+(?!{_DASHED})"),
        _is_discord,
    ),
    (
        "azure client secret",
        "Q~",
        regex(r"Q~(?<=[0-9]Q~)[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])"),
        regex(r"[0-9][A-Za-z0-9_~.-]{3}"),
        _has_all_kinds,
    ),
    (
        "terraform token",
        ".atlasv1.",
        regex(r"\.atlasv1\.[A-Za-z0-9_=-]{50,}+"),
        regex(f"{_WORD}{{14}}"),
        _always,
    ),
    (
        "mailchimp key",
        "-us",
        regex(f"-us(?<={_HEX}{{32}}-us)[0-9]{{1,2}}{_END}"),
        regex(f"{_HEX}{{32}}(?!{_HEX})"),
        _always,
    ),
    (
        "facebook token",
        "|",
        regex(rf"\|(?<=[0-9]{{13}}\|){_DASHED}{{27,40}}{_DASHED_END}"),
        regex("[0-9]{13,17}+(?![0-9A-Za-z])"),
        _has_all_kinds,
    ),
    (
        "okta token",
        "00",
        regex(rf"00(?<!{_DASHED}00){_DASHED}{{40}}{_DASHED_END}"),
        regex(""),
        _has_all_kinds,
    ),
    (
        "asana token",
        "1/",
        regex(rf"1/(?<![0-9A-Za-z/]1/)[0-9]{{10,20}}+:{_HEX}{{32}}{_END}"),
        regex(""),
        _always,
    ),
    (
        "maxmind key",
        "_mmk",
        regex(f"_mmk(?<={_WORD}_mmk){_END}"),
        regex(f"{_WORD}{{29}}_{_WORD}{{6}}"),
        _always,
    ),
)
_LONGEST_HEAD = 40


def _start_of_head(text: str, at: int, head: re.Pattern[str]) -> int | None:
    match = head.match(text[max(0, at - _LONGEST_HEAD) : at][::-1])
    return at - match.end() if match else None


# The parameter of a signed address, and values in files that programs keep their logins in: a text that must occur, the
# pattern with the group "value", the kind, and a test of the value.
_CREDENTIALS: tuple[tuple[str, re.Pattern[str], str, Callable[[str], bool]], ...] = (
    *(
        (name, regex(rf"{name}(?<=[?&;-]{name})(?P<value>[A-Za-z0-9%+/=_-]{{20,512}}+)"), "signature", is_mixed)
        for name in ("sig=", "Signature=")
    ),
    *(
        (
            name,
            regex(rf"{name}\s{{0,4}}[:=]\s{{0,4}}\"?(?P<value>[A-Za-z0-9+/]{{8,512}}+={{0,2}})"),
            "login",
            is_mixed,
        )
        for name in ('"auth"', "_auth")
    ),
    (
        "asic ",
        regex(r"(?<![A-Za-z])[Bb]asic (?P<value>[A-Za-z0-9+/]{12,512}+={0,2})(?![\w-])"),
        "login",
        is_random,
    ),
    ("SSWS ", regex(rf"SSWS (?P<value>{_DASHED}{{20,}}+)"), "okta token", is_mixed),
    (
        "irtable",
        regex(f"(?<!{_WORD})(?P<value>key{_WORD}{{14}}){_END}"),
        "airtable key",
        _has_all_kinds,
    ),
    *(
        (name, regex(rf"{re.escape(name)}(?P<value>[^\s;,&\"']{{12,512}}+)"), "cookie", is_mixed)
        for name in ("SESSIONID=", "SESSID=", "sessionid=", "SessionId=", "_session=", "connect.sid=")
    ),
    ("__", regex(r"__(?:Secure|Host)-[\w.-]{1,40}+=(?P<value>[^\s;,&\"']{12,512}+)"), "cookie", is_mixed),
    (
        "machine ",
        regex(r"(?<!\S)machine\s\S{1,128}+\s{1,4}login\s\S{1,128}+\s{1,4}password\s(?P<value>\S{3,128}+)"),
        "password",
        _always,
    ),
    (
        "mysql",
        regex(r"\bmysql\w{0,8}\s[^\n|;]{0,120}?(?<=\s)-p(?P<value>[^\s\"'-]\S{3,63}+)"),
        "password",
        is_mixed,
    ),
    ("sshpass", regex(r"\bsshpass\s{1,2}-p\s{0,2}[\"']?(?P<value>[^\s\"']{4,64}+)"), "password", _always),
    ("redis-cli", regex(r"\bredis-cli\s[^\n|;]{0,120}?(?<=\s)-a\s(?P<value>\S{4,64}+)"), "password", _always),
    (
        "Private-Lines",
        regex(r"Private-Lines: [0-9]{1,4}\r?\n(?P<value>[A-Za-z0-9+/=\r\n]{16,}+)"),
        "private key",
        _always,
    ),
)
# The end of a line of .pgpass, on a port of PostgreSQL or on any, and its host backwards.
_PGPASS_HINTS = (":543", ":6432:", ":*:")
_PGPASS = regex(r":(?:543[0-9]|6432|\*):[^\s:]{1,64}+:[^\s:]{1,64}+:(?P<value>\S{4,128}+)(?=[ \t]{0,8}\r?(?:\n|\Z))")
_MAX_HOST = 129
_PGPASS_HOST = regex(r"[A-Za-z0-9.*_-]{1,128}+(?:\n|\Z)")
_COOKIE_HEADER = regex(r"(?i:cookie2?)\"?[:=]\s{0,4}[\"']?(?P<pairs>[^\n\"']{8,4096}+)")
_COOKIE_VALUE = regex(r"(?:(?<=[;\s])|^)[\w.%-]{1,64}+=(?P<value>[^\s;,]{8,512}+)")


def find_credentials(text: str) -> Iterator[Span]:
    """Return the secrets that are recognised by their place: signed addresses, cookies, the logins of programs."""
    for hint, pattern, kind, is_secret in _CREDENTIALS:
        if hint in text:
            for match in pattern.finditer(text):
                value = match["value"]
                if not is_placeholder(value) and is_secret(value):
                    yield match.start("value"), match.end("value"), kind
    if any(hint in text for hint in _PGPASS_HINTS):
        for match in _PGPASS.finditer(text):
            host = text[max(0, match.start() - _MAX_HOST) : match.start()][::-1]
            if _PGPASS_HOST.match(host) and not is_placeholder(match["value"]):
                yield match.start("value"), match.end("value"), "password"
    if "ookie" in text or "COOKIE" in text:
        for header in _COOKIE_HEADER.finditer(text):
            start = header.start("pairs")
            for pair in _COOKIE_VALUE.finditer(header["pairs"]):
                if not is_placeholder(pair["value"]) and is_random(pair["value"]):
                    yield start + pair.start("value"), start + pair.end("value"), "cookie"
