"""The measures of `make shape`."""

from tests.contract.source import Module

from scripts.shape import called_once, length, percentile, repeated_classes

CODE = """
class Page: ...
class _Hidden: ...
def first():
    _once()
    return _twice() + _twice()
def _once(): ...
def _twice():
    return 1
def __getattr__(name): ...
"""
MODULES = (Module("src/scrubjay/a.py", CODE), Module("src/scrubjay/b/__init__.py", "class Page: ...\nclass Other: ..."))


def test_private_functions_that_are_mentioned_once_are_counted() -> None:
    assert called_once(MODULES) == (2, 1)


def test_public_classes_of_one_name_are_listed_with_their_modules() -> None:
    assert repeated_classes(MODULES) == ("Page x2: a, b",)


def test_a_function_is_as_long_as_its_lines() -> None:
    assert [length(function) for function in MODULES[0].functions()] == [3, 1, 2, 1]


def test_a_percentile_is_one_of_the_values() -> None:
    assert [percentile(range(1, 11), share) for share in (0, 50, 90, 100)] == [1, 6, 10, 10]
    assert percentile([], 50) == 0
