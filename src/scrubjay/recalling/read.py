"""`read`: whole memories, rendered for people or machines."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.lookup.references import SoundReader, resolve_all
from scrubjay.model.checks import require_texts
from scrubjay.model.memory import MAIN, Memory, Observation, State, Trust
from scrubjay.model.relation import LINK, Relation
from scrubjay.model.results import Missing, ReadResult
from scrubjay.model.snapshot import as_json
from scrubjay.model.timestamps import to_iso
from scrubjay.ports import RecordStore
from scrubjay.recalling.overlay.as_of import bygone
from scrubjay.recalling.overlay.single import Standing, as_wanted

FORMATS = ("markdown", "plain", "json")
# What has left its name to others.
_FORMER = (State.MERGED, State.ARCHIVED, State.TRASHED)
_NAMED = (State.LIVE, *_FORMER)
# So many that have changed since are looked at for who was called otherwise.
_MOST_READ = 5_000


async def read(
    refs: Sequence[str],
    *,
    format: str,
    version: int | None,
    branch: str = "",
    as_of: datetime | None = None,
    spaces: Sequence[str],
    store: RecordStore,
) -> ReadResult:
    """The memories that answer to references in the first space that knows them, as they are or as they were."""
    if format not in FORMATS:
        raise InvalidInput(f"format must be one of {', '.join(FORMATS)}, not {format!r}", field="format")
    if not refs:
        raise InvalidInput("say what to read: ids, names or titles", field="ids")
    given = require_texts(refs, field="ids")
    wanted = Standing(branch=branch, version=version, as_of=as_of, alone=len(given) == 1)
    found = ReadResult(memories=(), missing=tuple(Missing(ref=ref) for ref in given))
    for space in spaces:
        unknown = [one.ref for one in found.missing]
        if unknown:
            found = _together(found, await _read_in(unknown, format=format, wanted=wanted, space=space, store=store))
    return found


async def _read_in(refs: Sequence[str], *, format: str, wanted: Standing, space: str, store: RecordStore) -> ReadResult:
    memories, missing = await _standing(refs, wanted, space=space, store=store)
    ids = [memory.id for memory in memories]
    at = wanted.as_of
    relations = await (store.relations(space, ids) if at is None else store.relations_at(space, ids, at=at))
    names = await _names(memories, relations, space=space, store=store)
    texts = tuple(render(memory, relations, names=names, format=format, at=at) for memory in memories)
    return ReadResult(memories=tuple(memories), texts=texts, relations=tuple(relations), missing=tuple(missing))


async def _standing(
    refs: Sequence[str], wanted: Standing, *, space: str, store: RecordStore
) -> tuple[list[Memory], list[Missing]]:
    """The memories that answer, as they are wanted, once each; and the references that lead nowhere."""
    found: dict[str, Memory] = {}
    missing: list[Missing] = []
    # Where one may be there and not as it is wanted, each by itself: it is told who asked for it.
    for some in [refs] if wanted.is_plain else [[ref] for ref in dict.fromkeys(refs)]:
        memories, unknown = await resolve_all(store, some, space=space)
        told = [await _told(memory, wanted, store=store) for memory in memories]
        shown = [memory for memory, _ in told if memory is not None]
        if not shown and wanted.as_of is not None:
            shown = await _called_so(some[0], memories, wanted, space=space, store=store)
        if not shown:
            missing += [*unknown, *(Missing(ref=some[0], why=why) for _, why in told)]
        elif wanted.is_plain:
            missing += unknown
        found |= {memory.id: memory for memory in shown if memory.id not in found}
    return list(found.values()), missing


async def _told(memory: Memory, wanted: Standing, *, store: RecordStore) -> tuple[Memory | None, str]:
    """A memory as it is wanted, or why there is none; who asks for one only is told by the error."""
    try:
        return await as_wanted(memory, wanted, store=store)
    except NotFound as error:
        if wanted.alone:
            raise
        return None, error.message


async def _called_so(
    ref: str, others: Sequence[Memory], wanted: Standing, *, space: str, store: RecordStore
) -> list[Memory]:
    """Who answered to a reference then, where another does now, or nobody; none if several did."""
    handles = [one for state in _FORMER for one in await store.find(space, ref, state=state)]
    known = {memory.id for memory in others}
    memories = await store.get(space, [handle.id for handle in handles if handle.id not in known])
    there = await _there(memories.values(), wanted, store=store)
    if not there and wanted.as_of is not None:
        # It may be called otherwise since: whatever has changed is looked at as it was.
        reader = SoundReader(store, space=space)
        past = await bygone(wanted.as_of, states=_NAMED, most=_MOST_READ, reader=reader)
        then = [one for one in past.then.values() if one is not None and ref in (one.name, one.title)]
        memories = await store.get(space, [one.id for one in then])
        there = await _there(memories.values(), wanted, store=store)
    return there if len(there) == 1 else []


async def _there(memories: Iterable[Memory], wanted: Standing, *, store: RecordStore) -> list[Memory]:
    told = [await as_wanted(memory, wanted, store=store) for memory in memories if not memory.trunk]
    return [shown for shown, _ in told if shown is not None]


def _together(before: ReadResult, more: ReadResult) -> ReadResult:
    """What several spaces have; what is missing in the last is missing, with the nearest of all."""
    known = {one.ref: one for one in before.missing}
    return ReadResult(
        memories=(*before.memories, *more.memories),
        texts=(*before.texts, *more.texts),
        relations=(*before.relations, *more.relations),
        missing=tuple(_still(known[one.ref], one) for one in more.missing),
    )


def _still(before: Missing, now: Missing) -> Missing:
    suggestions = tuple(dict.fromkeys((*before.suggestions, *now.suggestions)))
    return replace(now, suggestions=suggestions, why=now.why or before.why)


def render(
    memory: Memory,
    relations: Sequence[Relation],
    *,
    names: Mapping[str, str],
    format: str,
    at: datetime | None = None,
) -> str:
    """A memory as text; what was superseded stands at the end, unless it held at the moment that is asked for."""
    if format == "json":
        return json.dumps(as_json(memory), ensure_ascii=False, indent=2)
    holding = [observation for observation in memory.observations if _ended(observation, at) is None]
    ended = [(observation, end) for observation in memory.observations if (end := _ended(observation, at)) is not None]
    if format == "plain":
        branch = [f"(on branch {memory.branch})"] if memory.branch != MAIN else []
        past = [f"{one.text} (until {_day(end)})" for one, end in ended]
        return "\n".join([*branch, memory.content, *(one.text for one in holding), *past]).strip()
    lines = [f"# {memory.label}", "", _facts(memory, names, at), ""]
    if memory.content:
        lines += [memory.content, ""]
    lines += [f"- {one.text}{_said_by(one, memory)}" for one in holding]
    lines += [f"- until {_day(end)}: {one.text}{_said_by(one, memory)}" for one, end in ended]
    lines += _links(memory, relations, names)
    return "\n".join(lines).rstrip() + "\n"


async def _names(
    memories: Sequence[Memory], relations: Sequence[Relation], *, space: str, store: RecordStore
) -> dict[str, str]:
    ids = [end for relation in relations for end in (relation.source, relation.target)]
    ids += [memory.merged_into for memory in memories if memory.merged_into]
    return {memory.id: memory.label for memory in (await store.get(space, list(dict.fromkeys(ids)))).values()}


def _ended(one: Memory | Observation, at: datetime | None) -> datetime | None:
    """When something took its place; None while it holds."""
    end = one.valid_until
    return None if end is None or (at is not None and end > at) else end


def _facts(memory: Memory, names: Mapping[str, str], at: datetime | None) -> str:
    facts = [memory.kind, memory.date.date().isoformat()]
    facts += [
        f"{name}: {value}" for name in ("entity", "category", "project", "scope") if (value := getattr(memory, name))
    ]
    facts += [" ".join(f"#{tag}" for tag in memory.tags)] if memory.tags else []
    facts += [memory.state.value] if memory.state != "live" else []
    facts += [f"into [[{names.get(memory.merged_into, memory.merged_into)}]]"] if memory.merged_into else []
    facts += [f"until {_day(end)}"] if (end := _ended(memory, at)) else []
    facts += [f"branch: {memory.branch}"] if memory.branch != MAIN else []
    facts += [f"as of {to_iso(at)}"] if at else []
    facts += [f"version {memory.version}", memory.id]
    return f"*{' · '.join(facts)}*"


def _said_by(one: Observation, memory: Memory) -> str:
    """Where an observation comes from, if that is not where the memory does."""
    source = one.source
    if source is None or source == memory.source:
        return ""
    trust = "" if source.trust is Trust.UNKNOWN else source.trust.value
    told = [part for part in (source.session or source.conversation or source.tool, source.agent, trust) if part]
    return f" *({', '.join(told)})*" if told else ""


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _links(memory: Memory, relations: Sequence[Relation], names: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    for relation in relations:
        if memory.id not in (relation.source, relation.target):
            continue
        other = relation.target if relation.source == memory.id else relation.source
        arrow = "↔" if relation.type == LINK else "→" if relation.source == memory.id else "←"
        label = f" ({relation.text})" if relation.text else ""
        lines.append(f"- {arrow} {relation.type} [[{names.get(other, other)}]]{label}")
    return ["", "## Related", "", *lines] if lines else []
