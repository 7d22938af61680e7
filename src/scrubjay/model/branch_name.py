"""What a branch may be called."""

import unicodedata

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import require_text
from scrubjay.model.memory import MAIN

LONGEST = 100
_BETWEEN = "-_./"
_HINT = (
    f"Up to {LONGEST} letters and digits, with at least one letter, and between them any of {' '.join(_BETWEEN)}: "
    "for example draft, or sarah/2026-plan"
)


def spelled(name: str) -> str:
    """A name in the one way it is kept: letters look the same however they are put together."""
    return unicodedata.normalize("NFC", name)


def version_or_branch(given: str) -> int | str:
    """What somebody wrote for one side of a comparison: a number is a version, all else the name of a branch."""
    return int(given) if given.isascii() and given.isdigit() else given


def require_branch_name(value: object) -> str:
    """A name that a new branch can have, in the one way it is spelled; case counts."""
    name = spelled(require_text(value, field="branch"))
    problem = _problem(name)
    if problem:
        raise InvalidInput(f"a branch cannot be called {name[:LONGEST]!r}: {problem}", hint=_HINT, field="branch")
    return name


def _problem(name: str) -> str:
    if not name:
        return "it has no name"
    if len(name) > LONGEST:
        return f"it has {len(name):,} characters"
    if name.casefold() == MAIN:
        return f"{MAIN} is the branch that every memory has"
    if strange := next((one for one in name if not _is_letter(one) and one not in _BETWEEN), ""):
        return f"{strange!r} is neither a letter nor a digit"
    if name[0] in _BETWEEN or name[-1] in _BETWEEN:
        return "it must begin and end with a letter or a digit"
    if not any(one.isalpha() for one in name):
        # A number stands for a version.
        return "it has no letter"
    return ""


def _is_letter(one: str) -> bool:
    # Many scripts write vowels as marks on letters.
    return one.isalnum() or unicodedata.category(one) in ("Mn", "Mc")
