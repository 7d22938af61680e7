"""Images and other media that an embedder may embed besides texts."""

import re

from scrubjay.lazy import dataclass
from scrubjay.model.memory import Memory

__all__ = ["ATTACHMENT", "Media", "media_type_in"]

ATTACHMENT = "attachment"
"""The kind of a memory that represents an attached file."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
# Bitmaps only: SVG is read as text.
_BITMAP_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """The bytes of an image, a recording or a video, with a media type such as `image/png`."""

    type: str
    data: bytes

    @property
    def group(self) -> str:
        """The first half of the type; the profile of a model lists the groups it accepts."""
        return self.type.partition("/")[0]


def media_type_in(memory: Memory) -> str:
    """Return the type of the image that a memory represents, or an empty text."""
    if memory.kind != ATTACHMENT:
        return ""
    media_type, digest = memory.metadata.get("media_type"), memory.metadata.get("sha256")
    is_image = (
        isinstance(media_type, str)
        and media_type in _BITMAP_TYPES
        and isinstance(digest, str)
        and _DIGEST.fullmatch(digest)
    )
    return str(media_type) if is_image else ""
