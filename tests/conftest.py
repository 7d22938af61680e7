"""Configuration of all tests: their folders, and their collection."""

import gc
import os
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import cast

import httpcore2
import pytest
from hypothesis import HealthCheck, settings

from tests.temp_folders import quick_place

_FEW_EXAMPLES = 20
_SCENARIOS = Path(__file__).parent / "scenarios"
_SERVERS = frozenset({"pgvector", "qdrant"})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", type=int, default=0, help="run at most so many cases of each test, evenly spread")
    parser.addoption("--servers", choices=("without", "only"), help="cases of scenarios on PostgreSQL and Qdrant")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = set(items)
    if servers := cast("str | None", config.getoption("--servers")):
        chosen = {item for item in items if _is_on_server(item) == (servers == "only")}
    if most := cast("int", config.getoption("--cases")):
        cases: dict[str, list[pytest.Item]] = {}
        for item in items:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
        chosen &= {item for case in cases.values() for item in _spread(case, most)}
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def _is_on_server(item: pytest.Item) -> bool:
    """Return whether this is the case of a scenario that runs on PostgreSQL, with either index."""
    case = item.name.partition("[")[2].rstrip("]")
    return item.path.is_relative_to(_SCENARIOS) and not _SERVERS.isdisjoint(case.split("-"))


def _spread(cases: list[pytest.Item], most: int) -> list[pytest.Item]:
    """Choose the first and the last case, and evenly spread ones between them."""
    if len(cases) <= most:
        return cases
    return [cases[place * (len(cases) - 1) // max(1, most - 1)] for place in range(most)]


def pytest_configure(config: pytest.Config) -> None:
    """Put the folders of tests into memory unless another place is chosen, and time no example."""
    if (place := quick_place()) is not None:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(place))
    # On a busy machine the duration of an example says nothing about the code. The examples of a property are the same
    # in each run, unless a seed is chosen.
    untimed = settings(
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize=config.getoption("--hypothesis-seed") is None,
    )
    settings.register_profile("untimed", untimed)
    # Where few cases of a test are enough, so are few examples of a property.
    settings.register_profile("few", untimed, max_examples=_FEW_EXAMPLES)
    settings.load_profile("few" if config.getoption("--cases") else "untimed")


def pytest_sessionstart() -> None:
    """Read the CA certificates once, because every client would, and nothing else takes as long."""
    httpcore2.default_ssl_context = cache(httpcore2.default_ssl_context)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Freeze the objects of the collection, which stay, so that garbage collection skips them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
