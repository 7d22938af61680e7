"""Programs that cannot be asked, and a last look that finds something wrong."""

from pathlib import Path

import pytest

from scrubjay.install.json_text import JsonText
from scrubjay.install.subprocesses import Unreachable, ask, demand
from scrubjay.install.syntax import Unfit
from scrubjay.install.toml_text import TomlText
from scrubjay.install.verify import meaning_with, meaning_without, require_meaning

PLACE = ("servers", "jay")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    made = tmp_path / "ctl"
    made.write_text("#!/bin/sh\necho out $*\necho 'why  not' >&2\nexit $1\n")
    made.chmod(0o755)
    return made


def test_a_program_is_asked(program: Path) -> None:
    assert (ask("ctl", "0").out, ask("ctl", "3").code) == ("out 0\n", 3)
    assert demand("ctl", "0").err == "why  not\n"
    with pytest.raises(Unreachable, match=r"^ctl 3: why not$"):
        demand("ctl", "3")


def test_a_program_that_says_nothing_is_told_by_how_it_ended(program: Path) -> None:
    program.write_text("#!/bin/sh\nexit 7\n")
    with pytest.raises(Unreachable, match="it ended with 7"):
        demand("ctl")


def test_a_program_that_is_none_is_told(program: Path) -> None:
    program.write_bytes(b"\x00\x01\x02")
    with pytest.raises(Unreachable, match="ctl cannot be run"):
        ask("ctl")
    program.unlink()
    with pytest.raises(Unreachable, match="ctl is not on this machine"):
        ask("ctl")


def test_the_last_look_finds_what_went_wrong() -> None:
    syntax = JsonText()
    require_meaning(syntax, '{"servers": {}}', {}, place=PLACE)
    for text in ('{"servers": {"a": 1}}', '{"other": {}}', "{"):
        with pytest.raises(Unfit, match="without harm"):
            require_meaning(syntax, text, {}, place=PLACE)
    require_meaning(TomlText(), "a = nan", {"a": float("nan")}, place=PLACE)


def test_what_a_document_should_mean() -> None:
    value = meaning_with({"a": 1}, PLACE, {"command": "x", "headers": {"A": "1"}}, drop=())
    assert value == {"a": 1, "servers": {"jay": {"command": "x", "headers": {"A": "1"}}}}
    assert meaning_with(value, PLACE, {"url": "u"}, drop=("command", "args"))["servers"] == {
        "jay": {"headers": {"A": "1"}, "url": "u"}
    }
    assert meaning_without(value, PLACE) == {"a": 1, "servers": {}}
    with pytest.raises(Unfit):
        meaning_with({"servers": []}, PLACE, {"url": "u"}, drop=())
