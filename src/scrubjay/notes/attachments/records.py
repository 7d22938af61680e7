"""The memories that stand for attached files: how they are found, made, and kept true."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from scrubjay.engine import Engine
from scrubjay.model.draft import Caller, Draft, Edit
from scrubjay.model.identity import new_id
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Json, Memory, Method, Source, Trust
from scrubjay.model.query import Filter
from scrubjay.model.relation import Relation
from scrubjay.notes.attachments.extract import Extracted
from scrubjay.notes.attachments.results import EMBEDS
from scrubjay.notes.attachments.storage import Stored
from scrubjay.text.slug import slug
from scrubjay.writing.batch import NewMemory

__all__ = ["Card", "Cards", "caption_of"]

_PAGE = 500
_MOST_TITLE = 200
_MOST_CAPTION = 2_000
_MOST_LABEL = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What is told of a file in its memory."""

    stored: Stored
    title: str
    caption: str
    extracted: Extracted

    @property
    def facts(self) -> dict[str, Json]:
        """The metadata."""
        return {
            "media_type": self.stored.sniffed.type,
            "bytes": self.stored.size,
            "sha256": self.stored.sha256,
            "file": self.stored.file,
            "caption": self.caption,
        }

    def content(self, *, most: int) -> str:
        """The caption, and under it what the file says, as far as a memory may be long."""
        whole = "\n\n".join(part for part in (self.caption, self.extracted.text) if part)
        return whole.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")


class Cards:
    """The memories of attachments in one space."""

    def __init__(self, engine: Engine, *, space: str) -> None:
        self._engine = engine
        self.space = space

    async def by_hash(self, sha256: str) -> Memory | None:
        """The live memory of these very bytes."""
        return await self._first("sha256", sha256)

    async def by_file(self, file: str) -> Memory | None:
        """The live memory of what lies, or lay, under a path."""
        return await self._first("file", file)

    async def all(self) -> AsyncIterator[Memory]:
        """Every live one."""
        after: str | None = None
        while ids := await self._engine.store.list_ids(self.space, Filter(kind=ATTACHMENT), limit=_PAGE, after=after):
            for memory in (await self._engine.store.get(self.space, ids)).values():
                yield memory
            after = ids[-1]

    def new(self, card: Card, *, agent: str) -> NewMemory:
        """The memory that is to be made of a file. Its text is a document's word, whoever attaches it."""
        name = f"{slug(card.title)[:40].strip('-') or 'file'}-{card.stored.sha256[:12]}"
        source = Source(method=Method.FILE, agent=agent, trust=Trust.DOCUMENT)
        return NewMemory(
            draft=Draft(
                text=card.content(most=self._engine.limits.text_bytes),
                title=" ".join(card.title.split())[:_MOST_TITLE],
                name=name,
                kind=ATTACHMENT,
                intent="new",
                source=source,
                metadata=card.facts,
            ),
            id=new_id(),
        )

    def edge(self, note: str, attachment: str, *, caption: str) -> Relation:
        """That a note embeds it."""
        return Relation(
            source=note,
            target=attachment,
            type=EMBEDS,
            text=" ".join(caption.split())[:_MOST_LABEL],
            created_at=self._engine.clock.now(),
        )

    async def moved(self, memory: Memory, file: str, *, who: Caller) -> None:
        """Its file lies elsewhere now."""
        facts = {**memory.metadata, "file": file}
        await self._revise(memory, {"metadata": facts}, message=f"moved to {file}", who=who)

    async def recaptioned(self, memory: Memory, caption: str, *, who: Caller) -> None:
        """It is called something else now; what its file says stays."""
        former = str(memory.metadata.get("caption") or "")
        text = memory.content.removeprefix(former).lstrip("\n") if former else memory.content
        content = "\n\n".join(part for part in (caption, text) if part)
        facts = {**memory.metadata, "caption": caption}
        await self._revise(memory, {"content": content, "metadata": facts}, message="another caption", who=who)

    async def changed(self, memory: Memory, card: Card, *, who: Caller) -> None:
        """Its file has other bytes now."""
        content = card.content(most=self._engine.limits.text_bytes)
        fields: dict[str, Json] = {"content": content, "metadata": {**memory.metadata, **card.facts}}
        await self._revise(memory, fields, message=f"{card.stored.file} was changed", who=who)

    async def _revise(self, memory: Memory, fields: dict[str, Json], *, message: str, who: Caller) -> None:
        edit = Edit(fields=fields, message=message[:_MOST_LABEL], may_empty=True)
        await self._engine.revise(memory.id, edit, who=who)

    async def _first(self, name: str, value: str) -> Memory | None:
        expected = Filter(kind=ATTACHMENT, metadata={name: value})
        ids = await self._engine.store.list_ids(self.space, expected, limit=_PAGE)
        memories = (await self._engine.store.get(self.space, ids)).values()
        # The oldest, so that all find the same one; facets do not tell capitals apart.
        fitting = [memory for memory in memories if memory.metadata.get(name) == value]
        return min(fitting, key=lambda memory: (memory.created_at, memory.id), default=None)


def caption_of(text: str) -> str:
    """A caption as it is kept: one line, without what would end a link; a size such as `300x200` is none of it."""
    spoken, _, last = text.rpartition("|")
    if all(part.isdecimal() for part in last.strip().lower().split("x")):
        text = spoken
    return " ".join(text.replace("[", "(").replace("]", ")").replace("|", "/").split())[:_MOST_CAPTION]
