"""Makes a failing assert of a suite show its values; imported before any suite is."""

import pkgutil
from pathlib import Path

import pytest

_HERE = "tests.conformance.suites"

pytest.register_assert_rewrite(
    *(
        name
        for module in pkgutil.iter_modules([str(Path(__file__).parent)])
        if (name := f"{_HERE}.{module.name}") != f"{_HERE}._asserts"
    )
)
