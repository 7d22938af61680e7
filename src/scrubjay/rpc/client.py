"""Calls to a daemon: retries, offline answers, and the fate of writes whose answer was lost."""

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar, cast

from scrubjay.errors import Busy, DaemonUnavailable
from scrubjay.model.arguments import Request, result_of
from scrubjay.model.caller import Caller
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Json
from scrubjay.model.requests import ExportRequest, ImportRequest, OutcomeRequest
from scrubjay.model.transfer import Imported, Lines, Progress
from scrubjay.model.verbs import Verb, verb_of
from scrubjay.rpc.codec import from_json, to_json_without_defaults
from scrubjay.rpc.frames import CallAnswer, decode_frame

R = TypeVar("R")
# A restarting daemon is back within these attempts; each delay is twice the one before.
_ATTEMPTS = 8
_FIRST_DELAY = 0.05
# With an answer at hand, a reader waits a third of a second for a better one.
_ATTEMPTS_WITH_ANSWER = 4
_MAX_ANSWERS = 256
# Answers may contain whole memories: together they must not outgrow the client.
_MAX_BYTES = 4_000_000
# Made once: `json.dumps` makes one for each call.
_SORTED = json.JSONEncoder(sort_keys=True)

_Key = tuple[tuple[str, ...], str, str]


class Transport(Protocol):
    """A connection to the daemon, by socket or HTTP.

    Raises DaemonUnavailable with the field `sent`: whether the daemon may have received the call.
    """

    @property
    def peer(self) -> str:
        """The process that answered last, empty if unknown. A process that is gone can no longer write."""
        ...

    async def open(self) -> None:
        """Make sure that the daemon answers."""
        ...

    async def call(
        self, verb: str, arguments: Mapping[str, Json], *, who: Caller, progress: Progress | None = None
    ) -> CallAnswer:
        """Call a verb and return its answer."""
        ...

    def pull(
        self, verb: str, arguments: Mapping[str, Json], *, who: Caller, progress: Progress | None = None
    ) -> AsyncIterator[str]:
        """Call a verb that answers with lines."""
        ...

    async def push(self, verb: str, lines: Iterable[str], *, who: Caller, progress: Progress | None = None) -> Json:
        """Send lines to a verb and return its answer."""
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...


