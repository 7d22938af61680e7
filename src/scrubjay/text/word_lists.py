"""Word lists: TOML files in the data folder of a package, read once when the module that needs them is imported."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

__all__ = ["WordLists"]

_OWN_FOLDER = Path(__file__).parent / "data"


class WordLists:
    """The lists of one file. A list is a text of words; a table has a word and its forms in each line."""

    def __init__(self, name: str, *, folder: Path = _OWN_FOLDER) -> None:
        self._lists = tomllib.loads((folder / f"{name}.toml").read_text("utf-8"))

    def text(self, name: str) -> str:
        """Return a list as it is written."""
        return cast("str", self._lists[name])

    def words(self, name: str) -> frozenset[str]:
        """Return the words of a list, without order."""
        return frozenset(self.text(name).split())

    def ordered(self, name: str) -> tuple[str, ...]:
        """Return the words of a list, in order."""
        return tuple(self.text(name).split())

    def lines(self, name: str) -> tuple[str, ...]:
        """Return the lines of a list."""
        return tuple(self.text(name).strip().splitlines())

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return the pairs of a list, which semicolons separate."""
        pairs = (pair.split() for pair in self.text(name).split(";"))
        return tuple((first, second) for first, second in pairs)

    def table(self, name: str) -> Mapping[str, str]:
        """Return a table as it is written."""
        return cast("Mapping[str, str]", self._lists[name])

    def rows(self, name: str) -> Sequence[Mapping[str, Any]]:
        """Return the rows of a list of tables."""
        return cast("Sequence[Mapping[str, Any]]", self._lists[name])

    def forms(self, name: str, *, with_base: bool = False) -> dict[str, str]:
        """Return the base of each form in a table; `with_base`: each base is a form of its own, too."""
        return {
            form: base
            for base, forms in self.table(name).items()
            for form in ((base, *forms.split()) if with_base else forms.split())
        }
