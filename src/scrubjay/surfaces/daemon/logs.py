"""Structured logs: one JSON object a line, on standard error and nowhere else. No secret gets into one."""

import json
import logging
import math
import re
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import cast

from scrubjay.telemetry import request_id

LEVELS = ("debug", "info", "warning", "error")
HIDDEN = "[hidden]"
_access = logging.getLogger("scrubjay.access")
# Whoever watches the daemon asks for these all day.
_WATCHED = ("/healthz", "/readyz", "/metrics")
_CLIENT_ERROR = 400
# What tells that it is a secret stays, what is secret goes.
_SECRETS = (
    # Our own tokens.
    re.compile(r"(sj_)[A-Za-z0-9_-]{20,}"),
    re.compile(r"((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE),
    re.compile(
        r"((?:api[_-]?key|access[_-]?token|password|passwd|secret|authorization)[\"']?\s*[=:]\s*[\"']?)"
        r"(?!(?:bearer|basic)\s)[^\s\"',;&]+",
        re.IGNORECASE,
    ),
)
# Whole runs of what a JSON Web Token is made of are looked into: searching for its parts would take for ever in a long
# text that is made to look like one.
_RUN = re.compile(r"[A-Za-z0-9_.-]{12,}")
_JWT = "eyJ"
_SECRET_FIELDS = frozenset({"authorization", "cookie", "api_key", "apikey", "password", "secret", "access_token"})


def set_up_logs(level: str) -> None:
    """Send what this process logs to standard error, line by line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("scrubjay").setLevel(level.upper())


def access(*, method: str, route: str, status: int, seconds: float, token: str = "") -> None:
    """A line about an HTTP request. `route` is the route's own name, never what the caller wrote; `token` is its id."""
    is_routine = route.endswith(_WATCHED) and status < _CLIENT_ERROR
    fields: dict[str, object] = {"method": method, "route": route, "status": status, "ms": round(seconds * 1000, 3)}
    if token:
        fields["token"] = token
    _access.log(logging.DEBUG if is_routine else logging.INFO, "request", extra={"fields": fields})


def without_secrets(text: str) -> str:
    """A text in which whatever looks like a secret is hidden."""
    for secret in _SECRETS:
        text = secret.sub(rf"\1{HIDDEN}", text)
    return _RUN.sub(_without_jwt, text)


class Lines(logging.Formatter):
    """A record as one line of JSON. In plain ASCII: no character can be taken for the end of the line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        reported: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        if current := request_id.get():
            reported["request"] = current
        reported |= getattr(record, "fields", {})
        if record.exc_info:
            reported["trace"] = self.formatException(record.exc_info)
        # Of a request nothing is told but our own words and numbers, and there are many of them.
        return json.dumps(reported if record.name == _access.name else _clean(reported))


def _without_jwt(run: re.Match[str]) -> str:
    before, mark, after = run[0].partition(_JWT)
    return f"{before}{_JWT}{HIDDEN}" if mark and "." in after else run[0]


def _clean(value: object) -> object:
    """A value as JSON can hold it, without secrets."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {without_secrets(str(name)): _clean_field(str(name), item) for name, item in items}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean(item) for item in cast("Iterable[object]", value)]
    return without_secrets(str(value))


def _clean_field(name: str, value: object) -> object:
    return HIDDEN if name.lower().replace("-", "_") in _SECRET_FIELDS else _clean(value)
