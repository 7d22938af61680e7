# What Scrubjay uses of reportlab, whose own types are not known to a checker.

from collections.abc import Mapping

class TTFError(Exception): ...

class TTFontFace:
    charToGlyph: Mapping[int, int]

class TTFont:
    fontName: str
    face: TTFontFace
    def __init__(self, name: str, filename: str) -> None: ...
