"""Patterns in which `*` stands for anything, compared from left to right and never twice."""

__all__ = ["Glob", "Wildcard"]


class Wildcard:
    """Words that stand in a text. An end of the pattern that is no `*` is the end of a word."""

    def __init__(self, pattern: str) -> None:
        self._pieces = pattern.split("*")

    def matches(self, text: str) -> bool:
        """Whether they do; both are folded alike by whoever asks."""
        first, *rest = self._pieces
        if not rest:
            return any(_is_whole(text, at, at + len(first)) for at in _places(text, first))
        start = next((at for at in _places(text, first) if _is_edge(text, at)), -1) if first else 0
        if start < 0:
            return False
        at = start + len(first)
        *middle, last = rest
        for piece in middle:
            found = text.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return not last or any(_is_edge(text, place + len(last)) for place in _places(text, last, at))


class Glob:
    """Paths of files. Without a slash it is the name of a file or folder, with one the end of a path."""

    def __init__(self, pattern: str) -> None:
        plain = _plain(pattern).removeprefix("./")
        self._is_rooted = plain.startswith(("/", "~")) or plain[1:2] == ":"
        # Whatever is in a folder belongs to it.
        self._pieces = f"{plain.rstrip('/')}/*".split("*") if plain.endswith("/") else plain.split("*")
        self._is_name = "/" not in plain.rstrip("/") and not plain.endswith("/")

    def matches(self, path: str) -> bool:
        """Whether a path is one of them."""
        plain = _plain(path)
        if max(self._pieces, key=len) not in plain:
            return False
        parts = plain.split("/")
        if self._is_name:
            return any(map(self._is_all_of, parts))
        ends = [plain] if self._is_rooted else ["/".join(parts[at:]) for at in range(min(len(parts), _DEEPEST))]
        return any(map(self._is_all_of, ends))

    def _is_all_of(self, text: str) -> bool:
        first, *rest = self._pieces
        if not rest:
            return text == first
        if not text.startswith(first):
            return False
        at = len(first)
        *middle, last = rest
        for piece in middle:
            found = text.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return len(text) - at >= len(last) and text.endswith(last)


_DEEPEST = 64


def _plain(path: str) -> str:
    return path.replace("\\", "/").casefold()


def _places(text: str, piece: str, at: int = 0) -> "list[int]":
    found: list[int] = []
    place = text.find(piece, at)
    while place >= 0:
        found.append(place)
        place = text.find(piece, place + 1)
    return found


def _is_whole(text: str, start: int, end: int) -> bool:
    return _is_edge(text, start) and _is_edge(text, end)


def _is_edge(text: str, at: int) -> bool:
    """Whether no word goes on at a place."""
    return not (0 < at < len(text) and _is_letter(text[at - 1]) and _is_letter(text[at]))


def _is_letter(one: str) -> bool:
    return one.isalnum() or one == "_"
