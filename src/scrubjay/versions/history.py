"""`history`: the versions of a memory on a branch, and how one became another."""

from collections.abc import Sequence
from dataclasses import replace

from scrubjay.errors import InvalidInput
from scrubjay.lookup.branches import Line, branch_of, line_of, on_branch, presented, shown, trunk_of, version_of
from scrubjay.lookup.references import resolve
from scrubjay.model.checks import require_integer, wrong_type
from scrubjay.model.memory import Memory
from scrubjay.model.results import History
from scrubjay.model.version import Version
from scrubjay.ports import RecordStore
from scrubjay.versions.diff import diff


async def history(
    ref: str, *, limit: int, before: int | None, branch: str = "", space: str, store: RecordStore
) -> History:
    """The versions of a memory on a branch, newest first: its own, then those of main from before it was begun."""
    require_integer(limit, field="limit")
    if before is not None:
        require_integer(before, field="before")
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
        raise wrong_type("diff", "two version numbers", versions)
    if len(versions) != 2:  # noqa: PLR2004
        raise InvalidInput("a diff needs two version numbers, for example diff=[1, 2]", field="diff")
    record = await on_branch(store, await resolve(store, ref, space=space), branch)
    before, after = [await _side(record, side, store=store) for side in versions]
    return replace(_told(record), diff=diff(before, after))


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


def _told(record: Memory) -> History:
    return History(id=record.trunk or record.id, name=record.name, branch=branch_of(record))