class RpcClient:
    """Calls verbs of a daemon, and repeats a call if that is safe."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._answers = OfflineAnswers()
        # The attempts in vain since the daemon has answered.
        self._waited = 0

    async def close(self) -> None:
        """Close the connection."""
        await self._transport.close()

    async def call(self, request: Request[R], *, who: Caller, progress: Progress | None = None) -> R:
        """Call the verb of a request."""
        verb, arguments = verb_of(request), _to_json(request)
        if verb.offline:
            return await self._read(verb, arguments, who)
        if verb.logged:
            return await self._write(verb, arguments, who, progress)
        answer = await self._try(verb.name, arguments, who, is_write=not verb.idempotent, progress=progress)
        return _result(verb, answer.result)

    def export(
        self, request: ExportRequest, *, who: Caller, progress: Progress | None = None
    ) -> AsyncIterator[str]:  # fmt: skip
        """Return the lines of an export."""
        return self._transport.pull(verb_of(request).name, _to_json(request), who=who, progress=progress)

    async def import_(
        self, request: ImportRequest, lines: Lines, *, who: Caller, progress: Progress | None = None
    ) -> Imported:  # fmt: skip
        """Import lines; the daemon decides whether it accepts optional sections from this caller."""
        verb = verb_of(request)
        return _result(verb, await self._transport.push(verb.name, lines(), who=who, progress=progress))

    async def _read(self, verb: Verb, arguments: Mapping[str, Json], who: Caller) -> Any:
        """Call a verb that changes nothing; if the daemon is away, return its last answer, marked as stale."""
        key = request_key(verb.name, arguments, who.spaces)
        attempts = _ATTEMPTS_WITH_ANSWER if key in self._answers else _ATTEMPTS
        try:
            answer = await self._try(verb.name, arguments, who, attempts=attempts)
        except DaemonUnavailable:
            stored = self._answers.find(key)
            if stored is None:
                raise
            return replace(_result(verb, stored), stale=True)
        self._answers.store(key, answer.line)
        return _result(verb, answer.result)

    async def _write(self, verb: Verb, arguments: Mapping[str, Json], who: Caller, progress: Progress | None) -> Any:
        """Call a verb that writes; if its answer is lost, raise an error that says whether it was committed."""
        # A run of its own lets the client ask for the outcome.
        caller = who if who.run else replace(who, run=new_id())
        peer = self._transport.peer
        try:
            answer = await self._try(verb.name, arguments, caller, is_write=True, progress=progress)
        except DaemonUnavailable as error:
            if not error.fields.get("sent"):
                raise
            committed = None if who.run else await self._is_committed(caller, peer=self._transport.peer or peer)
            has_key = bool(arguments.get("idempotency_key"))
            raise _lost_error(verb.name, committed=committed, has_key=has_key) from error
        return _result(verb, answer.result)

    async def lost_error(self, name: str, *, who: Caller, peer: str) -> DaemonUnavailable:
        """Return the error of a command whose answer was lost, which a process, the `peer`, carried out as a run."""
        return _lost_error(name, committed=await self._is_committed(who, peer=peer), has_key=False)

    async def _try(
        self,
        verb: str,
        request: Mapping[str, Json],
        who: Caller,
        *,
        is_write: bool = False,
        attempts: int = _ATTEMPTS,
        progress: Progress | None = None,
    ) -> CallAnswer:
        """Call a verb; repeat it after a delay if the daemon is busy or away and a repetition does no harm."""
        delay = _FIRST_DELAY
        # After one wait in vain, do not wait as long again until the daemon answers.
        attempts = 1 if self._waited >= attempts else attempts
        for attempt in range(attempts):
            is_last = attempt == attempts - 1
            try:
                answer = await self._transport.call(verb, request, who=who, progress=progress)
            except DaemonUnavailable as error:
                # Another version stays another version.
                if is_last or "version" in error.fields or (is_write and error.fields.get("sent")):
                    self._waited = max(self._waited, attempts if is_last else 0)
                    raise
            except Busy as error:
                if is_last or not error.fields.get("refused"):
                    raise
            else:
                self._waited = 0
                return answer
            await asyncio.sleep(delay)
            delay *= 2
        raise AssertionError("the last attempt answers or raises")

    async def _is_committed(self, who: Caller, *, peer: str) -> bool | None:
        """Return whether a write whose answer was lost was committed; None if that is unknown."""
        try:
            committed = (await self.call(OutcomeRequest(runs=(who.run,)), who=who)).get(who.run)
        except (DaemonUnavailable, Busy):
            return None
        # The same process may still be writing; a change that another process cannot see was never written.
        return committed if committed or (self._transport.peer and self._transport.peer != peer) else None


class OfflineAnswers:
    """The last answers by verb, arguments and spaces, for when the daemon is away; bounded in number and size.

    They are kept as the lines that they came in, which takes no time.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[_Key, bytes] = OrderedDict()
        self._size = 0

    def __contains__(self, key: _Key) -> bool:
        return key in self._answers

    def store(self, key: _Key, line: bytes) -> None:
        """Store the line of an answer as the newest."""
        self._drop(key)
        if len(line) > _MAX_BYTES // 4:
            return
        self._answers[key] = line
        self._size += len(line)
        while len(self._answers) > _MAX_ANSWERS or self._size > _MAX_BYTES:
            self._drop(next(iter(self._answers)))

    def find(self, key: _Key) -> Json:
        """Return the answer to the same request, or None."""
        line = self._answers.get(key)
        return None if line is None else decode_frame(line)["result"]

    def _drop(self, key: _Key) -> None:
        self._size -= len(self._answers.pop(key, b""))


def request_key(verb: str, request: Mapping[str, Json], spaces: Sequence[str]) -> _Key:
    """Return the key of a request among stored answers: the same arguments in any order."""
    return tuple(spaces), verb, _SORTED.encode(request)


def _to_json(request: Request[object]) -> dict[str, Json]:
    return cast("dict[str, Json]", to_json_without_defaults(request))


def _result(verb: Verb, answer: Json) -> Any:
    return from_json(result_of(verb.request), answer)


def _lost_error(verb: str, *, committed: bool | None, has_key: bool) -> DaemonUnavailable:
    unknown = "Repeat it with the same idempotency_key" if has_key else "Check before you repeat it"
    words = {
        True: ("its change was committed", "Do not repeat it; read the result"),
        False: ("nothing was written", "It is safe to repeat it"),
        None: ("it is unknown whether its change was committed", unknown),
    }
    outcome, hint = words[committed]
    return DaemonUnavailable(
        f"the daemon went away during {verb}; {outcome}", hint=hint, committed=committed, sent=True
    )
