"""Entities as records: created or updated by name, each of them for itself."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast

from scrubjay.errors import InvalidInput, NameTaken, ScrubjayError, StaleVersion
from scrubjay.graph.entity import Entity, draft_of, handle_of, is_mention, name_of, relabelled
from scrubjay.graph.entity_input import EntityInput, wish_for_change, wish_for_new
from scrubjay.graph.mutations import moved
from scrubjay.graph.neighbours import RelationGraph
from scrubjay.graph.node_json import conflict_json
from scrubjay.lookup.branches import on_branch, presented
from scrubjay.model.change import Origin
from scrubjay.model.checks import require_text, wrong_type
from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.draft import Draft, Edit
from scrubjay.model.memory import MAIN, Json, Memory, Source, State
from scrubjay.model.results import Similar
from scrubjay.ports import Commit, RecordStore
from scrubjay.writing.context import WriteContext
from scrubjay.writing.pipeline import remember
from scrubjay.writing.prefetch import MAX_PREFETCHED, prefetch_vectors
from scrubjay.writing.revise import revise
from scrubjay.writing.rules import load_rules
from scrubjay.writing.screen import redact_text

Record = Mapping[str, Json]

# Whoever was faster has made progress; so many of them in a row are a crowd.
_TRIES = 100
_DIGITS = 4
_SHOWN = 80


async def create_entities(
    entities: Sequence[Record], *, space: str, origin: Origin, context: WriteContext
) -> dict[str, Json]:
    """Create or update entities by name; what is wrong with one is told and does not keep the others."""
    if isinstance(entities, str | bytes | Mapping) or not isinstance(entities, Sequence):
        raise wrong_type("entities", "a list of objects", entities)
    results: list[dict[str, Json]] = []
    errors: list[Json] = []
    given = list(entities)
    for first in range(0, len(given), MAX_PREFETCHED):
        some = given[first : first + MAX_PREFETCHED]
        async with prefetch_vectors(
            _drafts(some, agent=origin.agent), space=space, origin=origin, context=context
        ) as ready:
            clerk = _Clerk(space=space, origin=origin, context=ready)
            # One after the other: what the next does not go with may be what this one says.
            for at, record in enumerate(some, first):
                try:
                    results.append(await clerk.keep(wish_for_new(record)))
                except ScrubjayError as error:
                    errors.append(f"{_label(record, at)}: {error}")
    await _Clerk(space=space, origin=origin, context=context).weigh(results)
    return {"success": bool(results) or not entities, "results": list[Json](results), "errors": errors}


async def update_entity(
    ref: str, changes: Record, *, space: str, origin: Origin, context: WriteContext
) -> dict[str, Json]:
    """Change fields of an entity, by its id or name; raises what is wrong."""
    clerk = _Clerk(space=space, origin=origin, context=context)
    wish = wish_for_change(changes)
    for attempt in range(_TRIES):
        try:
            done = await clerk.change(await entity_at(ref, space=space, store=context.store), wish)
        except StaleVersion:
            if attempt == _TRIES - 1:
                raise
        else:
            await clerk.weigh([done])
            return {"success": True, **done}
    raise AssertionError  # pragma: no cover - the last attempt returns or raises


async def entity_at(ref: str, *, space: str, store: RecordStore) -> Memory:
    """The entity of a name or id; what it was called before it was merged leads to it too."""
    named = await entity_named(require_text(ref, field="entity"), space=space, store=store)
    return named or await RelationGraph(store=store, space=space).start(ref)


async def entity_named(name: str, *, space: str, store: RecordStore) -> Memory | None:
    """The live entity with exactly this name, or into which the one that had it was merged."""
    handle = handle_of(name)
    for state in (State.LIVE, State.MERGED):
        found = [one.id for one in await store.find(space, handle, state=state) if one.name == handle]
        if found:
            return (await RelationGraph(store=store, space=space).standing(found[-1:])).get(found[-1])
    return None


def draft_for(record: Record, *, agent: str) -> Draft:
    """The memory that a record would become; raises InvalidInput."""
    return _draft(wish_for_new(record), agent=agent)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clerk:
    """Writes one entity after the other."""

    space: str
    origin: Origin
    context: WriteContext

    async def keep(self, wish: EntityInput) -> dict[str, Json]:
        """Create the entity, or have the one with its name be as wished."""
        assert wish.name is not None
        rules = (await load_rules(self.space, default=self.context.rules, documents=self.context.store)).rules
        # What is stored has no secrets: it must be looked up without them, too.
        name = redact_text(wish.name, rules=rules)
        for attempt in range(_TRIES):
            known = await entity_named(name, space=self.space, store=self.context.store)
            try:
                if known is None:
                    return await self._create(replace(wish, name=name))
                if known.name != handle_of(name):
                    return await self._add(known, wish, name=name)
                return await self.change(known, replace(wish, name=None))
            except (NameTaken, StaleVersion):
                if attempt == _TRIES - 1:
                    raise
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    async def change(self, memory: Memory, wish: EntityInput) -> dict[str, Json]:
        """Have an entity be as wished, on the branch that it is switched to."""
        if is_mention(memory):
            raise InvalidInput(
                f"{name_of(memory)!r} is only mentioned so far", hint="Make it with create_entities", field="entity"
            )
        current = presented(await on_branch(self.context.store, memory))
        edit = replace(
            _edit(current, wish, source=_source(wish, agent=self.origin.agent), now=self.origin.at),
            expected_version=current.version,
        )
        done = await revise(memory.id, edit, space=self.space, origin=self.origin, context=self.context)
        warnings = list(done.warnings)
        if wish.session and not edit.add_observations:
            warnings.append("source_session goes with observations that are added, and there are none")
        told = _told(memory.id, wish.name or name_of(memory), done.action, done.version)
        told |= _beside(warnings=warnings, conflicts=done.conflicts, branch=current.branch)
        return told

    async def _add(self, whole: Memory, wish: EntityInput, *, name: str) -> dict[str, Json]:
        """Add observations to the entity that the one of this name is part of: all else there is not about it."""
        told = await self.change(
            whole, EntityInput(added=wish.observations or (), session=wish.session, method=wish.method)
        )
        remark = f"{name!r} is part of {name_of(whole)!r}: to that observations are added, and nothing else is changed"
        told["warnings"] = [remark, *cast("list[Json]", told.get("warnings", []))]
        return told

    async def weigh(self, results: Sequence[dict[str, Json]]) -> None:
        """Say of each entity what part of its size it takes up in the store."""
        ids = [str(result["id"]) for result in results]
        sizes = await self.context.store.sizes(self.space, ids) if ids else {}
        for one in results:
            one["compression"] = ratio(sizes.get(str(one["id"])))

    async def _create(self, wish: EntityInput) -> dict[str, Json]:
        assert wish.name is not None
        draft = _draft(wish, agent=self.origin.agent)
        done = (await remember(draft, space=self.space, origin=self.origin, context=self.context)).answer
        if done.action == "rejected":
            raise InvalidInput("; ".join(done.warnings) or "it was rejected", field="observations")
        await self._take_over(done.id, handle=draft.name)
        told = _told(done.id, wish.name, done.action, done.version)
        return told | _beside(similar=done.similar, conflicts=done.conflicts, warnings=done.warnings)

    async def _take_over(self, memory_id: str, *, handle: str) -> None:
        """Relations that mention an entity become its own."""
        store = self.context.store
        mentions = [one.id for one in await store.find(self.space, handle, state=State.ARCHIVED) if one.name == handle]
        found = await store.get(self.space, mentions) if mentions else {}
        successors = {one.id: memory_id for one in found.values() if is_mention(one)}
        edges = moved(await store.relations(self.space, list(successors)), successors) if successors else ()
        if edges:
            await store.commit(Commit(space=self.space, origin=self.origin, edges=edges))


def ratio(sizes: tuple[int, int] | None) -> float:
    """Bytes that are stored for each byte that is said; 1.0 where nothing is known."""
    said, stored = sizes or (0, 0)
    return round(stored / said, _DIGITS) if said else 1.0


def _drafts(records: Sequence[Record], *, agent: str) -> list[Draft]:
    """The drafts of those records that can be read; of the others is told later."""
    found: list[Draft] = []
    for record in records:
        with suppress(ScrubjayError):
            found.append(draft_for(record, agent=agent))
    return found


def _draft(wish: EntityInput, *, agent: str) -> Draft:
    entity = Entity(name=wish.name or "", type=wish.type or "", observations=wish.observations or ())
    draft = draft_of(entity, source=_source(wish, agent=agent))
    return replace(
        draft, pinned=bool(wish.pinned), relevance=1.0 if wish.relevance is None else wish.relevance,
        tags=wish.tags or (), metadata={**(wish.metadata or {}), **draft.metadata},
    )  # fmt: skip


def _source(wish: EntityInput, *, agent: str) -> Source:
    return Source(session=wish.session, method=wish.method, agent=agent)


def _edit(memory: Memory, wish: EntityInput, *, source: Source, now: datetime) -> Edit:
    """The edit after which a memory is as wished. What was superseded stays beside what holds now."""
    fields = relabelled(memory, name=wish.name, type=wish.type, metadata=wish.metadata)
    given: dict[str, Json] = {
        "pinned": wish.pinned,
        "relevance": wish.relevance,
        "tags": None if wish.tags is None else list(wish.tags),
        "tier": wish.tier,
    }
    fields |= {name: value for name, value in given.items() if value is not None}
    content = memory.content if memory.content.strip() else ""
    current = {one.text for one in memory.current_observations(now)}
    past = {observation.text for observation in memory.observations} - current
    if wish.observations is None:
        removed = tuple(one for one in wish.removed if not content or one != content)
        added = tuple(one for one in wish.added if one not in current)
        keeps = content not in wish.removed
    else:
        wanted = set(wish.observations)
        removed = tuple(observation.text for observation in memory.observations if observation.text in current - wanted)
        added = tuple(
            observation for observation in wish.observations if observation not in current and observation != content
        )
        keeps = content in wanted
    if content and not keeps:
        fields["content"] = ""
    # What held once and holds again is said anew.
    again = tuple(one for one in added if one in past)
    return Edit(
        fields=fields, add_observations=added, remove_observations=(*removed, *again), may_empty=True, source=source
    )


def _told(memory_id: str, name: str, action: str, version: int) -> dict[str, Json]:
    return {"id": memory_id, "name": name, "action": action, "compression": 1.0, "version": version}


def _beside(
    *,
    similar: Sequence[Similar] = (),
    conflicts: Sequence[ConflictDetails] = (),
    warnings: Sequence[str] = (),
    branch: str = MAIN,
) -> dict[str, Json]:
    """What is told only where there is something to tell."""
    found: dict[str, Json] = {
        "branch": "" if branch == MAIN else branch,
        "similar": [{"id": one.id, "name": one.name, "similarity": one.similarity} for one in similar],
        "conflicts": [conflict_json(conflict) for conflict in conflicts],
        "warnings": list(warnings),
    }
    return {name: value for name, value in found.items() if value}


def _label(record: object, at: int) -> str:
    name = record.get("name") if isinstance(record, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return name[:_SHOWN] if isinstance(name, str) and name.strip() else f"entities[{at}]"
