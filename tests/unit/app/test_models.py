"""The language model and the reranker that the settings choose."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.fakes import FakeClock

from scrubjay.app.models import make_llm, make_reranker
from scrubjay.errors import InvalidInput, RerankingUnavailable
from scrubjay.ports import Llm
from scrubjay.settings import Settings
from scrubjay.storage.sqlite import SqliteStore


def choose_llm(home: Path, store: SqliteStore, **more: str) -> Llm | None:
    settings = Settings.load(environment={}, home=str(home), **more)
    return make_llm(settings, documents=store, clock=FakeClock())


def test_there_is_no_language_model_by_default(tmp_path: Path, store: SqliteStore) -> None:
    assert choose_llm(tmp_path, store) is None


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"llm": "openai", "llm_model": "tiny"}, "openai:tiny"),
        ({"llm": "openai:tiny"}, "openai:tiny"),
        ({"llm": "anthropic", "llm_model": "large", "llm_key": "k"}, "anthropic:large"),
        ({"llm": "ollama:qwen3:8b"}, "ollama:qwen3:8b"),
    ],
)
async def test_a_language_model_is_named_by_provider_and_model(
    tmp_path: Path, store: SqliteStore, values: dict[str, str], name: str
) -> None:
    model = choose_llm(tmp_path, store, **values)
    assert model is not None
    assert model.name == name
    status = await model.describe()
    assert (status["model"], status["available"], status["calls_today"]) == (name, True, 0)
    await model.close()


@pytest.mark.parametrize("values", [{"llm": "openai"}, {"llm": ":x"}, {"llm": ""}])
def test_a_language_model_without_a_name_is_refused(tmp_path: Path, values: dict[str, str], store: SqliteStore) -> None:
    with pytest.raises(InvalidInput) as caught:
        choose_llm(tmp_path, store, **values)
    assert str(caught.value.fields["setting"]).startswith("SCRUBJAY_LLM")


def test_the_sdk_is_loaded_on_first_use() -> None:
    script = (
        "import sys, scrubjay.app, scrubjay.app.models, scrubjay.curation.executor; print('pydantic_ai' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def settings(home: Path, **more: str) -> Settings:
    return Settings.load(environment={}, home=str(home), **more)


def test_there_is_no_reranker_by_default(tmp_path: Path, store: SqliteStore) -> None:
    assert make_reranker(settings(tmp_path)) is None


@pytest.mark.parametrize("kind", ["fastembed", "sentence-transformers"])
async def test_a_reranker_without_its_model_raises_and_downloads_nothing(tmp_path: Path, kind: str) -> None:
    reranker = make_reranker(settings(tmp_path, reranker=kind, reranker_model=str(tmp_path / "none")))
    assert reranker is not None
    with pytest.raises(RerankingUnavailable):
        await reranker.rerank("what?", ["a text"])
    await reranker.close()


def test_an_unknown_reranker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="colbert") as caught:
        make_reranker(settings(tmp_path, reranker="colbert"))
    assert caught.value.fields["setting"] == "SCRUBJAY_RERANKER"
    with pytest.raises(InvalidInput, match="SCRUBJAY_RERANK_TOP"):
        Settings.load(environment={"SCRUBJAY_RERANK_TOP": "0"})
