"""Links and relations: a link in a file or text becomes a relation, and a relation becomes a link, also after renames.

A relation that only a text has made (`is_from_text`) is removed when neither text names the other note any more.
"""

import asyncio
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Self
from weakref import WeakValueDictionary

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.lazy import dataclass
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.caller import Caller
from scrubjay.model.identity import is_id
from scrubjay.model.memory import Json, Memory, State
from scrubjay.model.relation import LINK, Relation
from scrubjay.model.requests import Edit, UnrelateRequest
from scrubjay.notes.files.ledger import LedgerEntry
from scrubjay.notes.markdown.aliases import aliases_of
from scrubjay.notes.markdown.naming import PATH_KEY, id_in, link_target, stem_of
from scrubjay.notes.markdown.note import Link, Note
from scrubjay.notes.markdown.wiki import best_match, key_of, mentions, retarget_links
from scrubjay.notes.queries.links import FROM_TEXT_KEY, link_request
from scrubjay.notes.sync.context import SyncContext, has_file
from scrubjay.notes.sync.dirty import RenamedNote, shown_links
from scrubjay.notes.sync.mapping import FILE_SOURCE, LinkedNote
from scrubjay.workers import offload

__all__ = ["LinkSync", "ids_named_in", "is_from_text", "other_end", "text_link_metadata", "unresolved_links"]

_MAX_TEXT = 300
_AT_ONCE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _LinkChanges:
    """The changes to the links of a note.

    `listed`: links that are new in the list of links, or have another text there. `named`: links that are new in the
    text, with the target that it names. `unlisted`: links that were removed from the list while the text still names
    them. `removed`: links that were removed. `texts`: the present text, if it may have lost links. `missing`: links to
    notes that do not exist. `is_list_new`: the list is known to have changed.
    """

    listed: Mapping[str, str] = field(default_factory=dict[str, str])
    named: Mapping[str, str] = field(default_factory=dict[str, str])
    unlisted: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()
    missing: tuple[Link, ...] = ()
    is_list_new: bool = True


