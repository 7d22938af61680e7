# What Scrubjay uses of reportlab, whose own types are not known to a checker.

from collections.abc import Callable, Sequence
from typing import BinaryIO

from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable
from reportlab.platypus.frames import Frame

class PageTemplate:
    def __init__(
        self,
        *,
        id: str,
        frames: Sequence[Frame],
        onPage: Callable[[Canvas, object], None],
        pagesize: tuple[float, float],
    ) -> None: ...

class BaseDocTemplate:
    leftMargin: float
    bottomMargin: float
    width: float
    height: float
    pagesize: tuple[float, float]
    canv: Canvas
    def __init__(self, filename: BinaryIO, **kw: object) -> None: ...
    def addPageTemplates(self, pageTemplates: Sequence[PageTemplate]) -> None: ...
    def clean_hanging(self) -> None: ...
    def handle_flowable(self, flowables: list[Flowable]) -> None: ...
    def _calc(self) -> None: ...
    def _startBuild(self, filename: BinaryIO | None = ..., canvasmaker: type[Canvas] = ...) -> None: ...
    def _endBuild(self) -> None: ...
