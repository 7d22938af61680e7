"""What all tests share: where their folders are, and how the thousands of them are collected."""

import gc
import os
from collections.abc import Generator

import pytest

from tests.places import quick_place


def pytest_configure() -> None:
    """Keep the folders of tests where nobody waits for a disk; whoever has chosen another place gets that."""
    if (place := quick_place()) is not None:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(place))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nearly all that this makes stays: look for garbage from the first test on, and not among what was there."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
