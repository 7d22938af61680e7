"""How a hit is told: as lines for a model and as fields for a program, as much of it as there is room for."""

from collections.abc import Callable
from dataclasses import replace

from scrubjay.model.memory import MAIN, Json, Source, Trust
from scrubjay.model.results import Hit, Neighbour
from scrubjay.model.timestamps import to_iso
from scrubjay.rpc.codec import to_json
from scrubjay.surfaces.mcp.budget import Entry, beginning, fit, lean

_SHORT = 40


def entry_of(hit: Hit, mark: str = "", *, names_space: bool) -> Entry:
    """A hit in both forms; the lines after the first are indented."""
    about = f", {', '.join(hit.entities)}" if hit.entities else ""
    mark += f"in {hit.space}, " if names_space else ""
    mark += f"on branch {hit.branch}, " if hit.branch != MAIN else ""
    head = f"- {hit.name} ({mark}{hit.date.date().isoformat()}{about}): "
    passage = " ".join(hit.passage.split())
    why = [f"  why: {'; '.join(hit.why)}"] if hit.why else []
    return Entry(
        structured=_fields(hit, names_space=names_space),
        line="\n".join([head + passage, *why, *(_line(one) for one in hit.around)]),
        short="\n".join(
            [head + beginning(passage, tokens=_SHORT), *why, *(_line(one, tokens=_SHORT) for one in hit.around)]
        ),
    )


def squeezed(hit: Hit, room: int, entry: Callable[[Hit], Entry]) -> list[Entry]:
    """A hit that fits: without its memory, with the nearest of its neighbours only, or with a part of its passage."""
    bare = replace(hit, memory=None, around=())
    for distance in sorted({abs(one.place) for one in hit.around}, reverse=True):
        near = tuple(one for one in hit.around if abs(one.place) <= distance)
        if told := fit([entry(replace(bare, around=near))], room=room):
            return told
    return _cut(bare, room, entry) or (_cut(replace(bare, why=()), room, entry) if bare.why else [])


def _cut(hit: Hit, room: int, entry: Callable[[Hit], Entry]) -> list[Entry]:
    """A hit with as much of its passage as fits, if it fits at all."""
    each = (room - entry(replace(hit, passage="")).cost) // 2
    while each > 0:
        told = entry(replace(hit, passage=beginning(hit.passage, tokens=each)))
        if told.cost <= room:
            return [told]
        each -= max(1, each // 5)
    return []


def _fields(hit: Hit, *, names_space: bool) -> dict[str, Json]:
    return lean(
        {
            "id": hit.id,
            "name": hit.name,
            "space": hit.space if names_space else "",
            "branch": hit.branch if hit.branch != MAIN else "",
            "title": hit.title,
            "passage": hit.passage,
            "score": hit.score,
            "date": to_iso(hit.date),
            "entities": [*hit.entities],
            "source": _source(hit.source),
            "trust": "" if hit.trust == Trust.UNKNOWN else hit.trust,
            "why": [*hit.why],
            "around": [to_json(one) for one in hit.around],
            "memory": to_json(hit.memory),
        }
    )


def _source(source: Source) -> dict[str, Json]:
    return lean({name: getattr(source, name) for name in ("session", "conversation", "agent", "tool")})


def _line(one: Neighbour, *, tokens: int | None = None) -> str:
    passage = " ".join(one.passage.split())
    told = passage if tokens is None else beginning(passage, tokens=tokens)
    return f"  {one.place:+} {one.name} ({one.date.date().isoformat()}): {told}"
