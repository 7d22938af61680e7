"""An embedding service over HTTP: its settings, requests with retries, and the check of its responses."""

import asyncio
import base64
import binascii
import ipaddress
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypeGuard
from urllib.parse import urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray

from scrubjay.embedding.batching import BatchRefused
from scrubjay.embedding.profiles import builtin_profile, model_id
from scrubjay.errors import EmbeddingUnavailable, InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.ports import Profile

if TYPE_CHECKING:
    import httpx2

Sleep = Callable[[float], Awaitable[None]]
Row = NDArray[np.float64]

_FIRST_WAIT = 0.5
_BAD_KEY = {401, 403}
_BAD_TEXT = {400, 413, 422}
_BUSY = {408, 425, 429}
_MAX_QUOTE = 200
# Deeply nested JSON raises RecursionError.
_UNREADABLE = (ValueError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingService:
    """The address of a service, its model, and the limits of requests.

    Without `model_profile`, the built-in profile of the model applies.
    `timeout` limits a batch, with its waits and retries; `query_timeout` limits a question.
    After a failure no request is sent for `cooldown` seconds, so that searches do not wait for a broken service.
    """

    url: str
    model: str
    api_key: str = field(default="", repr=False)
    dimensions: int | None = None
    model_profile: Profile | None = None
    batch_size: int = 32
    max_characters: int = 8000
    timeout: float = 60.0
    query_timeout: float = 10.0
    retries: int = 4
    cooldown: float = 30.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidInput("the URL of the embedding service must look like https://host/v1")
        if parts.username or parts.password:
            raise InvalidInput("the URL of the embedding service contains a password", hint="set the API key instead")
        # The HTTP client would refuse other characters with an error that quotes the whole key.
        if not (self.api_key.isascii() and self.api_key.isprintable()) or " " in self.api_key:
            raise InvalidInput("the API key of the embedding service contains characters that are not allowed in a key")
        if not self.model:
            raise InvalidInput("the embedding service needs the name of a model")
        if min(self.batch_size, self.max_characters, self.timeout, self.query_timeout) <= 0 or self.retries < 0:
            raise InvalidInput("batch size, length and timeouts of the embedding service must be above zero")

    @property
    def endpoint(self) -> str:
        """The address of requests."""
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/")
        if not path.endswith("/embeddings"):
            path = f"{path or '/v1'}/embeddings"
        return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))

    @property
    def display_url(self) -> str:
        """The address in error messages, without a query that may contain secrets."""
        return self.endpoint.partition("?")[0]

    @property
    def is_local(self) -> bool:
        """Whether the service runs on this machine, so that no proxy is needed."""
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    @property
    def base_profile(self) -> Profile:
        """The profile of the model; its dimension is not that of the service."""
        return self.model_profile or builtin_profile(self.model)

    def profile(self, dimension: int) -> Profile:
        """Return the profile with the dimension of the service."""
        profile = self.base_profile
        name = model_id(self.model, dimensions=self.dimensions, text_prefix=profile.text_prefix)
        return replace(profile, model=name, dimension=dimension)


