"""The encryption key has one source, and a missing key is an error."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from scrubjay.app.encryption_key import encryption_key
from scrubjay.errors import InvalidInput, WrongKey
from scrubjay.settings import Settings


def test_no_key_is_no_encryption() -> None:
    assert encryption_key(Settings()) == ""


def test_a_key_in_the_settings_is_used() -> None:
    assert encryption_key(Settings(key="hush")) == "hush"


def test_a_key_file_has_it_on_its_first_line(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(" correct horse \nand a note\n", encoding="utf-8")
    assert encryption_key(Settings(key_file=str(file))) == "correct horse"


@pytest.mark.parametrize("content", [b"", b"\n", b"  \nsecond", b"\xff\xfe\x00"])
def test_a_key_file_without_a_key_is_an_error(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "key"
    file.write_bytes(content)
    with pytest.raises(WrongKey, match=str(file)) as caught:
        encryption_key(Settings(key_file=str(file)))
    assert caught.value.hint


def test_a_key_file_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WrongKey, match="cannot be read") as caught:
        encryption_key(Settings(key_file=str(tmp_path / "none")))
    assert "SCRUBJAY_KEY_FILE" in caught.value.hint


def test_two_keys_are_refused() -> None:
    with pytest.raises(InvalidInput, match="key and key_file"):
        encryption_key(Settings(key="a", key_file="b"))
    with pytest.raises(InvalidInput, match="key_file and keyring"):
        encryption_key(Settings(key_file="b", keyring="c"))


class FakeKeyring(ModuleType):
    """The used part of the keyring package."""

    def get_password(self, service: str, name: str) -> str | None:
        return {("scrubjay", "work"): "hush", ("scrubjay", "empty"): ""}.get((service, name))


def test_the_keyring_holds_it_under_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", FakeKeyring("keyring"))
    assert encryption_key(Settings(keyring="work")) == "hush"
    for name in ("home", "empty"):
        with pytest.raises(WrongKey, match=name) as caught:
            encryption_key(Settings(keyring=name))
        assert f"keyring set scrubjay {name}" in caught.value.hint


def test_a_keyring_that_is_not_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(WrongKey, match="not installed") as caught:
        encryption_key(Settings(keyring="work"))
    assert "scrubjay[keyring]" in caught.value.hint
