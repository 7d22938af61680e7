"""Attachments: files that notes embed as `![[picture.png|caption]]`, stored beside the notes and found by content.

Each has a memory of the kind `attachment` (scrubjay.model.media.ATTACHMENT) and a relation `embeds` from every note
that embeds it. That memory has no Markdown file of its own, and `embeds` does not count as a link.
"""

import asyncio
import io
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from scrubjay.cancelling import cancel
from scrubjay.engine import Engine
from scrubjay.errors import Conflict, EmbeddingUnavailable, InvalidInput, NotFound, ScrubjayError, StaleVersion
from scrubjay.lookup.branches import trunk_of
from scrubjay.lookup.references import resolve
from scrubjay.model.attachments import (
    EMBEDS,
    LARGEST_ATTACHMENT,
    Attached,
    Attachment,
    Orphan,
    Orphans,
    TakenEmbeds,
    attachment_from,
)
from scrubjay.model.caller import Caller
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Memory, State
from scrubjay.model.relation import Relation
from scrubjay.model.requests import Edit
from scrubjay.notes.attachments.extract import Extractor
from scrubjay.notes.attachments.records import AttachmentDraft, AttachmentRecords, caption_of
from scrubjay.notes.attachments.storage import AttachmentStorage, FileNames, StoredFile
from scrubjay.notes.files.folder import ATTACHMENTS
from scrubjay.notes.files.paths import quote_path
from scrubjay.notes.markdown.wiki import key_of, mentions
from scrubjay.ports import Edge
from scrubjay.text.screening.secrets import require_no_secret
from scrubjay.writing.batch import Batch
from scrubjay.writing.validate import text

__all__ = ["Attachments"]

# The agent of changes in the folder: undoing an agent's work must not undo what a person did there.
_AGENT = "file"
# Concurrent callers may attach the same bytes or change the same note.
_MAX_ATTEMPTS = 10
# Embedding a longer text would delay the edit of a note noticeably.
_MAX_INLINE_EMBEDDING = 20_000
_CHUNK = 1 << 18


