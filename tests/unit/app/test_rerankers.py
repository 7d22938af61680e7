"""Which reranker the settings choose."""

from pathlib import Path

import pytest

from scrubjay.app.rerankers import make_reranker
from scrubjay.errors import InvalidInput, RerankingUnavailable
from scrubjay.settings import Settings


def settings(home: Path, **more: str) -> Settings:
    return Settings.load(environment={}, home=str(home), **more)


def test_there_is_none_unless_one_is_chosen(tmp_path: Path) -> None:
    assert make_reranker(settings(tmp_path)) is None


@pytest.mark.parametrize("kind", ["fastembed", "sentence-transformers"])
async def test_a_reranker_without_its_model_says_so_and_fetches_nothing(tmp_path: Path, kind: str) -> None:
    reranker = make_reranker(settings(tmp_path, reranker=kind, reranker_model=str(tmp_path / "none")))
    assert reranker is not None
    with pytest.raises(RerankingUnavailable):
        await reranker.rerank("what?", ["a text"])
    await reranker.close()


def test_one_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="colbert") as caught:
        make_reranker(settings(tmp_path, reranker="colbert"))
    assert caught.value.fields["setting"] == "SCRUBJAY_RERANKER"
    with pytest.raises(InvalidInput, match="SCRUBJAY_RERANK_TOP"):
        Settings.load(environment={"SCRUBJAY_RERANK_TOP": "0"})
