"""`read`: whole memories, rendered for people or machines, on a branch, at a version or as of a moment."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.lazy import dataclass
from scrubjay.lookup.branches import branch_id, on_branch, public_record, trunk_of, version_of
from scrubjay.lookup.references import TolerantReader, resolve_all
from scrubjay.model.checks import require_integer, require_moment, require_text
from scrubjay.model.decay import as_shown
from scrubjay.model.labels import mark_of_all
from scrubjay.model.memory import MAIN, Memory, Observation, State, Trust
from scrubjay.model.relation import LINK, Relation
from scrubjay.model.requests import ReadRequest
from scrubjay.model.results import Missing, ReadResult
from scrubjay.model.snapshot import as_json
from scrubjay.model.timestamps import to_iso
from scrubjay.ports import RecordStore
from scrubjay.recalling.overlay.build import read_changed_since

FORMATS = ("markdown", "plain", "json")
# States in which another memory may have taken over the name.
_FORMER_STATES = (State.MERGED, State.ARCHIVED, State.TRASHED)
_NAMED_STATES = (State.LIVE, *_FORMER_STATES)
# So many changed memories are searched for a former name.
_MAX_CHANGED = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionSelector:
    """The branch of a memory to read (by default its current one), and a version or a moment on it.

    `raises`: a missing branch or version is an error, instead of a reason among the missing.
    """

    branch: str = ""
    version: int | None = None
    as_of: datetime | None = None
    raises: bool = False

    @property
    def is_current(self) -> bool:
        """Whether it selects the current version, which every memory has."""
        return self.as_of is None and self.version is None and self.branch in ("", MAIN)

    def __post_init__(self) -> None:
        """Refuse combinations without a meaning."""
        require_text(self.branch, field="branch")
        require_moment(self.as_of, field="as_of")
        if self.version is None:
            return
        require_integer(self.version, field="version")
        if self.as_of is not None:
            raise InvalidInput("version and as_of exclude each other", hint="Leave one of them out", field="as_of")


async def read(request: ReadRequest, *, spaces: Sequence[str], now: datetime, store: RecordStore) -> ReadResult:
    """Return the memories that references name, each from the first space that has it, now or as of a moment.

    Their relevance is that of the moment; an older version is shown as it was written.
    """
    texts = request.ids
    if not texts:
        raise InvalidInput("say what to read: ids, names or titles", field="ids")
    selector = VersionSelector(
        branch=request.branch, version=request.version, as_of=request.as_of, raises=len(texts) == 1
    )
    result = ReadResult(memories=(), missing=tuple(Missing(ref=ref) for ref in texts))
    for space in spaces:
        unresolved = [missing.ref for missing in result.missing]
        if unresolved:
            in_space = await _read_in(unresolved, selector, format=request.format, now=now, space=space, store=store)
            result = _combine(result, in_space)
    return result


async def select_version(memory: Memory, selector: VersionSelector, *, store: RecordStore) -> tuple[Memory | None, str]:
    """Return the selected version of a memory, or None and the reason why there is none."""
    if selector.as_of is not None:
        return await _select_as_of(memory, selector.branch, as_of=selector.as_of, store=store)
    record = await on_branch(store, memory, selector.branch)
    if selector.version is None:
        return public_record(record), ""
    return (await version_of(record, selector.version, store=store)).memory, ""


def render(
    memory: Memory,
    relations: Sequence[Relation],
    *,
    names: Mapping[str, str],
    format: str,
    at: datetime | None = None,
) -> str:
    """Return a memory as text, with observations that were superseded by that moment at the end."""
    if format == "json":
        return json.dumps(as_json(memory), ensure_ascii=False, indent=2)
    current = [observation for observation in memory.observations if _ended(observation, at) is None]
    ended = [(observation, end) for observation in memory.observations if (end := _ended(observation, at)) is not None]
    if format == "plain":
        branch = [f"(on branch {memory.branch})"] if memory.branch != MAIN else []
        past = [f"{observation.text} (until {_day(end)})" for observation, end in ended]
        return "\n".join([*branch, memory.content, *(observation.text for observation in current), *past]).strip()
    lines = [f"# {memory.label}", "", _render_properties(memory, names, at), ""]
    if memory.content:
        lines += [memory.content, ""]
    lines += [f"- {observation.text}{_render_source(observation, memory)}" for observation in current]
    lines += [
        f"- until {_day(end)}: {observation.text}{_render_source(observation, memory)}" for observation, end in ended
    ]
    lines += _render_relations(memory, relations, names)
    return "\n".join(lines).rstrip() + "\n"


async def _read_in(
    refs: Sequence[str], selector: VersionSelector, *, format: str, now: datetime, space: str, store: RecordStore
) -> ReadResult:
    memories, missing = await _resolve_versions(refs, selector, space=space, store=store)
    if selector.version is None:
        memories = [as_shown(memory, selector.as_of or now) for memory in memories]
    ids = [memory.id for memory in memories]
    at = selector.as_of
    relations = await (store.relations(space, ids) if at is None else store.relations_at(space, ids, at=at))
    named = [end for relation in relations for end in (relation.source, relation.target)]
    named += [memory.merged_into for memory in memories if memory.merged_into]
    names = {memory.id: memory.label for memory in (await store.get(space, list(dict.fromkeys(named)))).values()}
    texts = tuple(render(memory, relations, names=names, format=format, at=at) for memory in memories)
    return ReadResult(memories=tuple(memories), texts=texts, relations=tuple(relations), missing=tuple(missing))


async def _resolve_versions(
    refs: Sequence[str], selector: VersionSelector, *, space: str, store: RecordStore
) -> tuple[list[Memory], list[Missing]]:
    """Return the selected versions of the memories, each once, and the references without one."""
    selected: dict[str, Memory] = {}
    missing: list[Missing] = []
    # A version may be missing though its memory exists: then resolve one by one, to report the reference.
    for batch in [refs] if selector.is_current else [[ref] for ref in dict.fromkeys(refs)]:
        memories, unresolved = await resolve_all(store, batch, space=space)
        results = [await _try_select(memory, selector, store=store) for memory in memories]
        versions = [memory for memory, _ in results if memory is not None]
        if not versions and selector.as_of is not None:
            versions = await _find_by_former_name(batch[0], memories, selector, space=space, store=store)
        if not versions:
            missing += [*unresolved, *(Missing(ref=batch[0], why=why) for _, why in results)]
        elif selector.is_current:
            missing += unresolved
        selected |= {memory.id: memory for memory in versions if memory.id not in selected}
    return list(selected.values()), missing


async def _try_select(memory: Memory, selector: VersionSelector, *, store: RecordStore) -> tuple[Memory | None, str]:
    try:
        return await select_version(memory, selector, store=store)
    except NotFound as error:
        if selector.raises:
            raise
        return None, error.message


async def _find_by_former_name(
    ref: str, others: Sequence[Memory], selector: VersionSelector, *, space: str, store: RecordStore
) -> list[Memory]:
    """Return the memory that had a name at a moment and has lost it since; none if several had it."""
    handles = [handle for state in _FORMER_STATES for handle in await store.find(space, ref, state=state)]
    tried = {memory.id for memory in others}
    memories = await store.get(space, [handle.id for handle in handles if handle.id not in tried])
    versions = await _select_existing(memories.values(), selector, store=store)
    if not versions and selector.as_of is not None:
        # It may have been renamed: search the changed memories as they were.
        reader = TolerantReader(store, space=space)
        changed = await read_changed_since(
            selector.as_of, states=_NAMED_STATES, max_memories=_MAX_CHANGED, reader=reader
        )
        renamed = [
            memory.id
            for memory in changed.memories.values()
            if memory is not None and ref in (memory.name, memory.title)
        ]
        memories = await store.get(space, renamed)
        versions = await _select_existing(memories.values(), selector, store=store)
    return versions if len(versions) == 1 else []


async def _select_existing(
    memories: Iterable[Memory], selector: VersionSelector, *, store: RecordStore
) -> list[Memory]:
    results = [await select_version(memory, selector, store=store) for memory in memories if not memory.trunk]
    return [memory for memory, _ in results if memory is not None]


async def _select_as_of(
    memory: Memory, branch: str, *, as_of: datetime, store: RecordStore
) -> tuple[Memory | None, str]:
    record = await _find_record(memory, branch, store=store)
    version = await _memory_at(record, as_of, store=store)
    main = await _memory_at(await trunk_of(store, record), as_of, store=store) if record.trunk else version
    if main is None:
        return None, f"it did not exist at {to_iso(as_of)}: it was created at {to_iso(memory.created_at)}"
    if main.state is State.TRASHED:
        return None, f"it was in the trash at {to_iso(as_of)}"
    # Main applies where the branch did not exist yet or was dropped.
    return public_record(main if version is None or version.state is State.TRASHED else version), ""


async def _find_record(memory: Memory, branch: str, *, store: RecordStore) -> Memory:
    """Return the record of a branch, even if it was dropped since or is in the trash with its memory."""
    if branch and branch != MAIN and not memory.trunk:
        record_id = branch_id(memory.id, branch)
        record = (await store.get(memory.space, [record_id])).get(record_id)
        if record is not None:
            return record
    return await on_branch(store, memory, branch)


async def _memory_at(record: Memory, as_of: datetime, *, store: RecordStore) -> Memory | None:
    version = await store.version_at(record.space, record.id, at=as_of)
    return None if version is None else version.memory


def _combine(before: ReadResult, in_space: ReadResult) -> ReadResult:
    """Add the results of another space; what is missing there is missing, with the suggestions of all spaces."""
    by_ref = {missing.ref: missing for missing in before.missing}

    def combine_missing(missing: Missing) -> Missing:
        earlier = by_ref[missing.ref]
        suggestions = tuple(dict.fromkeys((*earlier.suggestions, *missing.suggestions)))
        return replace(missing, suggestions=suggestions, why=missing.why or earlier.why)

    return ReadResult(
        memories=(*before.memories, *in_space.memories),
        texts=(*before.texts, *in_space.texts),
        relations=(*before.relations, *in_space.relations),
        missing=tuple(map(combine_missing, in_space.missing)),
    )


def _ended(item: Memory | Observation, at: datetime | None) -> datetime | None:
    """Return when a memory or an observation was superseded; None while it is valid."""
    end = item.valid_until
    return None if end is None or (at is not None and end > at) else end


def _render_properties(memory: Memory, names: Mapping[str, str], at: datetime | None) -> str:
    properties = [memory.kind, memory.date.date().isoformat()]
    properties += [
        f"{name}: {value}" for name in ("entity", "category", "project", "scope") if (value := getattr(memory, name))
    ]
    properties += [" ".join(f"#{tag}" for tag in memory.tags)] if memory.tags else []
    properties += [memory.state.value] if memory.state != "live" else []
    properties += [f"into [[{names.get(memory.merged_into, memory.merged_into)}]]"] if memory.merged_into else []
    properties += [f"until {_day(end)}"] if (end := _ended(memory, at)) else []
    properties += [f"branch: {memory.branch}"] if memory.branch != MAIN else []
    properties += [f"as of {to_iso(at)}"] if at else []
    properties += [mark] if (mark := mark_of_all(memory)) else []
    properties += [f"version {memory.version}", memory.id]
    return f"*{' · '.join(properties)}*"


def _render_source(observation: Observation, memory: Memory) -> str:
    """Return the source of an observation if it is not that of the memory."""
    source = observation.source
    if source is None or source == memory.source:
        return ""
    trust = "" if source.trust is Trust.UNKNOWN else source.trust.value
    parts = [part for part in (source.session or source.conversation or source.tool, source.agent, trust) if part]
    return f" *({', '.join(parts)})*" if parts else ""


def _render_relations(memory: Memory, relations: Sequence[Relation], names: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    for relation in relations:
        if memory.id not in (relation.source, relation.target):
            continue
        other = relation.target if relation.source == memory.id else relation.source
        arrow = "↔" if relation.type == LINK else "→" if relation.source == memory.id else "←"
        label = f" ({relation.text})" if relation.text else ""
        lines.append(f"- {arrow} {relation.type} [[{names.get(other, other)}]]{label}")
    return ["", "## Related", "", *lines] if lines else []


def _day(moment: datetime) -> str:
    return moment.date().isoformat()
