"""Memories of attached files: find, create and update them."""

from collections.abc import AsyncIterator

from scrubjay.engine import Engine
from scrubjay.lazy import dataclass
from scrubjay.model.attachments import EMBEDS
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.identity import new_id
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Json, Memory, Method, Source, State, Trust
from scrubjay.model.query import Filter
from scrubjay.model.relation import Relation
from scrubjay.model.requests import Edit
from scrubjay.notes.attachments.extract import ExtractedText
from scrubjay.notes.attachments.storage import StoredFile
from scrubjay.text.slug import slug
from scrubjay.writing.batch import NewMemory

__all__ = ["AttachmentDraft", "AttachmentRecords", "caption_of"]

_PAGE = 500
_MAX_TITLE = 200
_MAX_CAPTION = 2_000
_MAX_LABEL = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentDraft:
    """The content of an attachment's memory."""

    stored: StoredFile
    title: str
    caption: str
    extracted: ExtractedText

    @property
    def metadata(self) -> dict[str, Json]:
        """The metadata of the memory."""
        return {
            "media_type": self.stored.sniffed.type,
            "bytes": self.stored.size,
            "sha256": self.stored.sha256,
            "file": self.stored.file,
            "caption": self.caption,
        }

    def content(self, *, max_bytes: int) -> str:
        """Return the caption and the text of the file, cut to `max_bytes` bytes."""
        whole = "\n\n".join(part for part in (self.caption, self.extracted.text) if part)
        return whole.encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore")


class AttachmentRecords:
    """The memories of attachments in a space."""

    def __init__(self, engine: Engine, *, space: str) -> None:
        self._engine = engine
        self.space = space

    async def by_hash(self, sha256: str) -> Memory | None:
        """Return the live memory of a file with these bytes."""
        return await self._first("sha256", sha256)

    async def by_file(self, file: str) -> Memory | None:
        """Return the live memory of the file that is, or was, at a path."""
        return await self._first("file", file)

    async def is_described(self, stored: StoredFile) -> bool:
        """Return whether a memory in any state, in the trash too, describes these bytes."""
        filters = [Filter(kind=ATTACHMENT, metadata={"sha256": stored.sha256}, state=state) for state in State]
        return any([await self._engine.reader.list_ids(self.space, filter_, limit=1) for filter_ in filters])

    async def all(self, state: State = State.LIVE) -> AsyncIterator[Memory]:
        """Yield every memory of an attachment that is in a state."""
        after: str | None = None
        filter_ = Filter(kind=ATTACHMENT, state=state)
        while ids := await self._engine.reader.list_ids(self.space, filter_, limit=_PAGE, after=after):
            for memory in (await self._engine.reader.get(self.space, ids)).values():
                yield memory
            after = ids[-1]

    def new(self, draft: AttachmentDraft, *, agent: str) -> NewMemory:
        """Return the new memory of a file. Its trust is that of a document, regardless of the caller."""
        name = f"{slug(draft.title)[:40].strip('-') or 'file'}-{draft.stored.sha256[:12]}"
        source = Source(method=Method.FILE, agent=agent, trust=Trust.DOCUMENT)
        return NewMemory(
            draft=Draft(
                text=draft.content(max_bytes=self._engine.limits.text_bytes),
                title=" ".join(draft.title.split())[:_MAX_TITLE],
                name=name,
                kind=ATTACHMENT,
                intent="new",
                source=source,
                metadata=draft.metadata,
            ),
            id=new_id(),
        )

    def edge(self, note: str, attachment: str, *, caption: str) -> Relation:
        """Return the relation from a note to an attachment that it embeds."""
        return Relation(
            source=note,
            target=attachment,
            type=EMBEDS,
            text=" ".join(caption.split())[:_MAX_LABEL],
            created_at=self._engine.clock.now(),
        )

    async def record_move(self, memory: Memory, file: str, *, who: Caller) -> None:
        """Record the new path of a file."""
        metadata = {**memory.metadata, "file": file}
        await self._revise(memory, {"metadata": metadata}, message=f"moved to {file}", who=who)

    async def change_caption(self, memory: Memory, caption: str, *, who: Caller) -> None:
        """Replace the caption; the text of the file stays."""
        former = str(memory.metadata.get("caption") or "")
        text = memory.content.removeprefix(former).lstrip("\n") if former else memory.content
        content = "\n\n".join(part for part in (caption, text) if part)
        metadata = {**memory.metadata, "caption": caption}
        await self._revise(memory, {"content": content, "metadata": metadata}, message="another caption", who=who)

    async def record_change(self, memory: Memory, draft: AttachmentDraft, *, who: Caller) -> None:
        """Record the new content of a file."""
        content = draft.content(max_bytes=self._engine.limits.text_bytes)
        fields: dict[str, Json] = {"content": content, "metadata": {**memory.metadata, **draft.metadata}}
        await self._revise(memory, fields, message=f"{draft.stored.file} was changed", who=who)

    async def _revise(self, memory: Memory, fields: dict[str, Json], *, message: str, who: Caller) -> None:
        edit = Edit(fields=fields, message=message[:_MAX_LABEL], may_empty=True)
        await self._engine.apply_edit(memory.id, edit, who=who)

    async def _first(self, name: str, value: str) -> Memory | None:
        filter_ = Filter(kind=ATTACHMENT, metadata={name: value})
        ids = await self._engine.reader.list_ids(self.space, filter_, limit=_PAGE)
        memories = (await self._engine.reader.get(self.space, ids)).values()
        # Every caller gets the oldest. The filter ignores case, so compare again.
        matches = [memory for memory in memories if memory.metadata.get(name) == value]
        return min(matches, key=lambda memory: (memory.created_at, memory.id), default=None)


def caption_of(text: str) -> str:
    """Normalise a caption: a single line, without a size such as `300x200` or characters that would end a link."""
    label, _, last = text.rpartition("|")
    if all(part.isdecimal() for part in last.strip().lower().split("x")):
        text = label
    return " ".join(text.replace("[", "(").replace("]", ")").replace("|", "/").split())[:_MAX_CAPTION]
