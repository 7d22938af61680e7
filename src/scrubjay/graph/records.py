"""Entities as records: parsed, and created or updated by name, each on its own."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import cast

from scrubjay.errors import InvalidInput, NameTaken, ScrubjayError, StaleVersion
from scrubjay.graph.entity import Entity, draft_of, edit_identity, handle_of, is_mention, name_of
from scrubjay.graph.knowledge import move_relations
from scrubjay.graph.network import RelationGraph
from scrubjay.graph.node_json import conflict_json
from scrubjay.lazy import dataclass
from scrubjay.lookup.branches import on_branch, public_record
from scrubjay.model.change import Origin
from scrubjay.model.checks import require_flag, require_fraction, require_text, require_texts, wrong_type
from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.draft import Draft
from scrubjay.model.memory import MAIN, Json, Memory, Method, Source, State, trust_of
from scrubjay.model.requests import Edit
from scrubjay.model.results import Similar
from scrubjay.ports import Commit, RecordStore
from scrubjay.writing.context import WriteContext
from scrubjay.writing.many import CHUNK, embed_drafts, write_together
from scrubjay.writing.pipeline import remember
from scrubjay.writing.revise import revise
from scrubjay.writing.rules import load_rules
from scrubjay.writing.screen import redact_text

Record = Mapping[str, Json]

_NEW_FIELDS = (
    "name", "entityType", "observations", "always_include", "source_session", "extraction_method", "relevance_score",
    "tags", "metadata",
)  # fmt: skip
RECORD_FIELDS = (*_NEW_FIELDS, "add_observations", "remove_observations", "tier")
# An extracted fact has these fields as well, and may be passed on as it is.
_FACT_FIELDS = (
    "type", "statement", "subject", "speaker", "turn", "confidence", "at", "action", "id", "conflict", "conflicts",
)  # fmt: skip
RECORD_NAMES = {
    "kind": "entityType", "text": "observations", "content": "observations", "pinned": "always_include",
    "relevance": "relevance_score", "source.session": "source_session",
}  # fmt: skip
"""The fields of a memory that a record calls by other names."""
# The observations of a record that exists are added to it.
_CREATE_NAMES = {**RECORD_NAMES, "add_observations": "observations"}

# These describe observations and are no change by themselves.
_SOURCE_FIELDS = ("source_session", "extraction_method")
_REQUIRED_FIELDS = ("name", "entityType", "observations")
_METHODS = (Method.MANUAL, Method.AUTO, Method.IMPORT, Method.AGENT)
# A conflicting write means that another caller made progress; so many in a row are an overload.
_MAX_ATTEMPTS = 100
_DIGITS = 4
_MAX_LABEL = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityInput:
    """The requested fields of an entity; None for those that a record leaves out."""

    name: str | None = None
    type: str | None = None
    observations: tuple[str, ...] | None = None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    pinned: bool | None = None
    relevance: float | None = None
    session: str = ""
    method: Method = Method.MANUAL
    tags: tuple[str, ...] | None = None
    metadata: Mapping[str, Json] | None = None
    tier: str | None = None

    def source(self, *, agent: str) -> Source:
        """Return the source of its observations."""
        return Source(session=self.session, method=self.method, agent=agent, trust=trust_of(self.method))


async def create_entities(
    entities: Sequence[Record], *, space: str, origin: Origin, context: WriteContext
) -> dict[str, Json]:
    """Create or update entities by name; an error of one is reported and does not affect the others."""
    if isinstance(entities, str | bytes | Mapping) or not isinstance(entities, Sequence):
        raise wrong_type("entities", "a list of objects", entities)
    results: list[dict[str, Json]] = []
    errors: list[Json] = []
    records = list(entities)
    for start in range(0, len(records), CHUNK):
        chunk = records[start : start + CHUNK]
        drafts = _drafts(chunk, agent=origin.agent)
        embedded = await embed_drafts(drafts, space=space, origin=origin, context=context)
        async with write_together(embedded, space=space, context=context) as chunk_context:
            writer = _EntityWriter(space=space, origin=origin, context=chunk_context)
            # In sequence, since one may contradict the next.
            for number, record in enumerate(chunk, start):
                try:
                    results.append(await writer.put(_parse_new(record)))
                except ScrubjayError as error:
                    errors.append(f"{_label(record, number)}: {error.renamed(_CREATE_NAMES)}")
    await _EntityWriter(space=space, origin=origin, context=context).add_compression(results)
    return {"success": bool(results) or not entities, "results": list[Json](results), "errors": errors}


async def update_entity(
    ref: str, changes: Record, *, space: str, origin: Origin, context: WriteContext
) -> dict[str, Json]:
    """Change fields of an entity by its id or name."""
    writer = _EntityWriter(space=space, origin=origin, context=context)
    request = _parse_change(changes)
    for attempt in range(_MAX_ATTEMPTS):
        try:
            result = await writer.change(await resolve_entity(ref, space=space, store=context.store), request)
        except StaleVersion:
            if attempt == _MAX_ATTEMPTS - 1:
                raise
        except InvalidInput as error:
            raise error.renamed(RECORD_NAMES) from error
        else:
            await writer.add_compression([result])
            return {"success": True, **result}
    raise AssertionError  # pragma: no cover - the last attempt returns or raises


async def resolve_entity(ref: str, *, space: str, store: RecordStore) -> Memory:
    """Return the entity of a name or id, also by the name of an entity that was merged into it."""
    named = await find_entity(require_text(ref, field="entity"), space=space, store=store)
    return named or await RelationGraph(store=store, space=space).resolve(ref)


async def find_entity(name: str, *, space: str, store: RecordStore) -> Memory | None:
    """Return the live entity with exactly this name, or the one into which its owner was merged."""
    handle_name = handle_of(name)
    for state in (State.LIVE, State.MERGED):
        handles = await store.find(space, handle_name, state=state)
        ids = [handle.id for handle in handles if handle.name == handle_name]
        if ids:
            return (await RelationGraph(store=store, space=space).successors(ids[-1:])).get(ids[-1])
    return None


def draft_for(record: Record, *, agent: str) -> Draft:
    """Return the draft of the memory for a record; raise InvalidInput."""
    return _draft(_parse_new(record), agent=agent)


def compression_ratio(sizes: tuple[int, int] | None) -> float:
    """Return the stored bytes for each original byte; 1.0 if the sizes are unknown."""
    original, stored = sizes or (0, 0)
    return round(stored / original, _DIGITS) if original else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _EntityWriter:
    """Writes entities one at a time."""

    space: str
    origin: Origin
    context: WriteContext

    async def put(self, request: EntityInput) -> dict[str, Json]:
        """Create an entity, or change the one with its name."""
        assert request.name is not None
        rules = (await load_rules(self.space, default=self.context.rules, documents=self.context.store)).rules
        # Names are stored without secrets, so they are looked up without them.
        name = redact_text(request.name, rules=rules)
        for attempt in range(_MAX_ATTEMPTS):
            existing = await find_entity(name, space=self.space, store=self.context.store)
            try:
                if existing is None:
                    return await self._create(replace(request, name=name))
                if existing.name != handle_of(name):
                    return await self._add_to_merged(existing, request, name=name)
                return await self.change(existing, replace(request, name=None))
            except (NameTaken, StaleVersion):
                if attempt == _MAX_ATTEMPTS - 1:
                    raise
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    async def change(self, memory: Memory, request: EntityInput) -> dict[str, Json]:
        """Change an entity on its current branch."""
        if is_mention(memory):
            raise InvalidInput(
                f"{name_of(memory)!r} is only mentioned so far", hint="Create it with `create_entities`", field="entity"
            )
        current = public_record(await on_branch(self.context.store, memory))
        edit = replace(
            _edit(current, request, source=request.source(agent=self.origin.agent), now=self.origin.at),
            expected_version=current.version,
        )
        revised = await revise(memory.id, edit, space=self.space, origin=self.origin, context=self.context)
        warnings = list(revised.warnings)
        if request.session and not edit.add_observations:
            warnings.append("source_session was ignored: it applies to added observations, and there are none")
        result = _result(memory.id, request.name or name_of(memory), revised.action, revised.version)
        return result | _optional_fields(warnings=warnings, conflicts=revised.conflicts, branch=current.branch)

    async def add_compression(self, results: Sequence[dict[str, Json]]) -> None:
        """Add the compression ratio of each entity to its result."""
        ids = [str(result["id"]) for result in results]
        sizes = await self.context.store.sizes(self.space, ids) if ids else {}
        for result in results:
            result["compression"] = compression_ratio(sizes.get(str(result["id"])))

    async def _add_to_merged(self, merged: Memory, request: EntityInput, *, name: str) -> dict[str, Json]:
        """Add observations to the entity that has absorbed the one of this name, and change nothing else."""
        addition = EntityInput(added=request.observations or (), session=request.session, method=request.method)
        result = await self.change(merged, addition)
        warning = (
            f"{name!r} was merged into {name_of(merged)!r}: its observations are added there, nothing else changes"
        )
        result["warnings"] = [warning, *cast("list[Json]", result.get("warnings", []))]
        return result

    async def _create(self, request: EntityInput) -> dict[str, Json]:
        assert request.name is not None
        draft = _draft(request, agent=self.origin.agent)
        answer = (await remember(draft, space=self.space, origin=self.origin, context=self.context)).answer
        if answer.action == "rejected":
            raise InvalidInput("; ".join(answer.warnings) or "it was rejected", field="observations")
        await self._take_over_mentions(answer.id, handle_name=draft.name)
        result = _result(answer.id, request.name, answer.action, answer.version)
        return result | _optional_fields(similar=answer.similar, conflicts=answer.conflicts, warnings=answer.warnings)

    async def _take_over_mentions(self, memory_id: str, *, handle_name: str) -> None:
        """Move the relations of mentions with this name to the entity."""
        store = self.context.store
        handles = await store.find(self.space, handle_name, state=State.ARCHIVED)
        ids = [handle.id for handle in handles if handle.name == handle_name]
        memories = await store.get(self.space, ids) if ids else {}
        successors = {memory.id: memory_id for memory in memories.values() if is_mention(memory)}
        edges = move_relations(await store.relations(self.space, list(successors)), successors) if successors else ()
        if edges:
            await store.commit(Commit(space=self.space, origin=self.origin, edges=edges))


def _parse_new(record: object) -> EntityInput:
    """Parse the record of an entity; raise InvalidInput naming the field."""
    fields = _require_object(record)
    _require_known_fields(fields, _NEW_FIELDS, ignored=_FACT_FIELDS)
    for name in _REQUIRED_FIELDS:
        if fields.get(name) is None:
            raise InvalidInput(f"an entity needs {name}", hint=f"Give {', '.join(_REQUIRED_FIELDS)}", field=name)
    request = _parse_fields(fields)
    if not (request.name or "").strip():
        raise InvalidInput("an entity needs a name", field="name")
    return request


def _parse_change(record: object) -> EntityInput:
    """Parse the changes of an entity; raise InvalidInput naming the field."""
    fields = _require_object(record)
    _require_known_fields(fields, RECORD_FIELDS)
    if not any(value is not None and name not in _SOURCE_FIELDS for name, value in fields.items()):
        raise InvalidInput("say what to change", hint=f"One of {', '.join(RECORD_FIELDS)}", field="changes")
    request = _parse_fields(fields)
    if request.observations is not None and (request.added or request.removed):
        raise InvalidInput(
            "observations replaces them all", hint="Give it, or add_observations and remove_observations",
            field="observations",
        )  # fmt: skip
    if request.name is not None and not request.name.strip():
        raise InvalidInput("an entity needs a name", field="name")
    return request


def _parse_fields(fields: Record) -> EntityInput:
    pinned, relevance = fields.get("always_include"), fields.get("relevance_score")
    metadata = fields.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise wrong_type("metadata", "an object", metadata)
    return EntityInput(
        name=_optional_text(fields, "name"),
        type=_optional_text(fields, "entityType"),
        observations=None if fields.get("observations") is None else _unique_texts(fields, "observations"),
        added=_unique_texts(fields, "add_observations"),
        removed=_unique_texts(fields, "remove_observations"),
        pinned=None if pinned is None else _flag(pinned),
        relevance=None if relevance is None else require_fraction(relevance, field="relevance_score"),
        session=_optional_text(fields, "source_session") or "",
        method=_method(_optional_text(fields, "extraction_method")),
        tags=None if fields.get("tags") is None else require_texts(fields["tags"], field="tags"),
        metadata=metadata,
        tier=_optional_text(fields, "tier"),
    )


def _require_object(record: object) -> Record:
    if not isinstance(record, Mapping):
        raise wrong_type("an entity", "an object", record)
    return cast("Record", record)


def _require_known_fields(fields: Record, names: Sequence[str], *, ignored: Iterable[str] = ()) -> None:
    for name in fields:
        if name not in names and name not in ignored:
            near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
            hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(names)}"
            raise InvalidInput(f"an entity has no field {str(name)[:60]!r}", hint=hint, field=str(name)[:60])


def _unique_texts(fields: Record, name: str) -> tuple[str, ...]:
    value = fields.get(name)
    texts = () if value is None else require_texts(value, field=name)
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


def _optional_text(fields: Record, name: str) -> str | None:
    value = fields.get(name)
    return None if value is None else require_text(value, field=name)


def _flag(value: Json) -> bool:
    # The tables of this dialect store 0 and 1.
    return bool(value) if value in (0, 1) else require_flag(value, field="always_include")


def _method(name: str | None) -> Method:
    if name is not None and name not in _METHODS:
        choices = ", ".join(_METHODS[:3])
        raise InvalidInput(
            f"extraction_method must be one of {choices}, not {name[:60]!r}",
            hint="Leave it out: it is then manual, or agent over MCP",
            field="extraction_method",
        )  # fmt: skip
    return Method(name or Method.MANUAL)


def _drafts(records: Sequence[Record], *, agent: str) -> list[Draft]:
    """Return the drafts of valid records; errors of the others are reported later."""
    drafts: list[Draft] = []
    for record in records:
        with suppress(ScrubjayError):
            drafts.append(draft_for(record, agent=agent))
    return drafts


def _draft(request: EntityInput, *, agent: str) -> Draft:
    entity = Entity(name=request.name or "", type=request.type or "", observations=request.observations or ())
    draft = draft_of(entity, source=request.source(agent=agent))
    return replace(
        draft, pinned=bool(request.pinned), relevance=1.0 if request.relevance is None else request.relevance,
        tags=request.tags or (), metadata={**(request.metadata or {}), **draft.metadata},
    )  # fmt: skip


def _edit(memory: Memory, request: EntityInput, *, source: Source, now: datetime) -> Edit:
    """Return the edit that makes a memory as requested; superseded observations stay."""
    fields = edit_identity(memory, name=request.name, type=request.type, metadata=request.metadata)
    optional: dict[str, Json] = {
        "pinned": request.pinned,
        "relevance": request.relevance,
        "tags": None if request.tags is None else list(request.tags),
        "tier": request.tier,
    }
    fields |= {name: value for name, value in optional.items() if value is not None}
    content = memory.content if memory.content.strip() else ""
    current = {observation.text for observation in memory.current_observations(now)}
    past = {observation.text for observation in memory.observations} - current
    if request.observations is None:
        removed = tuple(text for text in request.removed if not content or text != content)
        added = tuple(text for text in request.added if text not in current)
        keeps_content = content not in request.removed
    else:
        dropped = current.difference(request.observations)
        removed = tuple(observation.text for observation in memory.observations if observation.text in dropped)
        added = tuple(text for text in request.observations if text not in current and text != content)
        keeps_content = content in request.observations
    if content and not keeps_content:
        fields["content"] = ""
    # A superseded observation that is valid again is removed and added.
    again = tuple(text for text in added if text in past)
    return Edit(
        fields=fields, add_observations=added, remove_observations=(*removed, *again), may_empty=True, source=source
    )


def _result(memory_id: str, name: str, action: str, version: int) -> dict[str, Json]:
    return {"id": memory_id, "name": name, "action": action, "compression": 1.0, "version": version}


def _optional_fields(
    *,
    similar: Sequence[Similar] = (),
    conflicts: Sequence[ConflictDetails] = (),
    warnings: Sequence[str] = (),
    branch: str = MAIN,
) -> dict[str, Json]:
    """Return the fields of a result that are not empty."""
    fields: dict[str, Json] = {
        "branch": "" if branch == MAIN else branch,
        "similar": [{"id": match.id, "name": match.name, "similarity": match.similarity} for match in similar],
        "conflicts": [conflict_json(conflict) for conflict in conflicts],
        "warnings": list(warnings),
    }
    return {name: value for name, value in fields.items() if value}


def _label(record: object, number: int) -> str:
    name = record.get("name") if isinstance(record, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return name[:_MAX_LABEL] if isinstance(name, str) and name.strip() else f"entities[{number}]"
