"""Detect the type of a file by its first bytes, and by its name where the bytes are ambiguous."""

import codecs

from scrubjay.lazy import dataclass

__all__ = ["HEAD", "UNKNOWN", "Sniffed", "extension_of", "sniff"]

HEAD = 4096
"""The number of bytes that `sniff` examines."""
UNKNOWN = "application/octet-stream"

# Offset, magic bytes and type: the first match decides.
_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"ID3", "audio/mpeg"),
    (4, b"ftypM4A", "audio/mp4"),
    (4, b"ftypqt", "video/quicktime"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"\x7fELF", UNKNOWN),
    (0, b"MZ", UNKNOWN),
)
_RIFF = frozenset({"image/webp", "audio/wav"})
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_ODT = "application/vnd.oasis.opendocument.text"
# By file extension: the type, and the type that its bytes look like.
_NAMED = {
    "png": ("image/png", "image/png"),
    "jpg": ("image/jpeg", "image/jpeg"),
    "jpeg": ("image/jpeg", "image/jpeg"),
    "gif": ("image/gif", "image/gif"),
    "webp": ("image/webp", "image/webp"),
    "avif": ("image/avif", "image/avif"),
    "heic": ("image/heic", "image/heic"),
    "svg": ("image/svg+xml", "text/plain"),
    "mp3": ("audio/mpeg", "audio/mpeg"),
    "wav": ("audio/wav", "audio/wav"),
    "ogg": ("audio/ogg", "audio/ogg"),
    "oga": ("audio/ogg", "audio/ogg"),
    "opus": ("audio/ogg", "audio/ogg"),
    "ogv": ("video/ogg", "audio/ogg"),
    "flac": ("audio/flac", "audio/flac"),
    "m4a": ("audio/mp4", "audio/mp4"),
    "mp4": ("video/mp4", "video/mp4"),
    "m4v": ("video/mp4", "video/mp4"),
    "mov": ("video/quicktime", "video/quicktime"),
    "webm": ("video/webm", "video/webm"),
    "mkv": ("video/x-matroska", "video/webm"),
    "pdf": ("application/pdf", "application/pdf"),
    "zip": ("application/zip", "application/zip"),
    "docx": (_DOCX, "application/zip"),
    "xlsx": (_XLSX, "application/zip"),
    "pptx": (_PPTX, "application/zip"),
    "odt": (_ODT, "application/zip"),
    "epub": ("application/epub+zip", "application/zip"),
    "gz": ("application/gzip", "application/gzip"),
    "txt": ("text/plain", "text/plain"),
    "log": ("text/plain", "text/plain"),
    "md": ("text/markdown", "text/plain"),
    "markdown": ("text/markdown", "text/plain"),
    "csv": ("text/csv", "text/plain"),
    "tsv": ("text/tab-separated-values", "text/plain"),
    "json": ("application/json", "text/plain"),
    "canvas": ("application/json", "text/plain"),
    "html": ("text/html", "text/plain"),
    "htm": ("text/html", "text/plain"),
    "xml": ("application/xml", "text/plain"),
    "yaml": ("application/yaml", "text/plain"),
    "yml": ("application/yaml", "text/plain"),
}
_ENDS = {kind: end for end, (kind, _) in reversed(_NAMED.items())}
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MP3_SYNC = 0xE0
_CONTROL = frozenset(range(32)) - {9, 10, 12, 13, 27}
_MARKUP = ((b"<svg", "image/svg+xml"), (b"<!doctype html", "text/html"), (b"<html", "text/html"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sniffed:
    """The type of a file, its usual extension, and a remark if its name suggests another type."""

    type: str
    end: str
    remark: str = ""


def sniff(head: bytes, name: str) -> Sniffed:
    """Detect the type of a file. Its bytes take precedence over its name, so that a name cannot disguise it."""
    end = extension_of(name)
    looks = _type_by_bytes(head)
    named, base = _NAMED.get(end, ("", ""))
    # An MP4 container may hold audio or video; only the name tells them apart.
    if named and (looks == base or {looks, base} == {"audio/mp4", "video/mp4"}):
        return Sniffed(type=named, end=end)
    kind = looks
    if looks == "text/plain":
        beginning = head.lower()[:1024]
        kind = next((kind for mark, kind in _MARKUP if mark in beginning), looks)
    if not named and kind == "text/plain":
        return Sniffed(type=kind, end=end or "txt")
    remark = f"its name ends in .{end}, but it is {kind}" if named and kind != named else ""
    return Sniffed(type=kind, end=_ENDS.get(kind, end or "bin"), remark=remark)


def extension_of(name: str) -> str:
    """Return the extension of a file name, in lower case, or an empty text."""
    before, dot, end = name.rpartition(".")
    is_extension = bool(dot and before.strip(". ")) and end.isascii() and end.isalnum() and len(end) <= 8  # noqa: PLR2004
    return end.lower() if is_extension else ""


def _type_by_bytes(head: bytes) -> str:
    for at, mark, kind in _MAGIC:
        if head[at : at + len(mark)] == mark and (kind not in _RIFF or head.startswith(b"RIFF")):
            return kind
    if head[:1] == b"\xff" and not head.startswith(_WIDE) and (head[1:2] or b"\0")[0] & _MP3_SYNC == _MP3_SYNC:
        return "audio/mpeg"
    return "text/plain" if _is_text(head) else UNKNOWN


def _is_text(head: bytes) -> bool:
    if head.startswith(_WIDE):
        return True
    if _CONTROL.intersection(head):
        return False
    try:
        # The last character may be incomplete.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        # Windows-1252, the usual legacy encoding, has few characters in this range.
        return not any(0x80 <= byte < 0xA0 for byte in head)  # noqa: PLR2004
    return True
