"""What happens once: whoever asks again with the same key gets the first answer, and another question is refused."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from scrubjay.errors import TooLarge
from scrubjay.model.checks import require_text
from scrubjay.model.memory import Json
from scrubjay.ports import Committed, IdempotencyRecord, Records

_LONGEST_KEY = 300


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A request under an idempotency key; without one it may happen as often as it is asked."""

    key: str = ""
    digest: bytes = b""

    async def find_answer(self, records: Records, *, space: str) -> dict[str, Json] | None:
        """What was answered before; raises KeyReused when the request was another."""
        if not self.key:
            return None
        return _told(await records.find_answer(space, self.key, self.digest))

    def once(self, answer: Mapping[str, Json]) -> IdempotencyRecord | None:
        """What goes into the commit, so that the answer stands if and only if the deed is done."""
        return IdempotencyRecord(key=self.key, digest=self.digest, answer=json.dumps(answer)) if self.key else None

    def first(self, done: Committed) -> dict[str, Json] | None:
        """The answer of whoever was faster with the same request; None for the one who did it."""
        return _told(done.answer)


def idempotent_request(key: str, request: Mapping[str, Json]) -> IdempotentRequest:
    """A request, known by all that it asks for."""
    if not require_text(key, field="idempotency_key"):
        return IdempotentRequest()
    if len(key) > _LONGEST_KEY:
        raise TooLarge(
            f"idempotency_key has {len(key):,} characters; the limit is {_LONGEST_KEY}", field="idempotency_key"
        )
    dumped = json.dumps(request, sort_keys=True, default=str)
    return IdempotentRequest(key=key, digest=hashlib.sha256(dumped.encode("utf-8", "surrogatepass")).digest())


def _told(answer: str | None) -> dict[str, Json] | None:
    return None if answer is None else json.loads(answer)
