"""Type checks of arguments, and the form of names; InvalidInput names the argument that fails."""

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import cast

from scrubjay.errors import InvalidInput, NameTaken, TooLarge

# The largest integer that every store can hold.
_MAX_INTEGER = (1 << 63) - 1
_MAX_REMARK = 1_000
# Letters of one look, to the Latin one.
_LOOKALIKES = str.maketrans(
    # Cyrillic, then Greek.
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u04bb\u0501\u051b\u051d"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406\u0408"
    "\u03b1\u03b9\u03bd\u03bf\u03c1\u03c5\u03ba\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f"
    "\u03a1\u03a4\u03a5\u03a7",
    "aeopcyxsijhdqwABEKMHOPCTYXSIJaivopukABEZHIKMNOPTYX",
)
_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK")


def require_text(value: object, *, field: str) -> str:
    """Return a text that can be encoded as UTF-8."""
    if not isinstance(value, str):
        raise wrong_type(field, "a text", value)
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{field} has a lone surrogate at character {error.start}: it is not valid Unicode",
            hint="Decode it with the right encoding first",
            field=field,
        ) from None
    return value


def require_remark(value: object, *, field: str) -> str:
    """Return a remark for the history: a short reason for a change."""
    remark = require_text(value, field=field)
    if len(remark) > _MAX_REMARK:
        raise TooLarge(
            f"{field} has {len(remark):,} characters; the limit is {_MAX_REMARK:,}",
            hint="Put the long form into a memory",
            field=field,
            limit=_MAX_REMARK,
        )
    return remark


def require_texts(value: object, *, field: str) -> tuple[str, ...]:
    """Return a list of texts; a single text is not a list."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise wrong_type(field, "a list of texts", value)
    return tuple(require_text(item, field=field) for item in cast("Sequence[object]", value))


def require_flag(value: object, *, field: str) -> bool:
    """Return a boolean; numbers and strings do not count as one."""
    if not isinstance(value, bool):
        raise wrong_type(field, "true or false", value)
    return value


def require_integer(value: object, *, field: str, least: int = 1, most: int = _MAX_INTEGER) -> int:
    """Return a whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong_type(field, "a whole number", value)
    if not least <= value <= most:
        bounds = f"at least {least}" if value < least else f"at most {most}"
        raise InvalidInput(f"{field} must be {bounds}, not {str(value)[:40]}", field=field)
    return value


def require_fraction(value: object, *, field: str) -> float:
    """Return a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong_type(field, "a number from 0 to 1", value)
    if not 0 <= value <= 1:
        raise InvalidInput(f"{field} must be a number from 0 to 1, not {value!r:.40}", field=field)
    return float(value)


def require_moment(value: object, *, field: str) -> None:
    """Require a datetime with a time zone, or None."""
    if value is not None and (not isinstance(value, datetime) or value.tzinfo is None):
        raise InvalidInput(f"{field} must be a time with a zone", hint="For example datetime.now(UTC)", field=field)


def wrong_type(field: str, expected: str, value: object) -> InvalidInput:
    """Return the error for a value of the wrong type."""
    return InvalidInput(f"{field} must be {expected}, not {type(value).__name__}", field=field)


def normal_name(name: str) -> str:
    """Return the name of a space or a token as it is stored: one spelling for what looks the same to Unicode."""
    return name.strip() if name.isascii() else unicodedata.normalize("NFKC", name).strip()


def name_problem(name: str) -> str:
    """Return what is wrong with the name of a space or a token, or nothing."""
    if not name.strip():
        return "is empty"
    if not name.isprintable():
        # Among them are the zero-width characters, and those that change the direction of writing.
        return "has invisible characters"
    if not name.isascii() and _mixes_scripts(name):
        return "mixes letters of different scripts in one word, so that it looks like another name"
    return ""


def appearance(name: str) -> str:
    """Return the same text for names that look the same to people."""
    return name if name.isascii() else normal_name(name).translate(_LOOKALIKES)


def require_own_look(name: str, others: Iterable[str], *, field: str) -> None:
    """Raise NameTaken for a name that looks like one of the others, without being it."""
    own = appearance(name)
    for other in others:
        if other != name and appearance(other) == own:
            raise NameTaken(
                f"{name[:100]!r} looks like {other[:100]!r}, which exists already", hint="Choose another name",
                name=name, field=field,
            )  # fmt: skip


def _mixes_scripts(name: str) -> bool:
    scripts: set[str] = set()
    for char in name:
        if not char.isalpha():
            scripts.clear()
            continue
        scripts.update({unicodedata.name(char, "").partition(" ")[0]}.intersection(_SCRIPTS))
        if len(scripts) > 1:
            return True
    return False
