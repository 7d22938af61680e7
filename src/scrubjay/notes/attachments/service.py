"""Files that notes embed, as `![[picture.png|caption]]`: kept beside the notes, and found by what they say.

Each is a memory of the kind `attachment` (scrubjay.model.media.ATTACHMENT), with the relation `embeds` from every note
that embeds it. It is a file already: it gets no Markdown file of its own, and `embeds` is no link.
"""

import asyncio
import io
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from scrubjay.engine import Engine
from scrubjay.errors import Conflict, InvalidInput, NotFound, ScrubjayError, StaleVersion
from scrubjay.lookup.branches import trunk_of
from scrubjay.lookup.references import resolve
from scrubjay.model.draft import Caller, Edit
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Memory, State
from scrubjay.model.relation import Relation
from scrubjay.notes.attachments.extract import Extracted, Extractor
from scrubjay.notes.attachments.lookup import FileNames
from scrubjay.notes.attachments.records import Card, Cards, caption_of
from scrubjay.notes.attachments.results import (
    EMBEDS,
    LARGEST_ATTACHMENT,
    Attached,
    Attachment,
    Orphan,
    Orphans,
    TakenEmbeds,
    attachment_from,
)
from scrubjay.notes.attachments.storage import AttachmentStorage, Received, Stored
from scrubjay.notes.files.folder import ATTACHMENTS
from scrubjay.notes.files.paths import quote_path
from scrubjay.notes.markdown.wiki import key_of, mentions
from scrubjay.ports import Edge
from scrubjay.writing.batch import Batch
from scrubjay.writing.validate import text

__all__ = ["Attachments"]

# Who follows the files; undo of an agent's work must not take back what a person did in the folder.
_AGENT = "file"
# Two may attach the same bytes, or change the same note, at the same time.
_TRIES = 10
# A text of so many characters takes longer to embed than anybody who edits a note should wait.
_LONG = 20_000
_CHUNK = 1 << 18


