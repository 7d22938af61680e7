"""The rules for paths of notes, checked on the text of the path before the disk is touched."""

import re

from scrubjay.errors import PathRefused

__all__ = ["find_path_problem", "is_hidden", "quote_path", "split_new_path", "split_path"]

_MAX_NAME_BYTES = 255
_MAX_PATH_BYTES = 4096
_MAX_DEPTH = 64
_MAX_QUOTED = 120
_DEVICES = re.compile(r"(con|prn|aux|nul|clock\$|conin\$|conout\$|(com|lpt)[0-9¹²³])", re.IGNORECASE)
_UNPORTABLE = re.compile(r'[\\:*?"<>|\x00-\x1f\x7f]')
# A dot, a slash, a backslash, NUL or an overlong form of one, percent-encoded any number of times: such a name is
# harmless here, but leads out of the folder in any program that decodes it.
_ENCODED = re.compile(r"%(25)*(00|2e|2f|5c|c0|c1|e0%80|f0%80|u00(00|2e|2f|5c)|u221[56]|uff0[ef])", re.IGNORECASE)


def split_path(path: str) -> tuple[str, ...]:
    """Split a path into its names; raise PathRefused for one that may lead out of the folder, or is hidden."""
    if problem := find_path_problem(path):
        raise _refusal(path, problem)
    return tuple(path.split("/"))


def split_new_path(path: str) -> tuple[str, ...]:
    """Split the path of a file to be created; raise PathRefused also for names that some systems do not allow."""
    parts = split_path(path)
    for part in parts:
        if problem := _find_portability_problem(part):
            raise _refusal(path, problem)
    return parts


def find_path_problem(path: str) -> str:
    """Return why a path is refused, as a predicate to follow the path; an empty text if it is allowed."""
    try:
        size = len(path.encode("utf-8"))
    except UnicodeEncodeError:
        return "cannot be encoded as UTF-8"
    if not path or size > _MAX_PATH_BYTES:
        return f"has {size} bytes, and 1 to {_MAX_PATH_BYTES} are allowed"
    if "\0" in path:
        return "contains a NUL character"
    if path.startswith("/"):
        return "is absolute"
    parts = path.split("/")
    if len(parts) > _MAX_DEPTH:
        return f"is more than {_MAX_DEPTH} folders deep"
    return next((problem for part in parts if (problem := _find_name_problem(part))), "")


def is_hidden(name: str) -> bool:
    """Whether a name is excluded from the notes: it begins with a dot, as Obsidian's own folder and ours do."""
    return name.startswith(".")


def quote_path(path: str) -> str:
    """Return a path in quotes for a message, printable and not too long."""
    printable = ascii(path) if not path.isprintable() else repr(path)
    return printable if len(printable) <= _MAX_QUOTED else f"{printable[:_MAX_QUOTED]}…"


def _find_name_problem(name: str) -> str:
    if not name:
        return "contains an empty name"
    if is_hidden(name):
        return "leads upwards" if name in {".", ".."} else "contains a hidden name"
    # A character has at most four bytes.
    if len(name) * 4 > _MAX_NAME_BYTES and len(name.encode("utf-8")) > _MAX_NAME_BYTES:
        return f"contains a name of more than {_MAX_NAME_BYTES} bytes"
    return ""


def _find_portability_problem(name: str) -> str:
    if _UNPORTABLE.search(name):
        return "contains a character that some systems do not allow in names"
    if name.endswith((".", " ")):
        return "contains a name that ends in a dot or a space"
    if _DEVICES.fullmatch(name.split(".", 1)[0].rstrip()):
        return "contains the name of a device"
    if _ENCODED.search(name):
        return "contains an encoded separator or dot"
    return ""


def _refusal(path: str, problem: str) -> PathRefused:
    return PathRefused(
        f"the path {quote_path(path)} {problem}",
        hint="Name a file inside the folder of notes, such as work/plan.md",
        path=path,
    )
