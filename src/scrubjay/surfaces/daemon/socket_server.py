"""Where clients of the socket arrive: who they are, what they speak, and who talks to them."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.model.memory import Json
from scrubjay.rpc.codec import error_to_json
from scrubjay.rpc.frames import Frame, LineReader, decode_frame, encode_frame, require_same_protocol
from scrubjay.rpc.peercred import require_peer
from scrubjay.version import PROTOCOL, VERSION

_log = logging.getLogger(__name__)
_HELLO_SECONDS = 10.0
_LONGEST_HELLO = 64 * 1024
_FAREWELL = 5.0

Talk = Callable[[LineReader, asyncio.StreamWriter], Awaitable[None]]
"""Talks to a client until it hangs up."""
Speech = Callable[[Frame], Talk]
"""Takes a client's hello, or raises what is wrong with it, before it is greeted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a client says of itself in its hello; empty where it leaves it to the daemon."""

    space: str
    agent: str
    project: str
    tools: str


class SocketServer:
    """Greets clients and hands them to whoever speaks their language; knows how many there are."""

    def __init__(self, speeches: Mapping[str, Speech], *, owner: int | None = None) -> None:
        self._speeches = speeches
        self._owner = os.getuid() if owner is None else owner
        self._guests: dict[asyncio.Task[None], asyncio.StreamReader] = {}

    @property
    def guests(self) -> int:
        """How many clients are connected."""
        return len(self._guests)

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Talk to one client until it hangs up."""
        task = asyncio.current_task()
        assert task is not None
        self._guests[task] = reader
        try:
            await self._talk(LineReader(reader), writer)
        except (OSError, asyncio.CancelledError):
            pass  # It hung up, or the daemon is closing; nobody is left to be told.
        except Exception:  # noqa: BLE001 - the edge of the surface: one client must not end the daemon.
            _log.exception("a conversation failed")
        finally:
            del self._guests[task]
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def close(self) -> None:
        """End all conversations, once everybody has the answers they are owed."""
        # As if they had said all they wanted to.
        for reader in self._guests.values():
            reader.feed_eof()
        for seconds in (_FAREWELL, None):
            if self._guests:
                await asyncio.wait(set(self._guests), timeout=seconds)
            for task in list(self._guests):
                task.cancel()

    async def _talk(self, lines: LineReader, writer: asyncio.StreamWriter) -> None:
        try:
            require_peer(writer.get_extra_info("socket"), self._owner)
            text = await self._hello(lines)
            if text is None:
                return
            talk = self._speech(text)(text)
        except ScrubjayError as error:
            writer.write(encode_frame({"error": error_to_json(error), "scrubjay": VERSION, "protocol": PROTOCOL}))
            await writer.drain()
            return
        writer.write(encode_frame({"scrubjay": VERSION, "protocol": PROTOCOL, "pid": os.getpid()}))
        _log.debug("a client came", extra={"fields": {"speaks": text.get("speak"), "version": text.get("scrubjay")}})
        await talk(lines, writer)

    async def _hello(self, lines: LineReader) -> Frame | None:
        try:
            line = await asyncio.wait_for(lines.line(), _HELLO_SECONDS)
        except TimeoutError:
            raise InvalidInput(
                f"no hello came within {_HELLO_SECONDS:g} s", hint='Begin with a line such as {"protocol": 1}'
            ) from None
        if line is None:
            return None
        if len(line) > _LONGEST_HELLO:
            raise InvalidInput("the first line is no hello: it is too long")
        return decode_frame(line)

    def _speech(self, said: Frame) -> Speech:
        require_same_protocol(said, other="client")
        speak = said.get("speak", "verbs")
        if not isinstance(speak, str) or speak not in self._speeches:
            raise InvalidInput(
                f"nobody here speaks {str(speak)[:60]!r}", hint=f"Say one of {', '.join(self._speeches)}", field="speak"
            )
        return self._speeches[speak]


def wishes_of(said: Mapping[str, Json]) -> Wishes:
    """The wishes in a hello; raises InvalidInput for one that is no text."""
    results: dict[str, str] = {}
    for name in ("space", "agent", "project", "tools"):
        value = said.get(name, "")
        if not isinstance(value, str):
            raise InvalidInput(f"{name} must be a text, not {type(value).__name__}", field=name)
        results[name] = value
    return Wishes(**results)
