"""A client that calls verbs over the socket: its calls run concurrently, and each answer is sent when it is ready."""

import asyncio
from dataclasses import field

from scrubjay import telemetry
from scrubjay.errors import InvalidInput, ScrubjayError, TooLarge
from scrubjay.lazy import dataclass
from scrubjay.model.caller import Caller
from scrubjay.model.memory import Json
from scrubjay.rpc.codec import error_to_json
from scrubjay.rpc.frames import Frame, LineJoiner, LineReader, decode_frame, encode_frame
from scrubjay.surfaces.daemon.rpc_dispatch import RpcCall, RpcDispatcher, parse_call, public_error
from scrubjay.surfaces.http.upload import UploadBuffer


@dataclass(frozen=True, slots=True)
class _Upload:
    """A call whose lines are still arriving."""

    call: RpcCall
    buffer: UploadBuffer
    joiner: LineJoiner = field(default_factory=LineJoiner)


class RpcSession:
    """Serves frames until the client disconnects; then its writes are finished, and its reads are cancelled."""

    def __init__(self, lines: LineReader, writer: asyncio.StreamWriter, *, dispatcher: RpcDispatcher) -> None:
        self._lines = lines
        self._writer = writer
        self._dispatcher = dispatcher
        self._tasks: dict[Json, asyncio.Task[None]] = {}
        self._uploads: dict[Json, _Upload] = {}
        # Buffers of calls whose task has not begun.
        self._buffers: dict[Json, UploadBuffer] = {}
        # The caller of the last call, which is that of most: its checks are not repeated.
        self._last: tuple[Json, Caller | None] = None, None

    async def run(self) -> None:
        """Serve the client until it disconnects."""
        try:
            while True:
                try:
                    line = await self._lines.line()
                except TooLarge as error:
                    self._send(None, {"error": error_to_json(error)})
                    continue
                if line is None:
                    return
                self._receive(line)
                await self._writer.drain()
        finally:
            for task in self._tasks.values():
                task.cancel()
            for buffer in (*self._buffers.values(), *(upload.buffer for upload in self._uploads.values())):
                buffer.close()

    def _receive(self, line: bytes) -> None:
        call_id: Json = None
        try:
            frame = decode_frame(line)
            call_id = frame.get("id")
            if not isinstance(call_id, int | str):
                raise InvalidInput("a frame needs an id, which its answer repeats", field="id")
            self._handle(call_id, frame)
        except ScrubjayError as error:
            self._send(call_id, {"error": error_to_json(error)})

    def _handle(self, call_id: int | str, frame: Frame) -> None:
        if "cancel" in frame:
            self._cancel(call_id)
        elif call_id in self._uploads:
            upload = self._uploads[call_id]
            if "end" in frame:
                del self._uploads[call_id]
                self._start(call_id, upload.call, upload.buffer)
            else:
                upload.buffer.add(upload.joiner.lines(frame))
        elif call_id in self._tasks:
            raise InvalidInput(f"call {call_id} still runs", hint="Give each call an id of its own", field="id")
        else:
            verb = frame.get("verb")
            if not isinstance(verb, str):
                raise InvalidInput("a frame needs a verb", hint='For example {"id": 1, "verb": "status"}', field="verb")
            caller, who = self._last
            call = parse_call(verb, frame, who=who if frame.get("who") == caller else None)
            self._last = frame.get("who"), call.who
            if frame.get("pushes"):
                self._uploads[call_id] = _Upload(call, self._dispatcher.new_upload())
            else:
                self._start(call_id, call)

    def _start(self, call_id: int | str, call: RpcCall, buffer: UploadBuffer | None = None) -> None:
        if buffer is not None:
            self._buffers[call_id] = buffer
        task = asyncio.create_task(self._serve(call_id, call))
        self._tasks[call_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(call_id, None))

    async def _serve(self, call_id: int | str, call: RpcCall) -> None:
        buffer = self._buffers.pop(call_id, None)
        with telemetry.incoming_request():
            try:
                result = await self._dispatcher.dispatch(
                    call, send=lambda frame: self._send(call_id, frame), drain=self._writer.drain, upload=buffer
                )
                self._send(call_id, {"result": result})
            except Exception as error:  # noqa: BLE001 - the edge of the surface: one call must not end the others.
                self._send(call_id, {"error": error_to_json(public_error(error, verb=call.verb))})

    def _cancel(self, call_id: int | str) -> None:
        """Cancel a call whose caller does not need the answer, or cannot send the rest of its lines."""
        if call_id in self._tasks:
            self._tasks[call_id].cancel()
        upload = self._uploads.pop(call_id, None)
        if upload is not None:
            upload.buffer.close()

    def _send(self, call_id: Json, frame: Frame) -> None:
        if not self._writer.is_closing():
            self._writer.write(encode_frame({"id": call_id, **frame}))
