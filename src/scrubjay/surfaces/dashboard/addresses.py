"""The addresses of pages: a space is named where it is not the default one of the caller."""

from collections.abc import Mapping
from urllib.parse import urlencode

from scrubjay.surfaces.http.browser_session import HOME, PREFIX

__all__ = ["address", "local_path", "memory_address"]


def address(page: str, *, space: str = "", **query: object) -> str:
    """Return the address of a page by its name; the home page has none."""
    values: Mapping[str, object] = {
        name: value for name, value in ({"space": space} | query).items() if value not in ("", None, (), False)
    }
    path = f"{PREFIX}/{page}" if page else HOME
    return f"{path}?{urlencode(values, doseq=True)}" if values else path


def memory_address(ref: str, *, space: str = "") -> str:
    """Return the address of a memory by its id, name or title."""
    return address("memory", id=ref, space=space)


def local_path(target: str) -> str:
    """Return a path of this server, else the home page: no link may lead a user elsewhere."""
    is_local = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if is_local else HOME
