"""The architecture page matches the tree."""

import re
from functools import cache

from tests.contract.source import PACKAGE, ROOT

PAGE = ROOT / "docs" / "explanation" / "architecture.md"
# Files of every package, which the page need not explain.
_COMMON = {"__init__.py", "__main__.py", "py.typed", "__pycache__"}
# A room so large that the page lists its parts.
_IN_PARTS = "surfaces"
_ROW = re.compile(r"^\| (?P<names>`[^|]*`) \|", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(r"[\w-]+(?:/[\w-]+)*(?:/|\.py)|[\w-]+(?:/[\w-]+)+")


def test_every_room_is_in_the_table_and_every_row_is_a_room() -> None:
    in_tree = {path.name for path in PACKAGE.iterdir()} - _COMMON - {_IN_PARTS}
    in_tree |= {f"{_IN_PARTS}/{path.name}" for path in (PACKAGE / _IN_PARTS).iterdir() if path.name not in _COMMON}
    rows = {name.rstrip("/") for row in _ROW.finditer(_page()) for name in _SPAN.findall(row["names"])}
    assert sorted(in_tree - rows) == [], f"{PAGE.name} does not list these rooms"
    assert sorted(rows - in_tree) == [], f"{PAGE.name} lists rooms that do not exist"


def test_every_path_on_the_page_exists() -> None:
    fences = "\n".join(_FENCE.findall(_page()))
    spans = [span for span in _SPAN.findall(_FENCE.sub("", _page())) if _PATH.fullmatch(span)]
    paths = {*spans, *(word for word in fences.split() if _PATH.fullmatch(word))}
    assert len(paths) > len({path.name for path in PACKAGE.iterdir()}) / 2
    missing = sorted(path for path in paths if not (PACKAGE / path).exists() and not (ROOT / path).exists())
    assert not missing
    wrong = sorted(path for path in paths if path.endswith("/") and (PACKAGE / path.rstrip("/")).is_file())
    assert not wrong


def test_the_picture_has_every_room() -> None:
    (picture, *_) = _FENCE.findall(_page())
    words = {word.rstrip("/") for word in picture.split()}
    in_tree = {path.name for path in PACKAGE.iterdir()} - _COMMON - {_IN_PARTS}
    assert sorted(in_tree - words) == []


@cache
def _page() -> str:
    return PAGE.read_text(encoding="utf-8")
