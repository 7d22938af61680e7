"""After the end of a daemon: what its successor must hear again, and what became of the calls it was working on."""

import json
from collections.abc import Iterable, Sequence

from scrubjay.surfaces.mcp.bridge.link import Link
from scrubjay.surfaces.mcp.bridge.messages import Message, error_line, key_of
from scrubjay.surfaces.mcp.bridge.unmatched_errors import LISTEN

_OUTCOME = "scrubjay/outcome"
# Whatever killed one daemon is not tried on many; a stream of events, which is open all day, may see a few restarts.
_REPEATS = {LISTEN: 20}
# A session begins with these; a hasty client may have sent the second before the first was answered.
_ORDER = {"initialize": 0, "notifications/initialized": 1}
_GONE = "the daemon went away during this call"
_VERDICTS = {
    True: f"{_GONE}, but what it wrote is committed: do not repeat it",
    False: f"{_GONE} and nothing was written: it is safe to repeat it",
    None: f"{_GONE}, and whether something was written is not known",
}
_REPEAT = "a repeat with the same idempotency_key is safe"
_LOOK = "look before you repeat it"


class Resumed:
    """What a resumed session goes on with."""

    __slots__ = ("again", "for_client")

    def __init__(self) -> None:
        self.for_client: list[bytes] = []
        self.again: list[Message] = []


def resume(link: Link, *, standing: Iterable[Message], in_flight: Sequence[Message], is_same_daemon: bool) -> Resumed:
    """Bring a new link to where the lost one was; raises OSError if this one is lost as well."""
    resumed = Resumed()
    for message in sorted(standing, key=lambda message: _ORDER.get(message.method, len(_ORDER))):
        if message.is_request:
            resumed.for_client += link.ask(message.line, key=message.key)[1]
        else:
            link.tell(message.line)
    calls = [message for message in in_flight if message.is_call]
    committed = _outcomes(link, calls, resumed)
    for call in calls:
        resumed.for_client.append(_decide(call, _certain(call, committed.get(call.run), is_same_daemon)))
    for message in in_flight:
        if message.is_call:
            continue
        if message.repeats < _REPEATS.get(message.method, 1):
            resumed.again.append(message)
        else:
            resumed.for_client.append(error_line(message.id, f"{_GONE}, and so did its successor"))
    return resumed


def abandon(*, in_flight: Iterable[Message], unsent: Iterable[Message], reason: str) -> list[bytes]:
    """The answers to all that waits, when no daemon can be reached."""
    answers = [
        _decide(message, None, reason) if message.is_call else error_line(message.id, reason) for message in in_flight
    ]
    for message in filter(lambda message: message.is_request, unsent):
        data = {"code": "daemon_unavailable", "committed": False} if message.is_call else None
        answers.append(error_line(message.id, reason, data=data))
    return answers


def _outcomes(link: Link, calls: Sequence[Message], resumed: Resumed) -> dict[str, object]:
    """For each run whether the daemon knows a change of it."""
    runs = [call.run for call in calls if call.run]
    if not runs:
        return {}
    question = {"jsonrpc": "2.0", "id": _OUTCOME, "method": _OUTCOME, "params": {"runs": runs}}
    answer, others = link.ask(json.dumps(question).encode() + b"\n", key=key_of(_OUTCOME))
    resumed.for_client += others
    try:
        committed: dict[str, object] = json.loads(answer)["result"]["committed"]
        return dict(committed)
    except (KeyError, TypeError, ValueError):
        return {}  # A daemon that does not know the question.


def _certain(call: Message, committed: object, is_same_daemon: bool) -> bool | None:
    """What is sure of a call, given what the daemon says of its run."""
    # The client's own run may cover several calls, any of which may be the one that wrote.
    if committed is True and call.own_run:
        return True
    # A daemon that still lives may still be writing.
    if committed is False and not is_same_daemon:
        return False
    return None


def _decide(call: Message, committed: bool | None, reason: str = "") -> bytes:
    message = _VERDICTS[committed]
    if committed is None:
        message += f": {_REPEAT if call.repeatable else _LOOK}"
    if reason:
        message += f". {reason}"
    return error_line(call.id, message, data={"code": "daemon_unavailable", "committed": committed, "run": call.run})
