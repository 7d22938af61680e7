"""The answers of `remember`, and how they are stored under an idempotency key."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import cast

from scrubjay import telemetry
from scrubjay.idempotency import stored_key
from scrubjay.lazy import dataclass
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Flag, Json, Memory, Source
from scrubjay.model.results import Decision, Remembered
from scrubjay.model.snapshot import source_to_json
from scrubjay.model.timestamps import to_iso
from scrubjay.ports import IdempotencyRecord, Records
from scrubjay.writing.density import without_thin

# All fields of a draft identify a request except these, which do not change what is stored, or are set by stages.
_NOT_REQUESTED = (
    "idempotency_key", "dry_run", "wait_for_llm", "suggested_tags", "suggested_entities", "flags", "rejected",
    "warnings", "trace",
)  # fmt: skip
_REQUESTED = tuple(field.name for field in fields(Draft) if field.name not in _NOT_REQUESTED)
_LISTS = ("ids", "tags", "warnings", "flags", "suggested_entities")
_REPEATED = Decision(stage="once", outcome="repeated", why="this idempotency key was used before")
_STORED = ("action", "id", "name", "version", "merged_into", "similarity", *_LISTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedRequest:
    """A request under an idempotency key; without a key it is carried out every time."""

    key: str = ""
    digest: bytes = b""

    async def earlier_answer(self, records: Records, *, space: str) -> Remembered | None:
        """Return the answer that the same request got before."""
        if not self.key:
            return None
        answer = await records.find_answer(space, self.key, self.digest)
        if answer is None:
            return None
        telemetry.count("writes", action="repeated")
        return repeated(answer)

    def record(self, answer: Remembered) -> IdempotencyRecord | None:
        """Return the record for the commit, so that answer and write are stored together or not at all."""
        if not self.key:
            return None
        stored = {name: getattr(answer, name) for name in _STORED}
        return IdempotencyRecord(key=self.key, digest=self.digest, answer=json.dumps(stored))


def request_of(draft: Draft) -> KeyedRequest:
    """Return the request of a draft, identified by its content."""
    if not draft.idempotency_key:
        return KeyedRequest()
    return KeyedRequest(key=stored_key(draft.idempotency_key), digest=digest_of(draft))


def digest_of(draft: Draft) -> bytes:
    """Return the digest of the fields that a caller has set."""
    request = {name: getattr(draft, name) for name in _REQUESTED}
    return hashlib.sha256(json.dumps(request, sort_keys=True, default=_to_json).encode()).digest()


def _to_json(value: object) -> Json:
    """Return the JSON of a field that `json` cannot encode; an unlisted type is an error."""
    if isinstance(value, Source):
        return source_to_json(value)
    if isinstance(value, datetime):
        return to_iso(value)
    return dict(cast("Mapping[str, Json]", value))


def repeated(answer: str) -> Remembered:
    """Return the first answer, as stored."""
    stored = cast("Mapping[str, Json]", json.loads(answer))
    lists = {name: tuple(cast("list[str]", stored.get(name, []))) for name in _LISTS}
    similarity = stored.get("similarity")
    return Remembered(
        action=str(stored["action"]),
        id=str(stored["id"]),
        ids=lists["ids"],
        name=str(stored["name"]),
        version=cast("int", stored["version"]),
        tags=lists["tags"],
        merged_into=str(stored.get("merged_into", "")),
        similarity=float(similarity) if isinstance(similarity, int | float) else None,
        suggested_entities=lists["suggested_entities"],
        flags=lists["flags"],
        warnings=lists["warnings"],
        trace=(_REPEATED,),
    )


def is_repeated(answer: Remembered) -> bool:
    """Whether it is the answer of an earlier request, and nothing was written now."""
    return _REPEATED in answer.trace


def is_thin(answer: Remembered) -> bool:
    """Whether the text said too little, and was stored or refused for it."""
    return any(
        decision.stage == "density" and decision.outcome in ("rejected", "reconstruct", Flag.THIN)
        for decision in answer.trace
    )


def rejected(draft: Draft) -> Remembered:
    """Answer that nothing was stored, and why."""
    return Remembered(
        action="rejected",
        id="",
        ids=(),
        name=draft.name,
        version=0,
        tags=draft.tags,
        flags=draft.flags,
        warnings=(draft.rejected, *draft.warnings),
        trace=draft.trace,
    )


def unchanged(draft: Draft, memories: Sequence[Memory], *, similarity: float | None = 1.0) -> Remembered:
    """Answer that memories already say all of it."""
    draft = draft.with_decision("duplicate", "unchanged", f"{memories[0].id} already says this")
    return _existing_answer("unchanged", draft, memories, similarity=similarity)


def confirmed(draft: Draft, memories: Sequence[Memory]) -> Remembered:
    """Answer that memories already say all of it, and now have the draft's source."""
    source = draft.source.trust
    draft = draft.with_decision(
        "duplicate", "updated", f"{memories[0].id} already says this; its source is now the {source}"
    )
    return _existing_answer("updated", draft, memories)


def _existing_answer(
    action: str, draft: Draft, memories: Sequence[Memory], *, similarity: float | None = 1.0
) -> Remembered:  # fmt: skip
    first = memories[0]
    return Remembered(
        action=action,
        id=first.id,
        ids=tuple(memory.id for memory in memories),
        name=first.name,
        version=first.version,
        similarity=similarity,
        tags=first.tags,
        flags=first.flags,
        warnings=without_thin(draft.warnings),
        trace=draft.trace,
    )