class LinkSync:
    """Synchronizes the links of one vault."""

    def __init__(self, context: SyncContext) -> None:
        self._context = context
        # Files that become notes just now: by the keys of their names, their paths with their ids, empty at first.
        self._expected: dict[str, dict[str, str]] = {}
        # Two notes that link to each other may be read at once, and have one relation.
        self._pairs: WeakValueDictionary[frozenset[str], asyncio.Lock] = WeakValueDictionary()

    @contextmanager
    def expecting(self, paths: Iterable[str]) -> Generator[None]:
        """Let links mean these files, although they are no notes yet: the order of reading must not matter."""
        added = {path: key_of(stem_of(path)) for path in paths if path not in self._expected_at(path)}
        for path, key in added.items():
            self._expected.setdefault(key, {})[path] = ""
        try:
            yield
        finally:
            for path, key in added.items():
                del self._expected[key][path]
                if not self._expected[key]:
                    del self._expected[key]

    def expect_id(self, path: str, memory_id: str) -> None:
        """Let links to an expected file mean this memory."""
        self._expected_at(path)[path] = memory_id

    async def apply_file_links(
        self,
        memory_id: str,
        note: Note,
        *,
        base: str,
        entry: LedgerEntry,
        has_frontmatter_links: bool,
        is_list_new: bool,
        who: Caller,
    ) -> bool:
        """Apply the changes to the links of a file to the relations; return whether any has changed.

        `base` is the last common content; `is_list_new`: the links that the file had before are known.
        """
        if not any((note.linked, note.links, entry.links, "[[" in note.content, "[[" in base)):
            return False
        changes = await self._compare(
            memory_id, note, base=base, entry=entry, has_frontmatter_links=has_frontmatter_links
        )
        await self._context.run_blocking(self._context.ledger.set_missing_links, memory_id, changes.missing)
        return await self._apply(memory_id, replace(changes, is_list_new=is_list_new), who=who)

    async def apply_text_links(
        self, memory: Memory, *, path: str, before: str, was_linked: bool, who: Caller,
        broken: Collection[str] | None = None,
    ) -> bool:  # fmt: skip
        """Update the relations of a memory after its text has changed; return whether any has changed.

        `path`: that of its file. `broken`: its links are relations already, but for those with these keys, which name
        no note yet.
        """
        own_id = memory.trunk or memory.id
        old, new = [await offload(len(text), _targets_by_key, text) for text in (before, memory.content)]
        added = {key: target for key, target in new.items() if key not in old}
        ids = (
            await self.resolve_targets(added.values(), source=path)
            if broken is None
            else dict.fromkeys(set(added) - {*broken}, "")
        )
        if old or added:
            missing = [Link(target=target) for key, target in added.items() if key not in ids]
            await self._context.run_blocking(self._update_missing_links, own_id, set(new), missing)
        if broken is not None:
            return False
        named = {ids[key]: target for key, target in reversed(added.items()) if key in ids}
        named.pop(own_id, None)
        texts = (memory.content,) if was_linked else ()
        return await self._apply(own_id, _LinkChanges(named=named, texts=texts), who=who)

    async def connect_new_note(self, memory: Memory, path: str) -> tuple[str, ...]:
        """Link a new note with the notes that have a missing link to it, and return their ids."""
        missing_links = await self._context.run_blocking(
            self._context.ledger.missing_links_to, _link_keys(memory, path)
        )
        sources = list({source for source, _ in missing_links} - {memory.id})
        if not sources:
            return ()
        entries = await self._context.run_blocking(self._context.get_entries, sources)
        is_only = (await self._context.run_blocking(self._files_named, [key_of(path)]))[key_of(path)].keys() <= {path}
        changed: list[str] = []
        for source, link in missing_links:
            if source == memory.id:
                continue
            if not (is_only and best_match([path], link.target, source="")):
                # Another note may have the name, and be the one that is meant.
                source_path = entries[source].path if source in entries else ""
                ids = await self.resolve_targets([link.target], source=source_path)
                if ids.get(key_of(link.target)) != memory.id:
                    continue
            # A link from a text alone is recorded without a text of its own.
            changes = (
                _LinkChanges(listed={memory.id: _relation_text(link.text, memory)})
                if link.text
                else _LinkChanges(named={memory.id: link.target})
            )
            await self._apply(source, changes, who=self._context.new_caller())
            await self._context.run_blocking(self._remove_missing_link, source, link)
            changed.append(source)
        return tuple(dict.fromkeys(changed))

    async def connect_all_new_notes(self) -> tuple[str, ...]:
        """Link all notes that were missing and exist by now; return the ids of the changed notes."""
        missing_links = await self._context.run_blocking(self._context.ledger.missing_links)
        keys = {key_of(link.target) for _, link in missing_links}
        entries = await self._context.run_blocking(self._find_by_any_name, keys)
        ids = [entry.memory_id for entry in entries]
        memories = await self._context.reader.get(self._context.space, ids) if ids else {}
        changed: list[str] = []
        for entry in entries:
            memory = memories.get(entry.memory_id)
            if memory is not None and memory.state is State.LIVE:
                changed += [entry.memory_id, *await self.connect_new_note(memory, entry.path)]
        return tuple(dict.fromkeys(changed))

    async def rename_targets(self, memory: Memory, renamed: Sequence[RenamedNote]) -> bool:
        """Rewrite the links in a note's text to the new names of other notes; return whether it has changed."""
        if not renamed or memory.state is not State.LIVE or "[[" not in memory.content:
            return False
        content = retarget_links(memory.content, await self._new_targets(renamed))
        if content == memory.content:
            return False
        edit = Edit(
            fields={"content": content}, message="a linked note was renamed", branch=memory.branch, source=FILE_SOURCE,
            expected_version=memory.version,
        )  # fmt: skip
        await self._context.engine.apply_edit(memory.trunk or memory.id, edit, who=self._context.new_caller())
        return True

    async def resolve_targets(self, targets: Iterable[str], *, source: str = "") -> dict[str, str]:
        """Return the ids of the live notes that targets name, by their keys, without unknown and ambiguous ones.

        In an adopted folder, of several files with a name the one that Obsidian would open from `source` is meant.
        """
        by_key = {key_of(target): target for target in targets if key_of(target)}
        if not by_key:
            return {}
        files_by_key = await self._context.run_blocking(self._files_named, by_key)
        ids: dict[str, str] = {}
        expected: dict[str, str] = {}
        for key, target in by_key.items():
            files = files_by_key[key]
            bare = target.strip().lower()
            if source and self._context.folder.adopted:
                path = best_match(files, target, source=source)
            else:
                exact = [path for path in files if key_of(path) == key] or [*files]
                path = exact[0] if len(exact) == 1 else None
            if path is not None and files[path]:
                ids[key] = files[path]
            elif path is not None:
                expected[key] = path
            elif named_id := bare if is_id(bare) else id_in(target):
                ids[key] = named_id
        for number, key in enumerate([key for key in by_key if key not in ids]):
            if id_ := await self._find_by_title(by_key[key]):
                ids[key] = id_
            if number % _AT_ONCE == 0:
                # A text may have tens of thousands of links: let other requests go on meanwhile.
                await asyncio.sleep(0)
        rest = [key for key in by_key if key not in ids and key not in expected]
        by_alias = await self._context.run_blocking(self._context.ledger.by_alias, rest) if rest else {}
        ids |= {key: matches[0].memory_id for key, matches in by_alias.items() if len(matches) == 1}
        memories = await self._context.reader.get(self._context.space, list(set(ids.values()))) if ids else {}
        live = {id_: memory for id_, memory in memories.items() if memory.state is State.LIVE}
        return {
            key: id_
            for key, id_ in ids.items()
            # An expected file may have a memory already, if the ledger was lost; another file's memory is not meant.
            if id_ in live and (key not in expected or live[id_].metadata.get(PATH_KEY) in (None, expected[key]))
        }

    def _expected_at(self, path: str) -> dict[str, str]:
        """Return the ids of the expected files with a name, by their paths."""
        return self._expected.get(key_of(stem_of(path)), {})

    def _files_named(self, keys: Collection[str]) -> dict[str, dict[str, str]]:
        """Return the files with the names that keys end with, by the keys: ids by paths, empty of files yet to come."""
        entries = self._context.ledger.by_file_name(map(stem_of, keys))
        return {
            key: self._expected_at(key)
            | {entry.path: entry.memory_id for entry in entries.get(stem_of(key), ()) if has_file(entry)}
            for key in keys
        }

    def _find_by_any_name(self, keys: Iterable[str]) -> list[LedgerEntry]:
        ledger = self._context.ledger
        lookups = (ledger.by_file_name, ledger.by_title, ledger.by_alias) if keys else ()
        groups = [entries for lookup in lookups for entries in lookup(keys).values()]
        return list({entry.memory_id: entry for entries in groups for entry in entries if has_file(entry)}.values())

    async def _find_by_title(self, target: str) -> str:
        """Return the id of the only live memory with a title or name, or an empty text."""
        if len(target) > _MAX_TEXT:
            return ""
        handles = await self._context.reader.find(self._context.space, target, state=State.LIVE)
        return handles[0].id if len(handles) == 1 else ""

    async def _new_targets(self, renamed: Sequence[RenamedNote]) -> dict[str, str]:
        """Return the new targets of links by their old ones."""
        entries = await self._context.run_blocking(self._context.get_entries, [note.id for note in renamed])
        ids = await self.resolve_targets([note.old_title for note in renamed])
        targets: dict[str, str] = {}
        for note in renamed:
            entry = entries.get(note.id)
            if entry is None or not has_file(entry):
                continue
            if has_file(replace(entry, path=note.old_path)) and key_of(note.old_path) != key_of(entry.path):
                targets[link_target(note.old_path)] = link_target(entry.path)
                targets.setdefault(stem_of(note.old_path), stem_of(entry.path))
            # Another note may have that title now, and the link may mean it.
            is_unambiguous = ids.get(key_of(note.old_title), note.id) == note.id
            if is_unambiguous and key_of(note.old_title) not in {key_of(entry.title), *map(key_of, targets)}:
                targets[note.old_title] = entry.title
        return targets

    async def _compare(
        self, own_id: str, note: Note, *, base: str, entry: LedgerEntry, has_frontmatter_links: bool
    ) -> _LinkChanges:
        """Compare the links of a note with those of the last sync. A link that the text had already is not new."""
        section = [(link.target.partition("#")[0], link.text) for link in note.linked]
        in_text, in_base = [await offload(len(text), _targets_in, text) for text in (note.content, base)]
        targets = [*(target for target, _ in section), *in_text, *in_base]
        ids = await self.resolve_targets(targets, source=entry.path)
        shown = shown_links(entry)
        texts = {ids[key_of(target)]: text for target, text in reversed(section) if key_of(target) in ids}
        named = {ids[key_of(target)]: target for target in reversed(in_text) if key_of(target) in ids}
        named_before = {ids[key_of(target)] for target in in_base if key_of(target) in ids}
        # Our list of links leaves out notes that the text names by their files.
        left_out = ids_named_in(base, [LinkedNote(id=id_, target=link.target, text="") for id_, link in shown.items()])
        frontmatter = {link for link in note.links if is_id(link)}
        other_ids = list({*texts, *frontmatter})
        others = await self._context.reader.get(self._context.space, other_ids) if other_ids else {}
        listed = {
            id_: _relation_text(text, others[id_])
            for id_, text in texts.items()
            if id_ not in shown or shown[id_].text != text or id_ in left_out
        }
        live = {id_ for id_, memory in others.items() if memory.state is State.LIVE}
        listed |= {id_: "" for id_ in frontmatter & live if id_ not in {*shown, *listed, *named_before}}
        removed = {id_ for id_ in shown if id_ not in {*texts, *named, *listed, *left_out}}
        # An empty list removes all links; a list without any of our ids was not about our links.
        if has_frontmatter_links and (frontmatter or not note.links):
            removed |= {id_ for id_ in shown if id_ not in frontmatter}
        unlisted = {id_ for id_ in shown if base and id_ in named and id_ not in texts and id_ not in left_out}
        new_named = {
            id_: target for id_, target in named.items() if id_ in unlisted or id_ not in {*named_before, *shown}
        }
        return _LinkChanges(
            listed={id_: text for id_, text in listed.items() if id_ != own_id and id_ not in removed},
            named={id_: target for id_, target in new_named.items() if id_ not in {own_id, *removed, *listed}},
            unlisted=frozenset(unlisted),
            removed=frozenset(removed),
            texts=(note.content,) if note.content != base else (),
            missing=_missing_links(section, in_text, ids),
        )

    async def _apply(self, own_id: str, changes: _LinkChanges, *, who: Caller) -> bool:
        """Apply changes of links to the relations of a note; return whether any has changed."""
        if not any((changes.listed, changes.named, changes.removed, changes.texts)):
            return False
        relations = await self._links_of(own_id)
        removed = changes.removed & set(relations)
        from_text = {
            id_: relation
            for id_, relation in relations.items()
            if is_from_text(relation) and id_ not in {*removed, *changes.listed}
        }
        removed |= await self._find_unnamed(own_id, from_text, texts=changes.texts) if changes.texts else frozenset()
        for other in removed:
            await self._context.engine.unrelate(UnrelateRequest(source=own_id, target=other), who=who)
        is_changed = bool(removed)
        for other, text in changes.listed.items():
            relation = relations.get(other)
            is_current = relation is not None and (not text or relation.text_at(own_id) == text)
            if relation is not None and is_current and not (is_from_text(relation) and changes.is_list_new):
                continue
            is_changed |= await self._relate(own_id, other, relation=relation, text=text, target="", who=who)
        for other, target in changes.named.items():
            relation = relations.get(other)
            if relation is None or (other in changes.unlisted and not is_from_text(relation)):
                is_changed |= await self._relate(own_id, other, relation=relation, text="", target=target, who=who)
        return is_changed

    async def _links_of(self, own_id: str) -> dict[str, Relation]:
        """Return the links of a note by the other end."""
        relations = await self._context.reader.relations(self._context.space, [own_id])
        return {other_end(relation, own_id): relation for relation in relations if relation.type == LINK}

    async def _relate(
        self, own_id: str, other: str, *, relation: Relation | None, text: str, target: str, who: Caller
    ) -> bool:
        """Create or update a relation, which keeps its fields where nothing new is given."""
        async with self._pairs.setdefault(frozenset((own_id, other)), asyncio.Lock()):
            relation = relation or (await self._links_of(own_id)).get(other)
            request = link_request(own_id, other, relation=relation, text=text)
            metadata = text_link_metadata(target, request.metadata)
            try:
                related = await self._context.engine.relate(replace(request, metadata=metadata), who=who)
            except (NotFound, InvalidInput):
                return False
        self._context.counts["linked"] += related.action == "created"
        return True

    async def _find_unnamed(
        self, own_id: str, from_text: Mapping[str, Relation], *, texts: Sequence[str]
    ) -> frozenset[str]:
        """Return the relations that only texts have made and neither text names any more."""
        if not from_text:
            return frozenset()
        readable = await TolerantReader(self._context.reader, space=self._context.space).get([own_id, *from_text])
        memories = {memory.id: memory for memory in readable}
        if own_id not in memories:
            return frozenset()
        entries = await self._context.run_blocking(self._context.get_entries, list(memories))
        # A renamed note keeps its old title in the ledger until the notes that name it have been updated.
        keys = {
            id_: _link_keys(memory, entries[id_].path) | {key_of(entries[id_].title)}
            if id_ in entries
            else _link_keys(memory, "")
            for id_, memory in memories.items()
        }
        own = [await offload(len(text), _NamedNotes.of, text) for text in (*texts, memories[own_id].content)]
        unnamed: set[str] = set()
        for other, relation in from_text.items():
            if other not in memories:
                continue
            ours, theirs = [
                keys[id_] | {key_of(_text_target(relation))} if id_ == relation.target else keys[id_]
                for id_ in (own_id, other)
            ]
            if any(named.has(theirs, memory_id=other) for named in own):
                continue
            content = memories[other].content
            if not (await offload(len(content), _NamedNotes.of, content)).has(ours, memory_id=own_id):
                unnamed.add(other)
        return frozenset(unnamed)

    def _update_missing_links(self, memory_id: str, named_keys: set[str], new: Sequence[Link]) -> None:
        """Add the missing links of a text, and remove those that the text does not name any more."""
        ledger = self._context.ledger
        before = ledger.missing_links_of(memory_id)
        remaining = [link for link in before if link.text or key_of(link.target) in named_keys]
        keys = {key_of(link.target) for link in remaining}
        links = [*remaining, *(link for link in new if key_of(link.target) not in keys)]
        if links != before:
            ledger.set_missing_links(memory_id, links)

    def _remove_missing_link(self, memory_id: str, link: Link) -> None:
        ledger = self._context.ledger
        remaining = [other for other in ledger.missing_links_of(memory_id) if other.target != link.target]
        ledger.set_missing_links(memory_id, remaining)


