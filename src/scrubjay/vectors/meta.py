"""What an index on disk says of itself: whose it is, and how far it has followed the change log."""

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import cast

from scrubjay.errors import IndexUnavailable

FORMAT = 1
_FILE = "scrubjay.json"
_UNFLUSHED = "unflushed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """`added` counts the points put since the index was last optimised."""

    store_id: str
    model: str
    dimension: int
    cursor: int
    points: int = 0
    added: int = 0
    format: int = FORMAT

    def require_fit(self, *, store_id: str, model: str, dimension: int) -> None:
        """Refuse an index that was made of something else."""
        compared = (
            ("format", self.format, FORMAT),
            ("store", self.store_id, store_id),
            ("model", self.model, model),
            ("dimension", self.dimension, dimension),
        )
        for name, results, expected in compared:
            if results != expected:
                raise IndexUnavailable(f"the vector index is of another {name}", found=results, wanted=expected)


def read_meta(folder: Path) -> Meta:
    """What the folder says of itself; raises IndexUnavailable when it says nothing sound."""
    try:
        results: object = json.loads((folder / _FILE).read_bytes())
    except (OSError, ValueError) as error:
        raise IndexUnavailable("there is no whole vector index", folder=str(folder)) from error
    existing = cast("dict[str, object]", results) if isinstance(results, dict) else {}
    try:
        return _meta_of(existing)
    except (KeyError, TypeError) as error:
        raise IndexUnavailable("the vector index does not say what it is", folder=str(folder)) from error


def write_meta(folder: Path, meta: Meta) -> None:
    """Replace what the folder says of itself, at once and durably, and that nothing is unflushed."""
    draft = folder / f"{_FILE}.new"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(asdict(meta), file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / _FILE)
    (folder / _UNFLUSHED).unlink(missing_ok=True)


def mark_unflushed(folder: Path) -> None:
    """Say that the shard may hold more than its meta file knows of."""
    (folder / _UNFLUSHED).touch()


def is_unflushed(folder: Path) -> bool:
    """Whether the last process to hold the index ended without a flush."""
    return (folder / _UNFLUSHED).exists()


def _meta_of(known: dict[str, object]) -> Meta:
    for field in fields(Meta):
        if type(known[field.name]) is not field.type:
            raise TypeError(field.name)
    return Meta(
        store_id=str(known["store_id"]),
        model=str(known["model"]),
        **{name: cast("int", known[name]) for name in ("dimension", "cursor", "points", "added", "format")},
    )
