"""Secrets: long, each another, and known by their spelling."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from scrubjay.auth.token_secret import digest_of, is_secret, new_secret


def test_secrets_are_spelled_alike_and_are_all_different() -> None:
    secrets = {new_secret() for _ in range(200)}
    assert len(secrets) == 200
    assert {len(secret) for secret in secrets} == {52}
    assert all(secret.startswith("sj_") and is_secret(secret) for secret in secrets)
    assert all(secret.isascii() and set(secret) <= set("_-").union(map(chr, range(48, 123))) for secret in secrets)


@given(place=st.integers(0, 51), letter=st.characters())
def test_one_wrong_letter_is_noticed(place: int, letter: str) -> None:
    secret = new_secret()
    changed = secret[:place] + letter + secret[place + 1 :]
    assert is_secret(changed) is (changed == secret)


@given(st.text())
def test_no_other_text_is_a_secret(text: str) -> None:
    assert not is_secret(text)
    assert not is_secret(f"sj_{text}")


def test_blanks_around_a_secret_make_it_another_text() -> None:
    secret = new_secret()
    assert not any(is_secret(text) for text in (f"{secret}\n", f" {secret}", secret[:-1], secret + "A", secret.upper()))


def test_what_is_kept_is_a_digest() -> None:
    secret = new_secret()
    assert digest_of(secret) == hashlib.sha256(secret.encode()).digest()
    assert secret.encode() not in digest_of(secret)
