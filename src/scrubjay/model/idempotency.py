"""Answers: what was told under an idempotency key, so that the same request is not done twice."""

import hashlib
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer:
    """What was answered, and in which run; the key is told as its digest where only that is kept."""

    key: str | bytes
    digest: bytes
    answer: str
    run: str
    agent: str
    at: datetime

    @property
    def key_digest(self) -> bytes:
        """The digest of the key, however it is told."""
        return key_digest(self.key) if isinstance(self.key, str) else self.key


def key_digest(key: str) -> bytes:
    """What stands for an idempotency key where the key itself is not kept."""
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
