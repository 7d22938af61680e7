"""Structured logs: one JSON object per line, on standard error, without secrets."""

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
REDACTED = "[hidden]"
_access = logging.getLogger("scrubjay.access")
# Monitoring polls these routes.
_POLLED = ("/healthz", "/readyz", "/metrics")
_CLIENT_ERROR = 400
# Anyone who can connect causes these records of asyncio and uvicorn, thousands in a second.
_REPEATED = ("socket.accept() out of system resource", "Invalid HTTP request received.")
_SECONDS_BETWEEN_REPEATS = 60.0
# The first group, which marks a secret, stays; the rest is hidden.
_SECRETS = (
    # Tokens of Scrubjay.
    re.compile(r"(sj_)[A-Za-z0-9_-]{20,}"),
    re.compile(r"((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE),
    re.compile(
        r"((?:api[_-]?key|access[_-]?token|password|passwd|secret|authorization)[\"']?\s*[=:]\s*[\"']?)"
        r"(?!(?:bearer|basic)\s)[^\s\"',;&]+",
        re.IGNORECASE,
    ),
)
# Whole runs of the characters of a JSON Web Token: a search for its parts would be slow in a hostile text.
_RUN = re.compile(r"[A-Za-z0-9_.-]{12,}")
_JWT = "eyJ"
_SECRET_FIELDS = frozenset({"authorization", "cookie", "api_key", "apikey", "password", "secret", "access_token"})


def set_up_logs(level: str) -> None:
    """Send the logs of this process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(RepeatFilter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("scrubjay").setLevel(level.upper())


def log_access(*, method: str, route: str, status: int, seconds: float, token: str = "") -> None:
    """Log an HTTP request. `route` is the name of the route, never the path of the caller; `token` is an id."""
    level = logging.DEBUG if route.endswith(_POLLED) and status < _CLIENT_ERROR else logging.INFO
    if not _access.isEnabledFor(level):
        return
    fields: dict[str, object] = {"method": method, "route": route, "status": status, "ms": round(seconds * 1000, 3)}
    if token:
        fields["token"] = token
    # A logger would first look for the line of code that calls it, which takes as long as the rest.
    _access.handle(_access.makeRecord(_access.name, level, "", 0, "request", (), None, extra={"fields": fields}))


def redact(text: str) -> str:
    """Hide everything in a text that looks like a secret."""
    for secret in _SECRETS:
        text = secret.sub(rf"\1{REDACTED}", text)
    return _RUN.sub(_redact_jwt, text)


class RepeatFilter(logging.Filter):
    """Drops repetitions of the records that strangers can cause, except for one of each kind a minute."""

    def __init__(self) -> None:
        super().__init__()
        self._next: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is logged."""
        message = str(record.msg)
        if not message.startswith(_REPEATED):
            return True
        kind = next(kind for kind in _REPEATED if message.startswith(kind))
        if record.created < self._next.get(kind, 0.0):
            return False
        self._next[kind] = record.created + _SECONDS_BETWEEN_REPEATS
        return True


class JsonFormatter(logging.Formatter):
    """Formats a record as a line of JSON in ASCII, so that no character of a text can end the line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        entry: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        if current := request_id.get():
            entry["request"] = current
        entry |= getattr(record, "fields", {})
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        # An access record contains only our own words and numbers, and there are many of them.
        return json.dumps(entry if record.name == _access.name else _clean(entry))


def _redact_jwt(run: re.Match[str]) -> str:
    before, mark, after = run[0].partition(_JWT)
    return f"{before}{_JWT}{REDACTED}" if mark and "." in after else run[0]


def _clean(value: object) -> object:
    """Return a value for JSON, without secrets."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {redact(str(name)): REDACTED if _is_secret_name(str(name)) else _clean(item) for name, item in items}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean(item) for item in cast("Iterable[object]", value)]
    return redact(str(value))


def _is_secret_name(name: str) -> bool:
    return name.lower().replace("-", "_") in _SECRET_FIELDS
