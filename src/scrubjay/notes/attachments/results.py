"""What is told of the files that notes embed."""

from dataclasses import dataclass
from pathlib import Path

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
"""So many bytes a file may have, unless the settings say otherwise."""
EMBEDS = "embeds"
"""The relation that leads from a note to what it embeds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that notes embed: `file` is its path in the folder of notes, `path` that on this machine, if it is there.

    `id` is that of the memory which its caption and its text are found by.
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
        """How a note embeds it."""
        target = self.file.rpartition("/")[2]
        return f"![[{target}|{self.caption}]]" if self.caption else f"![[{target}]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """What `attach` did: `created`, or `known` where the same bytes were there already."""

    action: str
    note: str
    attachment: Attachment
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteAttachments:
    """What a note embeds."""

    note: str
    attachments: tuple[Attachment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenEmbeds:
    """What became of the embeds of a note: the ids of what it embeds now, targets that are no file, what is odd."""

    attached: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """An attachment that no note embeds, a file that nothing knows of, or an attachment whose file is gone."""

    why: str
    file: str
    id: str = ""
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphans:
    """All of them; nothing is removed."""

    orphans: tuple[Orphan, ...]


def attachment_from(memory: Memory, *, path: Path | None = None) -> Attachment | None:
    """What the memory of an attachment says of its file; None for any other memory."""
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