class Attachments:
    """The attachments of the notes of one space, in the folder of those notes."""

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
        self._depot = AttachmentStorage(root, largest=largest)
        self._cards = Cards(engine, space=space)
        self._names = FileNames(self._depot)
        self._extractor = extractor or Extractor()
        self._taking = asyncio.Lock()
        # By the key of its name, who embeds a file that is not there.
        self._wanted: dict[str, set[str]] = {}
        # Kept here, because the event loop holds tasks only weakly.
        self._embedding_now: set[asyncio.Task[None]] = set()

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
        """Keep a file beside the notes and embed it in one of them; the same bytes are kept once."""
        self._require_own(who)
        for field, inputs in (("name", name), ("caption", caption)):
            text(inputs, field=field, limit=self._engine.limits.text_bytes)
        source = await asyncio.to_thread(_opened, path, data)
        with source:
            called = _called(name or (path.name if path is not None else ""))
            memory = await self._note(note)
            received = await asyncio.to_thread(self._depot.receive, source, name=called)
        try:
            existing = await self._cards.by_hash(received.sha256)
            if existing is not None and await self._is_there(existing):
                stored = _as_stored(existing, received)
                await asyncio.to_thread(self._depot.discard, received)
            else:
                stored = await asyncio.to_thread(self._depot.settle, received)
                if existing is not None:
                    await self._cards.moved(existing, stored.file, who=who)
        except BaseException:
            await asyncio.to_thread(self._depot.discard, received)
            raise
        self._names.forget()
        try:
            card = await self._card(stored, title=called, caption=caption_of(caption))
            return await self._attached(memory, card, known=existing, who=who)
        except ScrubjayError:
            # What may not be kept leaves nothing behind; a file that somebody else attached meanwhile is theirs.
            if existing is None and await self._cards.by_hash(stored.sha256) is None:
                await asyncio.to_thread(self._depot.remove, stored)
            raise

    async def note(self, ref: str) -> str:
        """The id of the note that answers to a reference."""
        return (await self._note(ref)).id

    async def attachments_of(self, note: str, *, who: Caller) -> tuple[Attachment, ...]:
        """What a note embeds, in the order in which it came to it."""
        self._require_own(who)
        memory = await self._note(note)
        ids = [item.target for item in await self._embedded(memory.id)]
        results = await self._engine.store.get(self._space, ids)
        return tuple([reported for id_ in ids if id_ in results and (reported := await self._told(results[id_]))])

    async def attachment(self, ref: str, *, who: Caller) -> Attachment:
        """One attachment by the id, name or title of its memory."""
        self._require_own(who)
        memory = await resolve(self._engine.store, ref, space=self._space)
        results = await self._told(memory)
        if results is None:
            raise NotFound(f"{memory.label!r} is no attachment", hint="A note's attachments are listed by its id")
        return results

    @asynccontextmanager
    async def content(self, ref: str, *, who: Caller) -> AsyncGenerator[tuple[Attachment, AsyncIterator[bytes]]]:
        """An attachment and its bytes, piece by piece, for as long as this lasts."""
        results = await self.attachment(ref, who=who)
        opening = self._depot.opened(results.file)
        stream = await asyncio.to_thread(opening.__enter__)
        try:
            yield results, _pieces(stream)
        finally:
            await asyncio.to_thread(opening.__exit__, None, None, None)

    async def orphans(self) -> Orphans:
        """Attachments that no note embeds or whose file is gone, and files that nothing knows of."""
        results: list[Orphan] = []
        files: set[str] = set()
        async for memory in self._cards.all():
            entry = await self._told(memory)
            if entry is None:
                continue
            files.add(entry.file)
            if entry.path is None:
                results.append(Orphan(why="its file is gone", file=entry.file, id=entry.id, bytes=entry.bytes))
            elif not await self._embedders(memory.id):
                results.append(Orphan(why="no note embeds it", file=entry.file, id=entry.id, bytes=entry.bytes))
        seen = await asyncio.to_thread(lambda: list(self._depot.files()))
        results += [
            Orphan(why="nothing knows of it", file=item.path, bytes=item.size)
            for item in seen
            if item.path.startswith(f"{ATTACHMENTS}/") and item.path not in files
        ]
        return Orphans(orphans=tuple(results))

    async def take_embeds(self, memory: Memory, content: str) -> TakenEmbeds:
        """Have the relations `embeds` of a note be what its text says; files are taken in where they are.

        Neither the note nor any file is changed. What names a Markdown note is left to whoever follows links.
        """
        # One after the other: two notes may embed the same new file.
        async with self._taking:
            return await self._take_embeds(memory, content)

    async def appeared(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Files have come, gone or changed: attachments follow them, and notes get what they embed and was missing.

        Returns the ids of these notes.
        """
        seen = tuple(dict.fromkeys(paths))
        for path in seen:
            card = await self._cards.by_file(path)
            if card is not None:
                await self._followed(card, sure=True)
        names = {key_of(path.rpartition("/")[2]) for path in seen}
        wanting = {item for name in names for item in self._wanted.pop(name, ())}
        if not wanting:
            return ()
        self._names.forget()
        notes = await self._engine.store.get(self._space, sorted(wanting))
        live = [memory for memory in notes.values() if memory.state is State.LIVE]
        for memory in live:
            await self.take_embeds(memory, memory.content)
        return tuple(memory.id for memory in live)

    async def follow(self) -> int:
        """Find files again that were moved, and take in those that were changed; returns how many there were."""
        count = 0
        self._names.forget()
        async for memory in self._cards.all():
            count += await self._followed(memory)
        return count

    async def close(self) -> None:
        """Let go of what is being embedded."""
        for task in self._embedding_now:
            task.cancel()
        await asyncio.gather(*self._embedding_now, return_exceptions=True)

    @property
    def _self(self) -> Caller:
        return Caller(space=self._space, agent=_AGENT)

    async def _take_embeds(self, memory: Memory, content: str) -> TakenEmbeds:
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
                # A file that is away, as in a folder that the notes have just come to, is embedded all the same.
                if stored := await self._bound(memory.id, mention.target):
                    captions[stored] = captions.get(stored) or caption
                continue
            try:
                attachment, warning = await self._taken(file, caption=caption)
            except ScrubjayError as error:
                warnings.append(f"{quote_path(file)} was not taken in: {error.message}")
                continue
            warnings += [f"{quote_path(file)}: {warning}"] if warning else []
            captions[attachment] = captions.get(attachment) or caption
        await self._bind(memory, captions)
        for target in missing:
            self._wanted.setdefault(key_of(target.rpartition("/")[2]), set()).add(memory.id)
        return TakenEmbeds(attached=tuple(captions), missing=tuple(missing), warnings=tuple(warnings))

    async def _bound(self, note: str, target: str) -> str:
        """The attachment that a note has by the name of its file, or nothing."""
        results = await self._engine.store.get(self._space, [item.target for item in await self._embedded(note)])
        name = key_of(target.rpartition("/")[2])
        files = {item.id: str(item.metadata.get("file") or "") for item in results.values()}
        return next((item for item, file in files.items() if key_of(file.rpartition("/")[2]) == name), "")

    async def _bind(self, memory: Memory, captions: dict[str, str]) -> None:
        """Make, change and remove relations until they are those."""
        before = {item.target: item.text for item in await self._embedded(memory.id)}
        after = {item: self._cards.edge(memory.id, item, caption=caption) for item, caption in captions.items()}
        edges = [Edge(relation=edge, present=True) for item, edge in after.items() if before.get(item) != edge.text]
        gone = [item for item in await self._embedded(memory.id) if item.target not in after]
        edges += [Edge(relation=item, present=False) for item in gone]
        if edges:
            await self._engine.write_batch(Batch(edges=tuple(edges)), who=self._self)

    async def _taken(self, file: str, *, caption: str) -> tuple[str, str]:
        """The id of the attachment that a file of the folder is, made or brought up to date; and what is odd."""
        stored = await asyncio.to_thread(self._depot.stored, file)
        if stored is None:
            raise NotFound("it is gone again")
        existing = await self._cards.by_hash(stored.sha256)
        if existing is not None:
            if existing.metadata.get("file") != file and not await self._is_there(existing):
                await self._cards.moved(existing, file, who=self._self)
            if caption and existing.metadata.get("caption") != caption:
                fresh = await self._engine.store.get(self._space, [existing.id])
                await self._cards.recaptioned(fresh[existing.id], caption, who=self._self)
            return existing.id, ""
        card = await self._card(stored, title=file.rpartition("/")[2], caption=caption)
        former = await self._cards.by_file(file)
        if former is not None:
            await self._cards.changed(former, card, who=self._self)
            memory_id = former.id
        else:
            new = self._cards.new(card, agent=_AGENT)
            batch = Batch(new=(new,), message=f"found as {file}")
            is_long = len(new.draft.text) > _LONG
            await self._engine.write_batch(batch, who=self._self, embed=not is_long)
            memory_id = new.id
        self._embed_later(memory_id)
        return memory_id, "; ".join(part for part in (stored.sniffed.remark, card.extracted.warning) if part)

    async def _followed(self, memory: Memory, *, sure: bool = False) -> bool:
        """Find the file of an attachment again if it was moved, and take it in if it was changed.

        One of the same size is taken to be the same, unless `sure` has its bytes looked at.
        """
        file, size = str(memory.metadata.get("file") or ""), memory.metadata.get("bytes")
        now = await asyncio.to_thread(self._depot.size_of, file)
        if now is not None:
            with suppress(ScrubjayError):
                return (sure or now != size) and await self._rewritten(memory, file)
        elif isinstance(size, int):
            if sure:
                self._names.forget()
            digest = str(memory.metadata.get("sha256") or "")
            if moved := await asyncio.to_thread(self._names.with_bytes, digest, size=size):
                await self._cards.moved(memory, moved, who=self._self)
                return True
        return False

    async def _rewritten(self, memory: Memory, file: str) -> bool:
        stored = await asyncio.to_thread(self._depot.stored, file)
        if stored is None or stored.sha256 == memory.metadata.get("sha256"):
            return False
        caption = str(memory.metadata.get("caption") or "")
        card = await self._card(stored, title=memory.title, caption=caption)
        await self._cards.changed(memory, card, who=self._self)
        self._embed_later(memory.id)
        return True

    def _embed_later(self, memory_id: str) -> None:
        """Embed a picture, or a long text, while the notes go on; what is not done by the end is made up for later."""
        task = asyncio.create_task(self._embed(memory_id))
        self._embedding_now.add(task)
        task.add_done_callback(self._embedding_now.discard)

    async def _embed(self, memory_id: str) -> None:
        with suppress(ScrubjayError):
            await self._engine.embed_some([memory_id], who=self._self)

    async def _attached(self, note: Memory, card: Card, *, known: Memory | None, who: Caller) -> Attached:
        """Store the memory of a file, the relation to it, and the note with its embed, all at once."""
        action = "known" if known else "created"
        for _ in range(_TRIES):
            new = None if known else self._cards.new(card, agent=who.agent)
            memory_id = known.id if known else new.id if new else ""
            edge = Edge(relation=self._cards.edge(note.id, memory_id, caption=card.caption), present=True)
            edits = self._embedding(note, card)
            batch = Batch(
                new=(new,) if new else (), edits=edits, edges=(edge,), message=f"attached {card.title}"[:300]
            )  # fmt: skip
            try:
                await self._engine.write_batch(batch, who=who)
            except Conflict:
                # The note has moved on, or somebody attached the same bytes a moment ago.
                note = await self._note(note.id)
                known = await self._cards.by_hash(card.stored.sha256)
                continue
            break
        else:
            raise StaleVersion(f"{note.label!r} is being changed too fast", hint="Try again", memory_id=note.id)
        if known and card.caption and known.metadata.get("caption") != card.caption:
            fresh = await self._engine.store.get(self._space, [known.id])
            await self._cards.recaptioned(fresh[known.id], card.caption, who=who)
        await self._engine.embed_some([memory_id], who=who)
        reported = await self._told((await self._engine.store.get(self._space, [memory_id]))[memory_id])
        assert reported is not None
        odd = tuple(part for part in (card.stored.sniffed.remark, card.extracted.warning) if part)
        return Attached(action=action, note=note.id, attachment=reported, warnings=odd)

    def _embedding(self, note: Memory, card: Card) -> tuple[tuple[Memory, Edit], ...]:
        """The edit that puts the embed at the end of a note; one that stands there gets the caption, if any."""
        target = card.stored.file.rpartition("/")[2]
        embed = f"![[{target}|{card.caption}]]" if card.caption else f"![[{target}]]"
        existing = [
            mention
            for mention in mentions(note.content)
            if mention.embeds and mention.target.rpartition("/")[2].casefold() == target.casefold()
        ]
        if existing and (not card.caption or any(caption_of(item.text) == card.caption for item in existing)):
            return ()
        before = note.content.rstrip("\n")
        content = f"{before}\n\n{embed}" if before else embed
        if existing:
            content = f"{note.content[: existing[0].start]}{embed}{note.content[existing[0].end :]}"
        return ((note, Edit(fields={"content": content}, message=f"attached {card.title}"[:300])),)

    async def _card(self, stored: Stored, *, title: str, caption: str) -> Card:
        extracted = await self._extracted(stored)
        return Card(stored=stored, title=title, caption=caption, extracted=extracted)

    async def _extracted(self, stored: Stored) -> Extracted:
        opening = self._depot.opened(stored.file)
        stream = await asyncio.to_thread(opening.__enter__)
        try:
            return await self._extractor.text_of(stream, media_type=stored.sniffed.type)
        finally:
            await asyncio.to_thread(opening.__exit__, None, None, None)

    async def _note(self, ref: str) -> Memory:
        memory = await trunk_of(self._engine.store, await resolve(self._engine.store, ref, space=self._space))
        if memory.kind == ATTACHMENT:
            raise InvalidInput(f"{memory.label!r} is an attachment itself", hint="Name a note", field="note")
        return memory

    async def _embedded(self, note: str) -> list[Relation]:
        relations = await self._engine.store.relations(self._space, [note])
        return [relation for relation in relations if relation.type == EMBEDS and relation.source == note]

    async def _embedders(self, attachment: str) -> bool:
        relations = await self._engine.store.relations(self._space, [attachment])
        notes = [relation.source for relation in relations if relation.type == EMBEDS and relation.target == attachment]
        results = (await self._engine.store.get(self._space, notes)).values()
        return any(memory.state is State.LIVE for memory in results)

    async def _is_there(self, memory: Memory) -> bool:
        file = str(memory.metadata.get("file") or "")
        return await asyncio.to_thread(self._depot.size_of, file) == memory.metadata.get("bytes")

    async def _told(self, memory: Memory) -> Attachment | None:
        file = str(memory.metadata.get("file") or "")
        size = await asyncio.to_thread(self._depot.size_of, file)
        return attachment_from(memory, path=None if size is None else self._depot.root / file)

    def _require_own(self, who: Caller) -> None:
        if who.space != self._space:
            raise InvalidInput(
                f"only the notes of the space {self._space!r} have files beside them, not those of {who.space!r}",
                hint="Start the server with that space, or attach to a note of this one",
                field="space",
            )


def _opened(path: Path | None, data: bytes | None) -> BinaryIO:
    """What is to be attached, open for reading; a pipe or a device is refused, and never waited for."""
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
        raise InvalidInput(f"{path} is no file", field="file")
    return stream


def _called(name: str) -> str:
    """The last part of a name, as a title can have it."""
    last = name.replace("\\", "/").rpartition("/")[2]
    tidy = " ".join("".join(item if item.isprintable() else " " for item in last).split())
    return tidy[:200] or "file"


def _as_stored(known: Memory, received: Received) -> Stored:
    return Stored(
        file=str(known.metadata["file"]), sha256=received.sha256, size=received.size, sniffed=received.sniffed
    )


async def _pieces(stream: BinaryIO) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(stream.read, _CHUNK):
        yield piece
