"""A command of a user's process: parsed, carried out and rendered here, so that the process need not load all that."""

import asyncio
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TypeVar

from scrubjay import telemetry
from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput, ScrubjayError, codes_of
from scrubjay.model.arguments import Request
from scrubjay.model.caller import Caller
from scrubjay.model.memory import Json
from scrubjay.model.requests import SpacesRequest
from scrubjay.model.transfer import Progress
from scrubjay.model.verbs import verb_of
from scrubjay.rpc.frames import Frame, LineReader, decode_frame, encode_frame
from scrubjay.service import LocalService
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.lazy import load_in_thread
from scrubjay.surfaces.daemon.rpc_dispatch import RpcDispatcher

R = TypeVar("R")
_COMMANDS = "scrubjay.surfaces.cli.served"
_SPACE = "SCRUBJAY_SPACE"
_SPACES = "space"
# A shell shows a page of them at most.
_MAX_OFFERS = 100
# Agents write labels, and some shells evaluate what is offered.
_HARMLESS = re.compile(r"[\w@%+,./:= -]+")
# The process of the user must carry out the command.
_LOCAL: Frame = {"local": True}


class CommandSession:
    """Serves one command. If its process goes away, reads are cancelled and writes are finished."""

    def __init__(
        self, lines: LineReader, writer: asyncio.StreamWriter, *, dispatcher: RpcDispatcher, data: Path
    ) -> None:  # fmt: skip
        self._lines = lines
        self._writer = writer
        self._dispatcher = dispatcher
        self._data = data

    async def run(self) -> None:
        """Answer the command."""
        try:
            line = await self._lines.line()
            if line is not None:
                await self._serve(decode_frame(line))
        except ScrubjayError as error:
            self._send({"error": f"error: {error}\n", "exit": codes_of(error).exit})

    async def _serve(self, frame: Frame) -> None:
        working = asyncio.create_task(self._answer(frame))
        gone = asyncio.create_task(self._lines.line())
        try:
            await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                self._send(await working)
                await self._writer.drain()
        finally:
            for task in (working, gone):
                task.cancel()
            await asyncio.gather(working, gone, return_exceptions=True)

    async def _answer(self, frame: Frame) -> Frame:
        arguments, environment = frame.get("arguments"), frame.get("environment")
        if not isinstance(arguments, list) or not isinstance(environment, dict):
            raise InvalidInput("a command needs its arguments and its environment", field="arguments")
        if (field := frame.get("labels")) is not None:
            space = _named_space([str(argument) for argument in arguments]) or environment.get(_SPACE)
            return {"labels": await self._labels(str(field), str(frame.get("prefix", "")), space=str(space or ""))}
        # Loaded on demand: a daemon without such clients needs nothing of the command line.
        if _COMMANDS not in sys.modules:
            await load_in_thread(partial(import_module, _COMMANDS))
        from scrubjay.surfaces.cli import served  # noqa: PLC0415

        command = served.parse_command([str(argument) for argument in arguments])
        if command is None or not self._is_here(command.shared["data"], frame):
            return _LOCAL
        settings = served.find_settings(command, {name: str(value) for name, value in environment.items()})
        stdin = frame.get("stdin")
        if command.reads_stdin and not isinstance(stdin, str):
            return {"stdin": True}
        service = _LimitedService(self._dispatcher, run=str(frame.get("run", "")))
        client = MemoryClient.through(service, Caller(space=settings.space, agent=settings.agent))
        with telemetry.incoming_request():
            answer = await served.carry_out(command, client, settings, stdin=stdin if isinstance(stdin, str) else None)
        return _LOCAL if answer is None else answer

    async def _labels(self, field: str, prefix: str, *, space: str) -> list[Json]:
        """Return the labels of a field that begin with a prefix; of the field `space`, the spaces."""
        engine = self._dispatcher.engine
        if field == _SPACES:
            spaces = await engine.spaces(SpacesRequest(), who=Caller())
            labels: Sequence[str] = [name for name in spaces if name.startswith(prefix)][:_MAX_OFFERS]
        else:
            labels = await engine.reader.labels(space or Settings().space, field, prefix=prefix, limit=_MAX_OFFERS)
        return [label for label in labels if _HARMLESS.fullmatch(label)]

    def _is_here(self, folder: object, frame: Frame) -> bool:
        """Return whether the process has found the right daemon: another folder has another one."""
        data = os.path.realpath(str(frame.get("data")))
        return folder == frame.get("folder") and data == os.path.realpath(self._data)

    def _send(self, frame: Frame) -> None:
        if not self._writer.is_closing():
            self._writer.write(encode_frame(frame))


def _named_space(words: list[str]) -> str:
    """Return the space that a command line names."""
    for number, word in enumerate(words):
        if word == "--space":
            return next((name for name in words[number + 1 : number + 3] if name != "="), "")
        if word.startswith("--space="):
            return word.partition("=")[2]
    return ""


class _LimitedService:
    """The verbs of the daemon, each within its limits. `run` marks the changes of a command."""

    def __init__(self, dispatcher: RpcDispatcher, *, run: str) -> None:
        self._dispatcher = dispatcher
        self._run = run
        service = LocalService.over(dispatcher.engine, dispatcher.notes)
        self.export, self.import_ = service.export, service.import_

    async def call(self, request: Request[R], *, who: Caller, progress: Progress | None = None) -> R:
        """Carry out a request."""
        caller = replace(who, run=self._run) if verb_of(request).logged else who
        return await self._dispatcher.call(request, who=caller, progress=progress)
