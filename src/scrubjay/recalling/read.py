"""`read`: whole memories, rendered for people or machines."""

import json
from collections.abc import Sequence
from dataclasses import replace

from scrubjay.errors import InvalidInput
from scrubjay.model.given import require_texts, require_whole
from scrubjay.model.memory import Json, Memory
from scrubjay.model.moment import to_iso
from scrubjay.model.relation import LINK, Relation
from scrubjay.model.results import Missing, ReadResult
from scrubjay.model.snapshot import to_body
from scrubjay.ports import RecordStore
from scrubjay.references import not_found, resolve_all

FORMATS = ("markdown", "plain", "json")


async def read(
    refs: Sequence[str],
    *,
    format: str,
    version: int | None,
    spaces: Sequence[str],
    store: RecordStore,
) -> ReadResult:
    """The memories that answer to references in the first space that knows them; newest version unless one is named."""
    if format not in FORMATS:
        raise InvalidInput(f"format must be one of {', '.join(FORMATS)}, not {format!r}", field="format")
    if not refs:
        raise InvalidInput("say what to read: ids, names or titles", field="ids")
    if version is not None:
        require_whole(version, field="version")
    found = ReadResult(memories=(), missing=tuple(Missing(ref=ref) for ref in require_texts(refs, field="ids")))
    for space in spaces:
        unknown = [one.ref for one in found.missing]
        if unknown:
            found = _together(found, await _read_in(unknown, format=format, version=version, space=space, store=store))
    return found


async def _read_in(
    refs: Sequence[str], *, format: str, version: int | None, space: str, store: RecordStore
) -> ReadResult:
    memories, missing = await resolve_all(store, refs, space=space)
    if version is not None:
        memories = [await _at_version(memory, version, store=store) for memory in memories]
    relations = await store.relations(space, [memory.id for memory in memories])
    names = await _names(relations, space=space, store=store)
    texts = tuple(render(memory, relations, names=names, format=format) for memory in memories)
    return ReadResult(memories=tuple(memories), texts=texts, relations=tuple(relations), missing=tuple(missing))


def _together(before: ReadResult, more: ReadResult) -> ReadResult:
    """What several spaces have; what is missing in the last is missing, with the nearest of all."""
    near = {one.ref: one.suggestions for one in before.missing}
    return ReadResult(
        memories=(*before.memories, *more.memories),
        texts=(*before.texts, *more.texts),
        relations=(*before.relations, *more.relations),
        missing=tuple(
            replace(one, suggestions=tuple(dict.fromkeys((*near[one.ref], *one.suggestions)))) for one in more.missing
        ),
    )


def render(
    memory: Memory,
    relations: Sequence[Relation],
    *,
    names: dict[str, str],
    format: str,
) -> str:
    """A memory as text."""
    if format == "json":
        return json.dumps(as_json(memory), ensure_ascii=False, indent=2)
    if format == "plain":
        return "\n".join([memory.content, *(one.text for one in memory.observations)]).strip()
    lines = [f"# {memory.label}", "", _facts(memory), ""]
    if memory.content:
        lines += [memory.content, ""]
    lines += [f"- {one.text}" for one in memory.observations]
    lines += _links(memory, relations, names)
    return "\n".join(lines).rstrip() + "\n"


def as_json(memory: Memory) -> dict[str, Json]:
    """All fields of a memory that are not at their defaults."""
    beside: dict[str, Json] = {"id": memory.id, "space": memory.space, "version": memory.version}
    if memory.access_count:
        beside["access_count"] = memory.access_count
    if memory.last_accessed:
        beside["last_accessed"] = to_iso(memory.last_accessed)
    return beside | to_body(memory)


async def _at_version(memory: Memory, number: int, *, store: RecordStore) -> Memory:
    found = await store.version(memory.space, memory.id, number)
    if found is None:
        raise await not_found(store, f"{memory.name} at version {number}", space=memory.space)
    return found.memory


async def _names(relations: Sequence[Relation], *, space: str, store: RecordStore) -> dict[str, str]:
    ids = dict.fromkeys(end for one in relations for end in (one.source, one.target))
    return {memory.id: memory.label for memory in (await store.get(space, list(ids))).values()}


def _facts(memory: Memory) -> str:
    facts = [memory.kind, memory.date.date().isoformat()]
    facts += [
        f"{name}: {value}" for name in ("entity", "category", "project", "scope") if (value := getattr(memory, name))
    ]
    facts += [" ".join(f"#{tag}" for tag in memory.tags)] if memory.tags else []
    facts += [memory.state.value] if memory.state != "live" else []
    facts += [f"version {memory.version}", memory.id]
    return f"*{' · '.join(facts)}*"


def _links(memory: Memory, relations: Sequence[Relation], names: dict[str, str]) -> list[str]:
    lines: list[str] = []
    for one in relations:
        if memory.id not in (one.source, one.target):
            continue
        other = one.target if one.source == memory.id else one.source
        arrow = "↔" if one.type == LINK else "→" if one.source == memory.id else "←"
        label = f" ({one.text})" if one.text else ""
        lines.append(f"- {arrow} {one.type} [[{names.get(other, other)}]]{label}")
    return ["", "## Related", "", *lines] if lines else []
