"""`scrubjay calibrate`: measure the figures of an embedding model with labelled data."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.command import bare
from scrubjay.surfaces.cli.console import progress

if TYPE_CHECKING:
    from scrubjay.app.calibration.curves import RecallCurve, SameCurve, SameRow

# This module imports the engine inside its functions: the help of all commands must not wait for it.

app = typer.Typer()
calibrate_app = typer.Typer(help="Measure the embedding model with labelled data.", no_args_is_help=True)
app.add_typer(calibrate_app, name="calibrate")

_MAX_WEIGHT = 1000.0
_DEFAULT_WEIGHTS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0, 32.0)

File = Annotated[Path, typer.Argument(help="File with the labelled data.", show_default=False)]
Write = Annotated[bool, typer.Option("--write", help="Save the result in profiles.json of the data folder.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallCalibration:
    """The best weight of the cosine similarity of a model."""

    curve: "RecallCurve"
    written: str

    def __str__(self) -> str:
        curve = self.curve
        rows = [
            [f"{row.weight:g}", f"{row.recall:.3f}", f"{row.mrr:.3f}", "chosen" if row == curve.chosen else ""]
            for row in curve.rows
        ]
        halves = [
            f"half {name} chooses {half.chosen:g}; on the other R@10 is {half.recall:.3f} and MRR {half.mrr:.3f}"
            for name, half in zip("AB", curve.halves, strict=True)
        ]
        return "\n".join(
            [
                f"{curve.model}: {curve.questions:,} questions about {curve.memories:,} memories",
                *_align_right(("weight", "R@10", "MRR", ""), rows),
                *halves,
                f"weight {curve.chosen.weight:g}; before: {curve.before:g}",
                _describe_saved(self.written),
            ]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SameCalibration:
    """The similarity from which a model considers two texts the same."""

    curve: "SameCurve"
    written: str

    def __str__(self) -> str:
        curve = self.curve
        by_threshold = {row.threshold: row for row in (*curve.rows, curve.chosen)}
        rows = [[*_same_cells(row), "chosen" if row == curve.chosen else ""] for _, row in sorted(by_threshold.items())]
        halves = [
            f"half {name} chooses {half.threshold:.3f}; on the other {half.found:.3f} found, {half.wrong:.4f} wrong"
            for name, half in zip("AB", curve.halves, strict=True)
        ]
        return "\n".join(
            [
                f"{curve.model}: {curve.pairs:,} pairs, {curve.same:,} of them the same",
                *_align_right(("same", "found", "wrong", ""), rows),
                *halves,
                f"same from {curve.chosen.threshold:.3f}, at most {curve.bound:g} wrong; before: {curve.before:g}",
                _describe_saved(self.written),
            ]
        )


@bare(calibrate_app, name="recall")
def recall(
    settings: Settings,
    file: File,
    *,
    weights: Annotated[str, typer.Option(metavar="LIST", help="Weights to try, separated by commas.")] = ",".join(
        f"{weight:g}" for weight in _DEFAULT_WEIGHTS
    ),
    write: Write = False,
) -> RecallCalibration:
    """Find the best weight of the cosine similarity for recall.

    FILE is JSON Lines: memories {"collection", "id", "text", "session", "at"}, of which `id` and `text` are needed, and
    questions {"collection", "query", "relevant": [ids]}. Each collection is searched separately.
    """
    curve = asyncio.run(_measure_recall(settings, file, _parse_weights(weights)))
    written = _save_figure(settings, "weight", curve.chosen.weight) if write else ""
    return RecallCalibration(curve=curve, written=written)


@bare(calibrate_app, name="same")
def same(
    settings: Settings,
    file: File,
    *,
    wrong: Annotated[
        float, typer.Option(metavar="SHARE", help="Maximum share of different pairs that may count as the same.")
    ] = 0.01,
    least: Annotated[
        float | None,
        typer.Option(metavar="SCORE", help="Scores from this one on mean the same. Default: 0.8 of the highest."),
    ] = None,
    write: Write = False,
) -> SameCalibration:
    """Find the similarity above which two texts say the same.

    FILE is JSON Lines {"a", "b", "same"}, or a .csv or .tsv with these columns. `same` is true, false or a score.
    """
    if not 0 <= wrong < 1:
        raise InvalidInput("--wrong must be a share from 0 to below 1", hint="For example 0.01", field="wrong")
    curve = asyncio.run(_measure_same(settings, file, least=least, wrong=wrong))
    written = _save_figure(settings, "same", curve.chosen.threshold) if write else ""
    return SameCalibration(curve=curve, written=written)


async def _measure_recall(settings: Settings, file: Path, weights: Sequence[float]) -> "RecallCurve":
    from scrubjay.app import open_scratch_engine  # noqa: PLC0415
    from scrubjay.app.calibration.curves import calibrate_recall  # noqa: PLC0415
    from scrubjay.app.calibration.labels import read_cases  # noqa: PLC0415

    cases = read_cases(file)
    with progress("calibrating") as report:
        async with open_scratch_engine(settings) as engine:
            return await calibrate_recall(cases, engine=engine, weights=weights, progress=report)


async def _measure_same(settings: Settings, file: Path, *, least: float | None, wrong: float) -> "SameCurve":
    from scrubjay.app import open_scratch_engine  # noqa: PLC0415
    from scrubjay.app.calibration.curves import calibrate_same  # noqa: PLC0415
    from scrubjay.app.calibration.labels import read_pairs  # noqa: PLC0415

    pairs = read_pairs(file, least=least)
    with progress("embedding") as report:
        async with open_scratch_engine(settings) as engine:
            return await calibrate_same(pairs, embedder=engine.embedder, wrong=wrong, progress=report)


def _save_figure(settings: Settings, name: str, value: float) -> str:
    """Save a figure of the configured model; return the path of the file."""
    from scrubjay.app.models import model_name  # noqa: PLC0415
    from scrubjay.app.profiles import write_profile  # noqa: PLC0415

    return str(write_profile(settings.data, model_name(settings), {name: value}))


def _parse_weights(text: str) -> list[float]:
    try:
        weights = [float(weight) for weight in text.split(",") if weight.strip()]
    except ValueError:
        weights = []
    if not weights or not all(0 <= weight <= _MAX_WEIGHT for weight in weights):
        raise InvalidInput(
            "--weights must be numbers from 0 to 1000, separated by commas", hint="For example 0,4,8", field="weights"
        )
    return sorted(dict.fromkeys(weights))


def _same_cells(row: "SameRow") -> list[str]:
    return [f"{row.threshold:.3f}", f"{row.found:.3f}", f"{row.wrong:.4f}"]


def _align_right(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(line[column]) for line in (header, *rows)) for column in range(len(header))]
    return [
        "  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (header, *rows)
    ]


def _describe_saved(file: str) -> str:
    return f"saved in {file}" if file else "--write saves it in profiles.json"
