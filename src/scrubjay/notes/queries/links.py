"""Find backlinks and broken links, from relations and from wiki links in the texts."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from scrubjay.engine import Engine
from scrubjay.lookup.references import TolerantReader, resolve
from scrubjay.model.memory import Json, Memory
from scrubjay.model.notes import Backlink, Backlinks, BrokenLink, BrokenLinks
from scrubjay.model.query import Filter
from scrubjay.model.relation import BACK_TEXT, LINK, Relation
from scrubjay.model.requests import RelateRequest
from scrubjay.notes.markdown.aliases import aliases_of
from scrubjay.notes.markdown.naming import id_in
from scrubjay.notes.markdown.note import Link
from scrubjay.notes.markdown.wiki import Mention, key_of, mentions
from scrubjay.recalling.text_cache import TextView
from scrubjay.text.clauses import ClauseMatch
from scrubjay.text.snippets import snippet_of
from scrubjay.workers import offload

__all__ = ["FROM_TEXT_KEY", "find_backlinks", "find_broken_links", "ids_by_alias", "link_request"]

# Separates the items of a cached text: no stored text contains it.
_SEPARATOR = "\x00"
_EMBED_MARK = "!"
# Of a relation that a link in a text has made: the name by which the text of its source names the other note.
FROM_TEXT_KEY = "typed"
_MAX_SUGGESTIONS = 3
# Each suggestion is a query of its own.
_MAX_SUGGESTED_LINKS = 50


async def find_backlinks(ref: str, *, engine: Engine, space: str, names: Sequence[str] = ()) -> Backlinks:
    """Return the notes that link to a note, by a relation or in their text; `names` are further names of the note.

    A link counts for both of its ends.
    """
    memory = await resolve(engine.reader, ref, space=space)
    keys = _link_keys(memory) | {key_of(name) for name in names}
    related = _related_texts(memory.id, await engine.reader.relations(space, [memory.id]))
    cached = await engine.texts(_MENTIONS, space=space)
    named = {
        id_: {item for item in text.split(_SEPARATOR) if item.removeprefix(_EMBED_MARK) in keys or memory.id in item}
        for id_, text in cached.items()
        if id_ != memory.id
    }
    named = {id_: items for id_, items in named.items() if items}
    # Of several notes with a name, a link means one: where a relation says which, the name alone says nothing.
    others_meant = await _meant_by_relations([id_ for id_ in named if id_ not in related], engine=engine, space=space)
    mentioning = [
        id_ for id_, items in named.items()
        if {item.removeprefix(_EMBED_MARK) for item in items} - others_meant.get(id_, set())
    ]  # fmt: skip
    reader = TolerantReader(engine.reader, space=space)
    others = await reader.get(list(dict.fromkeys((*related, *mentioning))))
    backlinks = [
        _backlink(other, related.get(other.id), keys, memory.id) for other in others if other.state is memory.state
    ]
    backlinks.sort(key=lambda backlink: (backlink.title.casefold(), backlink.id))
    return Backlinks(id=memory.id, title=memory.label, backlinks=tuple(backlinks))


async def find_broken_links(
    *,
    engine: Engine,
    space: str,
    missing_links: Sequence[tuple[str, Link]] = (),
    file_names: Iterable[str] = (),
    limit: int = 200,
) -> BrokenLinks:
    """Return the links to notes that do not exist: the missing links of a folder, and links in texts."""
    existing = {key_of(name) for name in file_names}
    has_files = bool(existing)
    names = await engine.texts(_NAMES, space=space)
    existing |= {key for text in names.values() for key in text.split(_SEPARATOR)}
    broken: dict[tuple[str, str], Link] = {}
    for source, text in sorted((await engine.texts(_MENTIONS, space=space)).items()):
        for item in text.split(_SEPARATOR):
            target = item.removeprefix(_EMBED_MARK)
            # An embed is usually a file, which only a folder knows.
            if (target == item or has_files) and target not in existing and id_in(target) not in names:
                broken.setdefault((source, target), Link(target=target))
    for source, link in missing_links:
        key = key_of(link.target)
        if source in names and key not in existing and id_in(key) not in names:
            broken[source, key] = link
    links = await _describe_links(dict(islice(sorted(broken.items()), limit)), engine=engine, space=space)
    return BrokenLinks(links=links)


async def ids_by_alias(name: str, *, engine: Engine, space: str) -> tuple[str, ...]:
    """Return the ids of the notes that have a name or alias."""
    key = key_of(name)
    names = await engine.texts(_NAMES, space=space) if key else {}
    return tuple(sorted(id_ for id_, text in names.items() if key in text and key in text.split(_SEPARATOR)))


async def _describe_links(
    broken: Mapping[tuple[str, str], Link], *, engine: Engine, space: str
) -> tuple[BrokenLink, ...]:  # fmt: skip
    """Return broken links with their notes, their spelling in the text, and suggestions."""
    sources = await TolerantReader(engine.reader, space=space).get(list(dict.fromkeys(source for source, _ in broken)))
    memories = {memory.id: memory for memory in sources}
    suggestions: dict[str, tuple[str, ...]] = {}
    for key in islice(dict.fromkeys(key for _, key in broken), _MAX_SUGGESTED_LINKS):
        suggestions[key] = await engine.reader.nearest(space, key, limit=_MAX_SUGGESTIONS)
    links: list[BrokenLink] = []
    spellings: dict[str, dict[str, Mention]] = {}
    for (source, key), link in broken.items():
        if (memory := memories.get(source)) is None:
            continue
        if source not in spellings:
            spellings[source] = await offload(memory.characters, _mentions_by_key, memory)
        mention = spellings[source].get(key)
        target, text = (mention.target, mention.text) if mention else (link.target, link.text)
        links.append(
            BrokenLink(id=memory.id, title=memory.label, target=target, text=text, suggestions=suggestions.get(key, ()))
        )
    return tuple(links)


def link_request(own_id: str, other: str, *, relation: Relation | None, text: str) -> RelateRequest:
    """Return the request for a link with the text of one end; what it has already, such as the other's text, stays."""
    if relation is None:
        return RelateRequest(source=own_id, target=other, text=text)
    is_source = relation.source == own_id
    back: dict[str, Json] = {BACK_TEXT: text} if text and not is_source else {}
    return RelateRequest(
        source=relation.source, target=relation.target, text=(text or relation.text) if is_source else relation.text,
        strength=relation.strength, metadata={**relation.metadata, **back},
    )  # fmt: skip


