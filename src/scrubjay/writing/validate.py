"""The first stage: refuse input that cannot be stored, with a message that helps, and tidy the rest."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.model.change import Origin
from scrubjay.model.checks import require_flag, require_fraction, require_moment, require_text
from scrubjay.model.draft import Draft, Limits, UnreadableDraft
from scrubjay.model.identity import is_id
from scrubjay.model.memory import Json, Trust
from scrubjay.model.results import Decision
from scrubjay.model.timestamps import to_iso

_NOT_THE_USER = "source.trust is at most agent with an agent's token or in a program"
INTENTS = ("auto", "new", "continue")
# NUL in JSON, unless the backslash is itself escaped.
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_SOURCE_LABELS = ("session", "conversation", "agent", "tool")
_LABELS = ("title", "kind", "name", "category", "project", "scope", "session_hint", "idempotency_key")


def validate(draft: Draft, *, limits: Limits, origin: Origin | None = None) -> Draft:
    """Return a tidy draft with a source that its origin may claim, or raise InvalidInput that names the field."""
    if isinstance(draft, UnreadableDraft):
        raise draft.error
    if origin is not None and origin.is_agent:
        if draft.source.trust is Trust.USER:
            draft = draft.with_warning(_NOT_THE_USER)
        draft = draft.with_fields(source=origin.limit(draft.source))
    text(draft.text, field="text", limit=limits.text_bytes)
    labels = {name: label(getattr(draft, name), field=name, limits=limits) for name in _LABELS}
    if draft.id and not is_id(draft.id):
        raise InvalidInput(f"{draft.id[:60]!r} is not the id of a memory", hint="Leave it out", field="id")
    if draft.intent not in INTENTS:
        raise InvalidInput(f"intent must be one of {', '.join(INTENTS)}, not {draft.intent!r}", field="intent")
    if draft.intent == "continue":
        _require_session(draft)
    observations = texts(draft.observations, field="observations", limit=limits.observations, limits=limits)
    # A thing with a name and a kind may have no text yet.
    is_named = bool(labels["name"] and labels["kind"])
    if not is_named and not draft.text.strip() and not any(observation.strip() for observation in observations):
        raise InvalidInput(
            "there is nothing to remember: the text is empty",
            hint="Give `text`, or at least `name` and `kind`",
            field="text",
        )
    for name in ("expires_at", "remind_at"):
        require_moment(getattr(draft, name), field=name)
    for name in ("pinned", "dry_run"):
        require_flag(getattr(draft, name), field=name)
    require_fraction(draft.relevance, field="relevance")
    source_labels = {
        name: label(getattr(draft.source, name), field=f"source.{name}", limits=limits) for name in _SOURCE_LABELS
    }
    is_tidy = source_labels == {name: getattr(draft.source, name) for name in _SOURCE_LABELS}
    tidy = draft.with_fields(
        **labels,
        observations=tuple(observation for observation in observations if observation.strip()),
        entities=distinct_labels(draft.entities, field="entities", limit=limits.entities, limits=limits),
        tags=tags(draft.tags, limits=limits),
        metadata=metadata(draft.metadata, limits=limits),
        source=draft.source if is_tidy else replace(draft.source, **source_labels),
        trace=(*draft.trace, Decision(stage="validate", outcome="accepted")),
    )
    require_moment(tidy.source.at, field="source.at")
    warning = "" if origin is None else past_expiry(tidy.expires_at, now=origin.at)
    return tidy.with_warning(warning) if warning else tidy


def past_expiry(expires_at: datetime | None, *, now: datetime) -> str:
    """Return a warning about an expiry that has passed: what is written stays, and no search returns it."""
    if expires_at is None or expires_at > now:
        return ""
    return f"expires_at {to_iso(expires_at)} has passed: it is kept, and `recall` does not find it"


def _require_session(draft: Draft) -> None:
    """Check that a draft with the intent `continue` names a session, and continues one memory."""
    if not draft.session_hint and not draft.source.session:
        raise InvalidInput(
            "the intent `continue` needs a session",
            hint="Give `session_hint`, or leave `intent` to auto",
            field="intent",
        )
    if len(draft.entities) > 1:
        raise InvalidInput(
            "a text about several entities is stored for each of them and cannot continue a memory",
            hint="Give one entity, or leave `intent` to auto",
            field="intent",
        )


def text(value: object, *, field: str, limit: int) -> str:
    """Check a text that any store can keep byte for byte."""
    checked = require_text(value, field=field)
    size = len(checked) if checked.isascii() else len(checked.encode())
    if size > limit:
        raise TooLarge(
            f"{field} has {size:,} bytes; the limit is {limit:,}",
            hint="Split it, or raise SCRUBJAY_MAX_TEXT_BYTES",
            field=field,
            size=size,
            limit=limit,
        )
    at = checked.find("\x00")
    if at >= 0:
        raise InvalidInput(
            f"{field} has a NUL character at character {at}: it looks like binary data",
            hint="Encode binary data as text, or leave it out",
            field=field,
        )
    return checked


def label(value: object, *, field: str, limits: Limits) -> str:
    """Check a short text, and put it on one line."""
    if value == "":
        return ""
    return _on_one_line(text(value, field=field, limit=limits.text_bytes), field=field, limits=limits)


def texts(values: object, *, field: str, limit: int, limits: Limits) -> tuple[str, ...]:
    """Check a list of texts and its size."""
    if isinstance(values, str) or not isinstance(values, list | tuple):
        raise InvalidInput(f"{field} must be a list of texts, not {type(values).__name__}", field=field)
    items = cast("Sequence[object]", values)
    if len(items) > limit:
        raise TooLarge(f"{len(items):,} {field} are too many; the limit is {limit}", field=field, limit=limit)
    checked = tuple([text(item, field=field, limit=limits.text_bytes) for item in items])
    # A character has four bytes at most.
    is_small = 4 * sum(map(len, checked)) <= limits.list_bytes
    size = 0 if is_small else sum(len(item.encode()) for item in checked)
    if size > limits.list_bytes:
        raise TooLarge(
            f"{field} have {size:,} bytes together; the limit is {limits.list_bytes:,}",
            hint="Spread them over several memories",
            field=field,
            limit=limits.list_bytes,
        )
    return checked


def distinct_labels(values: object, *, field: str, limit: int, limits: Limits) -> tuple[str, ...]:
    """Check a list of short texts; drop empty ones and repetitions, whatever their case."""
    distinct: dict[str, str] = {}
    for item in texts(values, field=field, limit=limit, limits=limits):
        if tidy := _on_one_line(item, field=field, limits=limits):
            distinct.setdefault(tidy.casefold(), tidy)
    return tuple(distinct.values())


def tags(values: object, *, limits: Limits) -> tuple[str, ...]:
    """Check tags; make them lower case and distinct, without a leading #."""
    tidy = distinct_labels(values, field="tags", limit=limits.tags, limits=limits)
    plain = [tag.lstrip("# ").lower() for tag in tidy]
    return tuple(dict.fromkeys([tag for tag in plain if tag]))


def metadata(value: object, *, limits: Limits) -> Mapping[str, Json]:
    """Check a JSON object and its size."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"metadata must be an object, not {type(value).__name__}", field="metadata")
    if not value:
        return {}
    plain = {str(key): item for key, item in cast("Mapping[object, object]", value).items()}
    try:
        dumped = json.dumps(plain, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"metadata is not JSON: {error}", field="metadata") from None
    text(dumped, field="metadata", limit=limits.metadata_bytes)
    if _NUL.search(dumped):
        raise InvalidInput("metadata has a NUL character", field="metadata")
    loaded: dict[str, Json] = json.loads(dumped)
    return loaded


def _on_one_line(checked: str, *, field: str, limits: Limits) -> str:
    tidy = " ".join(checked.split())
    if len(tidy) > limits.label_characters:
        raise TooLarge(
            f"{field} has {len(tidy):,} characters; the limit is {limits.label_characters}",
            hint="" if field == "text" else "Put the long form into `text`",
            field=field,
            limit=limits.label_characters,
        )
    return tidy
