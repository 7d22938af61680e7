"""Patterns with `*` for any text, compared from left to right in linear time."""

__all__ = ["Glob", "Wildcard"]

_MAX_DEPTH = 64


class Wildcard:
    """Words of a text. An end of the pattern without a `*` is the end of a word."""

    def __init__(self, pattern: str) -> None:
        self._pieces = pattern.split("*")

    def matches(self, text: str) -> bool:
        """Return whether a text has the words; the caller folds text and pattern alike."""
        first, *rest = self._pieces
        if not rest:
            ends = ((at, at + len(first)) for at in _positions(text, first))
            return any(_is_word_edge(text, start) and _is_word_edge(text, end) for start, end in ends)
        start = next((at for at in _positions(text, first) if _is_word_edge(text, at)), -1) if first else 0
        if start < 0:
            return False
        *middle, last = rest
        at = _skip_pieces(text, start + len(first), middle)
        if at < 0:
            return False
        return not last or any(_is_word_edge(text, place + len(last)) for place in _positions(text, last, at))


class Glob:
    """Paths of files. A pattern without a slash is the name of a file or folder, one with a slash the end of a path."""

    def __init__(self, pattern: str) -> None:
        plain = _normalize_path(pattern).removeprefix("./")
        self._is_rooted = plain.startswith(("/", "~")) or plain[1:2] == ":"
        # A folder stands for all that is in it.
        self._pieces = f"{plain.rstrip('/')}/*".split("*") if plain.endswith("/") else plain.split("*")
        self._is_name = "/" not in plain.rstrip("/") and not plain.endswith("/")

    def matches(self, path: str) -> bool:
        """Return whether a path is one of them."""
        plain = _normalize_path(path)
        if max(self._pieces, key=len) not in plain:
            return False
        parts = plain.split("/")
        if self._is_name:
            return any(map(self._matches_all, parts))
        ends = [plain] if self._is_rooted else ["/".join(parts[at:]) for at in range(min(len(parts), _MAX_DEPTH))]
        return any(map(self._matches_all, ends))

    def _matches_all(self, text: str) -> bool:
        first, *rest = self._pieces
        if not rest:
            return text == first
        if not text.startswith(first):
            return False
        *middle, last = rest
        at = _skip_pieces(text, len(first), middle)
        return at >= 0 and len(text) - at >= len(last) and text.endswith(last)


def _skip_pieces(text: str, at: int, pieces: list[str]) -> int:
    """Return the position after all pieces in order, or -1."""
    for piece in pieces:
        place = text.find(piece, at)
        if place < 0:
            return -1
        at = place + len(piece)
    return at


def _normalize_path(path: str) -> str:
    return path.replace("\\", "/").casefold()


def _positions(text: str, piece: str, at: int = 0) -> "list[int]":
    positions: list[int] = []
    place = text.find(piece, at)
    while place >= 0:
        positions.append(place)
        place = text.find(piece, place + 1)
    return positions


def _is_word_edge(text: str, at: int) -> bool:
    return not (0 < at < len(text) and _is_letter(text[at - 1]) and _is_letter(text[at]))


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"
