"""What `remember` answers, and how an answer is kept under its idempotency key."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import cast

from scrubjay import telemetry
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Json, Memory, Source
from scrubjay.model.results import Decision, Remembered
from scrubjay.model.snapshot import source_to_json
from scrubjay.model.timestamps import to_iso
from scrubjay.ports import IdempotencyRecord, Records

# All fields of a draft make it the same request, but for those that do not say what to store and what the stages add.
_NOT_REQUESTED = (
    "idempotency_key", "dry_run", "wait_for_llm", "suggested_tags", "suggested_entities", "flags", "rejected",
    "warnings", "trace",
)  # fmt: skip
_REQUEST = tuple(field.name for field in fields(Draft) if field.name not in _NOT_REQUESTED)
_LISTS = ("ids", "tags", "warnings", "flags", "suggested_entities")
_TOLD = ("action", "id", "name", "version", "merged_into", "similarity", *_LISTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberRequest:
    """What was asked for under an idempotency key; without one it may happen as often as it is asked."""

    key: str
    digest: bytes

    async def first(self, records: Records, *, space: str) -> Remembered | None:
        """What the same request was answered before."""
        if not self.key:
            return None
        answer = await records.find_answer(space, self.key, self.digest)
        if answer is None:
            return None
        telemetry.count("writes", action="repeated")
        return repeated(answer)

    def once(self, answer: Remembered) -> IdempotencyRecord | None:
        """What goes into the commit, so that the answer stands if and only if the deed is done."""
        if not self.key:
            return None
        told = {name: getattr(answer, name) for name in _TOLD}
        return IdempotencyRecord(key=self.key, digest=self.digest, answer=json.dumps(told))


def request_of(draft: Draft) -> RememberRequest:
    """A draft as it was asked for, known by all that it says."""
    if not draft.idempotency_key:
        return RememberRequest(key="", digest=b"")
    request = {name: getattr(draft, name) for name in _REQUEST}
    digest = hashlib.sha256(json.dumps(request, sort_keys=True, default=_plain).encode()).digest()
    return RememberRequest(key=draft.idempotency_key, digest=digest)


def _plain(value: object) -> Json:
    """The JSON of a field that is not JSON by itself; a type that is not listed is an error."""
    if isinstance(value, Source):
        return source_to_json(value)
    if isinstance(value, datetime):
        return to_iso(value)
    return dict(cast("Mapping[str, Json]", value))


def repeated(answer: str) -> Remembered:
    """The first answer, as it was kept."""
    told = cast("Mapping[str, Json]", json.loads(answer))
    lists = {name: tuple(cast("list[str]", told.get(name, []))) for name in _LISTS}
    similarity = told.get("similarity")
    return Remembered(
        action=str(told["action"]),
        id=str(told["id"]),
        ids=lists["ids"],
        name=str(told["name"]),
        version=cast("int", told["version"]),
        tags=lists["tags"],
        merged_into=str(told.get("merged_into", "")),
        similarity=float(similarity) if isinstance(similarity, int | float) else None,
        suggested_entities=lists["suggested_entities"],
        flags=lists["flags"],
        warnings=lists["warnings"],
        trace=(Decision(stage="once", outcome="repeated", why="this idempotency key was used before"),),
    )


def rejected(draft: Draft) -> Remembered:
    """Nothing was kept, and why."""
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


def unchanged(draft: Draft, known: Sequence[Memory], *, similarity: float | None = 1.0) -> Remembered:
    """All of it is known already."""
    told = draft.with_decision("duplicate", "unchanged", f"{known[0].id} already says this")
    return _of_known("unchanged", told, known, similarity=similarity)


def said_again(draft: Draft, known: Sequence[Memory]) -> Remembered:
    """All of it is known already, and is the word of who says it now."""
    told = draft.with_decision(
        "duplicate", "updated", f"{known[0].id} already says this, and is now the word of the {draft.source.trust}"
    )
    return _of_known("updated", told, known)


def _of_known(
    action: str, told: Draft, known: Sequence[Memory], *, similarity: float | None = 1.0
) -> Remembered:  # fmt: skip
    return Remembered(
        action=action,
        id=known[0].id,
        ids=tuple(memory.id for memory in known),
        name=known[0].name,
        version=known[0].version,
        similarity=similarity,
        tags=known[0].tags,
        flags=known[0].flags,
        warnings=told.warnings,
        trace=told.trace,
    )
