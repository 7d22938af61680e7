"""A user's own model: a folder with `model.onnx` and `vocab.txt`, and optionally `profile.json`."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from scrubjay.embedding.batching import BatchingEmbedder, BatchLimits
from scrubjay.embedding.onnx import ModelBundle, OnnxModel, file_digest
from scrubjay.embedding.profiles import ProfileFields, apply_fields, builtin_profile, model_id
from scrubjay.embedding.threaded import ThreadedEncoder
from scrubjay.embedding.wordpiece import WordPiece, number_tokens
from scrubjay.errors import EmbeddingUnavailable, InvalidInput
from scrubjay.model.memory import Json
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile

# The length that most encoders of this kind were trained with.
_MAX_TOKENS = 512
_SPECIAL_TOKENS = ("[CLS]", "[SEP]", "[UNK]")
_HINT = "SCRUBJAY_EMBEDDING_MODEL names a folder with model.onnx and vocab.txt: docs/how-to/embedders.md"


def folder_embedder(
    folder: Path, *, threads: int = 0, overrides: ProfileFields | None = None, query_cache_size: int = 256
) -> BatchingEmbedder:
    """Make an embedder over the model in a folder, which is loaded on first use."""
    encoder = ThreadedEncoder(FolderModel(folder, threads=threads, overrides=overrides))
    limits = BatchLimits(text_characters=4 * _MAX_TOKENS)
    return BatchingEmbedder(encoder, limits=limits, query_cache_size=query_cache_size)


class FolderModel:
    """The model in a folder as a local model.

    Its id contains a digest of its weights: another file in the same folder is another model with other vectors. The
    user's `overrides` take precedence over `profile.json`, which takes precedence over a built-in profile of that name.
    """

    def __init__(self, folder: Path, *, threads: int = 0, overrides: ProfileFields | None = None) -> None:
        self._folder = folder
        self._threads = threads
        self._overrides = overrides or {}
        self._opened: OnnxModel | None = None

    def load(self) -> Profile:
        return self._model().load()

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        return self._model().encode(texts)

    def unload(self) -> None:
        if self._opened is not None:
            self._opened.unload()

    def _model(self) -> OnnxModel:
        # No lock: all calls come from the same thread.
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def _open(self) -> OnnxModel:
        folder = self._folder
        file = next((path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()), None)
        if file is None:
            raise EmbeddingUnavailable(f"there is no model.onnx in {folder}", hint=_HINT, path=str(folder))
        if _read_object(folder / "tokenizer_config.json").get("do_lower_case", True) is False:
            raise _unusable(folder, "contains a case-sensitive model, but the tokenizer ignores case")
        fields = _read_object(folder / "profile.json")
        max_tokens = _max_tokens(fields.pop("longest", _MAX_TOKENS), folder)
        vocabulary = _read_vocabulary(folder / "vocab.txt")
        bundle = ModelBundle(
            profile=self._profile(fields, digest=file_digest(file, hint=_HINT)),
            file=lambda: file,
            tokenizer=lambda: WordPiece(vocabulary, max_tokens=max_tokens),
            hint=_HINT,
        )
        return OnnxModel(bundle, threads=self._threads)

    def _profile(self, fields: ProfileFields, *, digest: str) -> Profile:
        name = self._folder.name
        try:
            profile = apply_fields(builtin_profile(name), fields)
        except InvalidInput as error:
            raise _unusable(self._folder / "profile.json", error.message, hint=error.hint) from error
        profile = apply_fields(profile, self._overrides)
        id_ = model_id(f"{name}-{digest[:12]}", pooling=profile.pooling, text_prefix=profile.text_prefix)
        return replace(profile, model=id_)


def _read_vocabulary(file: Path) -> dict[str, int]:
    try:
        vocabulary = number_tokens(file.read_bytes().decode())
    except OSError as error:
        raise _unusable(file, f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise _unusable(file, "is not UTF-8 text") from error
    missing = [token for token in _SPECIAL_TOKENS if token not in vocabulary]
    if missing:
        raise _unusable(file, f"has no {' or '.join(missing)}: only WordPiece vocabularies can be used")
    return vocabulary


def _max_tokens(value: Json, folder: Path) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 8 <= value <= 2048:  # noqa: PLR2004 - tokens
        raise _unusable(folder / "profile.json", f"longest must be a number of tokens from 8 to 2048, not {value!r}")
    return value


def _read_object(file: Path) -> dict[str, Json]:
    """Read a JSON object from a file; a missing file is an empty object."""
    try:
        value: object = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise _unusable(file, f"cannot be read ({error})") from error
    if not isinstance(value, dict):
        raise _unusable(file, "is not a JSON object")
    return cast("dict[str, Json]", value)


def _unusable(path: Path, problem: str, *, hint: str = "") -> EmbeddingUnavailable:
    return EmbeddingUnavailable(f"{path} {problem}", hint=hint or _HINT, path=str(path))
