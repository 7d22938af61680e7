"""Doing what a caller asks: a verb with its arguments becomes a call of the engine, behind the gate."""

import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace

from scrubjay.engine import Engine
from scrubjay.errors import Busy, InvalidInput, ScrubjayError
from scrubjay.graph.jsonl import FORMATS
from scrubjay.graph.status import restrict_to_space
from scrubjay.model.draft import Caller
from scrubjay.model.grant import OWNER, Grant
from scrubjay.model.memory import Json
from scrubjay.model.results import Status
from scrubjay.notes.service import Notes
from scrubjay.ports import Progress
from scrubjay.rpc.codec import to_json_without_defaults
from scrubjay.rpc.frames import Frame, pack_lines
from scrubjay.rpc.names import LONG, READS
from scrubjay.rpc.verbs import NOTES_VERBS, has_argument, parse_arguments, parse_caller
from scrubjay.surfaces.daemon.limiter import RequestLimiter
from scrubjay.surfaces.http.body import UploadBuffer

_BATCH = 50
# Nobody watches a bar more closely than this.
_SECONDS_BETWEEN_REPORTS = 0.1

_log = logging.getLogger(__name__)

Tell = Callable[[Frame], None]
Flow = Callable[[], Awaitable[None]]
"""Waits until what was told has gone out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One thing to do, for whom."""

    verb: str
    who: Caller
    arguments: Mapping[str, Json]
    grant: Grant = OWNER


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """Where calls are handed in."""

    engine: Engine
    gate: RequestLimiter
    notes: Notes | None = None

    async def serve(self, call: Call, *, tell: Tell, flow: Flow, spool: UploadBuffer | None = None) -> Json:
        """Do it and give the answer; `tell` hears of progress, and gets lines as they come."""
        work = self._export(call, tell, flow) if call.verb == "export" else self._do(call, tell, spool)
        try:
            return await self.gate.run(call.verb, work, reads=_only_reads(call.verb), long=call.verb in LONG)
        except Busy as error:
            if error.fields.get("refused") and spool is not None:
                spool.close()
            raise

    async def _do(self, call: Call, tell: Tell, spool: UploadBuffer | None) -> Json:
        # What was begun is finished, though its caller may be gone: the lines stay until then.
        with closing(spool or UploadBuffer()) as lines:
            return await self._call(call, tell, lines)

    async def _call(self, call: Call, tell: Tell, spool: UploadBuffer) -> Json:
        options = parse_arguments(call.verb, call.arguments)
        if has_argument(call.verb, "who"):
            options["who"] = call.who
        if has_argument(call.verb, "progress"):
            options["progress"] = _reports(tell)
        if has_argument(call.verb, "lines"):
            options["lines"] = spool.lines
        context = (self.notes or Notes(engine=self.engine)) if call.verb in NOTES_VERBS else self.engine
        answer = await getattr(context, call.verb)(**options)
        if call.verb == "import_" and not call.grant.allows_all_spaces:
            # Its caller may not ask for it: how much there is to embed tells of other spaces.
            await self.engine.embed_missing()
        if call.verb == "get_memory_status" and not call.grant.allows_all_spaces:
            answer = restrict_to_space(answer)
        return to_json_without_defaults(self._status(answer, call.grant) if isinstance(answer, Status) else answer)

    def _status(self, answer: Status, grant: Grant) -> Status:
        return replace(answer, daemon=self._itself()) if grant.allows_all_spaces else answer.limited_to_space

    def _itself(self) -> dict[str, str | int]:
        """What `status` tells of the daemon that answers it."""
        return {"pid": os.getpid(), "requests": self.gate.inside, "served": self.gate.served}

    async def _export(self, call: Call, tell: Tell, flow: Flow) -> Json:
        options = parse_arguments("export", call.arguments)
        chosen = str(options.get("format", FORMATS[0]))
        async for batch in _batches(self.engine.export(who=call.who, format=chosen, progress=_reports(tell))):
            for packet in pack_lines(batch):
                tell(packet)
                await flow()
        return None


def call_from(verb: str, frame: Frame, *, grant: Grant = OWNER) -> Call:
    """The call that a frame asks for; raises InvalidInput for one of another shape, NotAllowed for what is not open."""
    arguments = frame.get("args", {})
    if not isinstance(arguments, dict):
        raise InvalidInput(f"args must be an object, not {type(arguments).__name__}", field="args")
    text = frame.get("who")
    who = parse_caller(text)
    if grant is not OWNER:
        who = _within(grant, who, names_space=isinstance(text, dict) and "space" in text)
        (grant.require_read if _only_reads(verb) else grant.require_write)(verb)
    return Call(verb=verb, who=who, arguments=arguments, grant=grant)


def _only_reads(verb: str) -> bool:
    """Whether a verb changes nothing: then it is given up with whoever waits for it, however long it takes."""
    return verb in READS or verb == "export"


def _within(grant: Grant, who: Caller, *, names_space: bool) -> Caller:
    """A caller in the spaces that are open to it; who names none works in the token's own."""
    own = grant.caller(space=who.space if names_space else "", agent=who.agent or grant.name, run=who.run)
    return replace(own, also=tuple(map(grant.require, who.also))) if who.also else own


def told(error: Exception, *, verb: str) -> ScrubjayError:
    """What a caller is told of an error; the log gets the trace of one that is not ours."""
    if isinstance(error, ScrubjayError):
        return error
    _log.error("a call failed", exc_info=error, extra={"fields": {"verb": verb}})
    return ScrubjayError(f"{verb} failed: {type(error).__name__}", hint="The daemon's log says more")


def _reports(tell: Tell) -> Progress:
    last = 0.0

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if done >= total or now - last >= _SECONDS_BETWEEN_REPORTS:
            last = now
            tell({"progress": [done, total]})

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
