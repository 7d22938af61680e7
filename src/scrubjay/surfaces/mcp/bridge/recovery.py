"""Recovery from a lost daemon: repeats to its successor what is safe, and finds out what became of open calls."""

import json
from collections.abc import Iterable, Sequence

from scrubjay.surfaces.mcp.bridge.link import DaemonLink
from scrubjay.surfaces.mcp.bridge.messages import LISTEN, ClientMessage, error_line, key_of

_OUTCOME = "scrubjay/outcome"
# A message that may have killed a daemon is repeated once only; a stream of events, which stays open all day, may
# live through several restarts.
_MAX_REPEATS = {LISTEN: 20}
# The order in which a session begins; a hasty client may have sent the second before the first was answered.
_ORDER = {"initialize": 0, "notifications/initialized": 1}
_GONE = "the daemon went away during this call"
_OUTCOMES = {
    True: f"{_GONE}, but its changes are committed: do not repeat it",
    False: f"{_GONE} and nothing was written: it is safe to repeat it",
    None: f"{_GONE}, and it is unknown whether it wrote anything",
}
_REPEAT = "a repeat with the same idempotency_key is safe"
_CHECK = "check before you repeat it"


class ResumedSession:
    """The lines for the client, and the messages to send again, after a session is resumed."""

    __slots__ = ("again", "for_client")

    def __init__(self) -> None:
        self.for_client: list[bytes] = []
        self.again: list[ClientMessage] = []


def resume(
    link: DaemonLink, *, setup: Iterable[ClientMessage], in_flight: Sequence[ClientMessage], is_same_daemon: bool
) -> ResumedSession:
    """Set up the session on a new link; raises OSError if that one is lost as well."""
    resumed = ResumedSession()
    for message in sorted(setup, key=lambda message: _ORDER.get(message.method, len(_ORDER))):
        if message.is_request:
            resumed.for_client += link.request(message.line, key=message.key)[1]
        else:
            link.send_line(message.line)
    calls = [message for message in in_flight if message.is_call]
    committed = _fetch_outcomes(link, calls, resumed)
    for call in calls:
        outcome = _judge(call, committed.get(call.run), is_same_daemon)
        resumed.for_client.append(_outcome_line(call, outcome))
    for message in in_flight:
        if message.is_call:
            continue
        if message.repeats < _MAX_REPEATS.get(message.method, 1):
            resumed.again.append(message)
        else:
            resumed.for_client.append(error_line(message.id, f"{_GONE}, and so did its successor"))
    return resumed


def abandon(*, in_flight: Iterable[ClientMessage], unsent: Iterable[ClientMessage], reason: str) -> list[bytes]:
    """Return the answers to all open requests, when no daemon can be reached."""
    answers = [
        _outcome_line(message, None, reason) if message.is_call else error_line(message.id, reason)
        for message in in_flight
    ]
    for message in filter(lambda message: message.is_request, unsent):
        data = {"code": "daemon_unavailable", "committed": False} if message.is_call else None
        answers.append(error_line(message.id, reason, data=data))
    return answers


def _fetch_outcomes(link: DaemonLink, calls: Sequence[ClientMessage], resumed: ResumedSession) -> dict[str, object]:
    """Return for each run whether the daemon has a change of it."""
    runs = [call.run for call in calls if call.run]
    if not runs:
        return {}
    request = {"jsonrpc": "2.0", "id": _OUTCOME, "method": _OUTCOME, "params": {"runs": runs}}
    answer, others = link.request(json.dumps(request).encode() + b"\n", key=key_of(_OUTCOME))
    resumed.for_client += others
    try:
        committed: dict[str, object] = json.loads(answer)["result"]["committed"]
        return dict(committed)
    except (KeyError, TypeError, ValueError):
        return {}  # This daemon does not support the request.


def _judge(call: ClientMessage, committed: object, is_same_daemon: bool) -> bool | None:
    """Return whether a call is committed, if that is certain."""
    # A run of the client's own may cover several calls, any of which may have written.
    if committed is True and call.has_own_run:
        return True
    # A daemon that still runs may still be writing.
    if committed is False and not is_same_daemon:
        return False
    return None


def _outcome_line(call: ClientMessage, committed: bool | None, reason: str = "") -> bytes:
    message = _OUTCOMES[committed]
    if committed is None:
        message += f": {_REPEAT if call.idempotent else _CHECK}"
    if reason:
        message += f". {reason}"
    return error_line(call.id, message, data={"code": "daemon_unavailable", "committed": committed, "run": call.run})
