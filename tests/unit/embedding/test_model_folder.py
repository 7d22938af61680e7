"""A model in a user's own folder."""

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
    folder = tmp_path / "mine"
    write_encoder(folder)
    return folder


def write_json(folder: Path, stem: str, content: Json) -> None:
    (folder / f"{stem}.json").write_text(json.dumps(content), encoding="utf-8")


def test_vectors_have_unit_length_and_a_model_id_of_their_own(folder: Path) -> None:
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
    "export",
    [
        {"file": "onnx/model.onnx"},
        {"output": "token_embeddings"},
        {"token_type_ids": False},
        {"attention_mask": False, "token_type_ids": False},
    ],
)
def test_different_exports_give_the_same_vectors(folder: Path, tmp_path: Path, export: dict[str, str | bool]) -> None:
    other = tmp_path / "other"
    write_encoder(other, **export)  # type: ignore[arg-type]
    expected = FolderModel(folder, threads=1).encode(TEXTS)
    assert all(map(np.array_equal, FolderModel(other, threads=1).encode(TEXTS), expected))


def test_pooling_follows_the_profile(folder: Path) -> None:
    mean_model = FolderModel(folder, threads=1)
    mean_vectors = mean_model.encode(TEXTS)
    write_json(folder, "profile", {"pooling": "cls"})
    cls_model = FolderModel(folder, threads=1)
    jay, rent, nothing = cls_model.encode(TEXTS)
    # The first token is the same for every text, and in this model it does not depend on the others.
    assert jay @ rent == pytest.approx(1, abs=1e-5)
    assert jay @ nothing == pytest.approx(1, abs=1e-5)
    assert mean_vectors[0] @ mean_vectors[1] < 0.99
    assert cls_model.load().model == mean_model.load().model + "-cls"


async def test_overrides_take_precedence_over_the_folder(folder: Path) -> None:
    write_json(folder, "profile", {"weight": 7.5, "text_prefix": "jay ", "query_prefix": "rent ", "longest": 8})
    embedder = folder_embedder(folder, threads=1, overrides={"weight": 9, "measured": ["weight"]})
    try:
        profile = await embedder.profile()
        assert (profile.weight, profile.measured, profile.query_prefix) == (9, ("weight",), "rent ")
        assert "+" in profile.model
        # Two of the eight tokens are special: a long text is cut to the length of a short text.
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
    # The folder has the name of another model.
    with pytest.raises(EmbeddingUnavailable, match="8 dimensions instead of 384"):
        model.encode(TEXTS)


@pytest.mark.parametrize("missing", ["model.onnx", "vocab.txt"])
def test_a_missing_file_is_reported(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(EmbeddingUnavailable, match=missing) as caught:
        FolderModel(folder).load()
    assert "SCRUBJAY_EMBEDDING_MODEL" in caught.value.hint


@pytest.mark.parametrize(
    ("stem", "content", "message"),
    [
        ("profile", {"pooling": "max"}, "pooling must be one of mean, cls"),
        ("profile", {"longest": "far"}, "longest must be a number of tokens"),
        ("profile", [], "is not a JSON object"),
        ("tokenizer_config", {"do_lower_case": False}, "case-sensitive model"),
    ],
)
def test_unusable_settings_are_refused(folder: Path, stem: str, content: Json, message: str) -> None:
    write_json(folder, stem, content)
    with pytest.raises(EmbeddingUnavailable, match=message):
        FolderModel(folder).load()


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("vocab.txt", b"hello\n##lo\n", r"no \[CLS\] or \[SEP\] or \[UNK\]"),
        ("vocab.txt", b"\xff\xfe", "not UTF-8"),
        ("model.onnx", b"something else", "does not run"),
        ("profile.json", b"{", r"profile\.json cannot be read"),
    ],
)
def test_a_damaged_file_is_refused(folder: Path, file: str, content: bytes, message: str) -> None:
    (folder / file).write_bytes(content)
    with pytest.raises(EmbeddingUnavailable, match=message) as caught:
        FolderModel(folder).load()
    assert "reinstall" not in caught.value.hint


def test_a_model_that_is_not_an_encoder_is_refused(tmp_path: Path) -> None:
    write_encoder(tmp_path, output="logits")
    with pytest.raises(EmbeddingUnavailable, match="not a text encoder"):
        FolderModel(tmp_path).load()


def test_a_vocabulary_may_have_any_line_ends(folder: Path) -> None:
    expected = FolderModel(folder, threads=1).encode(TEXTS)
    (folder / "vocab.txt").write_bytes("\r\n".join(WORDS).encode())
    assert all(map(np.array_equal, FolderModel(folder, threads=1).encode(TEXTS), expected))