def unresolved_links(note: Note, missing: Iterable[Link]) -> tuple[Link, ...]:
    """Return the links of a file's section whose notes do not exist yet, and which therefore stay as they are."""
    keys = {key_of(link.target) for link in missing}
    return tuple(link for link in note.linked if key_of(link.target.partition("#")[0]) in keys)


def ids_named_in(content: str, linked: Sequence[LinkedNote]) -> frozenset[str]:
    """Return the ids of the linked notes that a text names by their files."""
    if not linked or "[[" not in content:
        return frozenset()
    keys = {key_of(target) for target in _targets_in(content)}
    return frozenset(note.id for note in linked if keys & {key_of(note.target), key_of(stem_of(note.target))})


def text_link_metadata(target: str, metadata: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Return the metadata of a relation that a text has made by naming `target`; without one, clear that mark."""
    rest = {name: value for name, value in (metadata or {}).items() if name != FROM_TEXT_KEY}
    return rest | {FROM_TEXT_KEY: target[:_MAX_TEXT]} if target else rest


def other_end(relation: Relation, memory_id: str) -> str:
    """Return the id at the other end of a relation."""
    return relation.target if relation.source == memory_id else relation.source


def _relation_text(text: str, other: Memory) -> str:
    """Return the text of a relation: none if the link only repeats the name of the other note."""
    is_name = key_of(text) in (key_of(other.label), key_of(other.name))
    return "" if is_name else " ".join(text.split())[:_MAX_TEXT]


def _missing_links(
    section: Sequence[tuple[str, str]], in_text: Sequence[str], ids: Mapping[str, str]
) -> tuple[Link, ...]:
    """Return the links, without duplicates and attachments, that resolve to no note."""
    links = [Link(target=target, text=text or target) for target, text in section if key_of(target) not in ids]
    links += [Link(target=target) for target in in_text if key_of(target) not in ids]
    unique = {link.target: link for link in reversed(links) if link.target.strip() and not _is_attachment(link.target)}
    return tuple(reversed(unique.values()))


def is_from_text(relation: Relation) -> bool:
    """Whether only a link in a text has made a relation."""
    return bool(_text_target(relation))


def _text_target(relation: Relation) -> str:
    """Return the target by which the source's text names the other note, or an empty text."""
    return str(relation.metadata.get(FROM_TEXT_KEY) or "")


def _targets_in(content: str) -> tuple[str, ...]:
    """Return the notes that a text links or embeds."""
    targets = dict.fromkeys(mention.target for mention in mentions(content))
    return tuple(target for target in targets if target.strip() and not _is_attachment(target))


def _targets_by_key(content: str) -> dict[str, str]:
    """Return the notes that a text links or embeds, each spelled as it is first."""
    by_key: dict[str, str] = {}
    for target in _targets_in(content):
        by_key.setdefault(key_of(target), target)
    return by_key


@dataclass(frozen=True, slots=True)
class _NamedNotes:
    """The notes that a text names: by the keys of their titles and files, or by their ids."""

    keys: frozenset[str]
    ids: frozenset[str]

    @classmethod
    def of(cls, content: str) -> Self:
        targets = _targets_in(content)
        keys = {key_of(name) for target in targets for name in (target, stem_of(target))}
        return cls(frozenset(keys), frozenset(map(id_in, targets)))

    def has(self, keys: set[str], *, memory_id: str) -> bool:
        """Whether the note with these keys and this id is named."""
        return memory_id in self.ids or not keys.isdisjoint(self.keys)


def _link_keys(memory: Memory, path: str) -> set[str]:
    """Return the keys of all names by which a link may name a note."""
    names: Iterable[str] = (
        memory.label, memory.name, memory.id, link_target(path), stem_of(path), *aliases_of(memory.metadata)
    )  # fmt: skip
    return {key for name in names if (key := key_of(name))}


def _is_attachment(target: str) -> bool:
    name, dot, suffix = target.rstrip("/").rpartition("/")[2].rpartition(".")
    return bool(name and dot) and f".{suffix.lower()}" in _MEDIA_SUFFIXES


_MEDIA_SUFFIXES = frozenset(
    f".{suffix}"
    for suffix in (
        "png jpg jpeg gif webp svg bmp avif tif tiff heic mp3 wav m4a ogg flac webm 3gp mp4 mov mkv ogv avi pdf docx "
        "odt xlsx pptx txt html htm csv json canvas base zip"
    ).split()
)
