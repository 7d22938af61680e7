"""A client of the REST surface that holds every answer to the description."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self, cast

import httpx2
from tests.surfaces.rest.openapi_document import require_as_described, require_problem

API = "/api/v1"


class Visitor:
    """Asks in one space, or wherever a token leads, and sees to it that the answer is as it should be."""

    def __init__(self, address: str, *, space: str = "", token: str = "", agent: str = "") -> None:
        headers = {"x-scrubjay-agent": agent} if agent else {}
        headers |= {"authorization": f"Bearer {token}"} if token else {}
        self.web = httpx2.AsyncClient(base_url=address, headers=headers, verify=False, timeout=30)
        self.space = space

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.web.aclose()

    async def ask(self, method: str, path: str, *, status: int = 200, **options: Any) -> httpx2.Response:
        """One request under `/api/v1`; the answer must have this status, and be as described."""
        inputs = dict(options.pop("params", None) or {})
        if self.space and "space" not in inputs:
            inputs["space"] = self.space
        response = await self.web.request(method, API + path, params=inputs, **options)
        assert response.status_code == status, f"{response.status_code}: {response.text}"
        require_as_described(response)
        return response

    async def get(self, path: str, **options: Any) -> dict[str, Any]:
        return cast("dict[str, Any]", (await self.ask("GET", path, **options)).json())

    async def post(self, path: str, body: object = None, **options: Any) -> dict[str, Any]:
        if body is not None:
            options["json"] = body
        return cast("dict[str, Any]", (await self.ask("POST", path, **options)).json())

    async def refused(self, method: str, path: str, status: int, code: str, **options: Any) -> dict[str, Any]:
        """A request that is refused, and the problem."""
        problem = require_problem(await self.ask(method, path, status=status, **options))
        assert problem["code"] == code, problem
        return problem

    async def remember(self, text: str, *, status: int = 201, **fields: Any) -> dict[str, Any]:
        """Keep a text; the answer."""
        return await self.post("/memories", {"text": text, "intent": "new", **fields}, status=status)


async def has_figure(visitor: Visitor, line: str) -> bool:
    """Whether the server tells this figure."""
    return line in (await visitor.web.get("/metrics")).text


@asynccontextmanager
async def visiting(address: str, *, space: str = "", token: str = "", agent: str = "") -> AsyncGenerator[Visitor]:
    async with Visitor(address, space=space, token=token, agent=agent) as visitor:
        yield visitor