class ServiceClient:
    """The HTTP client of a service, opened on first use."""

    def __init__(self, service: EmbeddingService, *, sleep: Sleep = asyncio.sleep) -> None:
        self._service = service
        self._sleep = sleep
        self._opening = asyncio.Lock()
        self._http: httpx2.AsyncClient | None = None

    async def post(self, payload: Mapping[str, object], *, timeout: float) -> object:  # noqa: ASYNC109 - for all retries
        """Send a request and return the JSON response; retries transient failures while time is left."""
        http = await self._open()
        deadline = time.monotonic() + timeout
        attempt = 0
        while True:
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    return await self._send(http, payload)
            except TimeoutError as error:
                raise self._error(
                    f"did not answer within {timeout:g} s",
                    hint="raise the timeout, or find out why the service is slow",
                ) from error
            except _TransientError as failure:
                wait = _FIRST_WAIT * 2**attempt if failure.wait is None else failure.wait
                if attempt >= self._service.retries or time.monotonic() + wait > deadline:
                    raise failure.error from failure.__cause__
            await self._sleep(wait)
            attempt += 1

    async def close(self) -> None:
        """Close the connection."""
        if self._http is not None:
            await self._http.aclose()

    async def _open(self) -> "httpx2.AsyncClient":
        async with self._opening:
            if self._http is None:
                # In a thread: importing the package and reading the certificates takes a while.
                self._http = await asyncio.to_thread(_open_http, self._service)
            return self._http

    async def _send(self, http: "httpx2.AsyncClient", payload: Mapping[str, object]) -> object:
        import httpx2  # noqa: PLC0415 - loaded by now

        try:
            response = await http.post(self._service.endpoint, json=payload)
        except httpx2.TransportError as error:
            hint = "check that the service runs and that the URL is right"
            raise _TransientError(self._error(f"cannot be reached ({_reason(error)})", hint=hint)) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._error(f"sent a response that cannot be read ({_reason(error)})") from error
        if not response.is_success:
            raise self._status_error(response)
        try:
            return json.loads(response.content)
        except _UNREADABLE as error:
            raise self._error("sent a response that is not JSON", hint="check that the URL is right") from error

    def _status_error(self, response: "httpx2.Response") -> Exception:
        status = response.status_code
        if status in _BAD_KEY:
            # Without the service's own message, which may contain a part of the key.
            return self._error(f"does not accept the API key ({status})", hint="set a valid API key", status=status)
        quote = self._quote(response)
        if status in _BUSY or status >= 500:  # noqa: PLR2004 - server errors
            hint = "try again later"
            error = self._error(f"is busy or broken ({status}{quote})", hint=hint, status=status)
            return _TransientError(error, wait=_retry_after(response.headers.get("Retry-After", "")))
        if status in _BAD_TEXT:
            hint = f"check that it accepts the model {self._service.model!r}, these options, and texts of this length"
            return BatchRefused(self._error(f"refused the request ({status}{quote})", hint=hint, status=status))
        hint = f"check that the URL is right and that the service has the model {self._service.model!r}"
        return self._error(f"answered with status {status}{quote}", hint=hint, status=status)

    def _quote(self, response: "httpx2.Response") -> str:
        """Return the service's own message for an error message: short, on one line, and without the key."""
        text = " ".join(_error_message(response.content).split())
        if self._service.api_key:
            text = text.replace(self._service.api_key, "[key]")
        return f": {text[:_MAX_QUOTE]}" if text else ""

    def _error(self, problem: str, *, hint: str = "", status: int | None = None) -> EmbeddingUnavailable:
        return EmbeddingUnavailable(
            f"the embedding service at {self._service.display_url} {problem}",
            hint=hint,
            model=self._service.model,
            status=status,
        )


class _TransientError(Exception):
    """A failure that may pass, and the wait that the service asks for."""

    def __init__(self, error: EmbeddingUnavailable, *, wait: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.wait = wait


def _open_http(service: EmbeddingService) -> "httpx2.AsyncClient":
    import httpx2  # noqa: PLC0415 - slow to load, and needed only with a service

    headers = {"Authorization": f"Bearer {service.api_key}"} if service.api_key else {}
    return httpx2.AsyncClient(headers=headers, timeout=service.timeout, trust_env=not service.is_local)


def _retry_after(value: str) -> float | None:
    """Return the seconds of a header that contains a number or a date."""
    if value.isdecimal():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _error_message(body: bytes) -> str:
    """Return the message of an error response; services have no common format."""
    text = body.decode("utf-8", "replace")
    try:
        value: object = json.loads(text)
    except _UNREADABLE:
        return "" if "<html" in text.lower() else text
    while _is_object(value):
        value = next((value[key] for key in ("error", "message", "detail") if key in value), "")
    return value if isinstance(value, str) else ""


def read_rows(response: object, *, count: int, model: str) -> list[Row]:
    """Return the vectors of a response in the order of the texts; their numbers are not checked yet."""
    entries = response.get("data") if _is_object(response) else None
    if not _is_list(entries):
        raise _bad_response(model, "has no list of vectors")
    if len(entries) != count:
        raise _bad_response(model, f"has {len(entries)} vectors for {count} texts")
    rows: dict[int, Row] = {}
    for position, entry in enumerate(entries):
        if not _is_object(entry):
            raise _bad_response(model, "has an entry that is not an object")
        # `index` gives the order; services without it keep the order of the texts.
        index = entry.get("index", position)
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count or index in rows:
            raise _bad_response(model, "does not say which vector belongs to which text")
        rows[index] = _read_row(entry.get("embedding"), model=model)
    return [rows[position] for position in range(count)]


def _read_row(embedding: object, *, model: str) -> Row:
    if isinstance(embedding, str):
        try:
            return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float64)
        except (binascii.Error, ValueError) as error:
            raise _bad_response(model, "has a vector that is not base64 of floats") from error
    if not _is_list(embedding) or not all(isinstance(number, (int, float)) for number in embedding):
        raise _bad_response(model, "has a vector that is not a list of numbers")
    try:
        return np.array(embedding, dtype=np.float64)
    except OverflowError as error:
        raise _bad_response(model, "has a number that is too large") from error


def _is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _bad_response(model: str, problem: str) -> EmbeddingUnavailable:
    return EmbeddingUnavailable(
        f"the response of the embedding service for {model} {problem}",
        hint="check that the URL leads to an OpenAI-compatible /v1/embeddings",
        model=model,
    )
