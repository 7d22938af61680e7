"""Which data sets are measured: what the command names, else what the environment names, else made text."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpus import DATA_VARIABLE
from benchmarks.recall_beam import load_beam
from benchmarks.recall_data import BadData, Collection
from benchmarks.recall_locomo import load_locomo
from benchmarks.recall_longmemeval import load_longmemeval
from benchmarks.recall_made import make_conversations
from benchmarks.recall_realtalk import load_realtalk

MADE = "made"
LOADERS: dict[str, Callable[[Path], list[Collection]]] = {
    "locomo": load_locomo,
    "longmemeval": load_longmemeval,
    "realtalk": load_realtalk,
    "beam": load_beam,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A data set: its name, where it was found, and its collections."""

    name: str
    origin: str
    collections: tuple[Collection, ...]


def choose(dataset: str, data: Path | None, *, environment: Mapping[str, str] | None = None) -> list[Dataset]:
    """The data sets to measure; raises BadData where what is named is not there, or is something else."""
    if dataset == MADE:
        return [_made()]
    if data is not None:
        if not dataset:
            raise BadData(f"--data needs --dataset, one of {', '.join(LOADERS)}")
        return [_load(dataset, data)]
    named = (os.environ if environment is None else environment).get(DATA_VARIABLE, "")
    paths = [Path(part).expanduser() for part in named.split(os.pathsep) if part]
    expected = [dataset] if dataset else list(LOADERS)
    results = [item for path in paths for item in _recognised(expected, path)]
    if not results and dataset:
        raise BadData(f"no file of {dataset}: name one with --data, or in {DATA_VARIABLE}")
    return results or [_made()]


def _made() -> Dataset:
    return Dataset(name=MADE, origin="text made by the benchmark", collections=tuple(make_conversations()))


def _load(dataset: str, path: Path) -> Dataset:
    if not path.exists():
        raise BadData(f"{path} is not there: benchmarks/README.md says where to get the file of {dataset}")
    return Dataset(name=dataset, origin=path.name, collections=tuple(LOADERS[dataset](path)))


def _recognised(wanted: list[str], path: Path) -> list[Dataset]:
    """The file as the data set that it is, if it is one of those."""
    for dataset in wanted:
        try:
            return [_load(dataset, path)]
        except BadData:
            continue
    return []
