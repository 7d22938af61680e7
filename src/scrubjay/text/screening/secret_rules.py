"""What secrets look like: tokens with a form of their own, the names they are given under, and what only seems one."""

__all__ = ["INNOCENT_ENDINGS", "INNOCENT_STARTS", "NAMES", "ORDINARY", "TOKENS"]

_WORD, _DASHED, _HEX = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[0-9a-f]"
# What it is called, how it begins, what follows. Quantifiers are possessive: nothing is ever tried twice.
TOKENS = (
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

# Of what family of secrets a name is, the name, and the words before it that make it one; none: it always is. A
# password may be any word, so that it is told by its name alone; under a short name, which may be that of anything,
# only what looks like nothing people write. A phrase is of several words. What is under a strong
# name is a secret if it has letters and figures, and under a weak one if it looks like nothing that people write.
_KEYS = "api access secret private account signing encryption master auth".split()
_TOKENS = "api access refresh auth bearer bot deploy".split()
_SECRETS = "api client webhook app".split()
NAMES = (
    *(("password", name, ()) for name in (
        "password", "passwd", "passwort", "kennwort", "passcode", "pwd", "mot de passe", "contrase\u00f1a",
        "contrasena", "senha", "wachtwoord", "has\u0142o", "\u015fifre", "l\u00f6senord",
        "\u043f\u0430\u0440\u043e\u043b\u044c",
        "\u5bc6\u7801", "\u5bc6\u78bc", "\u53e3\u4ee4", "\u30d1\u30b9\u30ef\u30fc\u30c9",
        "\ube44\ubc00\ubc88\ud638", "\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631",
    )),
    ("pin", "pin", ()),
    ("short", "pw", ()),
    ("short", "pass", ()),
    *(("phrase", name, ()) for name in ("passphrase", "pass phrase", "seed phrase", "recovery phrase", "mnemonic")),
    *(
        ("strong", name, tuple(word + joint for word in words for joint in ("", " ", "_", "-")))
        for name, words in (("key", _KEYS), ("token", _TOKENS), ("secret", _SECRETS))
    ),
    *(("strong", name, ()) for name in ("credential", "schl\u00fcssel", "\u5bc6\u94a5")),
    ("weak", "key", ("_",)),
    ("weak", "token", ()),
    ("weak", "secret", ()),
)  # fmt: skip

# The rest of a name after which it is the name of something else.
INNOCENT_ENDINGS = frozenset(
    """
    hash hashes digest checksum fingerprint count counts limit limits id ids url uri path file filename name names type
    length size budget expiry expires policy policies manager reset field fields header prefix format vault ring store
    holder bucket algorithm rotation age strength hint version usage ttl scope scopes endpoint issuer address arn ref
    board word words note notes pair map index code codes
    """.split()
)
INNOCENT_STARTS = ("public", "primary", "foreign", "partition", "sort", "cache", "idempotency", "max", "min", "num")
# What follows a colon or "is" where a password is written about, not down.
ORDINARY = frozenset(
    """
    none null nil undefined true false yes no empty blank unknown missing required optional mandatory needed string str
    text bytes int hidden masked removed deleted revoked expired valid invalid correct incorrect wrong weak strong safe
    secure insecure stored saved kept encrypted hashed encoded protected rotated changed updated reset set unset sent
    shared same different default custom random unique long short too very only always never not now still see ask
    check use enter forgot forgotten lost leaked exposed compromised known in on at by from for with via a an the to of
    is it its was were be been being my your our his her their this that these those and or but if when where which who
    what how why as so must should may might can will would has have had n/a na tbd todo ok okay done disabled enabled
    authentication authorization auth login bcrypt argon2 scrypt sha md5 base64 utf-8 manager prompt here there above
    below elsewhere somewhere ist nicht im in der die das est dans le la les es en el leer vide vacía
    """.split()
)
