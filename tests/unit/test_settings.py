"""Settings: overrides, else the environment, else defaults; secrets are never shown."""

from dataclasses import fields
from pathlib import Path

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.settings import Settings


def loaded(**environment: str) -> Settings:
    return Settings.load(environment={"HOME": "/home/jay", **environment})


def test_overrides_win_over_the_environment_and_that_over_defaults() -> None:
    environment = {"SCRUBJAY_SPACE": "work", "SCRUBJAY_AGENT": "bot"}
    chosen = Settings.load(environment=environment, space="home", agent=None)
    assert (chosen.space, chosen.agent, chosen.embedder) == ("home", "bot", "bundled")


def test_an_override_that_is_a_text_is_read_like_a_variable() -> None:
    chosen = Settings.load(environment={}, home="/tmp/jay", reader="off", readers="7")
    assert (chosen.reader, chosen.readers) == (False, 7)
    with pytest.raises(InvalidInput, match="reader must be true or false, not 'maybe'"):
        Settings.load(environment={}, home="/tmp/jay", reader="maybe")


@pytest.mark.parametrize("setting", fields(Settings), ids=lambda setting: setting.name)
def test_every_setting_is_read_from_its_variable(setting: object) -> None:
    name, default, metadata = (getattr(setting, part) for part in ("name", "default", "metadata"))
    text, value = ("7", 7) if isinstance(default, int) else ("x", "x")
    if isinstance(default, bool):
        text, value = str(not default), not default
    assert getattr(loaded(**{metadata["env"]: text}), name) == value
    if name != "home":
        assert getattr(loaded(), name) == default


@pytest.mark.parametrize(("text", "value"), [("1", True), (" Yes", True), ("ON", True), ("0", False), ("off", False)])
def test_a_flag_has_several_spellings(text: str, *, value: bool) -> None:
    assert loaded(SCRUBJAY_ALLOW_DOWNLOAD=text).allow_download is value


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("SCRUBJAY_ALLOW_DOWNLOAD", "maybe"),
        ("SCRUBJAY_READERS", "many"),
        ("SCRUBJAY_READERS", "-1"),
        ("SCRUBJAY_READERS", "2.5"),
        ("SCRUBJAY_READERS", "0"),
        ("SCRUBJAY_MAX_TEXT_BYTES", "0"),
        ("SCRUBJAY_EMBEDDING_THREADS", "0"),
    ],
)
def test_the_error_about_an_invalid_value_names_its_variable(variable: str, text: str) -> None:
    with pytest.raises(InvalidInput, match=variable) as caught:
        loaded(**{variable: text})
    assert caught.value.fields["setting"] == variable


def test_an_empty_variable_counts_as_unset() -> None:
    empty = loaded(SCRUBJAY_SPACE="", SCRUBJAY_READERS="", SCRUBJAY_HOME="", SCRUBJAY_ALLOW_DOWNLOAD="")
    assert empty == loaded()


def test_the_data_folder_is_always_absolute() -> None:
    assert loaded(SCRUBJAY_HOME="here").data == Path("here").absolute()
    assert loaded(MEMORY_DIR="/mem").data == Path("/mem")
    assert loaded(MEMORY_DIR="/mem", SCRUBJAY_HOME="/jay").data == Path("/jay")
    assert Settings.load(environment={"SCRUBJAY_HOME": "/jay"}, home="/chosen").data == Path("/chosen")


def test_the_index_is_in_the_data_folder_by_default() -> None:
    assert loaded(SCRUBJAY_HOME="/jay").index == Path("/jay/index")
    assert loaded(SCRUBJAY_HOME="/jay", SCRUBJAY_INDEX_PATH="/fast").index == Path("/fast")


def test_the_limits_have_the_maximum_length_of_a_text() -> None:
    assert loaded(SCRUBJAY_MAX_TEXT_BYTES="5000").limits.text_bytes == 5000


def test_no_key_is_ever_shown() -> None:
    settings = loaded(SCRUBJAY_KEY="hush1", SCRUBJAY_EMBEDDING_KEY="hush2")
    assert (settings.key, settings.embedding_key) == ("hush1", "hush2")
    assert "hush" not in repr(settings)
    assert "hush" not in str(settings)


def test_the_environment_of_the_process_is_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCRUBJAY_HOME", str(tmp_path))
    assert Settings.load().data == tmp_path


def test_a_short_lived_process_opens_no_embedded_index() -> None:
    assert loaded().short_lived.vector_index == "scan"
    for chosen in (
        loaded(SCRUBJAY_DATABASE_URL="postgresql://host/memory"),
        loaded(SCRUBJAY_QDRANT_URL="http://host:6333"),
        loaded(SCRUBJAY_VECTOR_INDEX="hnsw"),
    ):
        assert chosen.short_lived == chosen
    assert loaded(SCRUBJAY_VECTOR_INDEX="scan").owning_index.vector_index == "auto"
    assert loaded(SCRUBJAY_VECTOR_INDEX="ivfflat").owning_index.vector_index == "ivfflat"
