"""Attachments for people."""

from collections.abc import Callable

from scrubjay.notes.media.attached import Attached, Attachment, NoteAttachments, Orphans
from scrubjay.surfaces.cli.paint import say

__all__ = ["ATTACHMENT_PRINTERS"]


def _attached(answer: Attached) -> None:
    say(f"{answer.action} {_told(answer.attachment)}")
    say(f"  embedded as {answer.attachment.embed}")
    for warning in answer.warnings:
        say(f"warning: {warning}")


def _attachments(answer: NoteAttachments) -> None:
    for one in answer.attachments:
        say(_told(one))
        say(f"  {one.path or f'{one.file} is gone'}{f' - {one.caption}' if one.caption else ''}")
    if not answer.attachments:
        say("it embeds no files")


def _orphans(answer: Orphans) -> None:
    for one in answer.orphans:
        say(f"{one.file}: {one.why}, {one.bytes:,} bytes{f' ({one.id})' if one.id else ''}")
    if not answer.orphans:
        say("every attachment is embedded, and every file is known")


def _told(one: Attachment) -> str:
    return f"{one.title} ({one.id}), {one.media_type}, {one.bytes:,} bytes"


ATTACHMENT_PRINTERS: list[tuple[type, Callable[..., None]]] = [
    (Attached, _attached),
    (NoteAttachments, _attachments),
    (Orphans, _orphans),
]
