"""`status` and `doctor`: what there is, what is wrong with it, and what to do about it."""

import os
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scrubjay.errors import EmbeddingUnavailable, ScrubjayError
from scrubjay.lookup.references import SoundReader
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.model.results import Check, DoctorReport, Status
from scrubjay.ports import Embedder, RecordStore, StoreStatistics
from scrubjay.version import VERSION

_LITTLE_ROOM = 100 * 1024 * 1024
_SURVEY = 1000
_NAMED = 5
_PAGE = 200
_RESTORE = "Do what it says, if it says what; else restore a backup: `scrubjay backup restore FILE`"
Description = dict[str, str | int | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
    """What is looked at."""

    store: RecordStore
    embedder: Embedder
    index: Description
    data: Path


async def status(patient: Patient, *, space: str) -> Status:
    """Health and sizes in one look."""
    found = await patient.store.statistics(space)
    embedding, degraded = await _embedding(patient.embedder)
    if problem := patient.index.get("problem"):
        degraded.append(str(problem))
    saved = 1 - found.stored_bytes / found.body_bytes if found.body_bytes else 0.0
    return Status(
        space=space,
        version=VERSION,
        data=str(patient.data),
        memories=dict(found.memories),
        versions=found.versions,
        relations=found.relations,
        store=dict(found.details),
        embedding=embedding,
        index=patient.index,
        compression={
            "body_bytes": found.body_bytes,
            "stored_bytes": found.stored_bytes,
            "saved": round(saved, 4),
            "raw_bodies": found.raw_bodies,
            "flagged_bodies": found.flagged_bodies,
        },
        degraded=tuple(degraded),
    )


async def doctor(patient: Patient, *, space: str, deep: bool, put_away: Sequence[str] = ()) -> DoctorReport:
    """Look at the store, the folder, the model, the vectors and the index; `put_away` are branches just trashed."""
    sound = await _store_check(patient.store, deep=deep)
    found = await patient.store.statistics(space)
    return DoctorReport(
        checks=(
            _backend_check(found),
            sound,
            _compression_check(found),
            _folder_check(patient.data),
            _room_check(patient.data),
            await _embedding_check(patient.embedder),
            await _vectors_check(patient.store, patient.embedder),
            await _branches_check(patient.store, space=space, put_away=put_away),
            _index_check(patient.index),
        )
    )


async def lost_branches(store: RecordStore, *, space: str) -> list[str]:
    """The branches whose memory is gone: nobody finds them, and what was purged may stand in them still."""
    reader = SoundReader(store, space=space)
    lost: list[str] = []
    last: str | None = None
    while ids := await store.list_ids(space, Filter(state=State.BRANCHED), limit=_PAGE, after=last):
        last = ids[-1]
        branches = await reader.get(ids)
        trunks = {memory.id for memory in await reader.get(list(dict.fromkeys(branch.trunk for branch in branches)))}
        # One whose body cannot be read is there all the same.
        lost += [branch.id for branch in branches if branch.trunk not in trunks and branch.trunk not in reader.problems]
    return lost


async def _embedding(embedder: Embedder) -> tuple[Description, list[str]]:
    try:
        profile = await embedder.profile()
    except EmbeddingUnavailable as error:
        return {"available": False, "why": error.message}, [f"lexical search only: {error.message}"]
    return {"available": True, "model": profile.model, "dimension": profile.dimension}, []


async def _store_check(store: RecordStore, *, deep: bool) -> Check:
    try:
        problems = await store.check(deep=deep)
    except ScrubjayError as error:
        problems = [str(error)]
    if not problems:
        return Check(name="store", ok=True, detail="every page and body read" if deep else "sound")
    return Check(name="store", ok=False, detail="; ".join(problems[:5]), fix=_RESTORE)


def _backend_check(found: StoreStatistics) -> Check:
    """What the store is; whether it is well is another question."""
    details = {name: value for name, value in found.details.items() if value != "" and value is not False}
    kind = str(details.pop("backend", "nothing is known of it"))
    told = (name if value is True else f"{name} {value}" for name, value in details.items())
    return Check(name="backend", ok=True, detail=", ".join((kind, *told)))


def _compression_check(found: StoreStatistics) -> Check:
    flagged = found.flagged_bodies
    return Check(
        name="compression",
        ok=not flagged,
        detail=f"{flagged} bodies could not be compressed and are stored as they are" if flagged else "as it should be",
        fix="`scrubjay doctor --repair` packs them again" if flagged else "",
    )


def _folder_check(data: Path) -> Check:
    mode = stat.S_IMODE(data.stat().st_mode)
    open_to_others = os.name == "posix" and bool(mode & 0o077)
    return Check(
        name="folder",
        ok=not open_to_others,
        detail=f"{data} can be read by others (mode {mode:o})" if open_to_others else f"{data} is yours alone",
        fix=f"chmod 700 {data}" if open_to_others else "",
    )


def _room_check(data: Path) -> Check:
    free = shutil.disk_usage(data).free
    return Check(
        name="disk",
        ok=free > _LITTLE_ROOM,
        detail=f"{free // 1024 // 1024:,} MB free",
        fix=""
        if free > _LITTLE_ROOM
        else "Free some space: writes fail, though nothing is lost, when the disk is full",
    )


async def _embedding_check(embedder: Embedder) -> Check:
    try:
        vector = (await embedder.embed(["Scrub jays remember what they hid, where and when."]))[0]
    except EmbeddingUnavailable as error:
        return Check(name="embedding", ok=False, detail=error.message, fix=error.hint or "See SCRUBJAY_EMBEDDER")
    profile = await embedder.profile()
    return Check(name="embedding", ok=True, detail=f"{profile.model} gives {len(vector)} dimensions")


async def _vectors_check(store: RecordStore, embedder: Embedder) -> Check:
    try:
        profile = await embedder.profile()
    except EmbeddingUnavailable:
        return Check(name="vectors", ok=True, detail="none are made without an embedding model")
    missing = len(await store.without_vectors(profile.model, limit=_SURVEY))
    return Check(
        name="vectors",
        ok=not missing,
        detail=f"{missing}{'+' if missing == _SURVEY else ''} memories wait to be embedded" if missing else "complete",
        fix="`scrubjay doctor --repair` embeds them" if missing else "",
    )


async def _branches_check(store: RecordStore, *, space: str, put_away: Sequence[str]) -> Check:
    """Branches whose memory is gone, and those that were put into the trash for it."""
    lost = await lost_branches(store, space=space)
    moved = f"; put into the trash, their memories being gone: {_some(put_away)}" if put_away else ""
    return Check(
        name="branches",
        ok=not lost,
        detail=f"{len(lost)} belong to no memory: {_some(lost)}" if lost else f"each belongs to a memory{moved}",
        fix=f"`scrubjay doctor --repair` puts them into the trash; then `scrubjay purge {lost[0]}` destroys one, and"
        f" `scrubjay restore {lost[0]}` makes it a memory of its own"
        if lost
        else "",
    )


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_NAMED]) + (f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else "")


def _index_check(index: Description) -> Check:
    problem = str(index.get("problem", ""))
    told = ", ".join(f"{name} {value}" for name, value in index.items() if name in ("kind", "points", "lag"))
    return Check(
        name="index",
        ok=not problem,
        detail=f"{problem}; {told}" if problem else told,
        fix="It heals by itself; `scrubjay doctor --repair` rebuilds it now" if problem else "",
    )
