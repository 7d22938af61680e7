"""Pictures and other media that are no text: what an embedder may be handed beside texts."""

import re
from dataclasses import dataclass

from scrubjay.model.memory import Memory

__all__ = ["ATTACHMENT", "Media", "media_type_in"]

ATTACHMENT = "attachment"
"""The kind of the memory that stands for an attached file."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
# Pictures that are made of pixels; those made of text, as SVG, are read as text.
_SEEN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """The bytes of a picture, a recording or a film, with their type, as `image/png`."""

    type: str
    data: bytes

    @property
    def group(self) -> str:
        """The first half of the type, by which profiles say what a model takes."""
        return self.type.partition("/")[0]


def media_type_in(memory: Memory) -> str:
    """The type of the picture that a memory stands for; nothing where it stands for none."""
    if memory.kind != ATTACHMENT:
        return ""
    kind, digest = memory.metadata.get("media_type"), memory.metadata.get("sha256")
    is_one = isinstance(kind, str) and kind in _SEEN and isinstance(digest, str) and _DIGEST.fullmatch(digest)
    return str(kind) if is_one else ""