class Attachments:
    """The attachments of the notes of a space, in the folder of those notes."""

    def __init__(
        self,
        engine: Engine,
        *,
        root: Path,
        space: str,
        largest: int = LARGEST_ATTACHMENT,
        extractor: Extractor | None = None,
    ) -> None:
        self._engine = engine
        self._space = space
        self._storage = AttachmentStorage(root, largest=largest)
        self._records = AttachmentRecords(engine, space=space)
        self._names = FileNames(self._storage)
        self._extractor = extractor or Extractor()
        self._taking = asyncio.Lock()
        # The ids of the notes that embed a missing file, by the key of its name.
        self._waiting: dict[str, set[str]] = {}
        # The event loop holds only weak references to tasks.
        self._embedding_tasks: set[asyncio.Task[None]] = set()

    async def attach(
        self,
        note: str,
        *,
        who: Caller,
        path: Path | None = None,
        data: bytes | None = None,
        name: str = "",
        caption: str = "",
    ) -> Attached:
        """Store a file beside the notes and embed it in a note; equal files are stored once."""
        self._require_own(who)
        for field, value in (("name", name), ("caption", caption)):
            text(value, field=field, limit=self._engine.limits.text_bytes)
        source = await asyncio.to_thread(_open, path, data)
        with source:
            title = require_no_secret(_title_of(name or (path.name if path is not None else "")), field="name")
            memory = await self._note(note)
            received = await asyncio.to_thread(self._storage.receive, source, name=title)
        try:
            existing = await self._records.by_hash(received.sha256)
            if existing is not None and await self._has_file(existing):
                stored = StoredFile(
                    file=str(existing.metadata["file"]), sha256=received.sha256, size=received.size,
                    sniffed=received.sniffed,
                )  # fmt: skip
                await asyncio.to_thread(self._storage.discard, received)
            else:
                stored = await asyncio.to_thread(self._storage.settle, received)
                if existing is not None:
                    await self._records.record_move(existing, stored.file, who=who)
        except BaseException:
            await asyncio.to_thread(self._storage.discard, received)
            raise
        self._names.forget()
        try:
            draft = await self._draft(stored, title=title, caption=caption_of(caption))
            return await self._store_attachment(memory, draft, existing=existing, who=who)
        except ScrubjayError:
            # A refused file is removed, unless another caller has attached it in the meantime.
            if existing is None and await self._records.by_hash(stored.sha256) is None:
                await asyncio.to_thread(self._storage.remove, stored)
            raise

    async def note(self, ref: str) -> str:
        """Return the id of the note with a reference."""
        return (await self._note(ref)).id

    async def attachments_of(self, note: str, *, who: Caller) -> tuple[Attachment, ...]:
        """List the attachments of a note in the order in which they were added."""
        self._require_own(who)
        memory = await self._note(note)
        ids = [relation.target for relation in await self._embeds_of(memory.id)]
        memories = await self._engine.reader.get(self._space, ids)
        attachments = [await self._attachment_of(memories[id_]) for id_ in ids if id_ in memories]
        return tuple(attachment for attachment in attachments if attachment)

    async def attachment(self, ref: str, *, who: Caller) -> Attachment:
        """Return the attachment with the id, name or title of its memory."""
        self._require_own(who)
        memory = await resolve(self._engine.reader, ref, space=self._space)
        attachment = await self._attachment_of(memory)
        if attachment is None:
            raise NotFound(f"{memory.label!r} is not an attachment", hint="List a note's attachments by the note's id")
        return attachment

    @asynccontextmanager
    async def content(self, ref: str, *, who: Caller) -> AsyncGenerator[tuple[Attachment, AsyncIterator[bytes]]]:
        """Open an attachment and yield it with a stream of its bytes."""
        attachment = await self.attachment(ref, who=who)
        opening = self._storage.open_file(attachment.file)
        stream = await asyncio.to_thread(opening.__enter__)
        try:
            yield attachment, _read_chunks(stream)
        finally:
            await asyncio.to_thread(opening.__exit__, None, None, None)

    async def orphans(self) -> Orphans:
        """List attachments without a note or without their file, and files without a memory."""
        orphans: list[Orphan] = []
        files: set[str] = set()
        async for memory in self._records.all():
            entry = await self._attachment_of(memory)
            if entry is None:
                continue
            files.add(entry.file)
            if entry.path is None:
                orphans.append(Orphan(why="its file is missing", file=entry.file, id=entry.id, bytes=entry.bytes))
            elif not await self._is_embedded(memory.id):
                orphans.append(Orphan(why="no note embeds it", file=entry.file, id=entry.id, bytes=entry.bytes))
        present = await asyncio.to_thread(lambda: list(self._storage.files()))
        trashed = {str(memory.metadata.get("file")): memory.id async for memory in self._records.all(State.TRASHED)}
        orphans += [
            Orphan(
                why="its memory is in the trash" if file.path in trashed else "no memory describes it",
                file=file.path, id=trashed.get(file.path, ""), bytes=file.size,
            )
            for file in present
            if file.path.startswith(f"{ATTACHMENTS}/") and file.path not in files
        ]  # fmt: skip
        return Orphans(orphans=tuple(orphans))

    async def erase(self, purged: Iterable[Memory]) -> None:
        """Remove the files of purged attachments that were stored here, unless another memory describes them."""
        for memory in purged:
            file, sha256 = str(memory.metadata.get("file")), str(memory.metadata.get("sha256"))
            if memory.kind != ATTACHMENT or not file.startswith(f"{ATTACHMENTS}/"):
                continue
            stored = await asyncio.to_thread(self._storage.find, file)
            if stored is not None and stored.sha256 == sha256 and not await self._records.is_described(stored):
                await asyncio.to_thread(self._storage.remove, stored)
        self._names.forget()

    async def take_embeds(self, memory: Memory, content: str, *, who: Caller | None = None) -> TakenEmbeds:
        """Update the relations `embeds` of a note to match its text; files become attachments at their paths.

        This changes neither the note nor any file. Embeds of Markdown notes are handled as links elsewhere.
        """
        # Serialised, because two notes may embed the same new file.
        async with self._taking:
            return await self._take_embeds(memory, content, who=who or self._self)

    async def appeared(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Follow files that were added, removed or changed, and attach those that notes were waiting for.

        Returns the ids of these notes.
        """
        changed = tuple(dict.fromkeys(paths))
        for path in changed:
            memory = await self._records.by_file(path)
            if memory is not None:
                await self._follow(memory, compare_bytes=True)
        names = {key_of(path.rpartition("/")[2]) for path in changed}
        waiting = {note for name in names for note in self._waiting.pop(name, ())}
        if not waiting:
            return ()
        self._names.forget()
        notes = await self._engine.reader.get(self._space, sorted(waiting))
        live = [memory for memory in notes.values() if memory.state is State.LIVE]
        for memory in live:
            await self.take_embeds(memory, memory.content)
        return tuple(memory.id for memory in live)

    async def follow(self) -> int:
        """Find moved files and read changed ones; returns the number of both."""
        count = 0
        self._names.forget()
        async for memory in self._records.all():
            count += await self._follow(memory)
        return count

    async def close(self) -> None:
        """Cancel the embedding tasks."""
        await cancel(*self._embedding_tasks)

    @property
    def _self(self) -> Caller:
        return Caller(space=self._space, agent=_AGENT)

    async def _take_embeds(self, memory: Memory, content: str, *, who: Caller) -> TakenEmbeds:
        missing: list[str] = []
        warnings: list[str] = []
        captions: dict[str, str] = {}
        for mention in mentions(content):
            if not mention.embeds:
                continue
            file = await asyncio.to_thread(self._names.find, mention.target)
            caption = caption_of(mention.text)
            if file is None:
                missing += [mention.target] if self._names.names_a_file(mention.target) else []
                # A missing file, for example in a newly moved folder, stays embedded.
                if stored := await self._find_embedded(memory.id, mention.target):
                    captions[stored] = captions.get(stored) or caption
                continue
            try:
                attachment, warning = await self._take(file, caption=caption, who=who)
            except ScrubjayError as error:
                warnings.append(f"{quote_path(file)} was not attached: {error.message}")
                continue
            warnings += [f"{quote_path(file)}: {warning}"] if warning else []
            captions[attachment] = captions.get(attachment) or caption
        await self._update_relations(memory, captions, who=who)
        for target in missing:
            self._waiting.setdefault(key_of(target.rpartition("/")[2]), set()).add(memory.id)
        return TakenEmbeds(attached=tuple(captions), missing=tuple(missing), warnings=tuple(warnings))

    async def _find_embedded(self, note: str, target: str) -> str:
        """Return the id of the attachment that a note already embeds under a file name, or an empty text."""
        ids = [relation.target for relation in await self._embeds_of(note)]
        memories = await self._engine.reader.get(self._space, ids)
        name = key_of(target.rpartition("/")[2])
        files = {memory.id: str(memory.metadata.get("file") or "") for memory in memories.values()}
        return next((id_ for id_, file in files.items() if key_of(file.rpartition("/")[2]) == name), "")

    async def _update_relations(self, memory: Memory, captions: dict[str, str], *, who: Caller) -> None:
        """Create, change and remove relations to match the captions."""
        before = {item.target: item.text for item in await self._embeds_of(memory.id)}
        after = {item: self._records.edge(memory.id, item, caption=caption) for item, caption in captions.items()}
        edges = [Edge(relation=edge, present=True) for item, edge in after.items() if before.get(item) != edge.text]
        gone = [item for item in await self._embeds_of(memory.id) if item.target not in after]
        edges += [Edge(relation=item, present=False) for item in gone]
        if edges:
            await self._engine.write_batch(Batch(edges=tuple(edges)), who=who)

    async def _take(self, file: str, *, caption: str, who: Caller) -> tuple[str, str]:
        """Create or update the attachment of a file in the folder; returns its id and a warning."""
        stored = await asyncio.to_thread(self._storage.find, file)
        if stored is None:
            raise NotFound("the file no longer exists")
        existing = await self._records.by_hash(stored.sha256)
        if existing is not None:
            if existing.metadata.get("file") != file and not await self._has_file(existing):
                await self._records.record_move(existing, file, who=who)
            if caption and existing.metadata.get("caption") != caption:
                fresh = await self._engine.reader.get(self._space, [existing.id])
                await self._records.change_caption(fresh[existing.id], caption, who=who)
            return existing.id, ""
        draft = await self._draft(stored, title=file.rpartition("/")[2], caption=caption)
        former = await self._records.by_file(file)
        if former is not None:
            await self._records.record_change(former, draft, who=who)
            memory_id = former.id
        else:
            new = self._records.new(draft, agent=_AGENT)
            batch = Batch(new=(new,), message=f"found as {file}")
            is_long = len(new.draft.text) > _MAX_INLINE_EMBEDDING
            await self._engine.write_batch(batch, who=who, embed=not is_long)
            memory_id = new.id
        self._embed_later(memory_id)
        return memory_id, "; ".join(part for part in (stored.sniffed.remark, draft.extracted.warning) if part)

    async def _follow(self, memory: Memory, *, compare_bytes: bool = False) -> bool:
        """Find the file of an attachment if it was moved, and read it if it was changed.

        A file of the same size counts as unchanged, unless `compare_bytes`.
        """
        file, size = str(memory.metadata.get("file") or ""), memory.metadata.get("bytes")
        now = await asyncio.to_thread(self._storage.size_of, file)
        if now is not None:
            with suppress(ScrubjayError):
                return (compare_bytes or now != size) and await self._reread_changed(memory, file)
        elif isinstance(size, int):
            if compare_bytes:
                self._names.forget()
            digest = str(memory.metadata.get("sha256") or "")
            if moved := await asyncio.to_thread(self._names.with_bytes, digest, size=size):
                await self._records.record_move(memory, moved, who=self._self)
                return True
        return False

    async def _reread_changed(self, memory: Memory, file: str) -> bool:
        stored = await asyncio.to_thread(self._storage.find, file)
        if stored is None or stored.sha256 == memory.metadata.get("sha256"):
            return False
        caption = str(memory.metadata.get("caption") or "")
        draft = await self._draft(stored, title=memory.title, caption=caption)
        await self._records.record_change(memory, draft, who=self._self)
        self._embed_later(memory.id)
        return True

    def _embed_later(self, memory_id: str) -> None:
        """Embed a picture or a long text in the background; a later run completes unfinished work."""

        async def embed() -> None:
            with suppress(ScrubjayError):
                await self._engine.embed_memories([memory_id], who=self._self)

        task = asyncio.create_task(embed())
        self._embedding_tasks.add(task)
        task.add_done_callback(self._embedding_tasks.discard)

    async def _store_attachment(
        self, note: Memory, draft: AttachmentDraft, *, existing: Memory | None, who: Caller
    ) -> Attached:
        """Store the memory of a file, the relation to it, and the note with its embed in one transaction."""
        action = "known" if existing else "created"
        for _ in range(_MAX_ATTEMPTS):
            new = None if existing else self._records.new(draft, agent=who.agent)
            memory_id = existing.id if existing else new.id if new else ""
            edge = Edge(relation=self._records.edge(note.id, memory_id, caption=draft.caption), present=True)
            edits = self._embedding(note, draft)
            batch = Batch(
                new=(new,) if new else (), edits=edits, edges=(edge,), message=f"attached {draft.title}"[:300]
            )  # fmt: skip
            try:
                await self._engine.write_batch(batch, who=who)
            except Conflict:
                # The note has a newer version, or another caller attached the same bytes.
                note = await self._note(note.id)
                existing = await self._records.by_hash(draft.stored.sha256)
                continue
            break
        else:
            raise StaleVersion(f"{note.label!r} is being changed too fast", hint="Try again", memory_id=note.id)
        if existing and draft.caption and existing.metadata.get("caption") != draft.caption:
            fresh = await self._engine.reader.get(self._space, [existing.id])
            await self._records.change_caption(fresh[existing.id], draft.caption, who=who)
        with suppress(EmbeddingUnavailable):
            await self._engine.embed_memories([memory_id], who=who)
        attachment = await self._attachment_of((await self._engine.reader.get(self._space, [memory_id]))[memory_id])
        assert attachment is not None
        warnings = tuple(part for part in (draft.stored.sniffed.remark, draft.extracted.warning) if part)
        return Attached(action=action, note=note.id, attachment=attachment, warnings=warnings)

    def _embedding(self, note: Memory, draft: AttachmentDraft) -> tuple[tuple[Memory, Edit], ...]:
        """Return the edit that appends the embed to a note, or sets the caption of an existing embed."""
        target = draft.stored.file.rpartition("/")[2]
        embed = f"![[{target}|{draft.caption}]]" if draft.caption else f"![[{target}]]"
        existing = [
            mention
            for mention in mentions(note.content)
            if mention.embeds and mention.target.rpartition("/")[2].casefold() == target.casefold()
        ]
        if existing and (not draft.caption or any(caption_of(item.text) == draft.caption for item in existing)):
            return ()
        before = note.content.rstrip("\n")
        content = f"{before}\n\n{embed}" if before else embed
        if existing:
            content = f"{note.content[: existing[0].start]}{embed}{note.content[existing[0].end :]}"
        return ((note, Edit(fields={"content": content}, message=f"attached {draft.title}"[:300])),)

    async def _draft(self, stored: StoredFile, *, title: str, caption: str) -> AttachmentDraft:
        opening = self._storage.open_file(stored.file)
        stream = await asyncio.to_thread(opening.__enter__)
        try:
            extracted = await self._extractor.text_of(stream, media_type=stored.sniffed.type)
        finally:
            await asyncio.to_thread(opening.__exit__, None, None, None)
        return AttachmentDraft(stored=stored, title=title, caption=caption, extracted=extracted)

    async def _note(self, ref: str) -> Memory:
        memory = await trunk_of(self._engine.reader, await resolve(self._engine.reader, ref, space=self._space))
        if memory.kind == ATTACHMENT:
            raise InvalidInput(f"{memory.label!r} is an attachment itself", hint="Name a note", field="note")
        return memory

    async def _embeds_of(self, note: str) -> list[Relation]:
        relations = await self._engine.reader.relations(self._space, [note])
        return [relation for relation in relations if relation.type == EMBEDS and relation.source == note]

    async def _is_embedded(self, attachment: str) -> bool:
        relations = await self._engine.reader.relations(self._space, [attachment])
        notes = [relation.source for relation in relations if relation.type == EMBEDS and relation.target == attachment]
        memories = (await self._engine.reader.get(self._space, notes)).values()
        return any(memory.state is State.LIVE for memory in memories)

    async def _has_file(self, memory: Memory) -> bool:
        file = str(memory.metadata.get("file") or "")
        return await asyncio.to_thread(self._storage.size_of, file) == memory.metadata.get("bytes")

    async def _attachment_of(self, memory: Memory) -> Attachment | None:
        file = str(memory.metadata.get("file") or "")
        size = await asyncio.to_thread(self._storage.size_of, file)
        return attachment_from(memory, path=None if size is None else self._storage.root / file)

    def _require_own(self, who: Caller) -> None:
        if who.space != self._space:
            raise InvalidInput(
                f"only the notes of the space {self._space!r} have files beside them, not those of {who.space!r}",
                hint="Start the server with that space, or attach to a note of this one",
                field="space",
            )


def _open(path: Path | None, data: bytes | None) -> BinaryIO:
    """Open the file to attach; refuses pipes and devices without waiting for them."""
    if (path is None) == (data is None):
        raise InvalidInput("give either a path or data", field="file")
    if path is None:
        return io.BytesIO(data or b"")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", field="file") from error
    stream = os.fdopen(descriptor, "rb") if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    if stream is None:
        os.close(descriptor)
        raise InvalidInput(f"{path} is not a file", field="file")
    return stream


def _title_of(name: str) -> str:
    """Return the last part of a name, cleaned for a title."""
    last = name.replace("\\", "/").rpartition("/")[2]
    tidy = " ".join("".join(character if character.isprintable() else " " for character in last).split())
    return tidy[:200] or "file"


async def _read_chunks(stream: BinaryIO) -> AsyncIterator[bytes]:
    while chunk := await asyncio.to_thread(stream.read, _CHUNK):
        yield chunk
