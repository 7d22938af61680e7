"""One request to a service: sent, repeated while that may help, and its failures told apart."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from scrubjay.embedding.batching import BatchRefused
from scrubjay.embedding.response import is_object
from scrubjay.embedding.service import Service
from scrubjay.errors import EmbeddingUnavailable

if TYPE_CHECKING:
    import httpx2

Sleep = Callable[[float], Awaitable[None]]

_FIRST_WAIT = 0.5
_BAD_KEY = {401, 403}
_BAD_TEXT = {400, 413, 422}
_NOT_NOW = {408, 425, 429}
_LONGEST_REASON = 200
# JSON nested deep enough is a recursion error.
_UNREADABLE = (ValueError, RecursionError)


class Transport:
    """A connection to a service, opened when it is first used."""

    def __init__(self, service: Service, *, sleep: Sleep = asyncio.sleep) -> None:
        self._service = service
        self._sleep = sleep
        self._opening = asyncio.Lock()
        self._client: httpx2.AsyncClient | None = None

    async def post(self, payload: Mapping[str, object], *, timeout: float) -> object:  # noqa: ASYNC109 - retries share it
        """The answer as plain data; waits and tries again while the service says so and time is left."""
        client = await self._open()
        deadline = time.monotonic() + timeout
        attempt = 0
        while True:
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    return await self._try(client, payload)
            except TimeoutError as error:
                raise self._error(
                    f"did not answer within {timeout:g} s", hint="raise the timeout, or see why the service is slow"
                ) from error
            except _NotNow as failure:
                wait = _FIRST_WAIT * 2**attempt if failure.wait is None else failure.wait
                if attempt >= self._service.retries or time.monotonic() + wait > deadline:
                    raise failure.error from failure.__cause__
            await self._sleep(wait)
            attempt += 1

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def _open(self) -> "httpx2.AsyncClient":
        async with self._opening:
            if self._client is None:
                # In a thread: importing the package and reading the certificates takes a while.
                self._client = await asyncio.to_thread(_client, self._service)
            return self._client

    async def _try(self, client: "httpx2.AsyncClient", payload: Mapping[str, object]) -> object:
        import httpx2  # noqa: PLC0415 - loaded by now

        try:
            response = await client.post(self._service.endpoint, json=payload)
        except httpx2.TransportError as error:
            hint = "see that the service runs and that the URL is right"
            raise _NotNow(self._error(f"cannot be reached ({_reason(error)})", hint=hint)) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._error(f"gave an answer that cannot be read ({_reason(error)})") from error
        if not response.is_success:
            raise self._failure(response)
        try:
            return json.loads(response.content)
        except _UNREADABLE as error:
            raise self._error("gave an answer that is not JSON", hint="see that the URL is right") from error

    def _failure(self, response: "httpx2.Response") -> Exception:
        status = response.status_code
        if status in _BAD_KEY:
            # What the service says here may hold a part of the key.
            return self._error(f"does not accept the API key ({status})", hint="set a valid API key", status=status)
        text = self._said(response)
        if status in _NOT_NOW or status >= 500:  # noqa: PLR2004 - a server's own faults
            hint = "try again later"
            error = self._error(f"is busy or broken ({status}{text})", hint=hint, status=status)
            return _NotNow(error, wait=_retry_after(response.headers.get("Retry-After", "")))
        if status in _BAD_TEXT:
            hint = f"see that it takes the model {self._service.model!r}, these options, and texts of this length"
            return BatchRefused(self._error(f"refused the request ({status}{text})", hint=hint, status=status))
        hint = f"see that the URL is right and that the service has the model {self._service.model!r}"
        return self._error(f"answered with status {status}{text}", hint=hint, status=status)

    def _said(self, response: "httpx2.Response") -> str:
        text = " ".join(_message(response.content).split())
        if self._service.api_key:
            text = text.replace(self._service.api_key, "[key]")
        return f": {text[:_LONGEST_REASON]}" if text else ""

    def _error(self, what: str, *, hint: str = "", status: int | None = None) -> EmbeddingUnavailable:
        return EmbeddingUnavailable(
            f"the embedding service at {self._service.shown} {what}",
            hint=hint,
            model=self._service.model,
            status=status,
        )


class _NotNow(Exception):
    """A failure that may pass, and how long the service asks to be left alone."""

    def __init__(self, error: EmbeddingUnavailable, *, wait: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.wait = wait


def _client(service: Service) -> "httpx2.AsyncClient":
    import httpx2  # noqa: PLC0415 - takes long to load, and only those with a service need it

    headers = {"Authorization": f"Bearer {service.api_key}"} if service.api_key else {}
    return httpx2.AsyncClient(headers=headers, timeout=service.timeout, trust_env=not service.is_local)


def _retry_after(value: str) -> float | None:
    """Seconds from a header that holds a number or a date."""
    if value.isdecimal():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _message(body: bytes) -> str:
    """What the service says went wrong; services agree on little."""
    text = body.decode("utf-8", "replace")
    try:
        spoken: object = json.loads(text)
    except _UNREADABLE:
        return "" if "<html" in text.lower() else text
    while is_object(spoken):
        spoken = next((spoken[key] for key in ("error", "message", "detail") if key in spoken), "")
    return spoken if isinstance(spoken, str) else ""
