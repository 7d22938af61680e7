"""Turns a verb with its arguments into a call of the engine, within the limits of the daemon."""

import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import closing
from dataclasses import field, replace
from typing import TypeVar, cast

from scrubjay.engine import Engine
from scrubjay.errors import Busy, InvalidInput, NotAllowed, ScrubjayError
from scrubjay.graph.status import restrict_to_space
from scrubjay.lazy import dataclass
from scrubjay.model.arguments import Request
from scrubjay.model.caller import OWNER, Caller, Grant
from scrubjay.model.memory import Json
from scrubjay.model.requests import ExportRequest, ImportRequest
from scrubjay.model.results import Status
from scrubjay.model.transfer import Imported
from scrubjay.model.verbs import VERBS, verb_of
from scrubjay.notes.service import Notes
from scrubjay.ports import Progress
from scrubjay.rpc.codec import find_verb, parse_caller, parse_request, to_json_without_defaults
from scrubjay.rpc.frames import Frame, pack_lines
from scrubjay.service import LocalService
from scrubjay.surfaces.daemon.limiter import RequestLimiter
from scrubjay.surfaces.http.upload import UploadBuffer

R = TypeVar("R")
_BATCH = 50
_EXPORT = "export"
# A progress bar needs no more updates than this.
_SECONDS_BETWEEN_REPORTS = 0.1

_log = logging.getLogger(__name__)

SendFrame = Callable[[Frame], None]
"""Sends a frame to the caller."""
Drain = Callable[[], Awaitable[None]]
"""Waits until the frames are sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcCall:
    """A verb with its arguments and its caller."""

    verb: str
    who: Caller
    arguments: Mapping[str, Json]
    grant: Grant = OWNER
    over_http: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcDispatcher:
    """Executes calls."""

    engine: Engine
    limiter: RequestLimiter
    notes: Notes | None = None
    # Where it can be reached, for `status`.
    addresses: Mapping[str, str] = field(default_factory=dict[str, str])

    def new_upload(self) -> UploadBuffer:
        """Return a buffer for the lines of a call."""
        return UploadBuffer(encrypted=self.engine.is_encrypted)

    async def dispatch(
        self, call: RpcCall, *, send: SendFrame, drain: Drain, upload: UploadBuffer | None = None
    ) -> Json:
        """Execute a call and return its answer; progress and exported lines are sent meanwhile."""
        verb = VERBS.get(call.verb)
        work = self._export(call, send, drain) if call.verb == _EXPORT else self._execute(call, send, upload)
        try:
            return await self.limiter.run(
                call.verb, work, caller=call.grant.id, reads=verb is not None and (verb.reads or verb.stops),
                long=verb is not None and verb.long,
            )  # fmt: skip
        except Busy as error:
            if error.fields.get("refused") and upload is not None:
                upload.close()
            raise

    async def call(self, request: Request[R], *, who: Caller, progress: Progress | None = None) -> R:
        """Carry out a request of the owner."""
        verb = verb_of(request)
        work = LocalService.over(self.engine, self.notes).call(request, who=who, progress=progress)
        try:
            answer: object = await self.limiter.run(
                verb.name, work, reads=verb.reads or verb.stops, long=verb.long
            )  # fmt: skip
        except Exception as error:
            raise public_error(error, verb=verb.name) from error
        return cast("R", self._status(answer, OWNER, who) if isinstance(answer, Status) else answer)

    async def _execute(self, call: RpcCall, send: SendFrame, upload: UploadBuffer | None) -> Json:
        # A write is finished even if its caller is gone: until then it needs the uploaded lines.
        with closing(upload or self.new_upload()) as lines:
            answer = await self._call_service(call, send, lines)
        if not call.grant.allows_all_spaces:
            if isinstance(answer, Imported):
                # The caller may not do it: the amount of work would reveal something about other spaces.
                await self.engine.backfill()
            if call.verb == "get_memory_status":
                answer = restrict_to_space(cast("dict[str, Json]", answer))
        return to_json_without_defaults(
            self._status(answer, call.grant, call.who) if isinstance(answer, Status) else answer
        )

    async def _call_service(self, call: RpcCall, send: SendFrame, upload: UploadBuffer) -> object:
        request = parse_request(call.verb, call.arguments)
        service, progress = LocalService.over(self.engine, self.notes), _progress(send)
        if isinstance(request, ImportRequest):
            request = replace(request, sections=not call.over_http, screened=call.grant.screens_imports)
            return await service.import_(request, upload.lines, who=call.who, progress=progress)
        return await service.call(request, who=call.who, progress=progress)

    def _status(self, answer: Status, grant: Grant, who: Caller) -> Status:
        if not grant.allows_all_spaces:
            return answer.limited_to_space
        daemon = {"pid": os.getpid(), "requests": self.limiter.active, "served": self.limiter.served}
        # The socket is a file of the server.
        seen = {name: at for name, at in self.addresses.items() if who.sees_paths or name != "socket"}
        return replace(answer, daemon={**daemon, **seen})

    async def _export(self, call: RpcCall, send: SendFrame, drain: Drain) -> Json:
        request = cast("ExportRequest", parse_request(_EXPORT, call.arguments))
        if request.include and call.over_http:
            raise NotAllowed(
                "documents, answers and vectors are exported only for the owner of the data, and not over HTTP",
                hint="Export without them, or run `scrubjay export` on the machine of the store",
                field="include",
            )
        lines = LocalService.over(self.engine, self.notes).export(request, who=call.who, progress=_progress(send))
        async for batch in _batches(lines):
            for packet in pack_lines(batch):
                send(packet)
                await drain()
        return None


def parse_call(verb: str, frame: Frame, *, grant: Grant = OWNER, who: Caller | None = None) -> RpcCall:
    """Return the call in a frame; raises InvalidInput for an invalid frame, NotAllowed without the right.

    `who` is its caller, if that was read already.
    """
    arguments = frame.get("args", {})
    if not isinstance(arguments, dict):
        raise InvalidInput(f"args must be an object, not {type(arguments).__name__}", field="args")
    caller = frame.get("who")
    who = who or parse_caller(caller)
    if grant is not OWNER:
        grant.access.require(find_verb(verb).needs, verb=verb)
        who = _restrict(grant, who, names_space=isinstance(caller, dict) and "space" in caller)
    return RpcCall(verb=verb, who=who, arguments=arguments, grant=grant)


def _restrict(grant: Grant, who: Caller, *, names_space: bool) -> Caller:
    """Return the caller within the spaces of its grant; the default is the space of the token."""
    own = grant.caller(space=who.space if names_space else "", agent=who.agent or grant.name, run=who.run)
    return replace(own, also=tuple(map(grant.require, who.also))) if who.also else own


def public_error(error: Exception, *, verb: str) -> ScrubjayError:
    """Return the error for the caller; the trace of an unexpected one goes to the log."""
    if isinstance(error, ScrubjayError):
        return error
    _log.error("a call failed", exc_info=error, extra={"fields": {"verb": verb}})
    return ScrubjayError(f"{verb} failed: {type(error).__name__}", hint="See the log of the daemon")


def _progress(send: SendFrame) -> Progress:
    last = 0.0

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if done >= total or now - last >= _SECONDS_BETWEEN_REPORTS:
            last = now
            send({"progress": [done, total]})

    return report


async def _batches(lines: AsyncIterator[str]) -> AsyncIterator[list[str]]:
    batch: list[str] = []
    async for line in lines:
        batch.append(line)
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
