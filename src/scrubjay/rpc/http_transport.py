"""The way to a daemon over HTTP."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import cast

import httpx2

from scrubjay.errors import DaemonUnavailable, InvalidInput
from scrubjay.model.draft import Caller
from scrubjay.model.memory import Json
from scrubjay.model.transfer import Progress
from scrubjay.rpc.codec import to_json_without_defaults
from scrubjay.rpc.frames import PROTOCOL_HEADER, Frame, Joiner, encoded
from scrubjay.rpc.names import OWN
from scrubjay.rpc.problems import error_of
from scrubjay.rpc.transport import heard
from scrubjay.version import PROTOCOL

# The daemon gives up on an ordinary call before this; what takes long sends something while it works.
_SECONDS = 60.0
_OK = 200


class HttpTransport:
    """Calls a daemon by HTTP; what takes long is answered line by line."""

    def __init__(self, url: str, *, token: str = "", names_space: bool = True) -> None:
        if not url.startswith(("http://", "https://")):
            raise InvalidInput(
                f"{url!r} is no address of a daemon", hint="For example http://127.0.0.1:7272", field="url"
            )
        self._url = url.rstrip("/")
        self.peer = ""
        self._names_space = names_space
        headers = {PROTOCOL_HEADER: str(PROTOCOL)} | ({"authorization": f"Bearer {_sendable(token)}"} if token else {})
        self._client = httpx2.AsyncClient(headers=headers, timeout=_SECONDS)

    async def open(self) -> None:
        """Ask whether it is well."""
        try:
            response = await self._client.get(f"{self._url}/healthz")
        except httpx2.HTTPError as error:
            raise self._gone(error) from error
        if response.status_code != _OK:
            raise _refusal(response.status_code, response.content)

    async def call(
        self, verb: str, arguments: Mapping[str, Json], *, who: Caller, progress: Progress | None = None
    ) -> Json:
        """One request, one answer."""
        if verb in OWN:
            raise InvalidInput(
                f"{verb} is done on the daemon's own machine", hint="Run `scrubjay` there; see `scrubjay --help`"
            )
        frame: Frame = {"who": self._told(who), "args": dict(arguments)}
        return await self._answer(verb, encoded(frame), progress=progress)

    async def pull(
        self, verb: str, arguments: Mapping[str, Json], *, who: Caller, progress: Progress | None = None
    ) -> AsyncIterator[str]:
        """The lines of the answer."""
        frame: Frame = {"who": self._told(who), "args": dict(arguments)}
        joiner = Joiner()
        async for found in self._frames(verb, encoded(frame), progress=progress):
            for line in joiner.lines(found):
                yield line

    async def push(self, verb: str, lines: Iterable[str], *, who: Caller, progress: Progress | None = None) -> Json:
        """The lines as the request's body, behind a first one that says who sends them."""

        async def body() -> AsyncIterator[bytes]:
            yield encoded({"who": self._told(who), "args": {}})
            for line in lines:
                yield line.rstrip("\n").encode("utf-8", "surrogatepass") + b"\n"

        return await self._answer(verb, body(), progress=progress)

    async def close(self) -> None:
        """Hang up."""
        await self._client.aclose()

    def _told(self, who: Caller) -> Json:
        """Who calls; a space that nobody chose is left to the token."""
        told = cast("dict[str, Json]", to_json_without_defaults(who))
        return told | {"space": who.space} if self._names_space else told

    async def _answer(self, verb: str, body: bytes | AsyncIterator[bytes], *, progress: Progress | None) -> Json:
        async for found in self._frames(verb, body, progress=progress):
            if "result" in found:
                return found["result"]
        raise self._gone(None)

    async def _frames(
        self, verb: str, body: bytes | AsyncIterator[bytes], *, progress: Progress | None
    ) -> AsyncIterator[Frame]:
        try:
            async with self._client.stream("POST", f"{self._url}/call/{verb}", content=body) as response:
                if response.status_code != _OK:
                    raise _refusal(response.status_code, await response.aread())
                async for line in response.aiter_lines():
                    yield heard(cast("Frame", json.loads(line)), progress=progress)
        except httpx2.HTTPError as error:
            raise self._gone(error) from error

    def _gone(self, error: httpx2.HTTPError | None) -> DaemonUnavailable:
        return DaemonUnavailable(
            f"the daemon at {self._url} cannot be reached: {error or 'its answer was cut off'}",
            hint="Check the address, and that `scrubjay serve` runs there",
            sent=not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout),
        )


def _sendable(token: str) -> str:
    """A token that can stand in a header; one that cannot would be told whole in the error of whoever tries."""
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidInput("the token has characters that no token has", hint="Copy it anew", setting="SCRUBJAY_TOKEN")
    return token


def _refusal(status: int, body: bytes) -> Exception:
    try:
        return error_of(cast("Frame", json.loads(body)))
    except (ValueError, KeyError, TypeError):
        return DaemonUnavailable(
            f"the daemon answered with HTTP {status}", hint="Is this a Scrubjay daemon?", sent=True
        )
