"""A client that speaks verbs over the socket: its calls run side by side, and answers go back as they are ready."""

import asyncio

from scrubjay import telemetry
from scrubjay.errors import InvalidInput, ScrubjayError, TooLarge
from scrubjay.model.memory import Json
from scrubjay.rpc.codec import error_to_json
from scrubjay.rpc.frames import Frame, LineJoiner, LineReader, decode_frame, encode_frame
from scrubjay.surfaces.daemon.rpc_dispatch import Call, Counter, UploadBuffer, call_from, told


class RpcSession:
    """Reads frames until the client hangs up. What it was still writing is finished, what it was reading is not."""

    def __init__(self, lines: LineReader, writer: asyncio.StreamWriter, *, counter: Counter) -> None:
        self._lines = lines
        self._writer = writer
        self._counter = counter
        self._tasks: dict[Json, asyncio.Task[None]] = {}
        self._spools: dict[Json, UploadBuffer] = {}
        self._pushed: dict[Json, Call] = {}
        self._joiners: dict[Json, LineJoiner] = {}

    async def hold(self) -> None:
        """Talk until the other side is done."""
        try:
            while True:
                try:
                    line = await self._lines.line()
                except TooLarge as error:
                    self._tell(None, {"error": error_to_json(error)})
                    continue
                if line is None:
                    return
                self._hear(line)
                await self._writer.drain()
        finally:
            for task in self._tasks.values():
                task.cancel()
            for spool in self._spools.values():
                spool.close()

    def _hear(self, line: bytes) -> None:
        number: Json = None
        try:
            frame = decode_frame(line)
            number = frame.get("id")
            if not isinstance(number, int | str):
                raise InvalidInput("a frame needs an id, which its answer carries", field="id")
            self._take(number, frame)
        except ScrubjayError as error:
            self._tell(number, {"error": error_to_json(error)})

    def _take(self, number: int | str, frame: Frame) -> None:
        if "cancel" in frame:
            self._drop(number)
        elif number in self._pushed:
            self._take_pushed(number, frame)
        elif number in self._tasks:
            raise InvalidInput(f"call {number} is not over yet", hint="Give each call an id of its own", field="id")
        else:
            call = _call(frame)
            if frame.get("pushes"):
                self._pushed[number], self._spools[number], self._joiners[number] = call, UploadBuffer(), LineJoiner()
            else:
                self._start(number, call)

    def _take_pushed(self, number: int | str, frame: Frame) -> None:
        if "end" in frame:
            del self._joiners[number]
            self._start(number, self._pushed.pop(number))
            return
        self._spools[number].add(self._joiners[number].lines(frame))

    def _start(self, number: int | str, call: Call) -> None:
        task = asyncio.create_task(self._serve(number, call))
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._tasks.pop(number, None))

    async def _serve(self, number: int | str, call: Call) -> None:
        spool = self._spools.pop(number, None)
        with telemetry.incoming_request():
            await self._answer(number, call, spool)

    async def _answer(self, number: int | str, call: Call, spool: UploadBuffer | None) -> None:
        try:
            result = await self._counter.serve(
                call, tell=lambda frame: self._tell(number, frame), flow=self._writer.drain, spool=spool
            )
            self._tell(number, {"result": result})
        except Exception as error:  # noqa: BLE001 - the edge of the surface: one call must not end the others.
            self._tell(number, {"error": error_to_json(told(error, verb=call.verb))})

    def _drop(self, number: int | str) -> None:
        """An answer is not wanted any more, or what it needs will not come."""
        if number in self._tasks:
            self._tasks[number].cancel()
        if self._pushed.pop(number, None) is not None:
            self._spools.pop(number).close()

    def _tell(self, number: Json, frame: Frame) -> None:
        if not self._writer.is_closing():
            self._writer.write(encode_frame({"id": number, **frame}))


def _call(frame: Frame) -> Call:
    verb = frame.get("verb")
    if not isinstance(verb, str):
        raise InvalidInput("a frame needs a verb", hint='For example {"id": 1, "verb": "status"}', field="verb")
    return call_from(verb, frame)
