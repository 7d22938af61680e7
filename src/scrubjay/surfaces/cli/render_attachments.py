"""Attachments for people."""

from collections.abc import Callable

from scrubjay.notes.attachments.results import Attached, Attachment, NoteAttachments, Orphans
from scrubjay.surfaces.cli.console import say, say_each, say_warnings

__all__ = ["ATTACHMENT_PRINTERS"]


def _attached(answer: Attached) -> None:
    say(f"{answer.action} {_told(answer.attachment)}")
    say(f"  embedded as {answer.attachment.embed}")
    say_warnings(answer.warnings)


def _attachments(answer: NoteAttachments) -> None:
    say_each(map(_embedded, answer.attachments), none="it embeds no files")


def _orphans(answer: Orphans) -> None:
    lines = (
        f"{orphan.file}: {orphan.why}, {orphan.bytes:,} bytes{f' ({orphan.id})' if orphan.id else ''}"
        for orphan in answer.orphans
    )
    say_each(lines, none="every attachment is embedded, and every file is known")


def _embedded(one: Attachment) -> str:
    where = one.path or f"{one.file} is gone"
    return f"{_told(one)}\n  {where}{f' - {one.caption}' if one.caption else ''}"


def _told(one: Attachment) -> str:
    return f"{one.title} ({one.id}), {one.media_type}, {one.bytes:,} bytes"


ATTACHMENT_PRINTERS: list[tuple[type, Callable[..., None]]] = [
    (Attached, _attached),
    (NoteAttachments, _attachments),
    (Orphans, _orphans),
]
