"""Who links to a note, and which links lead nowhere: relations, and wiki links in the texts themselves."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from scrubjay.engine import Engine
from scrubjay.lookup.references import SoundReader, resolve
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter
from scrubjay.model.relation import LINK, Relation
from scrubjay.notes.markdown.aliases import aliases_of
from scrubjay.notes.markdown.naming import id_in
from scrubjay.notes.markdown.note import Link
from scrubjay.notes.markdown.wiki import Mention, key_of, mentions
from scrubjay.notes.results import Backlink, Backlinks, BrokenLink, BrokenLinks
from scrubjay.recalling.text_cache import TextView, scan
from scrubjay.text.matching import ClauseMatch
from scrubjay.text.snippets import snippet_of

__all__ = ["aliased", "backlinks", "broken_links"]

# Keeps the parts of what is mirrored apart: no text that is stored has it.
_APART = "\x00"
_EMBEDS = "!"
_SUGGESTIONS = 3
# So many are looked at for what may be meant; each is a question of its own.
_MOST_GUESSED = 50


async def backlinks(ref: str, *, engine: Engine, space: str, names: Sequence[str] = ()) -> Backlinks:
    """The notes that link to one, by a relation or in their text; `names` are others that it is linked by.

    A link is one from both ends.
    """
    memory = await resolve(engine.store, ref, space=space)
    keys = _keys(memory) | {key_of(name) for name in names}
    related = _related(memory.id, await engine.store.relations(space, [memory.id]))
    mirrored = await _mirrored(_MENTIONS, engine=engine, space=space)
    mentioning = [one for one, text in mirrored.items() if one != memory.id and _has(text, keys, memory.id)]
    reader = SoundReader(engine.store, space=space)
    others = await reader.get(list(dict.fromkeys((*related, *mentioning))))
    told = [_backlink(other, related.get(other.id), keys, memory.id) for other in others if other.state is memory.state]
    return Backlinks(
        id=memory.id,
        title=memory.label,
        backlinks=tuple(sorted(told, key=lambda one: (one.title.casefold(), one.id))),
    )


async def broken_links(
    *,
    engine: Engine,
    space: str,
    wanted: Sequence[tuple[str, Link]] = (),
    known: Iterable[str] = (),
    limit: int = 200,
) -> BrokenLinks:
    """The links that nothing answers to: those a folder waits for, and those in texts; `known` are names of files."""
    there = {key_of(name) for name in known}
    knows_files = bool(there)
    called = await _mirrored(_CALLED, engine=engine, space=space)
    there |= {key for text in called.values() for key in text.split(_APART)}
    broken: dict[tuple[str, str], Link] = {}
    for source, text in sorted((await _mirrored(_MENTIONS, engine=engine, space=space)).items()):
        for said in text.split(_APART):
            target = said.removeprefix(_EMBEDS)
            # What is embedded is mostly a file, which only a folder knows of.
            if (target == said or knows_files) and not _is_there(target, there, called):
                broken.setdefault((source, target), Link(target=target))
    for source, link in wanted:
        if source in called and not _is_there(key_of(link.target), there, called):
            broken[source, key_of(link.target)] = link
    return BrokenLinks(links=await _told(dict(islice(sorted(broken.items()), limit)), engine=engine, space=space))


async def aliased(name: str, *, engine: Engine, space: str) -> tuple[str, ...]:
    """The ids of the notes that are called something."""
    key = key_of(name)
    called = await _mirrored(_CALLED, engine=engine, space=space) if key else {}
    return tuple(sorted(one for one, names in called.items() if key in names and key in names.split(_APART)))


async def _told(broken: Mapping[tuple[str, str], Link], *, engine: Engine, space: str) -> tuple[BrokenLink, ...]:
    sources = await SoundReader(engine.store, space=space).get(list(dict.fromkeys(source for source, _ in broken)))
    memories = {memory.id: memory for memory in sources}
    guesses: dict[str, tuple[str, ...]] = {}
    for key in islice(dict.fromkeys(key for _, key in broken), _MOST_GUESSED):
        guesses[key] = await engine.store.nearest(space, key, limit=_SUGGESTIONS)
    return tuple(
        _broken(memories[source], key, link, suggestions=guesses.get(key, ()))
        for (source, key), link in broken.items()
        if source in memories
    )


def _broken(memory: Memory, key: str, link: Link, *, suggestions: tuple[str, ...]) -> BrokenLink:
    """A link as it is written, rather than by its key."""
    written = next((mention for mention in mentions(memory.content) if key_of(mention.target) == key), None)
    target, text = (written.target, written.text) if written else (link.target, link.text)
    return BrokenLink(id=memory.id, title=memory.label, target=target, text=text, suggestions=suggestions)


def _is_there(key: str, there: set[str], ids: Mapping[str, str]) -> bool:
    return key in there or id_in(key) in ids


def _related(memory_id: str, relations: Sequence[Relation]) -> dict[str, str]:
    """The others that link here, and with what words."""
    found: dict[str, str] = {}
    for relation in sorted(relations, key=lambda relation: relation.created_at):
        if relation.target == memory_id and relation.source != memory_id:
            found[relation.source] = found.get(relation.source) or relation.text
        elif relation.type == LINK and relation.source == memory_id and relation.target != memory_id:
            found.setdefault(relation.target, "")
    return found


def _backlink(other: Memory, text: str | None, keys: set[str], memory_id: str) -> Backlink:
    here = next((mention for mention in mentions(other.content) if _is_meant(mention, keys, memory_id)), None)
    words = text or ((here.text or here.target) if here else "")
    shown = snippet_of(other.content, [ClauseMatch(here.start, here.end, 0)]) if here else ""
    return Backlink(id=other.id, title=other.label, text=words, snippet=shown)


def _is_meant(mention: Mention, keys: set[str], memory_id: str) -> bool:
    return bool(mention.target) and (key_of(mention.target) in keys or id_in(mention.target) == memory_id)


def _has(text: str, keys: set[str], memory_id: str) -> bool:
    targets = [target.removeprefix(_EMBEDS) for target in text.split(_APART)]
    return memory_id in text or not keys.isdisjoint(targets)


def _keys(memory: Memory) -> set[str]:
    """All that a note is linked by besides its file."""
    names = (memory.id, memory.name, memory.title, *aliases_of(memory.metadata), *_paths(memory))
    return {key_of(name) for name in names if name}


def _paths(memory: Memory) -> list[str]:
    """Its title behind its category, or behind the end of that: whoever kept notes in folders links by these."""
    folders = memory.category.split("/") if memory.category and memory.title else []
    return ["/".join((*folders[at:], memory.title)) for at in range(len(folders))]


async def _mirrored(view: TextView, *, engine: Engine, space: str) -> dict[str, str]:
    """What every note says in a view: from memory if there is room for it, else by reading all."""
    kept = await engine.text_caches.texts(view, space=space, store=engine.store)
    if kept is not None:
        return dict(kept)
    return {one: text async for one, text in scan(view, reader=SoundReader(engine.store, space=space))}


def _mentioned(memory: Memory) -> str | None:
    found = dict.fromkeys(
        f"{_EMBEDS * mention.embeds}{key_of(mention.target)}" for mention in mentions(memory.content) if mention.target
    )
    return _APART.join(found) or None


def _called(memory: Memory) -> str:
    return _APART.join(sorted(_keys(memory)))


_MENTIONS = TextView(filter=Filter(), extract=_mentioned)
_CALLED = TextView(filter=Filter(), extract=_called)
