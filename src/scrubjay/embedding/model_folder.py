"""A model of the user's own: a folder with `model.onnx` and `vocab.txt`, and with `profile.json` if it needs one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from scrubjay.embedding.batching import BatchingEmbedder
from scrubjay.embedding.model_id import model_id
from scrubjay.embedding.onnx import Bundle, OnnxModel, digest_of
from scrubjay.embedding.profiles import Changes, changed, profile_of
from scrubjay.embedding.queue import Limits
from scrubjay.embedding.threaded import ThreadedEncoder
from scrubjay.embedding.wordpiece import WordPiece, numbered
from scrubjay.errors import EmbeddingUnavailable, InvalidInput
from scrubjay.model.memory import Json
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile

# What most encoders of this kind were trained to read.
_LONGEST = 512
_SPECIAL = ("[CLS]", "[SEP]", "[UNK]")
_HINT = "SCRUBJAY_EMBEDDING_MODEL names a folder with model.onnx and vocab.txt: docs/how-to/embedders.md"


def folder_embedder(
    folder: Path, *, threads: int = 0, own: Changes | None = None, queries_kept: int = 256
) -> BatchingEmbedder:
    """An embedder over the model in a folder, loaded when it is first needed."""
    encoder = ThreadedEncoder(FolderModel(folder, threads=threads, own=own))
    return BatchingEmbedder(encoder, limits=Limits(longest=4 * _LONGEST), queries_kept=queries_kept)


class FolderModel:
    """The model in a folder as one of our local models.

    Its id names its weights: another file in the same folder is another model, whose vectors fit no others. What the
    user has measured (`own`) goes before what `profile.json` says, and that before what is known by the folder's name.
    """

    def __init__(self, folder: Path, *, threads: int = 0, own: Changes | None = None) -> None:
        self._folder = folder
        self._threads = threads
        self._own = own or {}
        self._opened: OnnxModel | None = None

    def load(self) -> Profile:
        return self._model().load()

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        return self._model().encode(texts)

    def unload(self) -> None:
        if self._opened is not None:
            self._opened.unload()

    def _model(self) -> OnnxModel:
        # All calls come from one thread.
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def _open(self) -> OnnxModel:
        folder = self._folder
        file = next((item for item in (folder / "model.onnx", folder / "onnx" / "model.onnx") if item.is_file()), None)
        if file is None:
            raise EmbeddingUnavailable(f"there is no model.onnx in {folder}", hint=_HINT, path=str(folder))
        _refuse_cased(folder)
        written = _object_in(folder / "profile.json")
        longest = _longest(written.pop("longest", _LONGEST), folder)
        vocabulary = _vocabulary(folder / "vocab.txt")
        traits = changed(_with(profile_of(folder.name), written, folder), self._own)
        profile = _named(traits, file, folder.name)
        bundle = Bundle(
            profile=profile,
            file=lambda: file,
            tokenizer=lambda: WordPiece(vocabulary, longest=longest),
            hint=_HINT,
        )
        return OnnxModel(bundle, threads=self._threads)


def _with(traits: Profile, written: Mapping[str, Json], folder: Path) -> Profile:
    try:
        return changed(traits, written)
    except InvalidInput as error:
        raise _unusable(folder / "profile.json", error.message, hint=error.hint) from error


def _named(profile: Profile, file: Path, name: str) -> Profile:
    digest = digest_of(file, hint=_HINT)
    named = model_id(f"{name}-{digest[:12]}", pooling=profile.pooling, text_prefix=profile.text_prefix)
    return replace(profile, model=named)


def _vocabulary(file: Path) -> dict[str, int]:
    try:
        vocabulary = numbered(file.read_bytes().decode())
    except OSError as error:
        raise _unusable(file, f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise _unusable(file, "is not UTF-8 text") from error
    missing = [token for token in _SPECIAL if token not in vocabulary]
    if missing:
        raise _unusable(file, f"has no {' or '.join(missing)}: only WordPiece vocabularies can be used")
    return vocabulary


def _refuse_cased(folder: Path) -> None:
    if _object_in(folder / "tokenizer_config.json").get("do_lower_case", True) is False:
        raise _unusable(folder, "holds a model that tells capitals apart, which our tokenizer does not")


def _longest(value: Json, folder: Path) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 8 <= value <= 2048:  # noqa: PLR2004 - tokens
        raise _unusable(folder / "profile.json", f"longest must be a number of tokens from 8 to 2048, not {value!r}")
    return value


def _object_in(file: Path) -> dict[str, Json]:
    """What a JSON file holds; nothing if there is no such file."""
    try:
        results: object = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise _unusable(file, f"cannot be read ({error})") from error
    if not isinstance(results, dict):
        raise _unusable(file, "is no JSON object")
    return cast("dict[str, Json]", results)


def _unusable(path: Path, what: str, *, hint: str = "") -> EmbeddingUnavailable:
    return EmbeddingUnavailable(f"{path} {what}", hint=hint or _HINT, path=str(path))
