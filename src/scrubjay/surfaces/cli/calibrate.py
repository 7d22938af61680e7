"""`calibrate`: what belongs to an embedding model, found from labelled data."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scrubjay.errors import InvalidInput
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.command import bare

if TYPE_CHECKING:
    from scrubjay.app.calibration.curves import RecallCurve, SameCurve, SameRow

app = typer.Typer()
calibrate_app = typer.Typer(help="Find what belongs to the chosen embedder from labelled data.", no_args_is_help=True)
app.add_typer(calibrate_app, name="calibrate")

_MOST_WEIGHT = 1000.0
_DEFAULT_WEIGHTS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0, 32.0)

File = Annotated[Path, typer.Argument(help="The labelled data.", show_default=False)]
Write = Annotated[bool, typer.Option("--write", help="Note the result in profiles.json of the data folder.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallCalibrated:
    """What the cosine of a model is worth."""

    curve: "RecallCurve"
    written: str

    def __str__(self) -> str:
        curve = self.curve
        rows = [
            [f"{row.weight:g}", f"{row.recall:.3f}", f"{row.mrr:.3f}", "chosen" if row == curve.chosen else ""]
            for row in curve.rows
        ]
        halves = [
            f"half {name} chooses {half.chosen:g}; with it the other has R@10 {half.recall:.3f} and MRR {half.mrr:.3f}"
            for name, half in zip("AB", curve.halves, strict=True)
        ]
        return "\n".join(
            [
                f"{curve.model}: {curve.questions:,} questions about {curve.memories:,} memories",
                *_table(("weight", "R@10", "MRR", ""), rows),
                *halves,
                f"weight {curve.chosen.weight:g}; it was {curve.before:g}",
                *_written(self.written),
            ]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SameCalibrated:
    """From which similarity on a model finds two texts to say the same."""

    curve: "SameCurve"
    written: str

    def __str__(self) -> str:
        curve = self.curve
        rows = [[*_cells(row), "chosen" if row == curve.chosen else ""] for row in _with_chosen(curve)]
        halves = [
            f"half {name} chooses {half.threshold:.3f}; of the other it finds {half.found:.3f}, {half.wrong:.4f} wrong"
            for name, half in zip("AB", curve.halves, strict=True)
        ]
        return "\n".join(
            [
                f"{curve.model}: {curve.pairs:,} pairs, {curve.same:,} of them the same",
                *_table(("same", "found", "wrong", ""), rows),
                *halves,
                f"same from {curve.chosen.threshold:.3f}, at most {curve.bound:g} wrong; it was {curve.before:g}",
                *_written(self.written),
            ]
        )


@bare(calibrate_app, name="recall")
def calibrate_recall_(
    settings: Settings,
    file: File,
    *,
    weights: Annotated[str, typer.Option(metavar="LIST", help="Weights to try, separated by commas.")] = ",".join(
        f"{weight:g}" for weight in _DEFAULT_WEIGHTS
    ),
    write: Write = False,
) -> RecallCalibrated:
    """Find the weight of the cosine with which most memories that answer are found.

    FILE is JSON Lines: memories {"collection", "id", "text", "session", "at"}, of which `id` and `text` are needed, and
    questions {"collection", "query", "relevant": [ids]}. A collection is searched by itself.
    """
    # It works with an engine of its own, for which no other command should wait.
    from scrubjay.surfaces.cli.calibrate_run import note_figure, recall_curve  # noqa: PLC0415

    curve = recall_curve(settings, file, weights=_weights(weights))
    written = note_figure(settings, "weight", curve.chosen.weight) if write else ""
    return RecallCalibrated(curve=curve, written=written)


@bare(calibrate_app, name="same")
def calibrate_same_(
    settings: Settings,
    file: File,
    *,
    wrong: Annotated[
        float, typer.Option(metavar="SHARE", help="So many of the pairs that differ may be taken for the same.")
    ] = 0.01,
    least: Annotated[
        float | None,
        typer.Option(metavar="SCORE", help="Scores from this on mean the same. Default: 0.8 of the highest."),
    ] = None,
    write: Write = False,
) -> SameCalibrated:
    """Find the similarity above which two texts say the same.

    FILE is JSON Lines {"a", "b", "same"}, or a .csv or .tsv with these columns. `same` is true, false or a score.
    """
    if not 0 <= wrong < 1:
        raise InvalidInput("--wrong must be a share from 0 to below 1", field="wrong")
    from scrubjay.surfaces.cli.calibrate_run import note_figure, same_curve  # noqa: PLC0415 - as above

    curve = same_curve(settings, file, least=least, wrong=wrong)
    written = note_figure(settings, "same", curve.chosen.threshold) if write else ""
    return SameCalibrated(curve=curve, written=written)


def _weights(given: str) -> list[float]:
    try:
        found = [float(one) for one in given.split(",") if one.strip()]
    except ValueError:
        found = []
    if not found or not all(0 <= one <= _MOST_WEIGHT for one in found):
        raise InvalidInput("--weights must be numbers from 0 to 1000, separated by commas", field="weights")
    return sorted(dict.fromkeys(found))


def _with_chosen(curve: "SameCurve") -> "list[SameRow]":
    rows = {row.threshold: row for row in (*curve.rows, curve.chosen)}
    return [rows[threshold] for threshold in sorted(rows)]


def _cells(row: "SameRow") -> list[str]:
    return [f"{row.threshold:.3f}", f"{row.found:.3f}", f"{row.wrong:.4f}"]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(line[place]) for line in (header, *rows)) for place in range(len(header))]
    return [
        "  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (header, *rows)
    ]


def _written(file: str) -> list[str]:
    return [f"written to {file}" if file else "--write notes it in profiles.json"]
