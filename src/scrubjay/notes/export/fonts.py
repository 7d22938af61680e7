"""The fonts of PDF exports: find those of this machine, and choose the font of each character."""

import os
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from xml.sax.saxutils import escape

from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFError, TTFont

from scrubjay.lazy import dataclass

__all__ = ["FONT_SIZE", "Typeface"]

FONT_SIZE = 10.5
_MAX_FILES = 20_000
_MAX_LISTED = 12
# Fonts that PDF viewers provide for Japanese, Korean and Chinese, if no other font has the character.
_ASIAN = (("HeiseiKakuGo-W5", 0x3040, 0x30FF), ("HYSMyeongJo-Medium", 0xAC00, 0xD7AF), ("STSong-Light", 0x2E80, 0xFFEF))


@dataclass(frozen=True, slots=True)
class _Family:
    """The file names of the four styles of a font family."""

    regular: str
    bold: str
    italic: str
    bold_italic: str


# The first available family is used; those that cover more scripts come first.
_FAMILIES = (
    _Family("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSans-Oblique.ttf", "DejaVuSans-BoldOblique.ttf"),
    _Family("NotoSans-Regular.ttf", "NotoSans-Bold.ttf", "NotoSans-Italic.ttf", "NotoSans-BoldItalic.ttf"),
    _Family("arial.ttf", "arialbd.ttf", "ariali.ttf", "arialbi.ttf"),
    _Family("Arial.ttf", "Arial Bold.ttf", "Arial Italic.ttf", "Arial Bold Italic.ttf"),
    _Family(
        "LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf", "LiberationSans-Italic.ttf",
        "LiberationSans-BoldItalic.ttf",
    ),
    _Family("FreeSans.ttf", "FreeSansBold.ttf", "FreeSansOblique.ttf", "FreeSansBoldOblique.ttf"),
)  # fmt: skip
# Fonts for characters that the family lacks, in order of preference.
_FALLBACKS = (
    "DejaVuSansMono.ttf", "Arial Unicode.ttf", "ARIALUNI.TTF", "unifont.ttf", "NotoSansArabic-Regular.ttf",
    "NotoSansHebrew-Regular.ttf", "NotoSansDevanagari-Regular.ttf", "NotoSansBengali-Regular.ttf",
    "NotoSansThai-Regular.ttf", "NotoSansTamil-Regular.ttf", "NotoSansTelugu-Regular.ttf",
    "NotoSansGeorgian-Regular.ttf", "NotoSansArmenian-Regular.ttf", "NotoSansEthiopic-Regular.ttf",
    "NotoSansSymbols-Regular.ttf", "NotoSansSymbols2-Regular.ttf", "NotoSansMath-Regular.ttf", "NotoEmoji-Regular.ttf",
    "Symbola.ttf", "wqy-zenhei.ttc", "wqy-microhei.ttc", "ipag.ttf", "ipagp.ttf", "NanumGothic.ttf",
    "DroidSansFallbackFull.ttf", "DroidSansFallback.ttf", "FreeSerif.ttf", "msyh.ttc", "msgothic.ttc", "malgun.ttf",
    "seguiemj.ttf", "seguisym.ttf",
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Typeface:
    """The fonts of a document: a family, and fallbacks for characters that it lacks."""

    regular: str = "Helvetica"
    bold: str = "Helvetica-Bold"
    mono: str = "Courier"
    # The characters of the family; None if it is built into PDF viewers.
    characters: Mapping[int, object] | None = None
    fallbacks: Sequence[tuple[str, Mapping[int, object]]] = ()
    asian: set[str] = field(default_factory=set[str])
    missing: set[str] = field(default_factory=set[str])
    has_right_to_left: bool = False

    @classmethod
    def load(cls) -> "Typeface":
        """Load the first available family and the fallbacks of this machine."""
        files = _font_files()
        fonts = [font for name in _FALLBACKS if name in files and (font := _load_font(name)) is not None]
        fallbacks = [(font.fontName, font.face.charToGlyph) for font in fonts]
        mono = _load_font("DejaVuSansMono.ttf")
        for family in _FAMILIES:
            names = (family.regular, family.bold, family.italic, family.bold_italic)
            styles = [font for name in names if name in files and (font := _load_font(name)) is not None]
            if len(styles) == len(names):
                font_names = [font.fontName for font in styles]
                pdfmetrics.registerFontFamily(font_names[0], *font_names)
                return cls(
                    regular=font_names[0], bold=font_names[1], mono=mono.fontName if mono else font_names[0],
                    fallbacks=fallbacks, characters=styles[0].face.charToGlyph,
                )  # fmt: skip
        return cls(fallbacks=fallbacks)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about text that the document cannot show correctly."""
        warnings: list[str] = []
        if self.missing:
            names = ", ".join(f"{item} (U+{ord(item):04X})" for item in sorted(self.missing)[:_MAX_LISTED])
            more = f" and {len(self.missing) - _MAX_LISTED} others" if len(self.missing) > _MAX_LISTED else ""
            warnings.append(f"no font of this machine has {names}{more}: the PDF shows ? instead")
        if self.has_right_to_left:
            warnings.append("the PDF shows right-to-left text from left to right; export as HTML to show it correctly")
        return tuple(warnings)

    def style(self, **options: object) -> ParagraphStyle:
        """Return a paragraph style in the regular font; options of reportlab override the defaults."""
        size = float(str(options.get("fontSize", FONT_SIZE)))
        defaults: dict[str, object] = {
            "fontName": self.regular, "fontSize": size, "leading": size * 1.4, "spaceAfter": size * 0.5,
            "splitLongWords": 1, "allowWidows": 1, "allowOrphans": 1,
        }  # fmt: skip
        return ParagraphStyle("note", **(defaults | options))

    def markup(self, text: str, *, mono: bool = False) -> str:
        """Return a text as paragraph markup, with each character in a font that has it."""
        parts: list[str] = []
        run, current = "", ""
        for character in text:
            font = self._font_of(character)
            if font != current and run:
                parts.append(_in_font(current, run))
                run = ""
            current = font
            run += character if font is not None else "?"
        parts.append(_in_font(current, run))
        markup = "".join(parts)
        return f'<font name="{self.mono}">{markup}</font>' if mono else markup

    def _font_of(self, character: str) -> str | None:
        """Return the font for a character: an empty text for the family, None if no font has it."""
        if unicodedata.bidirectional(character) in ("R", "AL"):
            self.has_right_to_left = True
        code, category = ord(character), unicodedata.category(character)
        is_in_family = code in self.characters if self.characters is not None else _is_western(character)
        if character.isascii() or is_in_family or category in ("Cc", "Cf", "Zs", "Mn"):
            return ""
        for name, characters in self.fallbacks:
            if code in characters:
                return name
        for name, first, last in _ASIAN:
            if first <= code <= last and category[0] in "LPN":
                if name not in self.asian:
                    pdfmetrics.registerFont(UnicodeCIDFont(name))
                    self.asian.add(name)
                return name
        self.missing.add(character)
        return None


@lru_cache(maxsize=64)
def _load_font(name: str) -> TTFont | None:
    """Load and register a font of this machine; None if reportlab cannot use it."""
    path = _font_files().get(name)
    if path is None:
        return None
    try:
        font = TTFont(path.stem, str(path))
    except (TTFError, OSError, ValueError, KeyError, IndexError):
        return None
    pdfmetrics.registerFont(font)
    return font


@cache
def _font_files() -> dict[str, Path]:
    """Return the usable fonts of this machine by file name, without opening them."""
    names = {
        name for family in _FAMILIES for name in (family.regular, family.bold, family.italic, family.bold_italic)
    } | set(_FALLBACKS)
    paths = (Path(place, name) for folder in _folders() for place, _, files in os.walk(folder) for name in files)
    fonts: dict[str, Path] = {}
    for path in islice(paths, _MAX_FILES):
        if path.name in names:
            fonts.setdefault(path.name, path)
    return fonts


def _folders() -> tuple[Path, ...]:
    home = Path("~").expanduser()
    if sys.platform == "win32":
        return (Path("C:/Windows/Fonts"),)
    if sys.platform == "darwin":
        return (home / "Library/Fonts", Path("/Library/Fonts"), Path("/System/Library/Fonts"))
    return (home / ".local/share/fonts", home / ".fonts", Path("/usr/local/share/fonts"), Path("/usr/share/fonts"))


def _is_western(character: str) -> bool:
    try:
        character.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def _in_font(name: str | None, run: str) -> str:
    printable = "".join(
        character
        for character in run
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs")
    )
    text = escape(printable)
    return f'<font name="{name}">{text}</font>' if name and text else text
