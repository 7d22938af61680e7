"""Which language model the settings choose."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.fakes import FakeClock, FakeStore

from scrubjay.app.llms import make_llm
from scrubjay.errors import InvalidInput
from scrubjay.ports import Llm
from scrubjay.settings import Settings


def chosen(home: Path, **more: str) -> Llm | None:
    settings = Settings.load(environment={}, home=str(home), **more)
    return make_llm(settings, documents=FakeStore(), clock=FakeClock())


def test_there_is_none_unless_one_is_chosen(tmp_path: Path) -> None:
    assert chosen(tmp_path) is None


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"llm": "openai", "llm_model": "tiny"}, "openai:tiny"),
        ({"llm": "openai:tiny"}, "openai:tiny"),
        ({"llm": "anthropic", "llm_model": "large", "llm_key": "k"}, "anthropic:large"),
        ({"llm": "ollama:qwen3:8b"}, "ollama:qwen3:8b"),
    ],
)
async def test_it_is_named_by_provider_and_model(tmp_path: Path, given: dict[str, str], name: str) -> None:
    model = chosen(tmp_path, **given)
    assert model is not None
    assert model.name == name
    told = await model.describe()
    assert (told["model"], told["available"], told["calls_today"]) == (name, True, 0)
    await model.close()


@pytest.mark.parametrize("given", [{"llm": "openai"}, {"llm": ":x"}, {"llm": ""}])
def test_one_without_a_name_is_refused(tmp_path: Path, given: dict[str, str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        chosen(tmp_path, **given)
    assert str(caught.value.fields["setting"]).startswith("SCRUBJAY_LLM")


def test_its_sdk_is_not_loaded_before_it_is_asked() -> None:
    script = (
        "import sys, scrubjay.app, scrubjay.app.llms, scrubjay.curation.executor; print('pydantic_ai' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
