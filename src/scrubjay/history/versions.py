"""`history`: the versions of a memory on a branch, and how one became another."""

from collections.abc import Sequence
from dataclasses import replace

from scrubjay.branches import Line, branch_of, branches_of, line_of, on_branch, presented, shown, trunk_of, version_on
from scrubjay.errors import InvalidInput, NotFound
from scrubjay.history.differing import diff
from scrubjay.model.given import require_whole, wrong
from scrubjay.model.memory import Memory
from scrubjay.model.results import History
from scrubjay.model.version import Version
from scrubjay.ports import RecordStore
from scrubjay.references import resolve


async def history(
    ref: str, *, limit: int, before: int | None, branch: str = "", space: str, store: RecordStore
) -> History:
    """The versions of a memory on a branch, newest first: its own, then those of main from before it was begun."""
    require_whole(limit, field="limit")
    if before is not None:
        require_whole(before, field="before")
    record = await on_branch(store, await resolve(store, ref, space=space), branch)
    line = await line_of(store, record)
    versions = await store.versions(space, record.id, limit=limit, before=before)
    own = [_on_line(shown(version), line) for version in versions if version.number >= line.start]
    if record.trunk and len(own) < limit:
        start = line.fork + 1 if before is None else min(before, line.fork + 1)
        own += await store.versions(space, record.trunk, limit=limit - len(own), before=start)
    return replace(_told(record), versions=tuple(own))


def _on_line(version: Version, line: Line) -> Version:
    """A version with what it came from: the first of a branch from main, whatever had its name before."""
    return replace(version, parent=line.fork) if line.fork and version.number == line.start else version


async def compare(
    ref: str, *, versions: Sequence[int | str], branch: str = "", space: str, store: RecordStore
) -> History:
    """How one version became another; the name of a branch stands for its newest."""
    if isinstance(versions, str | bytes) or not isinstance(versions, Sequence):
        raise wrong("diff", "two version numbers", versions)
    if len(versions) != 2:  # noqa: PLR2004
        raise InvalidInput("a diff needs two version numbers, for example diff=[1, 2]", field="diff")
    record = await on_branch(store, await resolve(store, ref, space=space), branch)
    before, after = [await _side(record, side, store=store) for side in versions]
    return replace(_told(record), diff=diff(before, after))


async def version_of(record: Memory, number: int, *, store: RecordStore) -> Version:
    """One version of a memory or of a branch, or an error that says where it is, or which there are."""
    found = await version_on(store, record, require_whole(number, field="version"))
    if found is None:
        raise await _no_version(record, number, store=store)
    return found


async def _side(record: Memory, side: int | str, *, store: RecordStore) -> Memory:
    """One side of a comparison, as callers know it."""
    if not isinstance(side, str):
        return (await version_of(record, side, store=store)).memory
    if not side or side.isdecimal():
        raise InvalidInput(
            f"{side[:20]!r} is neither a version nor a branch",
            hint="Give versions as numbers, and branches by name",
            field="diff",
        )
    return presented(await on_branch(store, await trunk_of(store, record), side))


async def _no_version(record: Memory, number: int, *, store: RecordStore) -> NotFound:
    trunk = await trunk_of(store, record)
    branch = branch_of(record)
    for other in (trunk, *await branches_of(store, [trunk])):
        line = await line_of(store, other)
        if other.id != record.id and line.start <= number <= other.version:
            return NotFound(
                f"version {number} of {record.name!r} is on branch {branch_of(other)!r}, not on {branch!r}",
                hint=f"Name the branch {branch_of(other)!r}, or merge it first",
                memory_id=trunk.id,
                version=number,
                branch=branch_of(other),
            )
    where = f" on branch {branch!r}" if record.trunk else ""
    return NotFound(
        f"{record.name!r} has no version {number}{where}",
        hint=f"Its versions go from 1 to {record.version}",
        memory_id=trunk.id,
        version=number,
    )


def _told(record: Memory) -> History:
    return History(id=record.trunk or record.id, name=record.name, branch=branch_of(record))
