"""Which paths may be a note's: read as text, before any disk is asked."""

import re

from scrubjay.errors import PathRefused

__all__ = ["is_hidden", "new_parts", "parts_of", "reason_against", "shown"]

_LONGEST_NAME = 255
_LONGEST_PATH = 4096
_DEEPEST = 64
_MOST_SHOWN = 120
_DEVICES = re.compile(r"(con|prn|aux|nul|clock\$|conin\$|conout\$|(com|lpt)[0-9¹²³])", re.IGNORECASE)
_FOREIGN = re.compile(r'[\\:*?"<>|\x00-\x1f\x7f]')
# A dot, a slash, a backslash, NUL or an overlong form of one, percent-encoded any number of times: a name like that is
# harmless here, and a way out wherever somebody decodes it.
_ENCODED = re.compile(r"%(25)*(00|2e|2f|5c|c0|c1|e0%80|f0%80|u00(00|2e|2f|5c)|u221[56]|uff0[ef])", re.IGNORECASE)


def parts_of(path: str) -> tuple[str, ...]:
    """The names that a path is made of; raises PathRefused for one that may lead elsewhere, or is hidden."""
    if against := reason_against(path):
        raise _refused(path, against)
    return tuple(path.split("/"))


def new_parts(path: str) -> tuple[str, ...]:
    """The same for a file that is to be made, which every system must be able to have."""
    parts = parts_of(path)
    for part in parts:
        if against := _not_everywhere(part):
            raise _refused(path, against)
    return parts


def reason_against(path: str) -> str:
    """Why a path is refused, as words that follow it; empty when it is not."""
    try:
        size = len(path.encode("utf-8"))
    except UnicodeEncodeError:
        return "is not text that can be written as UTF-8"
    if not path or size > _LONGEST_PATH:
        return f"has {size} bytes, and 1 to {_LONGEST_PATH} are allowed"
    if "\0" in path:
        return "has a NUL in it"
    if path.startswith("/"):
        return "is absolute"
    parts = path.split("/")
    if len(parts) > _DEEPEST:
        return f"is more than {_DEEPEST} folders deep"
    return next((against for part in parts if (against := _against_name(part))), "")


def is_hidden(name: str) -> bool:
    """Whether a name is left out of the notes: it begins with a dot, as Obsidian's own folder and ours do."""
    return name.startswith(".")


def shown(path: str) -> str:
    """A path as a message can say it, whatever is in it."""
    printable = ascii(path) if not path.isprintable() else repr(path)
    return printable if len(printable) <= _MOST_SHOWN else f"{printable[:_MOST_SHOWN]}…"


def _against_name(name: str) -> str:
    if not name:
        return "has an empty name in it"
    if is_hidden(name):
        return "leads upwards" if name in {".", ".."} else "has a hidden name in it"
    # A character has at most four bytes.
    if len(name) * 4 > _LONGEST_NAME and len(name.encode("utf-8")) > _LONGEST_NAME:
        return f"has a name of more than {_LONGEST_NAME} bytes in it"
    return ""


def _not_everywhere(name: str) -> str:
    if _FOREIGN.search(name):
        return "has a character in it that some systems do not allow in names"
    if name.endswith((".", " ")):
        return "has a name in it that ends in a dot or a space"
    if _DEVICES.fullmatch(name.split(".", 1)[0].rstrip()):
        return "has the name of a device in it"
    if _ENCODED.search(name):
        return "has an encoded separator or dot in it"
    return ""


def _refused(path: str, why: str) -> PathRefused:
    return PathRefused(
        f"the path {shown(path)} {why}", hint="Name a file inside the folder of notes, such as work/plan.md", path=path
    )
