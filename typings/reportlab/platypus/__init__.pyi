# What Scrubjay uses of reportlab, whose own types are not known to a checker.

from collections.abc import Sequence
from typing import BinaryIO

from reportlab.lib.colors import Color
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas

class Flowable:
    canv: Canvas
    def __init__(self) -> None: ...
    def wrap(self, aW: float, aH: float) -> tuple[float, float]: ...
    def draw(self) -> None: ...

class CondPageBreak(Flowable):
    def __init__(self, height: float) -> None: ...

class HRFlowable(Flowable):
    def __init__(self, *, width: str, color: Color, spaceBefore: float, spaceAfter: float) -> None: ...

class Image(Flowable):
    def __init__(self, filename: BinaryIO, *, width: float, height: float, hAlign: str) -> None: ...

class PageBreak(Flowable): ...

class Paragraph(Flowable):
    def __init__(self, text: str, style: ParagraphStyle, bulletText: str | None = ...) -> None: ...

class Spacer(Flowable):
    def __init__(self, width: float, height: float) -> None: ...

class Table(Flowable):
    def __init__(
        self,
        data: Sequence[Sequence[Flowable]],
        *,
        colWidths: Sequence[float],
        style: TableStyle,
        splitInRow: int,
        spaceAfter: float,
        hAlign: str,
    ) -> None: ...

class TableStyle:
    def __init__(self, cmds: Sequence[tuple[object, ...]]) -> None: ...
