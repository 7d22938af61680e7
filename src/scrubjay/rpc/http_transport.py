"""The connection to a daemon over HTTP."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import cast

import httpx2

from scrubjay.errors import DaemonUnavailable, InvalidInput
from scrubjay.model.caller import Access, Caller
from scrubjay.model.memory import Json
from scrubjay.model.transfer import Progress
from scrubjay.model.verbs import VERBS
from scrubjay.rpc.codec import error_from_problem, to_json_without_defaults
from scrubjay.rpc.frames import PROTOCOL_HEADER, CallAnswer, Frame, LineJoiner, check_answer, encode_frame
from scrubjay.version import PROTOCOL, VERSION

# The daemon ends an ordinary call before this; a long one sends progress while it works.
_TIMEOUT = 60.0
_OK = 200


class HttpTransport:
    """Calls a daemon over HTTP; long calls are answered line by line."""

    def __init__(self, url: str, *, token: str = "", names_space: bool = True) -> None:
        if not url.startswith(("http://", "https://")):
            raise InvalidInput(
                f"{url!r} is not the address of a daemon", hint="For example http://127.0.0.1:7272", field="url"
            )
        self._url = url.rstrip("/")
        self.peer = ""
        self._names_space = names_space
        headers = {
            PROTOCOL_HEADER: str(PROTOCOL), "user-agent": f"scrubjay/{VERSION}", "content-type": "application/json",
            **({"authorization": f"Bearer {_require_header_value(token)}"} if token else {}),
        }  # fmt: skip
        self._client = httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT)

    async def open(self) -> None:
        """Check its health."""
        try:
            response = await self._client.get(f"{self._url}/healthz")
        except httpx2.HTTPError as error:
            raise self._gone_error(error) from error
        if response.status_code != _OK:
            raise _refusal(response.status_code, response.content)

    async def call(
        self, verb: str, arguments: Mapping[str, Json], *, who: Caller, progress: Progress | None = None
    ) -> CallAnswer:
        """Send one request and return its answer."""
        if VERBS[verb].needs is Access.OWNER:
            raise InvalidInput(
                f"{verb} works only on the machine of the daemon", hint="Run `scrubjay` there; see `scrubjay --help`"
            )
        frame: Frame = {"who": self._caller(who), "args": dict(arguments)}
        result = await self._answer(verb, encode_frame(frame), progress=progress)
        return CallAnswer(result, encode_frame({"result": result}))

    async def pull(
        self, verb: str, arguments: Mapping[str, Json], *, who: Caller, progress: Progress | None = None
    ) -> AsyncIterator[str]:
        """Yield the lines of the answer."""
        frame: Frame = {"who": self._caller(who), "args": dict(arguments)}
        joiner = LineJoiner()
        async for answer in self._frames(verb, encode_frame(frame), progress=progress):
            for line in joiner.lines(answer):
                yield line

    async def push(self, verb: str, lines: Iterable[str], *, who: Caller, progress: Progress | None = None) -> Json:
        """Send the lines as the body of the request, after a first line that names the caller."""

        async def body() -> AsyncIterator[bytes]:
            yield encode_frame({"who": self._caller(who), "args": {}})
            for line in lines:
                yield line.rstrip("\n").encode("utf-8", "surrogatepass") + b"\n"

        return await self._answer(verb, body(), progress=progress)

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()

    def _caller(self, who: Caller) -> Json:
        """Return the caller as JSON; the token determines a space that was not chosen."""
        caller = cast("dict[str, Json]", to_json_without_defaults(who))
        return caller | {"space": who.space} if self._names_space else caller

    async def _answer(self, verb: str, body: bytes | AsyncIterator[bytes], *, progress: Progress | None) -> Json:
        async for answer in self._frames(verb, body, progress=progress):
            if "result" in answer:
                return answer["result"]
        raise self._gone_error(None)

    async def _frames(
        self, verb: str, body: bytes | AsyncIterator[bytes], *, progress: Progress | None
    ) -> AsyncIterator[Frame]:
        try:
            async with self._client.stream("POST", f"{self._url}/call/{verb}", content=body) as response:
                if response.status_code != _OK:
                    raise _refusal(response.status_code, await response.aread())
                async for line in response.aiter_lines():
                    yield check_answer(cast("Frame", json.loads(line)), progress=progress)
        except httpx2.HTTPError as error:
            raise self._gone_error(error) from error

    def _gone_error(self, error: httpx2.HTTPError | None) -> DaemonUnavailable:
        return DaemonUnavailable(
            f"the daemon at {self._url} cannot be reached: {error or 'its answer was cut off'}",
            hint="Check the address, and that `scrubjay serve` runs there",
            sent=not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout),
        )


def _require_header_value(token: str) -> str:
    """Return a token that fits into a header; the error of the HTTP library would quote an invalid one."""
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidInput("the token has characters that no token has", hint="Copy it again", setting="SCRUBJAY_TOKEN")
    return token


def _refusal(status: int, body: bytes) -> Exception:
    try:
        return error_from_problem(cast("Frame", json.loads(body)))
    except (ValueError, KeyError, TypeError):
        return DaemonUnavailable(
            f"the daemon answered with HTTP {status}", hint="Is this a Scrubjay daemon?", sent=True
        )
