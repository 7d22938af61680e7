"""How a calibration is done; it is loaded by `calibrate` alone."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from scrubjay.app import open_scratch_engine
from scrubjay.app.calibration.curves import RecallCurve, SameCurve, calibrate_recall, calibrate_same
from scrubjay.app.calibration.labels import LabelledCases, LabelledPair, read_cases, read_pairs
from scrubjay.app.models import model_name
from scrubjay.app.profiles import write_profile
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.progress import progress

__all__ = ["note_figure", "recall_curve", "same_curve"]


def recall_curve(settings: Settings, file: Path, *, weights: Sequence[float]) -> RecallCurve:
    """What each weight finds of the labelled memories of a file."""
    return asyncio.run(_recall(settings, read_cases(file), weights))


def same_curve(settings: Settings, file: Path, *, least: float | None, wrong: float) -> SameCurve:
    """What each similarity tells of the labelled pairs of a file."""
    return asyncio.run(_same(settings, read_pairs(file, least=least), wrong))


def note_figure(settings: Settings, name: str, value: float) -> str:
    """Note what was found of the chosen model; tells where that is."""
    return str(write_profile(settings.data, model_name(settings), {name: value}))


async def _recall(settings: Settings, cases: LabelledCases, weights: Sequence[float]) -> RecallCurve:
    with progress("calibrating") as report:
        async with open_scratch_engine(settings) as engine:
            return await calibrate_recall(cases, engine=engine, weights=weights, progress=report)


async def _same(settings: Settings, pairs: Sequence[LabelledPair], wrong: float) -> SameCurve:
    with progress("embedding") as report:
        async with open_scratch_engine(settings) as engine:
            return await calibrate_same(pairs, embedder=engine.embedder, wrong=wrong, progress=report)
