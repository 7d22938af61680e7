"""The adapter to CLIP models, over a real pair of a few kilobytes."""

import socket
from pathlib import Path

import numpy as np
import pytest
from tests.conformance.suites import EmbedderSuite
from tests.unit.notes.files import png
from tests.unit.tiny_models import write_clip

from scrubjay.app.models import make_embedder, model_name
from scrubjay.embedding.clip import DEFAULT_MODEL, ChosenClip, clip_embedder
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.settings import Settings

RED, GREEN, BLUE = (
    Media(type="image/png", data=png(colour=item)) for item in ((250, 20, 20), (20, 250, 20), (20, 20, 250))
)


async def test_words_find_pictures_among_texts(tmp_path: Path) -> None:
    write_clip(tmp_path / "mine")
    embedder = clip_embedder(ChosenClip(model=str(tmp_path / "mine"), cache=tmp_path / "cache", threads=1))
    profile = await embedder.profile()
    assert profile.model.startswith("mine-")
    assert (profile.dimension, profile.media) == (8, ("image",))
    red, green, blue = [_sure(item) for item in await embedder.embed_media([RED, GREEN, BLUE])]
    rent, text = await embedder.embed(["the rent is due", "something red"])
    question = await embedder.embed_query("a red one")
    near = {
        name: float(np.dot(question, vector))
        for name, vector in (("red", red), ("green", green), ("blue", blue), ("rent", rent), ("text", text))
    }
    assert near["red"] > max(near["green"], near["blue"], near["rent"])
    assert near["text"] > near["rent"]
    # Where one picture is, all of them are: nothing is moved for the company it is in.
    (alone,) = await embedder.embed_media([RED])
    assert np.allclose(_sure(alone), red, atol=1e-5)
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
async def test_what_is_no_picture_has_no_vector(tmp_path: Path, data: bytes) -> None:
    write_clip(tmp_path)
    embedder = clip_embedder(ChosenClip(model=str(tmp_path), cache=tmp_path / "cache", threads=1))
    none, item = await embedder.embed_media([Media(type="image/png", data=data), RED])
    assert none is None
    assert item is not None
    await embedder.close()


@pytest.mark.parametrize(
    "damage", ["text/model.onnx", "text/tokenizer.json", "vision/preprocessor_config.json", "vision/model.onnx"]
)
async def test_a_damaged_folder_is_told(tmp_path: Path, damage: str) -> None:
    write_clip(tmp_path)
    (tmp_path / damage).write_bytes(b"something else")
    embedder = clip_embedder(ChosenClip(model=str(tmp_path), cache=tmp_path / "cache", threads=1))
    with pytest.raises(EmbeddingUnavailable, match="cannot be loaded"):
        await embedder.profile()
    await embedder.close()


async def test_a_model_that_is_not_here_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    settings = Settings.load(environment={"SCRUBJAY_EMBEDDER": "clip"}, home=str(tmp_path))
    assert model_name(settings) == DEFAULT_MODEL
    embedder = make_embedder(settings)
    with pytest.raises(EmbeddingUnavailable, match="cannot be loaded") as caught:
        await embedder.profile()
    await embedder.close()
    assert "SCRUBJAY_ALLOW_DOWNLOAD" in caught.value.hint


def _sure(vector: Vector | None) -> Vector:
    assert vector is not None
    return vector
