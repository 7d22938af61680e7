"""Copy the files that imported notes embed, and update the embeds to their new names."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from scrubjay.errors import ScrubjayError
from scrubjay.notes.attachments.records import caption_of
from scrubjay.notes.attachments.storage import AttachmentStorage
from scrubjay.notes.import_.folder import SourceFolder
from scrubjay.notes.import_.link_index import LinkIndex
from scrubjay.notes.import_.parse import picture_links
from scrubjay.notes.markdown.wiki import mentions

__all__ = ["CopiedEmbeds", "AttachmentCopier"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedEmbeds:
    """A content with updated embeds, the files that it embeds, and missing targets."""

    content: str
    files: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Place:
    """The position of an embed; `part` is a fragment such as `#page=2`."""

    start: int
    end: int
    target: str
    caption: str
    part: str = ""


class AttachmentCopier:
    """Copies the files of one folder, each once. Without a storage, it only counts them."""

    def __init__(self, origin: SourceFolder, *, atlas: LinkIndex, storage: AttachmentStorage | None) -> None:
        self._origin = origin
        self._atlas = atlas
        self._storage = storage
        self._taken: dict[str, asyncio.Task[str]] = {}

    async def embedded(self, content: str, *, path: str) -> CopiedEmbeds:
        """Copy the files that a content embeds, and return it with their new names."""
        parts: list[str] = []
        files: list[str] = []
        missing: list[str] = []
        warnings: list[str] = []
        done = 0
        for place in sorted(_places(content), key=lambda place: place.start):
            file = self._atlas.file(place.target, beside=path)
            if file is None:
                missing += [place.target] if self._atlas.note(place.target, beside=path) is None else []
                continue
            try:
                stored = await self._name_of(file)
            except ScrubjayError as error:
                warnings.append(f"{file} was not copied: {error.message}")
                continue
            files.append(file)
            if stored and place.start >= done:
                caption = f"|{place.caption}" if place.caption else ""
                parts += [content[done : place.start], f"![[{stored}{place.part}{caption}]]"]
                done = place.end
        changed = "".join([*parts, content[done:]])
        return CopiedEmbeds(content=changed, files=tuple(files), missing=tuple(missing), warnings=tuple(warnings))

    async def _name_of(self, file: str) -> str:
        """Return the new name of a file; concurrent callers share one copy."""
        if self._storage is None:
            return ""
        task = self._taken.get(file)
        if task is None:
            task = self._taken[file] = asyncio.ensure_future(asyncio.to_thread(self._take, file, self._storage))
        return await asyncio.shield(task)

    def _take(self, file: str, storage: AttachmentStorage) -> str:
        with self._origin.opened(file) as stream:
            received = storage.receive(stream, name=file.rpartition("/")[2])
        try:
            return storage.settle(received).file.rpartition("/")[2]
        except BaseException:
            storage.discard(received)
            raise


def _places(content: str) -> Iterator[_Place]:
    """Yield the embeds of a text that name a local file other than a note."""
    for mention in mentions(content):
        if mention.embeds and "." in mention.target:
            yield _Place(
                mention.start,
                mention.end,
                mention.target,
                mention.text,
                f"#{mention.heading}" if mention.heading else "",
            )
    for start, end, target, text in picture_links(content):
        if "://" not in target and not target.startswith(("data:", "#")):
            yield _Place(start, end, unquote(target), caption_of(text))
