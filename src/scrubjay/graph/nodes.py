"""Who a name is, and what a memory is called: entities, and the mentions of entities that nobody has created."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from scrubjay.graph.entity import MENTION, entity_of, handle_of, is_mention, name_of
from scrubjay.lookup.references import SoundReader
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.relation import Relation
from scrubjay.ports import RecordStore
from scrubjay.recalling.substring import SubstringMatches, find_in_view, join_lowercase
from scrubjay.recalling.text_cache import TextCaches, TextView, scan

_ALL = 1 << 31


def _entity_text(memory: Memory) -> str:
    entity = entity_of(memory)
    return join_lowercase((entity.name, entity.type, *entity.observations))


ENTITIES = TextView(Filter(), _entity_text)
MENTIONS = TextView(Filter(kind=MENTION, state=State.ARCHIVED), lambda one: name_of(one) if is_mention(one) else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """The memories of a space as ends of relations. One is made for one call and remembers what it has looked up."""

    store: RecordStore
    text_caches: TextCaches
    space: str
    now: datetime
    _names: dict[str, str | None] = field(default_factory=dict[str, str | None])

    async def ids(self) -> list[str]:
        """The ids of all entities, oldest first."""
        return sorted(await self.store.list_ids(self.space, ENTITIES.filter, limit=_ALL))

    async def containing(self, text: str) -> SubstringMatches:
        """The entities with a text in their name, their type or an observation."""
        return await find_in_view(text, view=ENTITIES, space=self.space, store=self.store, text_caches=self.text_caches)

    async def live(self, names: Iterable[str]) -> dict[str, str]:
        """The ids of entities, by name; names that nobody has are left out."""
        found: dict[str, str] = {}
        for name in dict.fromkeys(names):
            handle = handle_of(name)
            handles = await self.store.find(self.space, handle, state=State.LIVE)
            # Who answers to it by a title or half a name is somebody else.
            found.update((name, one.id) for one in handles if one.name == handle)
        return found

    async def memories(self, ids: Sequence[str]) -> list[Memory]:
        """The memories of entities and mentions, in order; what cannot be read is left out."""
        sound = await SoundReader(self.store, space=self.space).get(ids)
        found = [memory for memory in sound if memory.state is State.LIVE or is_mention(memory)]
        self._names.update({memory.id: name_of(memory) for memory in found})
        return found

    async def shown(self, ids: Sequence[str]) -> list[Memory]:
        """The memories of entities that have not expired, in order."""
        found = await self.memories(ids)
        return [one for one in found if one.expires_at is None or one.expires_at > self.now]

    async def mentions(self) -> dict[str, str]:
        """The names of all that is mentioned, by the ids of the memories that stand for them."""
        kept = await self.text_caches.texts(MENTIONS, space=self.space, store=self.store)
        if kept is not None:
            return dict(kept)
        reader = SoundReader(self.store, space=self.space)
        return {memory_id: name async for memory_id, name in scan(MENTIONS, reader=reader)}

    async def names(self, ids: Iterable[str]) -> dict[str, str | None]:
        """What memories are called as ends of a relation; None for those that are neither entity nor mention."""
        unknown = [fromkey for fromkey in dict.fromkeys(ids) if fromkey not in self._names]
        await self.memories(unknown)
        for one in unknown:
            self._names.setdefault(one, None)
        return self._names

    async def relations(self, ids: Sequence[str]) -> list[Relation]:
        """Every relation that touches one of the memories, oldest first."""
        found = await self.store.relations(self.space, ids) if ids else []
        return sorted(found, key=lambda one: one.created_at)


def by_name(mentions: dict[str, str]) -> dict[str, list[str]]:
    """The ids of mentions by name; a name may have several."""
    found: dict[str, list[str]] = {}
    for memory_id, name in mentions.items():
        found.setdefault(name, []).append(memory_id)
    return found
