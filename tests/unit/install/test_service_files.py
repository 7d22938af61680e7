"""The files for systemd and launchd: they run the right command, whatever characters a path contains."""

import configparser
import os
import plistlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.strategies import some_examples

from scrubjay.errors import InvalidInput
from scrubjay.install.commands import ServiceCommand
from scrubjay.install.launchd import Launchd
from scrubjay.install.supervisor import FILE_MARK
from scrubjay.install.systemd import Systemd, quote

ODD = [
    *(
        "/my jay",
        "50%",
        "%h",
        "$HOME",
        "${HOME}",
        "$$",
        'a"b',
        "a'b",
        "back\\slash",
        "\\",
        "x;y",
        ";",
        "",
        "ü☕",
        "a\nb",
    ),
    *("tab\t", "#x", "~", "*", "-", "a=b c", "\x01\x7f", "trailing ", " leading", "\\x41", "\\n"),
]
words = st.sampled_from(ODD) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00") | st.sampled_from("%$\\\"' ;"), max_size=12
)
# The escapes of systemd.syntax(7) that our units use.
_ESCAPE = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "s": " "}


def read_back(line: str, *, dollars: bool) -> list[str]:
    """Return the words of a line in a unit, by the documented rules of systemd."""
    parsed: list[str] = []
    at = 0
    while at < len(line):
        if line[at] == " ":
            at += 1
            continue
        word, quote = "", ""
        while at < len(line) and (quote or line[at] != " "):
            item = line[at]
            if item == "\\":
                if line[at + 1] == "x":
                    word, at = word + chr(int(line[at + 2 : at + 4], 16)), at + 4
                else:
                    word, at = word + _ESCAPE[line[at + 1]], at + 2
                continue
            if item == quote:
                quote = ""
            elif not quote and item in "\"'":
                quote = item
            else:
                word += item
            at += 1
        assert not quote
        parsed.append(word)
    assert not re.search(r"(?<!%)(%%)*%(?!%)", " ".join(parsed)), "a specifier"
    parsed = [word.replace("%%", "%") for word in parsed]
    return [word.replace("$$", "$") for word in parsed] if dollars else parsed


@given(st.lists(words, min_size=1, max_size=5))
@some_examples
def test_every_word_comes_back_from_a_unit(command: list[str]) -> None:
    line = " ".join(quote(word, dollar="$$") for word in command)
    assert "\n" not in line
    assert read_back(line, dollars=True) == command
    assert ";" not in line.split(), "a word by itself that ends a command"


@given(words)
@some_examples
def test_every_variable_comes_back_from_a_unit(value: str) -> None:
    assert read_back(quote(f"NAME={value}"), dollars=False) == [f"NAME={value}"]


def unit_of(service: ServiceCommand) -> configparser.ConfigParser:
    text = Systemd().render(service)
    parsed = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#",), strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read_string(text)
    return parsed


def service_of(*command: str, **environment: str) -> ServiceCommand:
    return ServiceCommand(command=command, environment=environment, log=Path("/jay/daemon.log"))


def test_the_unit_has_all_settings() -> None:
    unit = unit_of(service_of("/usr/bin/scrubjay", "serve", "--data=/my jay", SCRUBJAY_EMBEDDER="none"))
    service = unit["Service"]
    assert service["ExecStart"] == '/usr/bin/scrubjay serve "--data=/my jay"'
    assert service["Environment"] == "SCRUBJAY_EMBEDDER=none"
    assert service["Restart"] == "on-failure"
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert service["RestartPreventExitStatus"] == "2 5 65 77"
    assert unit["Install"]["WantedBy"] == "default.target"
    assert FILE_MARK in Systemd().render(service_of("/x"))


@pytest.mark.parametrize(
    "path", ["/a$b/scrubjay", '/a"b/scrubjay', "/a'b/scrubjay", "/a\\b/scrubjay", "/a\nb/scrubjay"]
)
def test_a_program_whose_path_systemd_refuses_is_started_by_a_shell(path: str) -> None:
    started = read_back(unit_of(service_of(path, "serve"))["Service"]["ExecStart"], dollars=True)
    assert started == ["/bin/sh", "-c", 'exec "$0" "$@"', path, "serve"]


@pytest.mark.parametrize("folder", ["plain", "my jay", "50% %h", "ü☕;#", 'my "$5" \\jay', "it's\nmine"])
def test_systemd_itself_accepts_the_unit(tmp_path: Path, folder: str) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not on this machine")
    program = tmp_path / folder / "scrubjay"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / "scrubjay.service"
    unit.write_text(Systemd().render(service_of(str(program), "serve", *ODD, SCRUBJAY_KEY_FILE='/my "jay"/50%\\x')))
    done = subprocess.run(
        [analyze, "verify", "--user", "--man=no", str(unit)],
        env={"PATH": os.defpath, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    complaints = [line for line in done.stderr.splitlines() if "scrubjay" in line]
    assert not complaints, done.stderr


def test_the_property_list_has_all_settings() -> None:
    command = ("/Users/jay/my <jay> & co/scrubjay", "serve", "--data=/ü☕ \"'")
    text = Launchd().render(service_of(*command, SCRUBJAY_EMBEDDER="none"))
    assert FILE_MARK in text
    parsed = plistlib.loads(text.encode())
    assert parsed["ProgramArguments"] == list(command)
    assert parsed["EnvironmentVariables"] == {"SCRUBJAY_EMBEDDER": "none"}
    assert parsed["KeepAlive"] == {"SuccessfulExit": False}
    assert parsed["Label"] == "dev.scrubjay.daemon"
    assert parsed["RunAtLoad"] is True
    assert parsed["StandardErrorPath"] == "/jay/daemon.log"
    with pytest.raises(InvalidInput, match="property list"):
        Launchd().render(service_of("/a\x01b"))
