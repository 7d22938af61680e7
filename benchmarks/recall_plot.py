"""A bar chart as SVG: recall at five and at ten for every method."""

from collections.abc import Iterator
from xml.sax.saxutils import escape

from benchmarks.recall_figures import Measured, RecallResults

_WIDTH, _LEFT, _RIGHT = 720, 200, 60
_ROW, _BAR, _HEADING, _MARGIN = 30, 11, 44, 16
_DEEP, _SHALLOW, _INK, _LINE = "#2f6690", "#9cc5e0", "#222222", "#dddddd"
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def plot(results: RecallResults) -> str:
    """Draw the charts of all data sets of a run, one below the other."""
    height = 2 * _MARGIN + sum(_height(dataset) for dataset in results.datasets)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12" role="img">'
        ),
        f"<title>Recall of Scrubjay {escape(results.version)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    top = _MARGIN
    for dataset in results.datasets:
        parts += _chart(dataset, top)
        top += _height(dataset)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _height(dataset: Measured) -> int:
    return _HEADING + _ROW * len(dataset.methods) + _MARGIN


def _chart(dataset: Measured, top: int) -> Iterator[str]:
    bottom = top + _HEADING + _ROW * len(dataset.methods)
    yield _text(_MARGIN, top + 14, dataset.dataset, weight="bold")
    yield _legend(_LEFT, top + 5, _DEEP, "R@10")
    yield _legend(_LEFT + 70, top + 5, _SHALLOW, "R@5")
    for tick in _TICKS:
        x = _place(tick)
        yield f'<line x1="{x}" y1="{top + _HEADING - 6}" x2="{x}" y2="{bottom}" stroke="{_LINE}"/>'
        yield _text(x, top + _HEADING - 10, f"{tick:.1f}", anchor="middle")
    for number, method in enumerate(dataset.methods):
        y = top + _HEADING + _ROW * number
        yield _text(_LEFT - 8, y + 16, method.name, anchor="end")
        yield _bar(y + 3, method.quality.r10, _DEEP)
        yield _bar(y + 3 + _BAR, method.quality.r5, _SHALLOW)
        yield _text(_place(method.quality.r10) + 5, y + 13, f"{method.quality.r10:.3f}")


def _place(share: float) -> float:
    return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)


def _bar(y: int, share: float, colour: str) -> str:
    return f'<rect x="{_LEFT}" y="{y}" width="{_place(share) - _LEFT:.1f}" height="{_BAR}" fill="{colour}"/>'


def _legend(x: int, y: int, colour: str, name: str) -> str:
    return f'<rect x="{x}" y="{y}" width="10" height="10" fill="{colour}"/>' + _text(x + 14, y + 9, name)


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return f'<text x="{x}" y="{y}" fill="{_INK}" text-anchor="{anchor}" font-weight="{weight}">{escape(text)}</text>'
