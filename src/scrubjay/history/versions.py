"""`history` and its diff."""

import difflib
import json
from collections.abc import Sequence

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model.given import require_whole, wrong
from scrubjay.model.memory import Json, Memory
from scrubjay.model.results import History
from scrubjay.model.snapshot import to_body
from scrubjay.model.version import FieldDiff, Version
from scrubjay.ports import RecordStore
from scrubjay.references import resolve

# They differ between any two versions and say nothing.
_UNINTERESTING = ("updated_at", "last_confirmed", "last_reviewed")


async def history(ref: str, *, limit: int, before: int | None, space: str, store: RecordStore) -> History:
    """The versions of a memory, newest first."""
    require_whole(limit, field="limit")
    if before is not None:
        require_whole(before, field="before")
    memory = await resolve(store, ref, space=space)
    versions = await store.versions(space, memory.id, limit=limit, before=before)
    return History(id=memory.id, name=memory.name, versions=tuple(versions))


async def compare(ref: str, *, versions: Sequence[int], space: str, store: RecordStore) -> History:
    """How one version became another."""
    if isinstance(versions, str | bytes) or not isinstance(versions, Sequence):
        raise wrong("diff", "two version numbers", versions)
    if len(versions) != 2:  # noqa: PLR2004
        raise InvalidInput("a diff needs two version numbers, for example diff=[1, 2]", field="diff")
    memory = await resolve(store, ref, space=space)
    before, after = [await version_of(memory, number, store=store) for number in versions]
    return History(id=memory.id, name=memory.name, diff=diff(before.memory, after.memory))


async def version_of(memory: Memory, number: int, *, store: RecordStore) -> Version:
    """One version of a memory, or an error that says which there are."""
    found = await store.version(memory.space, memory.id, require_whole(number, field="version"))
    if found is None:
        raise NotFound(
            f"{memory.name!r} has no version {number}",
            hint=f"Its versions go from 1 to {memory.version}",
            memory_id=memory.id,
            version=number,
        )
    return found


def diff(before: Memory, after: Memory) -> tuple[FieldDiff, ...]:
    """The fields that differ; texts line by line."""
    old, new = to_body(before), to_body(after)
    names = [name for name in dict.fromkeys((*old, *new)) if name not in _UNINTERESTING]
    return tuple(
        _field_diff(name, _spelled(old.get(name)), _spelled(new.get(name)))
        for name in names
        if old.get(name) != new.get(name)
    )


def _field_diff(name: str, before: str, after: str) -> FieldDiff:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return FieldDiff(field=name, before=before, after=after, lines=tuple(lines)[2:])


def _spelled(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(_item(one) for one in value)
    return json.dumps(value, ensure_ascii=False)


def _item(value: Json) -> str:
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        return str(value["text"])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
