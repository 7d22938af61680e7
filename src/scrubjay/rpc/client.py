"""How a verb is called from afar: again when that is safe, and with word of what is known when it is not."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, cast

from scrubjay.errors import Busy, DaemonUnavailable
from scrubjay.model.draft import Caller
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Json
from scrubjay.model.results import Recalled
from scrubjay.model.transfer import Progress
from scrubjay.rpc.answer_cache import OfflineAnswers
from scrubjay.rpc.codec import from_json, to_json_without_defaults
from scrubjay.rpc.transport import Transport

T = TypeVar("T")
# A daemon that is being restarted is back within these; each nap is twice the one before.
_ATTEMPTS = 8
_FIRST_NAP = 0.05


class RpcClient:
    """Calls a daemon; tries again when that is safe, and tells what is known when it is not."""

    def __init__(self, line: Transport) -> None:
        self._line = line
        self._answers = OfflineAnswers()
        self._is_away = False

    async def outcome(self, runs: Sequence[str], *, who: Caller) -> dict[str, bool]:
        """Of each run, whether it has changed anything."""
        return cast("dict[str, bool]", await self._try("outcome", {"runs": to_json_without_defaults(runs)}, who))

    async def close(self) -> None:
        """Hang up."""
        await self._line.close()

    async def _told(self, verb: str, kind: type[T], who: Caller, **arguments: object) -> T:
        """The answer of a verb that may be called twice and of which no answer is kept."""
        return cast(
            "T",
            from_json(
                kind,
                await self._try(verb, {name: to_json_without_defaults(one) for name, one in arguments.items()}, who),
            ),
        )

    async def _read(self, verb: str, kind: type[T], who: Caller, **arguments: object) -> T:
        asked = {name: to_json_without_defaults(value) for name, value in arguments.items()}
        try:
            told = await self._try(verb, asked, who)
        except DaemonUnavailable:
            kept = self._answers.find(verb, asked, spaces=who.spaces)
            if kept is None:
                raise
            return cast("T", replace(cast("Recalled", from_json(kind, kept)), stale=True))
        self._answers.keep(verb, asked, told, spaces=who.spaces)
        return cast("T", from_json(kind, told))

    async def _write(
        self, verb: str, kind: type[T], who: Caller, *, progress: Progress | None = None, **arguments: object
    ) -> T:
        asked = {name: to_json_without_defaults(value) for name, value in arguments.items()}
        # Its own run, so that it can be asked afterwards whether it was committed.
        caller = who if who.run else replace(who, run=new_id())
        peer = self._line.peer
        try:
            return cast("T", from_json(kind, await self._try(verb, asked, caller, is_write=True, progress=progress)))
        except DaemonUnavailable as error:
            if not error.fields.get("sent"):
                raise
            committed = None if who.run else await self._outcome(caller, asked_of=self._line.peer or peer)
            raise _lost(verb, committed=committed, has_key=_has_key(arguments)) from error

    async def _try(
        self,
        verb: str,
        asked: Mapping[str, Json],
        who: Caller,
        *,
        is_write: bool = False,
        progress: Progress | None = None,
    ) -> Json:
        """Call; again after a nap if the daemon was busy or away, and a repetition can do no harm."""
        nap = _FIRST_NAP
        # One that was waited for in vain is not waited for again until it answers.
        attempts = 1 if self._is_away else _ATTEMPTS
        for attempt in range(attempts):
            is_last = attempt == attempts - 1
            try:
                answer = await self._line.call(verb, asked, who=who, progress=progress)
            except DaemonUnavailable as error:
                if is_last or (is_write and error.fields.get("sent")):
                    self._is_away = is_last
                    raise
            except Busy as error:
                if is_last or not error.fields.get("refused"):
                    raise
            else:
                self._is_away = False
                return answer
            await asyncio.sleep(nap)
            nap *= 2
        raise AssertionError("the last attempt answers or raises")

    async def _outcome(self, who: Caller, *, asked_of: str) -> bool | None:
        """Whether a write whose answer never came was committed; None when nobody knows."""
        try:
            committed = (await self.outcome([who.run], who=who)).get(who.run)
        except (DaemonUnavailable, Busy):
            return None
        # The same process may still be at it; what another finds missing was never written.
        return committed if committed or (self._line.peer and self._line.peer != asked_of) else None


def _has_key(arguments: Mapping[str, object]) -> bool:
    """Whether a request has an idempotency key, by itself or in what it hands in."""
    keys = [getattr(argument, "idempotency_key", "") for argument in arguments.values()]
    return any((*keys, arguments.get("idempotency_key")))


def _lost(verb: str, *, committed: bool | None, has_key: bool) -> DaemonUnavailable:
    unknown = "Repeat it with the same idempotency_key" if has_key else "Look before you repeat it"
    words = {
        True: ("its change was committed", "Do not repeat it; read what it wrote"),
        False: ("nothing was written", "It is safe to repeat it"),
        None: ("whether its change was committed is not known", unknown),
    }
    known, hint = words[committed]
    return DaemonUnavailable(f"the daemon went away during {verb}; {known}", hint=hint, committed=committed, sent=True)
