"""The suites themselves: every test of every part runs."""

from collections import Counter

import pytest
from tests.conformance import suites
from tests.conformance.suites import DurabilitySuite, EmbedderSuite, StoreSuite, VectorIndexSuite

_SUITES = (StoreSuite, DurabilitySuite, EmbedderSuite, VectorIndexSuite)


def test_no_part_of_a_suite_hides_a_test_of_another() -> None:
    names = Counter(name for part in StoreSuite.__mro__ for name in vars(part) if name.startswith("test"))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("suite", _SUITES)
def test_a_suite_holds_nothing_but_tests(suite: type) -> None:
    public = {name for part in suite.__mro__[:-1] for name in vars(part) if not name.startswith("_")}
    assert {name for name in public if not name.startswith("test_")} == set()


def test_every_public_suite_can_be_imported() -> None:
    for name in suites.__all__:
        assert getattr(suites, name)
