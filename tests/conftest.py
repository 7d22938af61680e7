"""What all tests share: where their folders are, and how the thousands of them are collected."""

import gc
import os
from collections.abc import Generator
from functools import cache

import httpcore2
import pytest
from hypothesis import settings

from tests.temp_folders import quick_place


def pytest_configure() -> None:
    """Keep the folders of tests where nobody waits for a disk, unless another place is chosen; time no example."""
    if (place := quick_place()) is not None:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(place))
    # Machines are busy: how long one example takes says nothing of the code.
    settings.register_profile("untimed", deadline=None)
    settings.load_profile("untimed")


def pytest_sessionstart() -> None:
    """Read the certificates of the authorities once: every client would, and takes longer for it than for all else."""
    httpcore2.default_ssl_context = cache(httpcore2.default_ssl_context)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nearly all that this makes stays: look for garbage from the first test on, and not among what was there."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
