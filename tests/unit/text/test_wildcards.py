"""Patterns with `*` for words and for paths."""

import pytest

from scrubjay.text.wildcards import Glob, Wildcard


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("salary", "the salary is", True),
        ("salary", "a salaryman", False),
        ("salary", "salaryman, salary", True),
        ("project x*", "project xylophone begins", True),
        ("project x *", "project xylophone", False),
        ("*word", "my password", True),
        ("*word", "wordy", False),
        ("from * to", "from a to b", True),
        ("from * to", "from a tomorrow", False),
        ("from * to", "from a tomorrow to b", True),
        ("a*b*c", "a b c", True),
        ("a*b*c", "a c b", False),
    ],
)
def test_a_wildcard_matches_words_of_a_text(pattern: str, text: str, expected: bool) -> None:
    assert Wildcard(pattern).matches(text) == expected


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        (".env", "config/.env", True),
        (".env", "config/.envrc", False),
        ("*.pem", "/home/me/key.PEM", True),
        ("private/*", "home/private/a/b.txt", True),
        ("private/*", "semiprivate/a", False),
        ("/etc/shadow", "/etc/shadow", True),
        ("/etc/shadow", "x/etc/shadow", False),
        ("secrets/", "secrets/a.txt", True),
        ("secrets/", "my/secrets/a/b", True),
        ("keys/*.doc", "C:\\keys\\x.doc", True),
    ],
)
def test_a_glob_matches_paths(pattern: str, path: str, expected: bool) -> None:
    assert Glob(pattern).matches(path) == expected


def test_hostile_patterns_and_texts_take_linear_time() -> None:
    assert not Wildcard("*a" * 100 + "b*").matches("a" * 500_000)
    assert not Glob("*a" * 100 + "b").matches("a" * 500_000)
