"""A server for the pages, and a browser that visits it."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.surfaces.backend import database_of
from tests.surfaces.dashboard.browser import Browser
from tests.surfaces.rest.http_stack import HttpStack, open_stack

from scrubjay.settings import Settings


def settings_for(home: Path, **options: object) -> Settings:
    values: dict[str, object] = {"embedder": "none", "vector_index": "scan", "readers": 1, **options}
    return Settings(home=str(home), database_url=database_of(home), **values)  # type: ignore[arg-type]


@pytest.fixture
async def stack(home: Path) -> AsyncGenerator[HttpStack]:
    async with open_stack(settings_for(home)) as stack:
        yield stack


@pytest.fixture
async def browser(stack: HttpStack) -> AsyncGenerator[Browser]:
    async with Browser(stack.address) as browser:
        yield browser
