"""Links of an import: resolve them like Obsidian, and relate the linked notes once all files are stored."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from scrubjay.engine import Engine
from scrubjay.lazy import dataclass
from scrubjay.model.caller import Caller
from scrubjay.model.memory import State
from scrubjay.model.relation import LINK, Relation
from scrubjay.notes.markdown.note import Link
from scrubjay.notes.markdown.wiki import best_match, key_of
from scrubjay.notes.sync.links import text_link_metadata
from scrubjay.ports import Edge
from scrubjay.writing.batch import Batch

__all__ = ["FileLinks", "LinkIndex", "NoteLinker"]

_PAGE = 200
_MAX_TEXT = 300


class LinkIndex:
    """The notes and files of a folder by the names that links use: path, file name or alias."""

    def __init__(self) -> None:
        self._notes: dict[str, list[str]] = {}
        self._aliases: dict[str, str] = {}
        self._files: dict[str, list[str]] = {}

    def add_note(self, path: str, aliases: Iterable[str]) -> None:
        """Add a note and its other names."""
        self._notes.setdefault(key_of(PurePosixPath(path).name), []).append(path)
        for alias in aliases:
            self._aliases.setdefault(key_of(alias), path)

    def add_file(self, path: str) -> None:
        """Add a file that notes may embed."""
        self._files.setdefault(_file_key(PurePosixPath(path).name), []).append(path)

    def find_note(self, target: str, *, source: str) -> str | None:
        """Return the path of the note that a link names, or None; `source` is the path of the linking note."""
        key = key_of(_without_steps(target))
        return best_match(self._notes.get(key.rpartition("/")[2], ()), target, source=source) or self._aliases.get(key)

    def find_file(self, target: str, *, source: str) -> str | None:
        """Return the path of the file that an embed names, or None."""
        key = _file_key(_without_steps(target))
        return best_match(self._files.get(key.rpartition("/")[2], ()), target, source=source)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLinks:
    """The links of a file, and the targets that occur only in its text."""

    path: str
    links: tuple[Link, ...]
    text_targets: frozenset[str]


@dataclass(slots=True, kw_only=True)
class _NewLink:
    """The text of a link, and its target if the link occurs only in the content."""

    text: str
    text_target: str


class NoteLinker:
    """Relates notes; `ids` maps paths to note ids. In a dry run it only counts, including notes without an id yet."""

    def __init__(
        self, engine: Engine, *, who: Caller, index: LinkIndex, ids: Mapping[str, str], dry_run: bool
    ) -> None:  # fmt: skip
        self._engine = engine
        self._who = who
        self._index = index
        self._ids = ids
        self._dry_run = dry_run
        self._other_notes: dict[str, str] = {}
        self._counted: set[frozenset[str]] = set()
        self.broken: list[tuple[str, str]] = []

    async def link(self, files: Sequence[FileLinks]) -> int:
        """Relate notes that are not related yet; returns the number of new links."""
        count = 0
        for start in range(0, len(files), _PAGE):
            new_links: dict[tuple[str, str], _NewLink] = {}
            for file in files[start : start + _PAGE]:
                await self._collect(file, new_links)
            if self._dry_run:
                # Two notes have at most one link, in either direction.
                pairs = {frozenset(pair) for pair in new_links} - self._counted
                self._counted |= pairs
                count += len(pairs - await self._related(pairs))
            else:
                count += await self._relate(new_links)
        return count

    async def _collect(self, file: FileLinks, new_links: dict[tuple[str, str], _NewLink]) -> None:
        own_id = self._ids[file.path]
        for link in file.links:
            other = await self._resolve(link.target, file.path)
            if other is None:
                if self._index.find_file(link.target, source=file.path) is None:
                    self.broken.append((file.path, link.target))
            elif other != own_id:
                new_link = new_links.setdefault((own_id, other), _NewLink(text=link.text, text_target=link.target))
                new_link.text_target = new_link.text_target if link.target in file.text_targets else ""

    async def _related(self, pairs: Iterable[Iterable[str]]) -> set[frozenset[str]]:
        """Return the pairs of notes that are already linked."""
        ends = list({end for pair in pairs for end in pair})
        relations = await self._engine.reader.relations(self._who.space, ends) if ends else []
        return {frozenset((relation.source, relation.target)) for relation in relations if relation.type == LINK}

    async def _resolve(self, target: str, path: str) -> str | None:
        """Return the id of the note that a link names, or None."""
        note_path = self._index.find_note(target, source=path)
        if note_path is not None and note_path in self._ids:
            return self._ids[note_path]
        key = key_of(target)
        if key not in self._other_notes:
            handles = await self._engine.reader.find(self._who.space, target[:_MAX_TEXT], state=State.LIVE)
            self._other_notes[key] = handles[0].id if len(handles) == 1 else ""
        return self._other_notes[key] or None

    async def _relate(self, new_links: Mapping[tuple[str, str], _NewLink]) -> int:
        if not new_links:
            return 0
        related = await self._related(new_links)
        memories = await self._engine.reader.get(self._who.space, list({end for pair in new_links for end in pair}))
        now = self._engine.clock.now()
        edges: list[Edge] = []
        for (source, target), new_link in new_links.items():
            pair = frozenset((source, target))
            if pair in related or not pair <= memories.keys():
                continue
            related.add(pair)
            text = " ".join(new_link.text.split())[:_MAX_TEXT]
            # A text that only repeats the name of the other note says nothing.
            text = "" if key_of(text) == key_of(memories[target].label) else text
            metadata = text_link_metadata(new_link.text_target)
            relation = Relation(source=source, target=target, text=text, metadata=metadata, created_at=now)
            edges.append(Edge(relation=relation, present=True))
        for start in range(0, len(edges), _PAGE):
            await self._engine.write_batch(Batch(edges=tuple(edges[start : start + _PAGE])), who=self._who)
        return len(edges)


def _without_steps(target: str) -> str:
    """Return a target without relative steps such as `../`."""
    return "/".join(part for part in target.replace("\\", "/").split("/") if part not in ("", ".", ".."))


def _file_key(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
