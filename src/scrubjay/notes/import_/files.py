"""The files that imported notes embed: copied beside the notes, and embedded by the names that they have there."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from scrubjay.errors import ScrubjayError
from scrubjay.notes.attachments.records import caption_of
from scrubjay.notes.attachments.storage import AttachmentStorage
from scrubjay.notes.import_.folder import Origin
from scrubjay.notes.import_.link_index import Atlas
from scrubjay.notes.import_.parse import picture_links
from scrubjay.notes.markdown.wiki import mentions

__all__ = ["Embeds", "Files"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeds:
    """A content with its embeds as they are named now, how many files it has, and what is missing."""

    content: str
    files: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where something is embedded; `part` is which of it, such as `#page=2`."""

    start: int
    end: int
    target: str
    caption: str
    part: str = ""


class Files:
    """Takes the files of one folder, each once. Without a depot they are only counted."""

    def __init__(self, origin: Origin, *, atlas: Atlas, depot: AttachmentStorage | None) -> None:
        self._origin = origin
        self._atlas = atlas
        self._depot = depot
        self._taken: dict[str, asyncio.Task[str]] = {}

    async def embedded(self, content: str, *, path: str) -> Embeds:
        """A content whose embeds name what was taken."""
        parts: list[str] = []
        files: list[str] = []
        missing: list[str] = []
        warnings: list[str] = []
        done = 0
        for place in sorted(_places(content), key=lambda one: one.start):
            file = self._atlas.file(place.target, beside=path)
            if file is None:
                missing += [place.target] if self._atlas.note(place.target, beside=path) is None else []
                continue
            try:
                stored = await self._kept(file)
            except ScrubjayError as error:
                warnings.append(f"{file} was not taken: {error.message}")
                continue
            files.append(file)
            if stored and place.start >= done:
                caption = f"|{place.caption}" if place.caption else ""
                parts += [content[done : place.start], f"![[{stored}{place.part}{caption}]]"]
                done = place.end
        changed = "".join([*parts, content[done:]])
        return Embeds(content=changed, files=tuple(files), missing=tuple(missing), warnings=tuple(warnings))

    async def _kept(self, file: str) -> str:
        """The name that a file has beside the notes; several may ask for it at once."""
        if self._depot is None:
            return ""
        task = self._taken.get(file)
        if task is None:
            task = self._taken[file] = asyncio.ensure_future(asyncio.to_thread(self._take, file, self._depot))
        return await asyncio.shield(task)

    def _take(self, file: str, depot: AttachmentStorage) -> str:
        with self._origin.opened(file) as stream:
            received = depot.receive(stream, name=file.rpartition("/")[2])
        try:
            return depot.settle(received).file.rpartition("/")[2]
        except BaseException:
            depot.discard(received)
            raise


def _places(content: str) -> Iterator[_Place]:
    """All that a text embeds and that is no note; what is elsewhere stays there."""
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
