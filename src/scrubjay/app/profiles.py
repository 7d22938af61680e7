"""The user's own profiles of embedding models: `profiles.json` in the data folder."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from scrubjay.embedding.profiles import Profiles, apply_fields, builtin_profile, short_name
from scrubjay.errors import InvalidInput, StoreReadOnly
from scrubjay.model.memory import Json

_HINT = 'It looks like {"bge-small-en-v1.5": {"weight": 14.0, "same": 0.94}}: docs/how-to/embedders.md'


def profiles_file(data: Path) -> Path:
    """Return the path of the profiles."""
    return data / "profiles.json"


def read_profiles(data: Path) -> Profiles:
    """Return the known models with the profiles of the user."""
    return Profiles(_read(profiles_file(data)))


def write_profile(data: Path, model: str, figures: Mapping[str, float]) -> Path:
    """Write measured parameters of a model, keep the rest of the file, and return its path."""
    file = profiles_file(data)
    written = _read(file)
    before = Profiles(written).overrides(model).get("measured")
    # The user may have omitted the vendor of the model; the last of several entries is used.
    names = [name for name in written if short_name(name) == short_name(model)]
    entry = written.setdefault(names[-1] if names else model, {})
    measured = before if isinstance(before, list) else []
    entry.update(figures)
    entry["measured"] = [*measured, *(figure for figure in figures if figure not in measured)]
    partial = file.with_name(file.name + ".partial")
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial.write_text(json.dumps(written, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        os.replace(partial, file)  # noqa: PTH105 - as `Path.replace`, and plainly atomic
    except OSError as error:
        raise StoreReadOnly(
            f"{file} cannot be written: {error.strerror}", hint="Check the folder and its permissions", path=str(file)
        ) from error
    return file


def _read(file: Path) -> dict[str, dict[str, Json]]:
    try:
        content: object = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _wrong(file, f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _wrong(file, f"is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise _wrong(file, "must be an object of models")
    entries = cast("dict[str, Json]", content)
    return {model: _entry(model, entry, file) for model, entry in entries.items()}


def _entry(model: str, entry: Json, file: Path) -> dict[str, Json]:
    if not isinstance(entry, dict):
        raise _wrong(file, f"must have an object for {model!r}")
    try:
        apply_fields(builtin_profile(model), entry)
    except InvalidInput as error:
        raise _wrong(file, f"is wrong about {model!r}: {error.message}", hint=error.hint) from error
    return entry


def _wrong(file: Path, problem: str, *, hint: str = "") -> InvalidInput:
    return InvalidInput(f"{file} {problem}", hint=hint or _HINT, path=str(file))
