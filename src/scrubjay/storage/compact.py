"""The compact form of a body: its times as numbers, its texts without keys, and the rest as JSON.

A first byte from 0x80 to 0x9F says which parts follow; JSON begins with a brace. Then, seven bytes each, the
microseconds since 1970 of `created_at`, and of `updated_at` and `last_confirmed` where they differ; then, separated by
zero bytes, the content, the name, the tags with commas between them, and all other fields as a JSON object. In it an
observation is a list: its text, how many microseconds after `created_at` it was recorded, and its other fields if any.
A body that this form cannot hold exactly is stored as JSON.
"""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeVar

from scrubjay.model.memory import Json
from scrubjay.model.timestamps import from_micros, to_iso, to_micros

T = TypeVar("T")
_MARK = 0x80
_OWN_UPDATE = 0x01
# How `last_confirmed` is stored: not at all, as another time, or as its own.
_CONFIRMED = 0x06
_CONFIRMED_AT_CREATION, _CONFIRMED_AT_UPDATE, _OWN_CONFIRMATION = 0x02, 0x04, 0x06
_HAS_TAGS, _HAS_OTHERS = 0x08, 0x10
_TIME_BYTES = 7
_LATEST = 1 << 8 * _TIME_BYTES
_SEPARATOR, _COMMA = "\0", ","
_FIRST = range(_MARK, _MARK + 0x20)
# `json.dumps` would make one for each body.
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def to_json(body: Mapping[str, Json]) -> bytes:
    """Return a body as JSON, which is also what a body of no other form is stored as."""
    return _JSON.encode(body).encode("utf-8", "surrogatepass")


def to_compact(body: Mapping[str, Json]) -> bytes | None:
    """Return the compact form of a body, or None if it has none."""
    others = dict(body)
    created_at, updated_at = others.pop("created_at", None), others.pop("updated_at", None)
    created = _micros(created_at)
    # Most times of a body are the same.
    updated = created if updated_at == created_at else _micros(updated_at)
    name, content = others.pop("name", None), others.pop("content", "")
    if created is None or updated is None or not isinstance(name, str) or not isinstance(content, str):
        return None
    if "content" in body and not content:
        return None
    first, times, texts = _MARK, [created], [content, name]
    if updated != created:
        first |= _OWN_UPDATE
        times.append(updated)
    confirmed_at = others.get("last_confirmed")
    confirmed = created if confirmed_at == created_at else _micros(confirmed_at)
    if confirmed is not None:
        del others["last_confirmed"]
        first |= _confirmation(confirmed, created, updated)
        if confirmed not in (created, updated):
            times.append(confirmed)
    tags = _joined(others.get("tags"))
    if tags:
        del others["tags"]
        first |= _HAS_TAGS
        texts.append(tags)
    if _SEPARATOR in "".join(texts):
        return None
    if "observations" in others:
        observations = _shorter(others["observations"], created)
        if observations is None:
            return None
        others["observations"] = observations
    rest = b""
    if others:
        first |= _HAS_OTHERS
        rest = b"\0" + to_json(others)
    head = bytes((first,)) + b"".join(time.to_bytes(_TIME_BYTES) for time in times)
    return head + _SEPARATOR.join(texts).encode("utf-8", "surrogatepass") + rest


def from_compact(plain: bytes) -> dict[str, Json]:
    """Return the body of a compact form."""
    return _read(plain, time=_text_of)


def values_of_compact(plain: bytes) -> dict[str, Json | datetime]:
    """Return the same, with the times of the memory as times; those of its observations and sources are texts."""
    return _read(plain, time=from_micros)


def _read(plain: bytes, *, time: Callable[[int], T]) -> dict[str, Json | T]:
    """Return the body of a compact form, whose times are made of microseconds."""
    first, at = plain[0], head_bytes(plain)
    created = int.from_bytes(plain[1 : 1 + _TIME_BYTES])
    created_at = updated_at = time(created)
    if first & _OWN_UPDATE:
        updated_at = time(int.from_bytes(plain[1 + _TIME_BYTES : 1 + 2 * _TIME_BYTES]))
    content, name, *more = plain[at:].decode("utf-8", "surrogatepass").split(_SEPARATOR, 2 + bool(first & _HAS_TAGS))
    body: dict[str, Json | T] = {"name": name, "created_at": created_at, "updated_at": updated_at}
    if content:
        body["content"] = content
    confirmation = first & _CONFIRMED
    if confirmation == _OWN_CONFIRMATION:
        body["last_confirmed"] = time(int.from_bytes(plain[at - _TIME_BYTES : at]))
    elif confirmation:
        body["last_confirmed"] = created_at if confirmation == _CONFIRMED_AT_CREATION else updated_at
    if first & _HAS_TAGS:
        tags: list[Json] = [*more[0].split(_COMMA)]
        body["tags"] = tags
    if first & _HAS_OTHERS:
        others: dict[str, Json] = json.loads(more[-1])
        observations = others.get("observations")
        if isinstance(observations, list):
            others["observations"] = [_longer(observation, created) for observation in observations]
        body |= others
    return body


def is_compact(plain: bytes) -> bool:
    """Whether bytes are in the compact form, and not JSON."""
    return bool(plain) and plain[0] in _FIRST


def head_bytes(plain: bytes) -> int:
    """Return how many bytes of a compact form are not text."""
    has_confirmation = plain[0] & _CONFIRMED == _OWN_CONFIRMATION
    return 1 + _TIME_BYTES * (1 + (plain[0] & _OWN_UPDATE) + has_confirmation)


def _confirmation(confirmed: int, created: int, updated: int) -> int:
    if confirmed == created:
        return _CONFIRMED_AT_CREATION
    return _CONFIRMED_AT_UPDATE if confirmed == updated else _OWN_CONFIRMATION


def _text_of(micros: int) -> str:
    return to_iso(from_micros(micros))


def _micros(value: Json) -> int | None:
    """Return the time of a text, or None if the text cannot be made of it again."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    if moment.tzinfo is None or to_iso(moment) != value:
        return None
    micros = to_micros(moment)
    return micros if 0 <= micros < _LATEST else None


def _joined(tags: Json) -> str:
    """Return tags as one text, which is empty if it could not be split again."""
    if not isinstance(tags, list) or not tags:
        return ""
    texts = [tag for tag in tags if isinstance(tag, str) and tag and _COMMA not in tag]
    return _COMMA.join(texts) if len(texts) == len(tags) else ""


def _shorter(observations: Json, created: int) -> list[Json] | None:
    """Return observations as lists, or None if one of them has no such form."""
    if not isinstance(observations, list):
        return None
    shorter: list[Json] = []
    for observation in observations:
        others = dict(observation) if isinstance(observation, dict) else {}
        text, recorded = others.pop("text", None), _micros(others.pop("recorded_at", None))
        if text is None or recorded is None:
            return None
        entry: list[Json] = [text, recorded - created]
        if others:
            entry.append(others)
        shorter.append(entry)
    return shorter


def _longer(observation: Json, created: int) -> Json:
    if not isinstance(observation, list):
        return observation
    text, offset, *others = observation
    longer: dict[str, Json] = {"text": text, "recorded_at": _text_of(created + int(str(offset)))}
    for more in others:
        if isinstance(more, dict):
            longer |= more
    return longer