async def _meant_by_relations(ids: Sequence[str], *, engine: Engine, space: str) -> dict[str, set[str]]:
    """Return for notes the keys of the links in their texts that are relations."""
    meant: dict[str, set[str]] = {}
    for relation in await engine.reader.relations(space, ids) if ids else ():
        if target := relation.metadata.get(FROM_TEXT_KEY):
            meant.setdefault(relation.source, set()).add(key_of(str(target)))
    return meant


def _mentions_by_key(memory: Memory) -> dict[str, Mention]:
    by_key: dict[str, Mention] = {}
    for mention in mentions(memory.content):
        by_key.setdefault(key_of(mention.target), mention)
    return by_key


def _related_texts(memory_id: str, relations: Sequence[Relation]) -> dict[str, str]:
    """Return the notes that link to a note, with the texts of their links."""
    texts: dict[str, str] = {}
    for relation in sorted(relations, key=lambda relation: relation.created_at):
        if relation.target == memory_id and relation.source != memory_id:
            texts[relation.source] = texts.get(relation.source) or relation.text
        elif relation.type == LINK and relation.source == memory_id and relation.target != memory_id:
            texts[relation.target] = texts.get(relation.target) or relation.text_at(relation.target)
    return texts


def _backlink(other: Memory, text: str | None, keys: set[str], memory_id: str) -> Backlink:
    matches = (
        mention
        for mention in mentions(other.content)
        if mention.target and (key_of(mention.target) in keys or id_in(mention.target) == memory_id)
    )
    mention = next(matches, None)
    text = text or ((mention.text or mention.target) if mention else "")
    snippet = snippet_of(other.content, [ClauseMatch(mention.start, mention.end, 0)]) if mention else ""
    return Backlink(id=other.id, title=other.label, text=text, snippet=snippet)


def _link_keys(memory: Memory) -> set[str]:
    """Return the keys of all names by which links name a note, except those of its file."""
    # Users who keep notes in folders link by the title after the category, or after the end of it.
    folders = memory.category.split("/") if memory.category and memory.title else []
    paths = ["/".join((*folders[start:], memory.title)) for start in range(len(folders))]
    names = (memory.id, memory.name, memory.title, *aliases_of(memory.metadata), *paths)
    return {key_of(name) for name in names if name}


def _mention_items(memory: Memory) -> str | None:
    items = dict.fromkeys(
        f"{_EMBED_MARK * mention.embeds}{key_of(mention.target)}"
        for mention in mentions(memory.content)
        if mention.target
    )
    return _SEPARATOR.join(items) or None


_MENTIONS = TextView(filter=Filter(), extract=_mention_items)
_NAMES = TextView(filter=Filter(), extract=lambda memory: _SEPARATOR.join(sorted(_link_keys(memory))))
