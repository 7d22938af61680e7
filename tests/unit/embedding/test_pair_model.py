"""A model that reads two texts together, with its words in another file."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.tiny_models import write_pair_model

from scrubjay.embedding.bundled import data_file
from scrubjay.embedding.pair_model import OnnxPairModel, ThreadedPairReader, bundled_folder
from scrubjay.errors import EmbeddingUnavailable, RerankingUnavailable
from scrubjay.model.conflict import DatedStatement

PAIRS = [("It rains in Oslo", "The sun shines"), ("Rent", "is due on Monday, as always"), ("", "")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_pair_model(tmp_path / "pairs", encoder=tmp_path / "encoder.bin")
    return tmp_path / "pairs"


def opened(folder: Path) -> OnnxPairModel:
    return OnnxPairModel(folder, encoder=lambda: folder.parent / "encoder.bin", threads=1)


def test_a_batch_gives_what_single_pairs_give_and_long_texts_are_cut(folder: Path) -> None:
    model = opened(folder)
    rows = model.read(PAIRS)
    assert rows.shape == (3, 7)
    assert np.allclose(rows, np.concatenate([model.read([pair]) for pair in PAIRS]), atol=1e-4)
    long = "word " * 10_000
    assert np.array_equal(model.read([(long, long)]), model.read([(long[:5_000], long[:6_000])]))
    # The second text has what the first leaves.
    assert not np.array_equal(model.read([("rent", long)]), model.read([(long, "rent")]))
    assert model.read([]).shape == (0, 7)


def test_what_the_bundled_model_says_of_a_pair_does_not_depend_on_others() -> None:
    single, several = (
        OnnxPairModel(bundled_folder(), encoder=lambda: data_file("encoder.onnx"), threads=threads)
        for threads in (1, 3)
    )
    pairs = [*PAIRS, ("When is the rent due?", "The rent is due on the third."), ("word " * 500, "rent")]
    rows = np.concatenate([single.read([pair]) for pair in pairs])
    assert np.array_equal(single.read(pairs), rows)
    assert np.array_equal(several.read(pairs), rows)
    single.unload()
    assert np.array_equal(single.read(pairs[:1]), rows[:1])


async def test_the_probabilities_are_those_of_five_labels(folder: Path) -> None:
    reader = ThreadedPairReader(opened(folder))
    older = DatedStatement(text="Ada pays the rent.", date=datetime(2026, 1, 2, tzinfo=UTC), project="house")
    newer = DatedStatement(text="Bo pays the rent now.", date=datetime(2026, 3, 4, tzinfo=UTC), project="house")
    (shares,) = await reader.judge([(older, newer)])
    assert shares.repeats + shares.replaces + shares.unrelated == pytest.approx(1, abs=1e-5)
    text = "(2 January 2026) house: Ada pays the rent.", "later (4 March 2026) house: Bo pays the rent now."
    logits = opened(folder).read([text])[0, :6]
    assert shares.same == pytest.approx(float(np.exp(logits[0]) / np.exp(logits).sum()), abs=1e-5)
    answers = await reader.rerank("Who pays?", ["Ada pays the rent.", "It rains."])
    last = opened(folder).read([("Who pays?", "Ada pays the rent."), ("Who pays?", "It rains.")])[:, -1]
    assert answers == pytest.approx(last.tolist(), abs=1e-4)
    await reader.close()
    (folder / "profile.json").unlink()
    broken = ThreadedPairReader(opened(folder))
    with pytest.raises(RerankingUnavailable):
        await broken.rerank("Who pays?", ["Ada"])
    await broken.close()


async def test_a_machine_that_is_too_slow_is_left_alone_for_a_while(folder: Path) -> None:
    moments = iter([0.0, 0.0, 3.0, 3.0, 3.0, 6.0, 6.0, 6.0, 9.0, 9.0, 610.0])
    reader = ThreadedPairReader(opened(folder), clock=lambda: next(moments))
    statement = DatedStatement(text="Ada pays the rent.", date=datetime(2026, 1, 2, tzinfo=UTC))
    for _ in range(3):
        assert len(await reader.judge([(statement, statement)])) == 1
    with pytest.raises(EmbeddingUnavailable, match="too slow"):
        await reader.judge([(statement, statement)])
    assert await reader.name() == "pairs"
    await reader.close()


@pytest.mark.parametrize(
    "changed",
    [
        {"sha256": "0" * 64},
        {"encoder": "0" * 64},
        {"labels": ["same"]},
        {"longest": 10**9},
        {"words": {"at": -1}},
        None,
    ],
)
def test_another_version_or_a_damaged_file_is_refused(folder: Path, changed: dict[str, Any] | None) -> None:
    file = folder / "profile.json"
    profile = json.loads(file.read_text())
    file.write_text("{" if changed is None else json.dumps(profile | changed))
    with pytest.raises(EmbeddingUnavailable):
        opened(folder).read(PAIRS)
    file.write_text(json.dumps(profile))
    assert opened(folder).read(PAIRS).shape == (3, 7)
    damaged = b"no model"
    (folder / "model.onnx").write_bytes(damaged)
    file.write_text(json.dumps(profile | {"sha256": hashlib.sha256(damaged).hexdigest()}))
    with pytest.raises(EmbeddingUnavailable):
        opened(folder).read(PAIRS)
