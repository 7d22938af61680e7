"""A model in a folder of the user's own."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.unit.tiny_models import DIMENSION, WORDS, write_encoder

from scrubjay.embedding.model_folder import FolderModel, folder_embedder
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.memory import Json

TEXTS = ["The jay hid an acorn", "Rent is due", ""]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "mine"
    write_encoder(made)
    return made


def say(folder: Path, stem: str, content: Json) -> None:
    (folder / f"{stem}.json").write_text(json.dumps(content), encoding="utf-8")


def test_it_gives_unit_vectors_under_a_name_of_its_own(folder: Path) -> None:
    model = FolderModel(folder, threads=1)
    profile = model.load()
    assert profile.model.startswith("mine-")
    assert profile.dimension == DIMENSION
    vectors = model.encode(TEXTS)
    assert [vector.shape for vector in vectors] == [(DIMENSION,)] * 3
    assert all(np.linalg.norm(vector) == pytest.approx(1, abs=1e-5) for vector in vectors)
    model.unload()
    assert np.array_equal(model.encode(TEXTS[:1])[0], vectors[0])


@pytest.mark.parametrize(
    "kind",
    [
        {"file": "onnx/model.onnx"},
        {"output": "token_embeddings"},
        {"token_type_ids": False},
        {"attention_mask": False, "token_type_ids": False},
    ],
)
def test_exports_differ(folder: Path, tmp_path: Path, kind: dict[str, str | bool]) -> None:
    other = tmp_path / "other"
    write_encoder(other, **kind)  # type: ignore[arg-type]
    expected = FolderModel(folder, threads=1).encode(TEXTS)
    assert all(map(np.array_equal, FolderModel(other, threads=1).encode(TEXTS), expected))


def test_pooling_follows_the_profile(folder: Path) -> None:
    by_mean = FolderModel(folder, threads=1)
    mean_of = by_mean.encode(TEXTS)
    say(folder, "profile", {"pooling": "cls"})
    by_first = FolderModel(folder, threads=1)
    jay, rent, nothing = by_first.encode(TEXTS)
    # The first token is the same for every text, and in this model it knows nothing of the others.
    assert jay @ rent == pytest.approx(1, abs=1e-5)
    assert jay @ nothing == pytest.approx(1, abs=1e-5)
    assert mean_of[0] @ mean_of[1] < 0.99
    assert by_first.load().model == by_mean.load().model + "-cls"


async def test_what_was_measured_goes_before_what_the_folder_says(folder: Path) -> None:
    say(folder, "profile", {"weight": 7.5, "text_prefix": "jay ", "query_prefix": "rent ", "longest": 8})
    embedder = folder_embedder(folder, threads=1, own={"weight": 9, "measured": ["weight"]})
    try:
        profile = await embedder.profile()
        assert (profile.weight, profile.measured, profile.query_prefix) == (9, ("weight",), "rent ")
        assert "+" in profile.model
        # Of eight tokens two frame the text: a long one is cut to the length of a short one.
        long, short, other = await embedder.embed(["oak " * 400, "oak " * 5, "acorn " * 5])
        assert np.array_equal(long, short)
        assert not np.array_equal(long, other)
    finally:
        await embedder.close()


def test_a_folder_named_like_a_known_model_has_its_profile(tmp_path: Path) -> None:
    folder = tmp_path / "bge-small-en-v1.5"
    write_encoder(folder)
    model = FolderModel(folder, threads=1)
    profile = model.load()
    assert (profile.pooling, profile.weight) == ("cls", 16.0)
    # It is not what its name says, and that is told.
    with pytest.raises(EmbeddingUnavailable, match="8 dimensions instead of 384"):
        model.encode(TEXTS)


@pytest.mark.parametrize("missing", ["model.onnx", "vocab.txt"])
def test_a_missing_file_is_told(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(EmbeddingUnavailable, match=missing) as caught:
        FolderModel(folder).load()
    assert "SCRUBJAY_EMBEDDING_MODEL" in caught.value.hint


@pytest.mark.parametrize(
    ("stem", "content", "told"),
    [
        ("profile", {"pooling": "max"}, "pooling must be one of mean, cls"),
        ("profile", {"longest": "far"}, "longest must be a number of tokens"),
        ("profile", [], "is no JSON object"),
        ("tokenizer_config", {"do_lower_case": False}, "tells capitals apart"),
    ],
)
def test_what_cannot_be_used_is_told(folder: Path, stem: str, content: Json, told: str) -> None:
    say(folder, stem, content)
    with pytest.raises(EmbeddingUnavailable, match=told):
        FolderModel(folder).load()


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("vocab.txt", b"hello\n##lo\n", r"no \[CLS\] or \[SEP\] or \[UNK\]"),
        ("vocab.txt", b"\xff\xfe", "not UTF-8"),
        ("model.onnx", b"something else", "does not run"),
        ("profile.json", b"{", r"profile\.json cannot be read"),
    ],
)
def test_a_file_that_is_something_else_is_refused(folder: Path, file: str, content: bytes, told: str) -> None:
    (folder / file).write_bytes(content)
    with pytest.raises(EmbeddingUnavailable, match=told) as caught:
        FolderModel(folder).load()
    assert "reinstall" not in caught.value.hint


def test_a_model_that_is_no_encoder_is_refused(tmp_path: Path) -> None:
    write_encoder(tmp_path, output="logits")
    with pytest.raises(EmbeddingUnavailable, match="no text encoder"):
        FolderModel(tmp_path).load()


def test_a_vocabulary_may_have_any_line_ends(folder: Path) -> None:
    expected = FolderModel(folder, threads=1).encode(TEXTS)
    (folder / "vocab.txt").write_bytes("\r\n".join(WORDS).encode())
    assert all(map(np.array_equal, FolderModel(folder, threads=1).encode(TEXTS), expected))
