"""Branches: alternative lines of versions of one memory, and their names."""

import unicodedata
from datetime import datetime

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.checks import require_text
from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.memory import MAIN

MAX_BRANCH_NAME = 100
_SEPARATORS = "-_./"
_HINT = (
    f"Use up to {MAX_BRANCH_NAME} letters and digits, at least one of them a letter, with any of "
    f"{' '.join(_SEPARATORS)} between them: for example draft, or sarah/2026-plan"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One line of versions. `forked` is the version of main that it starts from."""

    name: str
    version: int
    forked: int = 0
    description: str = ""
    created_at: datetime | None = None
    updated_at: datetime
    agent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branches:
    """The branches of a memory, main first; `current` is the one that it is switched to."""

    id: str
    name: str
    current: str = MAIN
    branches: tuple[Branch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConflict:
    """A field that both branches changed in different ways."""

    field: str
    base: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchMerged:
    """The result of merging a branch: `merged`, `unchanged` or `conflict`. A conflict writes nothing."""

    action: str
    id: str
    name: str
    branch: str
    into: str
    version: int
    clashes: tuple[MergeConflict, ...] = ()
    warnings: tuple[str, ...] = ()
    # Stored memories that conflict with the text that the merge brought to main.
    conflicts: tuple[ConflictDetails, ...] = ()


def normalize_branch_name(name: str) -> str:
    """Return a name in Unicode NFC, so that equal-looking names are equal."""
    return unicodedata.normalize("NFC", name)


def parse_version_or_branch(text: str) -> int | str:
    """Read one side of a comparison: a number is a version, anything else the name of a branch."""
    return int(text) if text.isascii() and text.isdigit() else text


def require_branch_name(value: object) -> str:
    """Return the normalized name of a new branch, or raise InvalidInput. Names are case-sensitive."""
    name = normalize_branch_name(require_text(value, field="branch"))
    problem = _problem(name)
    if problem:
        raise InvalidInput(
            f"a branch cannot be called {name[:MAX_BRANCH_NAME]!r}: {problem}", hint=_HINT, field="branch"
        )
    return name


def _problem(name: str) -> str:
    if not name:
        return "it has no name"
    if len(name) > MAX_BRANCH_NAME:
        return f"it has {len(name):,} characters"
    if name.casefold() == MAIN:
        return f"{MAIN} is the branch that every memory has"
    if invalid := next((char for char in name if not _is_letter(char) and char not in _SEPARATORS), ""):
        return f"{invalid!r} is neither a letter nor a digit"
    if name[0] in _SEPARATORS or name[-1] in _SEPARATORS:
        return "it must begin and end with a letter or a digit"
    if not any(char.isalpha() for char in name):
        # A number means a version.
        return "it has no letter"
    return ""


def _is_letter(char: str) -> bool:
    # Many scripts write vowels as marks on letters.
    return char.isalnum() or unicodedata.category(char) in ("Mn", "Mc")
