"""The adapter to CLIP models, over a real pair of a few kilobytes."""

import socket
from pathlib import Path

import numpy as np
import pytest
from tests.conformance.suites import EmbedderSuite
from tests.unit.notes.files import png
from tests.unit.tiny_models import write_clip

from scrubjay.app.models import make_embedder, model_name
from scrubjay.embedding.clip import CLIP_MODEL, ClipConfig, clip_embedder
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.settings import Settings

RED, GREEN, BLUE = (
    Media(type="image/png", data=png(colour=colour)) for colour in ((250, 20, 20), (20, 250, 20), (20, 20, 250))
)


async def test_words_find_pictures_among_texts(tmp_path: Path) -> None:
    write_clip(tmp_path / "mine")
    embedder = clip_embedder(ClipConfig(model=str(tmp_path / "mine"), cache=tmp_path / "cache", threads=1))
    profile = await embedder.profile()
    assert profile.model.startswith("mine-")
    assert (profile.dimension, profile.media) == (8, ("image",))
    red, green, blue = [_require(vector) for vector in await embedder.embed_media([RED, GREEN, BLUE])]
    rent, text = await embedder.embed(["the rent is due", "something red"])
    question = await embedder.embed_query("a red one")
    cosines = {
        name: float(np.dot(question, vector))
        for name, vector in (("red", red), ("green", green), ("blue", blue), ("rent", rent), ("text", text))
    }
    assert cosines["red"] > max(cosines["green"], cosines["blue"], cosines["rent"])
    assert cosines["text"] > cosines["rent"]
    # The vector of a picture does not depend on the others in its batch.
    (alone,) = await embedder.embed_media([RED])
    assert np.allclose(_require(alone), red, atol=1e-5)
    await EmbedderSuite().test_media_have_vectors_beside_those_of_texts_or_are_refused(embedder)
    await embedder.close()
    with pytest.raises(EmbeddingUnavailable, match="closed"):
        await embedder.embed_media([RED])


@pytest.mark.parametrize(
    "data",
    [
        b"", b"no picture", RED.data[:40], b"GIF89a\xff\xff\xff\xff\x00\x00\x00;",
        # A hundred thousand pixels a side, in a few bytes.
        RED.data[:16] + (100_000).to_bytes(4, "big") * 2 + RED.data[24:],
    ],
)  # fmt: skip
async def test_data_that_is_not_a_picture_has_no_vector(tmp_path: Path, data: bytes) -> None:
    write_clip(tmp_path)
    embedder = clip_embedder(ClipConfig(model=str(tmp_path), cache=tmp_path / "cache", threads=1))
    unreadable, readable = await embedder.embed_media([Media(type="image/png", data=data), RED])
    assert unreadable is None
    assert readable is not None
    await embedder.close()


@pytest.mark.parametrize(
    "damage", ["text/model.onnx", "text/tokenizer.json", "vision/preprocessor_config.json", "vision/model.onnx"]
)
async def test_a_damaged_folder_is_reported(tmp_path: Path, damage: str) -> None:
    write_clip(tmp_path)
    (tmp_path / damage).write_bytes(b"something else")
    embedder = clip_embedder(ClipConfig(model=str(tmp_path), cache=tmp_path / "cache", threads=1))
    with pytest.raises(EmbeddingUnavailable, match="cannot be loaded"):
        await embedder.profile()
    await embedder.close()


async def test_a_missing_model_is_not_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    settings = Settings.load(environment={"SCRUBJAY_EMBEDDER": "clip"}, home=str(tmp_path))
    assert model_name(settings) == CLIP_MODEL
    embedder = make_embedder(settings)
    with pytest.raises(EmbeddingUnavailable, match="cannot be loaded") as caught:
        await embedder.profile()
    await embedder.close()
    assert "SCRUBJAY_ALLOW_DOWNLOAD" in caught.value.hint


def _require(vector: Vector | None) -> Vector:
    assert vector is not None
    return vector
