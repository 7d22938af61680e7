"""`history`: the versions of a memory on a branch, and the differences between two of them."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from scrubjay.errors import InvalidInput
from scrubjay.lookup.branches import (
    branch_of,
    branch_versions,
    on_branch,
    public_record,
    public_version,
    trunk_of,
    version_of,
)
from scrubjay.lookup.references import resolve
from scrubjay.model.checks import require_integer, wrong_type
from scrubjay.model.memory import Json, Memory
from scrubjay.model.results import History
from scrubjay.model.snapshot import to_body
from scrubjay.model.version import FieldDiff
from scrubjay.ports import RecordStore
from scrubjay.versions.line_diff import unified_lines
from scrubjay.workers import offload

# These differ between any two versions, or between any two branches.
_NOT_COMPARED = ("updated_at", "last_confirmed", "last_reviewed", "branch", "trunk", "forked", "group")
_CONTEXT_LINES = 2


async def history(
    ref: str, *, limit: int, before: int | None, branch: str = "", space: str, store: RecordStore
) -> History:
    """Return the versions of a memory on a branch, newest first: its own, then those of main before its start."""
    require_integer(limit, field="limit")
    if before is not None:
        require_integer(before, field="before")
    record = await on_branch(store, await resolve(store, ref, space=space), branch)
    start, fork = (bounds := await branch_versions(store, record)).start, bounds.fork
    versions = [
        # The first version of a branch comes from main, even if the branch's name was used before.
        replace(public_version(version), parent=fork) if fork and version.number == start else public_version(version)
        for version in await store.versions(space, record.id, limit=limit, before=before)
        if version.number >= start
    ]
    if record.trunk and len(versions) < limit:
        end = fork + 1 if before is None else min(before, fork + 1)
        versions += await store.versions(space, record.trunk, limit=limit - len(versions), before=end)
    return replace(_history(record), versions=tuple(versions))


async def compare(
    ref: str, *, versions: Sequence[int | str], branch: str = "", space: str, store: RecordStore
) -> History:
    """Compare two versions; the name of a branch means its newest version."""
    if isinstance(versions, str | bytes) or not isinstance(versions, Sequence):
        raise wrong_type("diff", "two version numbers", versions)
    if len(versions) != 2:  # noqa: PLR2004
        raise InvalidInput("a diff needs two version numbers, for example diff=[1, 2]", field="diff")
    record = await on_branch(store, await resolve(store, ref, space=space), branch)
    before, after = [await _version(record, version, store=store) for version in versions]
    size = before.characters + after.characters
    return replace(_history(record), diff=await offload(size, diff, before, after))


def diff(before: Memory, after: Memory) -> tuple[FieldDiff, ...]:
    """Return the fields that differ: texts line by line, observations one by one, other fields before and after."""
    old, new = to_body(before), to_body(after)
    names = [name for name in dict.fromkeys((*old, *new)) if name not in _NOT_COMPARED]
    fields = (_diff_field(name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name))
    # Two observations that differ only in their date are the same to a reader.
    return tuple(field for field in fields if field.before != field.after)


async def _version(record: Memory, version: int | str, *, store: RecordStore) -> Memory:
    """Return a version by number, or the newest of a branch by name, as callers see it."""
    if not isinstance(version, str):
        return (await version_of(record, version, store=store)).memory
    if not version or version.isdecimal():
        raise InvalidInput(
            f"{version[:20]!r} is neither a version nor a branch",
            hint="Give versions as numbers, and branches by name",
            field="diff",
        )
    return public_record(await on_branch(store, await trunk_of(store, record), version))


def _history(record: Memory) -> History:
    return History(id=record.trunk or record.id, name=record.name, branch=branch_of(record))


def _diff_field(name: str, old: Json, new: Json) -> FieldDiff:
    before, after = _to_text(old), _to_text(new)
    if name == "observations":
        items = [[_item_text(item) for item in value] if isinstance(value, list) else [] for value in (old, new)]
        lines = tuple(_diff_items(*items))
    else:
        lines = tuple(unified_lines(before.splitlines(), after.splitlines(), context=_CONTEXT_LINES))
    return FieldDiff(field=name, before=before, after=after, lines=lines)


def _diff_items(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Return the removed items, then the added ones, each as often as it occurs less or more."""
    old, new = Counter(before), Counter(after)
    for sign, items, rest in (("-", before, old - new), ("+", after, new - old)):
        for item in items:
            if rest[item] > 0:
                rest[item] -= 1
                yield from (f"{sign}{line}" for line in item.splitlines() or [""])


def _to_text(value: Json) -> str:
    """Return a field's value for a reader."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(_item_text(item) for item in value)
    return json.dumps(value, ensure_ascii=False)


def _item_text(value: Json) -> str:
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        until = value.get("valid_until")
        return f"{value['text']} (until {until})" if until else str(value["text"])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
