"""Extract the text of files, so that searches find them by content. Hostile files cost a bounded time.

A child process with limited memory reads formats that need a parser: `python -m scrubjay.notes.attachments.extract`.
"""

import asyncio
import sys
from contextlib import suppress
from typing import BinaryIO

from scrubjay.lazy import dataclass
from scrubjay.notes.attachments.readers import PLAIN, READERS, UnreadableFile, decode_text
from scrubjay.workers import allow_cpu_seconds, restrict_process, shares

__all__ = ["ExtractedText", "Extractor"]

_NO_TEXT = "its text could not be extracted"
_FAILED, _MISSING = 3, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedText:
    """The text of a file, cut to a length, and a warning if text is missing."""

    text: str = ""
    warning: str = ""


class Extractor:
    """Extracts the text of files within limits of characters and seconds, in turn with other heavy work."""

    def __init__(self, *, characters: int = 200_000, seconds: float = 20.0) -> None:
        self._characters = characters
        self._seconds = seconds

    async def text_of(self, file: BinaryIO, *, media_type: str) -> ExtractedText:
        """Extract the text of an open file from its current position; empty for a type without text."""
        if media_type in PLAIN:
            # A character takes up to four bytes.
            data = await asyncio.to_thread(file.read, 4 * self._characters)
            has_more = bool(await asyncio.to_thread(file.read, 1))
            return _cut(decode_text(data), self._characters, more=has_more)
        if media_type not in READERS:
            return ExtractedText()
        async with shares().turn():
            return await self._in_child(file, media_type)

    async def _in_child(self, file: BinaryIO, media_type: str) -> ExtractedText:
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        command = (
            sys.executable,
            "-P",
            "-m",
            "scrubjay.notes.attachments.extract",
            media_type,
            str(self._characters + 1),
        )
        process = await asyncio.create_subprocess_exec(*command, stdin=file, stdout=pipe, stderr=nothing)
        try:
            async with asyncio.timeout(self._seconds):
                output, _ = await process.communicate()
        except TimeoutError:
            return ExtractedText(warning=f"{_NO_TEXT}: it takes longer than {self._seconds:g} seconds")
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        text = output.decode("utf-8", "replace")
        if process.returncode == _MISSING:
            return ExtractedText(warning=f"{_NO_TEXT}: {text}")
        if process.returncode:
            reason = text if process.returncode == _FAILED else "its reader crashed"
            return ExtractedText(warning=f"{_NO_TEXT}: {reason}")
        return _cut(text, self._characters)


def _cut(text: str, characters: int, *, more: bool = False) -> ExtractedText:
    tidy = text.replace("\x00", "").strip()
    if len(tidy) <= characters and not more:
        return ExtractedText(text=tidy)
    return ExtractedText(
        text=tidy[:characters].rstrip(), warning=f"only its first {characters:,} characters are searched"
    )


def main() -> int:
    """Read a file from standard input and print its text."""
    media_type, characters = sys.argv[1], int(sys.argv[2])
    restrict_process()
    allow_cpu_seconds()
    try:
        text = READERS[media_type](sys.stdin.buffer, characters)
        code = 0
    except ImportError:
        text, code = "the extra `pdf` is not installed: pip install 'scrubjay[pdf]'", _MISSING
    except UnreadableFile as error:
        text, code = str(error), _FAILED
    sys.stdout.buffer.write(text[:characters].encode("utf-8", "replace"))
    return code


if __name__ == "__main__":
    sys.exit(main())
