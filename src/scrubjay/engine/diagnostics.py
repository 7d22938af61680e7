"""`status` and `doctor`: sizes, problems and their fixes."""

import asyncio
import os
import random
import shutil
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scrubjay.engine.dependencies import NO_WALL, PlainFile, Programs
from scrubjay.engine.scrub import known_damage, scrub
from scrubjay.errors import EmbeddingUnavailable, ScrubjayError
from scrubjay.health.levels import FLOW, curation_runs, tier_flow
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.curation import SCHEDULE, SCHEDULE_KEY, CurationRun
from scrubjay.model.memory import State, Tier
from scrubjay.model.query import Filter, facet
from scrubjay.model.results import Check, DoctorReport, Status
from scrubjay.model.skill import KIND, Skill, SkillRuns
from scrubjay.model.skill import RUNS as SKILL_RUNS
from scrubjay.model.timestamps import to_iso
from scrubjay.ports import Clock, DamagedBody, Embedder, PairReader, RecordStore, StoreStatistics
from scrubjay.ports.models import ENGLISH_MODEL
from scrubjay.text.tokens import LANGUAGE_TERMS
from scrubjay.version import VERSION

_LOW_DISK_SPACE = 100 * 1024 * 1024
_MAX_MISSING = 1000
_MAX_LISTED = 5
_RUNS = 40
_PAGE_SIZE = 200
# From this share of passages on a space counts as one of other languages.
_FOREIGN_SHARE = 0.2
_RESTORE = "Follow its advice, if it gives any; else restore a backup: `scrubjay backup restore FILE`"
_REVERT = "`scrubjay revert ID --to VERSION` goes back to a sound version; a backup may have the damaged one"
_WHO_EMBEDS = "a running daemon makes them, or `scrubjay doctor --repair`"
# So many bodies are read each time: about a tenth of a second.
_SAMPLE = 1_000
Description = dict[str, str | int | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The parts of a memory that are examined; `plain_files` searches beside an encrypted store.

    `stands_in_for` names the model of the settings while its vectors are made and another one is in use.
    """

    store: RecordStore
    embedder: Embedder
    index: Description
    data: Path
    clock: Clock
    plain_files: Callable[[], Sequence[PlainFile]] | None = None
    programs: Programs | None = None
    pairs: PairReader | None = None
    reader: PairReader | None = None
    stands_in_for: str = ""


async def status(subject: Subject, *, space: str) -> Status:
    """Return health and sizes."""
    statistics = await subject.store.statistics(space)
    tiers = dict(await subject.store.facet_values(space, "tier", state=State.LIVE, limit=len(Tier)))
    runs = await curation_runs(space, store=subject.store)
    embedding, degraded = await _embedding(subject, statistics, space=space)
    embedding["pair_model"], problem = await _pair_model(subject.pairs, "statements are compared by rules alone")
    embedding["reader"], unread = await _pair_model(subject.reader, "recall ranks without the reader")
    degraded += [*problem, *unread]
    if problem := subject.index.get("problem"):
        degraded.append(str(problem))
    if damaged := await known_damage(space, store=subject.store):
        degraded.append(f"damaged on the disk: {_shorten(list(map(str, damaged)))}")
    if ENGLISH_MODEL.search(str(embedding.get("model", ""))) and (
        foreign := await _foreign_languages(subject.store, space)
    ):
        degraded.append(
            f"the embedding model is English, and {foreign} of this space is not: set SCRUBJAY_EMBEDDER=multilingual "
            "(docs/how-to/embedders.md)"
        )
    saved = 1 - statistics.stored_bytes / statistics.body_bytes if statistics.body_bytes else 0.0
    return Status(
        space=space,
        version=VERSION,
        data=str(subject.data),
        # In one order on every store.
        memories={state.value: count for state in State if (count := statistics.memories.get(state.value))},
        versions=statistics.versions,
        relations=statistics.relations,
        store=dict(statistics.details),
        embedding=embedding,
        index=subject.index,
        compression={
            "body_bytes": statistics.body_bytes,
            "stored_bytes": statistics.stored_bytes,
            "saved": round(saved, 4),
            "raw_bodies": statistics.raw_bodies,
            "flagged_bodies": statistics.flagged_bodies,
        },
        tiers={tier.value: tiers[tier.value] for tier in Tier if tier.value in tiers},
        tier_flow=tier_flow(runs, since=subject.clock.now() - FLOW),
        curation=await _curation(runs, subject.store, space=space),
        skills=await _skills(subject.store, space=space),
        degraded=tuple(degraded),
    )


async def _curation(runs: Sequence[CurationRun], store: RecordStore, *, space: str) -> dict[str, str | int]:
    schedule = await store.document(space, SCHEDULE, SCHEDULE_KEY)
    due = {"next": to_iso(schedule.due)} if schedule is not None and schedule.due is not None else {}
    if not runs:
        return {**due}
    last = max(runs, key=lambda run: run.started_at)
    return {"last": to_iso(last.started_at), "state": last.state.value, "changed": last.done, "run": last.id, **due}


async def _skills(store: RecordStore, *, space: str) -> dict[str, str | int]:
    """Return how many skills there are, and the names of those whose runs fail; nothing without skills."""
    kind = facet("kind", KIND)
    saved = (await store.known_facets(space, [kind], state=State.LIVE)).get(kind, 0)
    counted = [SkillRuns.from_document(each) for each in await store.latest_documents(space, SKILL_RUNS, limit=_RUNS)]
    failing = {runs.memory_id: runs for runs in counted if runs.is_failing(runs.digest)}
    memories = await TolerantReader(store, space=space).get(list(failing))
    skills = [skill for memory in memories if memory.state is State.LIVE and (skill := Skill.of_memory(memory))]
    names = [skill.name for skill in skills if failing[skill.id].is_failing(skill.digest)]
    return {"saved": saved, **({"failing": ", ".join(names)} if names else {})} if saved else {}


async def doctor(subject: Subject, *, space: str, deep: bool, trashed: Sequence[str] = ()) -> DoctorReport:
    """Check the store, the folder, the model, the vectors and the index; `trashed` lists branches just trashed."""
    store_check = await _store_check(subject.store, deep=deep)
    bodies_check = await _bodies_check(subject, space=space, deep=deep)
    statistics = await subject.store.statistics(space)
    return DoctorReport(
        checks=(
            _backend_check(statistics),
            store_check,
            bodies_check,
            _compression_check(statistics),
            _folder_check(subject.data),
            *([_encryption_check(await asyncio.to_thread(subject.plain_files))] if subject.plain_files else ()),
            _disk_check(subject.data),
            await _embedding_check(subject.embedder),
            await _vectors_check(subject.store, subject.embedder),
            await _branches_check(subject.store, space=space, trashed=trashed),
            _index_check(subject.index),
            *([_programs_check(await subject.programs.describe())] if subject.programs else ()),
        )
    )


async def lost_branches(store: RecordStore, *, space: str) -> list[str]:
    """Return the branches whose memory is gone: no search finds them, and they may contain purged text."""
    reader = TolerantReader(store, space=space)
    lost: list[str] = []
    last: str | None = None
    while ids := await store.list_ids(space, Filter(state=State.BRANCHED), limit=_PAGE_SIZE, after=last):
        last = ids[-1]
        branches = await reader.get(ids)
        trunks = {memory.id for memory in await reader.get(list(dict.fromkeys(branch.trunk for branch in branches)))}
        # A memory with an unreadable body still exists.
        lost += [branch.id for branch in branches if branch.trunk not in trunks and branch.trunk not in reader.problems]
    return lost


async def _pair_model(pairs: PairReader | None, otherwise: str) -> tuple[str, list[str]]:
    """Return the name of the model that reads two texts together, and what happens because it cannot."""
    if pairs is None:
        return "off", []
    try:
        return await pairs.name(), []
    except EmbeddingUnavailable as error:
        return "unavailable", [f"{otherwise}: {error.message}"]


async def _embedding(subject: Subject, statistics: StoreStatistics, *, space: str) -> tuple[Description, list[str]]:
    try:
        profile = await subject.embedder.profile()
    except EmbeddingUnavailable as error:
        problem = f"lexical search only: {error.message}"
        if subject.stands_in_for:
            problem += f"; until the vectors of {subject.stands_in_for} are made: {_WHO_EMBEDS}"
        return {"available": False, "why": error.message}, [problem]
    description: Description = {"available": True, "model": profile.model, "dimension": profile.dimension}
    if profile.arithmetic:
        description["arithmetic"] = profile.arithmetic
    if subject.stands_in_for:
        description["stands_in_for"] = subject.stands_in_for
        until = f"{profile.model} is in use until the vectors of {subject.stands_in_for} are made"
        return description, [f"{until}: {_WHO_EMBEDS}"]
    # After a change of the model. By counters, which tell of most memories alone: `doctor` reads every passage.
    if statistics.vectors.keys() - {profile.model}:
        passages = (await subject.store.term_statistics(space, [], state=State.LIVE)).passages
        if 2 * statistics.vectors.get(profile.model, 0) < passages:
            return description, [
                f"most memories have no vector of {profile.model} yet, and words find them: {_WHO_EMBEDS}"
            ]
    return description, []


async def _foreign_languages(store: RecordStore, space: str) -> str:
    """Return how much of a space is in other languages than English, if that is much."""
    counts = await store.term_statistics(space, [*LANGUAGE_TERMS.values()], state=State.LIVE)
    shares = {
        language: counts.frequencies.get(term, 0) / max(1, counts.passages) for language, term in LANGUAGE_TERMS.items()
    }
    largest = max(shares, key=lambda language: shares[language])
    total = sum(shares.values())
    return f"{total:.0%} ({largest.capitalize()} most)" if total >= _FOREIGN_SHARE else ""


async def _store_check(store: RecordStore, *, deep: bool) -> Check:
    try:
        problems = await store.check(deep=deep)
    except ScrubjayError as error:
        problems = [str(error)]
    if not problems:
        return Check(name="store", ok=True, detail="every page and body read" if deep else "sound")
    return Check(name="store", ok=False, detail="; ".join(problems[:5]), fix=_RESTORE)


async def _bodies_check(subject: Subject, *, space: str, deep: bool) -> Check:
    """Read some bodies, of this space first; the next call reads the next ones."""
    read, damaged = 0, list[DamagedBody]()
    try:
        spaces = await subject.store.spaces()
        for name in sorted(spaces, key=lambda name: (name != space, random.random())):  # noqa: S311 - no secret
            # A deep check of the store has read every body already.
            part = await scrub(
                name, bodies=0 if deep else max(0, _SAMPLE - read), store=subject.store, clock=subject.clock
            )
            read, damaged = read + part.read, [*damaged, *part.damaged]
            if read >= _SAMPLE:
                break
    except ScrubjayError as error:
        return Check(name="bodies", ok=False, detail=str(error), fix=_RESTORE)
    if damaged:
        why = _shorten([str(body) for body in damaged])
        return Check(name="bodies", ok=False, detail=f"{len(damaged):,} damaged: {why}", fix=_REVERT)
    detail = "see store" if deep else f"{read:,} read, none damaged; the next check reads the next ones, `--deep` all"
    return Check(name="bodies", ok=True, detail=detail)


def _backend_check(statistics: StoreStatistics) -> Check:
    """Describe the backend; this check never fails."""
    details = {name: value for name, value in statistics.details.items() if value != "" and value is not False}
    kind = str(details.pop("backend", "unknown"))
    properties = (name if value is True else f"{name} {value}" for name, value in details.items())
    return Check(name="backend", ok=True, detail=", ".join((kind, *properties)))


def _compression_check(statistics: StoreStatistics) -> Check:
    flagged = statistics.flagged_bodies
    return Check(
        name="compression",
        ok=not flagged,
        detail=f"{flagged} bodies could not be compressed and are stored uncompressed" if flagged else "no problems",
        fix="`scrubjay doctor --repair` compresses them" if flagged else "",
    )


def _folder_check(data: Path) -> Check:
    mode = stat.S_IMODE(data.stat().st_mode)
    open_to_others = os.name == "posix" and bool(mode & 0o077)
    return Check(
        name="folder",
        ok=not open_to_others,
        detail=f"{data} can be read by other users (mode {mode:o})" if open_to_others else f"only you can read {data}",
        fix=f"chmod 700 {data}" if open_to_others else "",
    )


def _programs_check(code: Description) -> Check:
    """Check that there is the wall that is demanded; a weaker one than there could be is no failure."""
    wall, why = str(code["wall"]), str(code.get("why", ""))
    refused = wall == NO_WALL
    detail = "programs are refused" if refused else f"the wall around programs is {wall}"
    return Check(
        name="programs",
        ok=not refused,
        detail=f"{detail}: {why}" if why else detail,
        fix="Install bubblewrap, or set SCRUBJAY_CODE_WALL to auto" if refused else "",
    )


def _encryption_check(files: Sequence[PlainFile]) -> Check:
    """Check that nothing beside an encrypted store is in clear."""
    return Check(
        name="encryption",
        ok=not files,
        detail=f"not encrypted: {_shorten([str(file) for file in files])}" if files else "no plain files beside it",
        fix="; ".join(dict.fromkeys(file.advice for file in files)),
    )


def _disk_check(data: Path) -> Check:
    free = shutil.disk_usage(data).free
    return Check(
        name="disk",
        ok=free > _LOW_DISK_SPACE,
        detail=f"{free // 1024 // 1024:,} MB free",
        fix="" if free > _LOW_DISK_SPACE else "Free some space: on a full disk writes fail, though nothing is lost",
    )


async def _embedding_check(embedder: Embedder) -> Check:
    try:
        vector = (await embedder.embed(["Scrub jays remember what they hid, where and when."]))[0]
    except EmbeddingUnavailable as error:
        return Check(name="embedding", ok=False, detail=error.message, fix=error.hint or "See SCRUBJAY_EMBEDDER")
    profile = await embedder.profile()
    arithmetic = f", {profile.arithmetic}" if profile.arithmetic else ""
    return Check(name="embedding", ok=True, detail=f"{profile.model} with {len(vector)} dimensions{arithmetic}")


async def _vectors_check(store: RecordStore, embedder: Embedder) -> Check:
    try:
        profile = await embedder.profile()
    except EmbeddingUnavailable:
        return Check(name="vectors", ok=True, detail="none without an embedding model")
    missing = len(await store.without_vectors(profile.model, limit=_MAX_MISSING))
    return Check(
        name="vectors",
        ok=not missing,
        detail=f"{missing}{'+' if missing == _MAX_MISSING else ''} memories are not embedded yet"
        if missing
        else "complete",
        fix="`scrubjay doctor --repair` embeds them" if missing else "",
    )


async def _branches_check(store: RecordStore, *, space: str, trashed: Sequence[str]) -> Check:
    """Check for branches without a memory, and report those that were just trashed."""
    lost = await lost_branches(store, space=space)
    moved = f"; moved to the trash, since their memories are gone: {_shorten(trashed)}" if trashed else ""
    return Check(
        name="branches",
        ok=not lost,
        detail=f"{len(lost)} have no memory: {_shorten(lost)}" if lost else f"each has a memory{moved}",
        fix=f"`scrubjay doctor --repair` moves them to the trash; then `scrubjay purge {lost[0]}` destroys one, and"
        f" `scrubjay restore {lost[0]}` turns it into a memory of its own"
        if lost
        else "",
    )


def _shorten(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_MAX_LISTED]) + (f" and {len(ids) - _MAX_LISTED} more" if len(ids) > _MAX_LISTED else "")


def _index_check(index: Description) -> Check:
    problem = str(index.get("problem", ""))
    properties = ", ".join(f"{name} {value}" for name, value in index.items() if name in ("kind", "points", "lag"))
    return Check(
        name="index",
        ok=not problem,
        detail=f"{problem}; {properties}" if problem else properties,
        fix="It recovers by itself; `scrubjay doctor --repair` rebuilds it now" if problem else "",
    )
