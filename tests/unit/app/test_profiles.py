"""`profiles.json`: parameters of models from the user, and errors in the file."""

import json
from pathlib import Path

import pytest
from tests.unit.tiny_models import write_encoder

from scrubjay.app.models import make_embedder, model_name
from scrubjay.app.profiles import profiles_file, read_profiles, write_profile
from scrubjay.embedding.profiles import BUNDLED, MINILM, STATIC
from scrubjay.errors import InvalidInput, StoreReadOnly
from scrubjay.settings import Settings


def settings(home: Path, **more: str) -> Settings:
    return Settings.load(environment={}, home=str(home), **more)


async def test_the_bundled_model_uses_measured_parameters(tmp_path: Path) -> None:
    data = tmp_path / "new"
    assert write_profile(data, BUNDLED, {"weight": 5.5}) == profiles_file(data)
    write_profile(data, BUNDLED, {"same": 0.87})
    write_profile(data, "another", {"weight": 3.0})
    embedder = make_embedder(settings(data))
    profile = await embedder.profile()
    await embedder.close()
    assert (profile.model, profile.weight, profile.same) == (BUNDLED, 5.5, 0.87)
    assert profile.measured == ("weight", "same")
    assert [file.name for file in data.iterdir()] == ["profiles.json"]


async def test_parameters_that_change_vectors_change_the_model_name(tmp_path: Path) -> None:
    write_encoder(tmp_path / "mine")
    chosen = settings(tmp_path, embedder="onnx", embedding_model=str(tmp_path / "mine"))
    names: set[str] = set()
    for changes in ({}, {"pooling": "cls"}, {"text_prefix": "t: "}, {"weight": 2}):
        profiles_file(tmp_path).write_text(json.dumps({"mine": changes}), encoding="utf-8")
        embedder = make_embedder(chosen)
        names.add((await embedder.profile()).model)
        await embedder.close()
    assert len(names) == 3


def test_other_entries_of_the_file_stay(tmp_path: Path) -> None:
    profiles_file(tmp_path).write_text('{"mine": {"pooling": "cls", "weight": 2}, "ours": {}}', encoding="utf-8")
    write_profile(tmp_path, "mine", {"weight": 3.0})
    assert json.loads(profiles_file(tmp_path).read_bytes()) == {
        "mine": {"pooling": "cls", "weight": 3.0, "measured": ["weight"]},
        "ours": {},
    }


def test_measured_parameters_go_to_the_entry_of_the_model_of_any_vendor(tmp_path: Path) -> None:
    own = {"pooling": "cls", "query_prefix": "query: ", "text_prefix": "passage: "}
    profiles_file(tmp_path).write_text(json.dumps({"Our-Encoder": own}), encoding="utf-8")
    write_profile(tmp_path, "acme/our-encoder", {"weight": 3.0})
    assert json.loads(profiles_file(tmp_path).read_bytes()) == {
        "Our-Encoder": {**own, "weight": 3.0, "measured": ["weight"]}
    }
    profile = read_profiles(tmp_path).get("acme/our-encoder")
    assert (profile.pooling, profile.query_prefix, profile.weight) == ("cls", "query: ", 3.0)


def test_of_several_entries_for_a_model_the_last_wins_field_by_field(tmp_path: Path) -> None:
    entries = {
        "ours": {"pooling": "cls", "weight": 2, "measured": ["weight"]},
        "other": {},
        "acme/ours:latest": {"weight": 5, "same": 0.9},
    }
    profiles_file(tmp_path).write_text(json.dumps(entries), encoding="utf-8")
    profile = read_profiles(tmp_path).get("ours")
    assert (profile.pooling, profile.weight, profile.same) == ("cls", 5, 0.9)
    # Written to the entry that is used, although another has exactly that name.
    write_profile(tmp_path, "ours", {"same": 0.8})
    profile = read_profiles(tmp_path).get("ours")
    assert (profile.pooling, profile.weight, profile.same, profile.measured) == ("cls", 5, 0.8, ("weight", "same"))
    assert list(json.loads(profiles_file(tmp_path).read_bytes())) == list(entries)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is not JSON"),
        ("\x00", "is not JSON"),
        ("[]", "an object of models"),
        ('{"mine": 3}', "an object for 'mine'"),
        ('{"mine": {"weight": "much"}}', "about 'mine': weight must be a number"),
        ('{"mine": {"wieght": 4}}', "no field 'wieght'"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_an_invalid_file_is_an_error(tmp_path: Path, text: str, problem: str) -> None:
    profiles_file(tmp_path).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=problem) as caught:
        make_embedder(settings(tmp_path))
    assert caught.value.fields["path"] == str(profiles_file(tmp_path))
    assert caught.value.hint
    with pytest.raises(InvalidInput, match=problem):
        write_profile(tmp_path, "mine", {"weight": 1.0})


def test_a_file_that_cannot_be_read_or_written_is_an_error(tmp_path: Path) -> None:
    profiles_file(tmp_path).mkdir()
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_profiles(tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises((StoreReadOnly, InvalidInput)):
        write_profile(tmp_path / "file" / "data", "mine", {"weight": 1.0})


@pytest.mark.parametrize(
    ("embedder", "model", "name"),
    [
        ("none", "", ""),
        ("bundled", "", BUNDLED),
        ("static", "", STATIC),
        ("minilm", "", MINILM),
        ("onnx", "/models/mine", "mine"),
        ("openai", "nomic-embed-text", "nomic-embed-text"),
        ("sentence-transformers", "BAAI/bge-m3", "BAAI/bge-m3"),
    ],
)
def test_each_embedder_has_a_name_to_write_under(tmp_path: Path, embedder: str, model: str, name: str) -> None:
    assert model_name(settings(tmp_path, embedder=embedder, embedding_model=model)) == name


def test_a_folder_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="needs the name of a model"):
        make_embedder(settings(tmp_path, embedder="onnx"))
