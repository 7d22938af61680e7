"""One table of errors: complete, drawn, documented, and unambiguous."""

import importlib
import pkgutil
import re
from collections.abc import Iterator

from scrubjay import errors
from scrubjay.errors import CODES, ScrubjayError
from tests.contract.source import PACKAGE, ROOT, modules


def test_every_error_has_codes_and_lives_in_the_tree() -> None:
    # A class is a subclass of its parent only after the import of its module.
    for results in pkgutil.walk_packages([str(PACKAGE)], prefix="scrubjay."):
        importlib.import_module(results.name)
    ours = {error for error in _family(ScrubjayError) if error.__module__.startswith("scrubjay.")}
    assert ours == set(CODES)
    assert {error.__module__ for error in CODES} == {"scrubjay.errors"}


def test_the_docstring_draws_the_tree_as_it_is() -> None:
    drawn = dict(_drawn())
    assert drawn == {
        error.__name__: error.__bases__[0].__name__ if error is not ScrubjayError else "" for error in CODES
    }


def test_every_error_has_a_unique_code() -> None:
    codes = [error.code for error in CODES]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z_]+", code) for code in codes)


def test_no_error_looks_like_success() -> None:
    assert all(0 < codes.exit < 126 for codes in CODES.values())
    assert all(400 <= codes.http < 600 for codes in CODES.values())
    assert all(codes.mcp < 0 for codes in CODES.values())


def test_every_error_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    assert [error.__name__ for error in CODES if f"`{error.__name__}`" not in page] == []


def test_errors_are_never_distinguished_by_their_text() -> None:
    # The engine under vectors/ raises plain Exception for everything, so only the text is left.
    matched = [
        f"{module.name}: {line.strip()}"
        for module in modules("src")
        for line in module.text.splitlines()
        if re.search(r"""["'] (not )?in str\(\w*(err|exc|error|exception)\w*\)""", line)
        and not module.name.startswith("src/scrubjay/vectors/")
    ]
    assert not matched


def _family(error: type[ScrubjayError]) -> Iterator[type[ScrubjayError]]:
    yield error
    for child in error.__subclasses__():
        yield from _family(child)


def _drawn() -> Iterator[tuple[str, str]]:
    """Yield (error, parent) for each line of the tree in the docstring."""
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        results = re.match(r"(?P<branch>[│├└─ ]*)(?P<name>[A-Z]\w+)(?: {2,}\S.*)?$", line)
        if results:
            depth = len(results["branch"]) // 4
            above[depth:] = [results["name"]]
            yield results["name"], above[depth - 1] if depth else ""
