"""Results about the files that notes embed."""

from pathlib import Path

from scrubjay.lazy import dataclass
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Memory

__all__ = [
    "EMBEDS",
    "LARGEST_ATTACHMENT",
    "Attached",
    "Attachment",
    "NoteAttachments",
    "Orphan",
    "Orphans",
    "TakenEmbeds",
    "attachment_from",
]

LARGEST_ATTACHMENT = 100_000_000
"""The default size limit of a file, in bytes."""
EMBEDS = "embeds"
"""The type of the relation from a note to an embedded file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that notes embed: `file` is its path in the folder of notes, `path` that on this machine if it exists.

    `id` belongs to the memory that holds its caption and its text for searches.
    """

    id: str
    name: str
    title: str
    media_type: str
    bytes: int
    sha256: str
    file: str
    caption: str = ""
    path: Path | None = None

    @property
    def embed(self) -> str:
        """Return the wiki link that embeds the file."""
        target = self.file.rpartition("/")[2]
        return f"![[{target}|{self.caption}]]" if self.caption else f"![[{target}]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """The result of `attach`: `created`, or `known` if the same bytes were attached before."""

    action: str
    note: str
    attachment: Attachment
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteAttachments:
    """The attachments of a note."""

    note: str
    attachments: tuple[Attachment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenEmbeds:
    """The embeds of a note: the ids of its attachments, targets without a file, and warnings."""

    attached: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """An attachment that no note embeds, a file without a memory, or an attachment without its file."""

    why: str
    file: str
    id: str = ""
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphans:
    """All orphans; none is removed."""

    orphans: tuple[Orphan, ...]


def attachment_from(memory: Memory, *, path: Path | None = None) -> Attachment | None:
    """Return the attachment that a memory describes; None for any other memory."""
    facts = memory.metadata
    size = facts.get("bytes")
    if memory.kind != ATTACHMENT or not isinstance(size, int) or not facts.get("file"):
        return None
    return Attachment(
        id=memory.id,
        name=memory.name,
        title=memory.title,
        media_type=str(facts.get("media_type") or ""),
        bytes=size,
        sha256=str(facts.get("sha256") or ""),
        file=str(facts["file"]),
        caption=str(facts.get("caption") or ""),
        path=path,
    )
