"""A REST client that checks every response against the OpenAPI description."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self, cast

import httpx2
from tests.patience import PATIENCE
from tests.surfaces.rest.openapi_document import require_described, require_problem

API = "/api/v1"


class CheckedClient:
    """Sends requests in one space, or those of a token, and checks the responses."""

    def __init__(self, address: str, *, space: str = "", token: str = "", agent: str = "") -> None:
        headers = {"x-scrubjay-agent": agent} if agent else {}
        headers |= {"authorization": f"Bearer {token}"} if token else {}
        self.web = httpx2.AsyncClient(base_url=address, headers=headers, verify=False, timeout=PATIENCE)
        self.space = space

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.web.aclose()

    async def request(self, method: str, path: str, *, status: int = 200, **options: Any) -> httpx2.Response:
        """Send a request under `/api/v1`, and check its status and its description."""
        inputs = dict(options.pop("params", None) or {})
        if self.space and "space" not in inputs:
            inputs["space"] = self.space
        response = await self.web.request(method, API + path, params=inputs, **options)
        assert response.status_code == status, f"{response.status_code}: {response.text}"
        require_described(response)
        return response

    async def get(self, path: str, **options: Any) -> dict[str, Any]:
        return cast("dict[str, Any]", (await self.request("GET", path, **options)).json())

    async def post(self, path: str, body: object = None, **options: Any) -> dict[str, Any]:
        if body is not None:
            options["json"] = body
        return cast("dict[str, Any]", (await self.request("POST", path, **options)).json())

    async def refused(self, method: str, path: str, status: int, code: str, **options: Any) -> dict[str, Any]:
        """Send a request that must fail, and return the problem."""
        problem = require_problem(await self.request(method, path, status=status, **options))
        assert problem["code"] == code, problem
        return problem

    async def remember(self, text: str, *, status: int = 201, **fields: Any) -> dict[str, Any]:
        """Store a text and return the response."""
        return await self.post("/memories", {"text": text, "intent": "new", **fields}, status=status)


async def has_metric(client: CheckedClient, line: str) -> bool:
    """Return whether the metrics contain a line."""
    return line in (await client.web.get("/metrics")).text


@asynccontextmanager
async def open_client(
    address: str, *, space: str = "", token: str = "", agent: str = ""
) -> AsyncGenerator[CheckedClient]:
    async with CheckedClient(address, space=space, token=token, agent=agent) as client:
        yield client
