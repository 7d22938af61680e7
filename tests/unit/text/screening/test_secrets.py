"""Secrets are redacted, texts about secrets stay, and no text takes long."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.strategies import some_examples

from scrubjay.text.screening.secrets import redact, redact_named

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq\nabcd==\n-----END RSA PRIVATE KEY-----"
SECRETS = [
    ("AKIAIOSFODNN7EXAMPLE", "aws access key"),
    ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "github token"),
    ("github_pat_11ABCDEFG0abcdefghijkl", "github token"),
    ("glpat-abcdefghij1234567890", "gitlab token"),
    ("xoxb-123456789012-abcDEFghiJKL", "slack token"),
    ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "stripe key"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "google api key"),
    ("sk-proj-abc123DEF456ghi789JKL012mno", "openai api key"),
    ("sk-ant-api03-abcdefghijklmnop1234", "anthropic api key"),
    ("sk-abcdefghijklmnopqrstuvwxyz123456", "api key"),
    ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "npm token"),
    ("pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAwLTAwMDAtMDAwMC0wMDAw", "pypi token"),
    (JWT, "json web token"),
    (PEM, "private key"),
    ("-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq0123456789\nabcdefgh", "private key"),
    ("hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx", "slack webhook"),
]
GIVEN = [
    ("password: hunter2", "password: [redacted: password]"),
    ("Password: swordfish", "Password: [redacted: password]"),
    ("The password is hunter2!", "The password is [redacted: password]"),
    ("The wifi password for guests is Blue-Tiger-42.", "The wifi password for guests is [redacted: password]."),
    ("password was changed to Winter!23", "password was changed to [redacted: password]"),
    ("user admin password Hunter2!x", "user admin password [redacted: password]"),
    ('password="correct horse"', 'password="[redacted: password]"'),
    ("mysql --password hunter22", "mysql --password [redacted: password]"),
    ("DB_PASSWORD=s3cr3t", "DB_PASSWORD=[redacted: password]"),
    ("JWT_SECRET=supersecretvalue", "JWT_SECRET=[redacted: secret]"),
    ("OPENAI_KEY=abcdef1234567890", "OPENAI_KEY=[redacted: secret]"),
    ("postgres://app:s3cr3t@db.example.com/x", "postgres://app:[redacted: password]@db.example.com/x"),
    ("Server=x;Password=P@ssw0rd;Database=y", "Server=x;Password=[redacted: password];Database=y"),
    ("Authorization: Bearer abc123def456ghi789", "Authorization: Bearer [redacted: credentials]"),
    ("curl -u admin:hunter2 https://x", "curl -u admin:[redacted: password] https://x"),
    ('{"api_key": "0f8fad5b-d9cb-469f-a165-70867728950e"}', '{"api_key": "[redacted: key]"}'),
    ("client_secret: Xy12Zw34Ab56", "client_secret: [redacted: key]"),
    ("pw = Tr0ub4dor&3", "pw = [redacted: password]"),
    ("pass: s3cr3t!", "pass: [redacted: password]"),
    ("passwd hunter2hunter2", "passwd [redacted: password]"),
    ("token 3f786850e387550fdab836ed7e6dc881de23001b", "token [redacted: secret]"),
    ("https://x.example/?password=a1b&c2d&user=bob", "https://x.example/?password=[redacted: password]&user=bob"),
    ("the pin is 4711", "the pin is [redacted: pin]"),
    ("passphrase: correct horse battery staple", "passphrase: [redacted: passphrase]"),
    ("Das Passwort ist Sommer2024!", "Das Passwort ist [redacted: password]"),
    ("mot de passe : Soleil99", "mot de passe : [redacted: password]"),
    ("\u5bc6\u7801\u662fabc12345", "\u5bc6\u7801\u662f[redacted: password]"),
]
HARMLESS = [
    "pass: 12 of 30, tests pass: yes, pass: e2e-tests",
    "pw = width*2",
    "boarding pass: LH1234ABC",
    "password sha256sum of the file, password oauth2callback",
    "token hash 3f786850e387550fdab836ed7e6dc881de23001b",
    "the password is stored in the vault",
    "token: none",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "id 0f8fad5b-d9cb-469f-a165-70867728950e",
    "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "password_hash: $2b$12$abcdef",
    "token_count: 4096, max_tokens=1500",
    "The password is bcrypt-hashed with SHA-256.",
    "password: required",
    "password: <your-password>",
    "API_KEY=xxxxxxxxxxxxxxxx",
    "SECRET_KEY=changeme",
    'api_key = os.environ["API_KEY"]',
    "token = get_token(user)",
    "password=${DB_PASSWORD}",
    "password = settings.password",
    "the secret is to rest the dough for 24 hours",
    "Password: must have 12 characters",
    "the password is 12 characters long",
    "password: can't be reset",
    "sk-learn-style-pipelines-are-used-here",
    "public key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5",
    "the API key is rotated every 90 days",
    "image_4f3a9c.png, version 1.2.3-rc1+build5",
    "spin: 1234 rpm, opinion: v2beta1, monkey: banana123",
    "Secret Santa: 2024-12-24",
    "Authorization: Bearer <token>",
    "ssh://git@github.com/x/y and https://example.com:8080/a@b",
    "postgres://user:password@localhost/db",
    "token: https://example.com/x1y2z3a4",
    "Pin: requests==2.31.0",
    "\u0130stanbul password policy: min 8 chars, 1 digit",
]


@pytest.mark.parametrize(("secret", "kind"), SECRETS)
def test_a_token_with_a_form_of_its_own_is_redacted_anywhere(secret: str, kind: str) -> None:
    text, kinds = redact(f"We use ({secret}), they say.")
    assert (text, kinds) == (f"We use ([redacted: {kind}]), they say.", (kind,))


@pytest.mark.parametrize(("text", "clean"), GIVEN)
def test_a_value_after_the_name_of_a_secret_is_redacted(text: str, clean: str) -> None:
    redacted, kinds = redact(text)
    assert redacted == clean
    assert len(kinds) == 1


@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_about_secrets_stays(text: str) -> None:
    assert redact(text) == (text, ())


def test_each_of_several_secrets_is_reported_with_its_kind() -> None:
    text, kinds = redact("password: a1b2c3 and password: d4e5f6, AKIAIOSFODNN7EXAMPLE")
    assert sorted(kinds) == ["aws access key", "password", "password"]
    assert "a1b2" not in text
    assert "d4e5" not in text


def test_a_tag_in_lower_case_hides_no_key() -> None:
    assert redact("akiaiosfodnn7example", any_case=True)[1] == ("aws access key",)
    assert redact("akiaiosfodnn7example")[1] == ()


@pytest.mark.parametrize(
    ("name", "value", "hidden"),
    [
        ("api_key", "abc123def", True),
        ("password", "swordfish", True),
        ("dbPassword", "two words here", True),
        ("token_count", "40960000", False),
        ("primary_key", "user123id", False),
        ("password", "none", False),
        ("note", "AKIAIOSFODNN7EXAMPLE", True),
        ("colour", "blue", False),
    ],
)
def test_the_name_of_a_value_decides_whether_it_is_a_secret(name: str, value: str, hidden: bool) -> None:
    text, kinds = redact_named(name, value)
    assert (text != value, bool(kinds)) == (hidden, hidden)


pieces = st.sampled_from(
    [*(text for text, _ in SECRETS), *(text for text, _ in GIVEN), *HARMLESS, "=", ": ", '"', "\n"]
)


@given(st.lists(pieces | st.text(max_size=8), max_size=6).map(" ".join))
@some_examples
def test_redacting_twice_changes_nothing(text: str) -> None:
    once, _ = redact(text)
    assert redact(once) == (once, ())


@pytest.mark.parametrize(
    "piece",
    [
        "password ",
        "password is ",
        "pw=",
        "pin-",
        "eyJ",
        "-eyJ",
        "sk-",
        "://a:",
        "-----BEGIN PRIVATE KEY-----",
        '_key="',
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    # A fifth of the longest text: with backtracking it would take minutes.
    text = piece * (200_000 // len(piece))
    before = time.process_time()
    redact(text)
    assert time.process_time() - before < 5
