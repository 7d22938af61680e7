"""Make failing asserts of the suites show their values; imported before any suite."""

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
