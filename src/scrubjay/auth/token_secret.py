"""The secret of a token: what it looks like, and what is kept of it."""

import base64
import binascii
import hashlib
import re
import secrets

PREFIX = "sj_"
_RANDOM_BYTES = 32
_CHECKED = re.compile(r"sj_[A-Za-z0-9_-]{43}(?P<check>[A-Za-z0-9_-]{6})")


def new_secret() -> str:
    """A secret that nobody can guess. By its checksum a mistyped one, or what merely looks like it, is told apart."""
    body = PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
    return body + _checksum(body)


def is_secret(text: str) -> bool:
    """Whether a text is spelled as a secret must be; whose it is, if anybody's, it does not say."""
    found = _CHECKED.fullmatch(text)
    return found is not None and _checksum(text[: -len(found["check"])]) == found["check"]


def digest_of(secret: str) -> bytes:
    """What is kept of a secret, and what it is found by.

    One round of SHA-256 is enough: slow hashes protect what people choose, and 256 random bits cannot be tried out.
    Nor does the time of a lookup help to guess, because nobody can choose the digest of a guess.
    """
    return hashlib.sha256(secret.encode()).digest()


def _checksum(body: str) -> str:
    return base64.urlsafe_b64encode(binascii.crc32(body.encode()).to_bytes(4, "big")).decode().rstrip("=")
