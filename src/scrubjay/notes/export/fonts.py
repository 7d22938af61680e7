"""Find the fonts for PDF exports on this machine, without opening the files."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["FALLBACKS", "FAMILIES", "Family", "font_files"]

_MOST_FILES = 20_000


@dataclass(frozen=True, slots=True)
class Family:
    """The file names of the four styles of a font family."""

    regular: str
    bold: str
    italic: str
    both: str


# The first available family is used; those that cover more scripts come first.
FAMILIES = (
    Family("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSans-Oblique.ttf", "DejaVuSans-BoldOblique.ttf"),
    Family("NotoSans-Regular.ttf", "NotoSans-Bold.ttf", "NotoSans-Italic.ttf", "NotoSans-BoldItalic.ttf"),
    Family("arial.ttf", "arialbd.ttf", "ariali.ttf", "arialbi.ttf"),
    Family("Arial.ttf", "Arial Bold.ttf", "Arial Italic.ttf", "Arial Bold Italic.ttf"),
    Family(
        "LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf", "LiberationSans-Italic.ttf",
        "LiberationSans-BoldItalic.ttf",
    ),
    Family("FreeSans.ttf", "FreeSansBold.ttf", "FreeSansOblique.ttf", "FreeSansBoldOblique.ttf"),
)  # fmt: skip
# Fonts for characters that the family lacks, in order of preference.
FALLBACKS = (
    "DejaVuSansMono.ttf", "Arial Unicode.ttf", "ARIALUNI.TTF", "unifont.ttf", "NotoSansArabic-Regular.ttf",
    "NotoSansHebrew-Regular.ttf", "NotoSansDevanagari-Regular.ttf", "NotoSansBengali-Regular.ttf",
    "NotoSansThai-Regular.ttf", "NotoSansTamil-Regular.ttf", "NotoSansTelugu-Regular.ttf",
    "NotoSansGeorgian-Regular.ttf", "NotoSansArmenian-Regular.ttf", "NotoSansEthiopic-Regular.ttf",
    "NotoSansSymbols-Regular.ttf", "NotoSansSymbols2-Regular.ttf", "NotoSansMath-Regular.ttf", "NotoEmoji-Regular.ttf",
    "Symbola.ttf", "wqy-zenhei.ttc", "wqy-microhei.ttc", "ipag.ttf", "ipagp.ttf", "NanumGothic.ttf",
    "DroidSansFallbackFull.ttf", "DroidSansFallback.ttf", "FreeSerif.ttf", "msyh.ttc", "msgothic.ttc", "malgun.ttf",
    "seguiemj.ttf", "seguisym.ttf",
)  # fmt: skip


@cache
def font_files() -> dict[str, Path]:
    """Return the usable fonts of this machine by file name."""
    names = {name for family in FAMILIES for name in (family.regular, family.bold, family.italic, family.both)} | set(
        FALLBACKS
    )
    files: dict[str, Path] = {}
    for number, path in enumerate(_files()):
        if number >= _MOST_FILES:
            break
        if path.name in names:
            files.setdefault(path.name, path)
    return files


def _files() -> Iterator[Path]:
    for folder in _folders():
        for place, _, names in os.walk(folder):
            yield from (Path(place, name) for name in names)


def _folders() -> tuple[Path, ...]:
    home = Path("~").expanduser()
    if sys.platform == "win32":
        return (Path("C:/Windows/Fonts"),)
    if sys.platform == "darwin":
        return (home / "Library/Fonts", Path("/Library/Fonts"), Path("/System/Library/Fonts"))
    return (home / ".local/share/fonts", home / ".fonts", Path("/usr/local/share/fonts"), Path("/usr/share/fonts"))
