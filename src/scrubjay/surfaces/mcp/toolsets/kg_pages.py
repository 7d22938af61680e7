"""A graph within a budget: whole up to the limit, else a page of it and the cursor that leads to the next."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from scrubjay.graph.entity import Entity, Link, in_order
from scrubjay.graph.walk import Place, Walk
from scrubjay.model.memory import Json
from scrubjay.surfaces.mcp.budget import MOST_TOKENS, beginning, compact, cost_of, cut, room_for
from scrubjay.surfaces.mcp.cursors import pack, unpack
from scrubjay.surfaces.mcp.tool import Answer

# What the cursor, the note and the brackets around it all cost, in both forms.
_BESIDE = 400
# Names that are longer than this are cut when there is no other way to show what they belong to.
_LABEL_TOKENS = 400


def pretty(value: Json) -> str:
    """JSON as the reference server prints it."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def entity_json(entity: Entity) -> dict[str, Json]:
    """An entity as the dialect spells it."""
    return {"name": entity.name, "entityType": entity.type, "observations": list(entity.observations)}


def link_json(link: Link) -> dict[str, Json]:
    """A relation as the dialect spells it."""
    return {"from": link.source, "to": link.target, "relationType": link.type}


def echo(name: str, done: Sequence[dict[str, Json]]) -> Answer:
    """A list of what was done; beyond the limit only its beginning, since the caller knows what it asked for."""
    room = room_for(MOST_TOKENS) - _BESIDE
    kept: list[Json] = []
    for one in done:
        room -= _cost(one)
        if room < 0:
            note = f"Done for all {len(done):,}; the first {len(kept):,} are shown"
            return Answer(structured={name: kept, "note": note}, text=f"{pretty(kept)}\n({note})")
        kept.append(one)
    return Answer(structured={name: kept}, text=pretty(kept))


@dataclass(slots=True)
class Page:
    """Takes things until its room is used up."""

    room: int = room_for(MOST_TOKENS) - _BESIDE
    entities: list[Entity] = field(default_factory=list[Entity])
    links: list[Link] = field(default_factory=list[Link])
    ids: list[str] = field(default_factory=list[str])
    cursor: str = ""

    async def fill(self, walk: Walk, cursor: str) -> None:
        """Take what comes from a cursor on; what is too long for any page comes in parts."""
        start, part = _unpacked(cursor)
        async with aclosing(walk.things(start)) as things:
            async for place, thing in things:
                if self._take(place, thing):
                    continue
                if self.entities or self.links:
                    self.cursor = pack(place.id, place.number, 0)
                    return
                parts = _parts(thing, room=self.room)
                number = min(part, len(parts) - 1)
                self._put(place, parts[number])
                self.room = 0
                if number + 1 < len(parts):
                    self.cursor = pack(place.id, place.number, number + 1)
                    return

    def answer(self, remark: str = "") -> Answer:
        """The page as the dialect spells a graph."""
        structured: dict[str, Json] = {
            "entities": [entity_json(entity) for entity in self.entities],
            "relations": [link_json(one) for one in in_order(self.links)],
        }
        notes = [f"{remark[:1].upper()}{remark[1:]}."] if remark else []
        if self.cursor:
            structured["nextCursor"] = self.cursor
            notes.append(
                "This is a part of the answer: call again with cursor set to nextCursor for the rest. "
                "What is longer than a page comes in pieces."
            )
        if notes:
            structured["note"] = " ".join(notes)
        return Answer(structured=structured, text=pretty(structured))

    def _take(self, place: Place, thing: Entity | Link) -> bool:
        cost = _cost(_json(thing))
        if cost > self.room:
            return False
        self.room -= cost
        self._put(place, thing)
        return True

    def _put(self, place: Place, thing: Entity | Link) -> None:
        if isinstance(thing, Entity):
            self.entities.append(thing)
            self.ids.append(place.id)
        else:
            self.links.append(thing)


def _unpacked(cursor: str) -> tuple[Place, int]:
    if not cursor:
        return Place(), 0
    memory_id, number, part = unpack(cursor, str, int, int)
    return Place(str(memory_id), int(number)), max(int(part), 0)


def _json(thing: Entity | Link) -> dict[str, Json]:
    return entity_json(thing) if isinstance(thing, Entity) else link_json(thing)


def _cost(shown: Mapping[str, Json]) -> int:
    # It stands four spaces deep, with a comma behind it.
    return cost_of(pretty(dict(shown)).replace("\n", "\n    ") + ",\n    ", shown)


def _parts(thing: Entity | Link, *, room: int) -> list[Entity | Link]:
    """A thing that is longer than a page, in pages: an entity several times, each time with other observations."""
    if isinstance(thing, Link):
        source, target, type_ = map(_label, (thing.source, thing.target, thing.type))
        return [replace(thing, source=source, target=target, type=type_)]
    bare = Entity(name=_label(thing.name), type=_label(thing.type))
    left = room - _cost(entity_json(bare))
    parts: list[Entity | Link] = []
    held: list[str] = []
    spent = 0
    for text in thing.observations:
        for piece in _pieces(text, room=left):
            cost = _cost_of_text(piece)
            if held and spent + cost > left:
                parts.append(replace(bare, observations=tuple(held)))
                held, spent = [], 0
            held.append(piece)
            spent += cost
    return [*parts, replace(bare, observations=tuple(held))]


def _pieces(text: str, *, room: int) -> Iterator[str]:
    start = 0
    while True:
        tokens = room // 2
        end = cut(text, start=start, tokens=tokens)
        # What JSON must spell out is longer than it looks.
        while _cost_of_text(text[start:end]) > room:
            tokens = tokens * 4 // 5
            end = cut(text, start=start, tokens=tokens)
        yield text[start:end]
        start = end
        if start >= len(text):
            return


def _cost_of_text(text: str) -> int:
    # Eight spaces deep in one form, a comma in both.
    quoted = compact(text)
    return cost_of(f"        {quoted},\n") + cost_of(f"{quoted},")


def _label(text: str) -> str:
    return beginning(text, tokens=_LABEL_TOKENS)
