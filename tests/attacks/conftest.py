"""What the attacks start from: a data folder, as in the tests of the surfaces, and a server that requires tokens."""

from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from scrubjay.settings import Settings
from tests.surfaces.conftest import home, settings
from tests.surfaces.rest.http_stack import HttpStack, open_stack

__all__ = ["home", "settings", "stack"]


@pytest.fixture
async def stack(settings: Settings) -> AsyncGenerator[HttpStack]:
    """A server that requires tokens, in the event loop of the test."""
    async with open_stack(replace(settings, require_token=True)) as opened:
        yield opened
