"""Idempotency keys: a repeated request gets the first answer, and a different request under the same key is refused."""

import hashlib
import json
from collections.abc import Mapping

from scrubjay.errors import TooLarge
from scrubjay.lazy import dataclass
from scrubjay.model.checks import require_text
from scrubjay.model.memory import Json
from scrubjay.ports import Committed, IdempotencyRecord, Records

_MAX_KEY = 300


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A request under an idempotency key; without a key it is executed each time."""

    key: str = ""
    digest: bytes = b""

    async def find_answer(self, records: Records, *, space: str) -> dict[str, Json] | None:
        """Return the stored answer; raises KeyReused if the request was a different one."""
        if not self.key:
            return None
        return _parse(await records.find_answer(space, self.key, self.digest))

    def record(self, answer: Mapping[str, Json]) -> IdempotencyRecord | None:
        """Return the record for the commit, so that the answer is stored if and only if the change is."""
        return IdempotencyRecord(key=self.key, digest=self.digest, answer=json.dumps(answer)) if self.key else None

    def earlier_answer(self, committed: Committed) -> dict[str, Json] | None:
        """Return the answer of a concurrent, equal request; None if this commit was the first."""
        return _parse(committed.answer)


def stored_key(key: str) -> str:
    """Return what is stored for a key: its digest, because a caller may use a secret as a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest() if key else ""


def idempotent_request(key: str, request: Mapping[str, Json]) -> IdempotentRequest:
    """Return a request, identified by all its arguments."""
    if not require_text(key, field="idempotency_key"):
        return IdempotentRequest()
    if len(key) > _MAX_KEY:
        raise TooLarge(f"idempotency_key has {len(key):,} characters; the limit is {_MAX_KEY}", field="idempotency_key")
    dumped = json.dumps(request, sort_keys=True, default=str)
    digest = hashlib.sha256(dumped.encode("utf-8", "surrogatepass")).digest()
    return IdempotentRequest(key=stored_key(key), digest=digest)


def _parse(answer: str | None) -> dict[str, Json] | None:
    return None if answer is None else json.loads(answer)
