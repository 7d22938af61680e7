"""The adapters to fastembed, over a real cross-encoder of a few kilobytes, and to sentence-transformers."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.tiny_models import write_cross_encoder

from scrubjay.errors import RerankingUnavailable
from scrubjay.reranking.cross_encoders import FASTEMBED_MODEL, CrossEncoderConfig, fastembed_reranker

TEXTS = ["Rent is due", "The jay hid an acorn", "A jay on an oak"]


@pytest.mark.parametrize("file", ["model.onnx", "onnx/model.onnx"])
async def test_a_model_in_a_folder_scores_texts(tmp_path: Path, file: str) -> None:
    (tmp_path / "mine").mkdir()
    write_cross_encoder(tmp_path / "mine", file=file)
    for _ in range(2):
        reranker = fastembed_reranker(
            CrossEncoderConfig(model=str(tmp_path / "mine"), cache=tmp_path / "cache", threads=1)
        )
        scores = await reranker.rerank("What did the jay hide?", TEXTS)
        assert scores[1] > scores[2] > scores[0]
        assert await reranker.rerank("What?", ["acorn " * 100_000, "", "\ud800"]) == pytest.approx(
            [80.8, -0.2, -0.3], abs=1e-4
        )
        assert await reranker.rerank("What?", []) == []
        await reranker.close()


async def test_a_missing_model_is_not_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    reranker = fastembed_reranker(CrossEncoderConfig(model=FASTEMBED_MODEL, cache=tmp_path / "cache"))
    with pytest.raises(RerankingUnavailable, match="cannot be loaded") as caught:
        await reranker.rerank("What?", ["a text"])
    await reranker.close()
    assert "SCRUBJAY_ALLOW_DOWNLOAD" in caught.value.hint
    assert caught.value.fields["model"] == FASTEMBED_MODEL


async def test_an_unknown_model_is_refused(tmp_path: Path) -> None:
    reranker = fastembed_reranker(CrossEncoderConfig(model="unknown/model", cache=tmp_path, download=True))
    with pytest.raises(RerankingUnavailable, match="not supported") as caught:
        await reranker.rerank("What?", ["a text"])
    await reranker.close()
    assert "SCRUBJAY_RERANKER_MODEL" in caught.value.hint


async def test_a_model_that_does_not_run_is_reported(tmp_path: Path) -> None:
    write_cross_encoder(tmp_path)
    tokens = json.loads((tmp_path / "tokenizer.json").read_bytes())
    tokens["model"]["vocab"]["acorn"] = 999
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokens), encoding="utf-8")
    reranker = fastembed_reranker(CrossEncoderConfig(model=str(tmp_path), cache=tmp_path / "cache", threads=1))
    with pytest.raises(RerankingUnavailable, match="does not run"):
        await reranker.rerank("What?", ["an acorn"])
    await reranker.close()


@pytest.mark.parametrize("damage", ["model.onnx", "tokenizer.json"])
async def test_a_damaged_folder_is_reported(tmp_path: Path, damage: str) -> None:
    write_cross_encoder(tmp_path)
    (tmp_path / damage).write_bytes(b"something else")
    reranker = fastembed_reranker(CrossEncoderConfig(model=str(tmp_path), cache=tmp_path / "cache", threads=1))
    with pytest.raises(RerankingUnavailable, match="cannot be loaded"):
        await reranker.rerank("What?", ["a text"])
    await reranker.close()


async def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    reranker = fastembed_reranker(CrossEncoderConfig(model=str(tmp_path), cache=tmp_path / "cache"))
    with pytest.raises(RerankingUnavailable, match=r"no model\.onnx"):
        await reranker.rerank("What?", ["a text"])
    await reranker.close()


# A stand-in for the real package, which prints its arguments.
PROGRAM = """
import asyncio, pathlib, sys, types
sys.modules["fastembed"] = None
package = types.ModuleType("sentence_transformers")
class CrossEncoder:
    def __init__(self, *names, **options): print(names, options)
    def predict(self, pairs, **options): return [[float(len(text))] for _, text in pairs]
package.CrossEncoder = CrossEncoder
from scrubjay.errors import RerankingUnavailable
from scrubjay.reranking.cross_encoders import CrossEncoderConfig, fastembed_reranker, sentence_transformers_reranker
assert not {"onnxruntime", "fastembed.rerank", "sentence_transformers"} & set(sys.modules)

async def main():
    cache = pathlib.Path("cache")
    for module in (None, package):
        sys.modules["sentence_transformers"] = module
        for reranker in (
            fastembed_reranker(CrossEncoderConfig(model="a", cache=cache)),
            sentence_transformers_reranker(CrossEncoderConfig(model="b", cache=cache)),
            sentence_transformers_reranker(CrossEncoderConfig(model="c", cache=cache, download=True)),
        ):
            try:
                print(await reranker.rerank("q", ["long", "longer"]))
            except RerankingUnavailable as error:
                print(error)
            await reranker.close()

asyncio.run(main())
"""


def test_missing_packages_are_named_and_models_downloaded_only_if_allowed() -> None:
    command = [sys.executable, "-W", "error", "-c", PROGRAM]
    source = Path(__file__).parents[3] / "src"
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=source)
    assert done.returncode == 0, done.stderr
    missing = "the package {0} is not installed. Install it with: pip install 'scrubjay[{0}]'"
    assert done.stdout.splitlines() == [
        missing.format("fastembed"),
        missing.format("sentence-transformers"),
        missing.format("sentence-transformers"),
        missing.format("fastembed"),
        "('b',) {'local_files_only': True}",
        "[4.0, 6.0]",
        "('c',) {'local_files_only': False}",
        "[4.0, 6.0]",
    ]
