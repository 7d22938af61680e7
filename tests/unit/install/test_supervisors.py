"""The files that systemd and launchd read: whatever a path holds, they run what was meant."""

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
from scrubjay.install.daemon_command import MARK, Job, daemon_job
from scrubjay.install.launchd import Launchd
from scrubjay.install.systemd import Systemd, quoted
from scrubjay.settings import Settings

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
# How systemd.syntax(7) reads a quoted word, as far as a unit of ours may use it.
_ESCAPE = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "s": " "}


def read_back(line: str, *, dollars: bool) -> list[str]:
    """The words of a line in a unit, by the rules that systemd documents."""
    reported: list[str] = []
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
        reported.append(word)
    assert not re.search(r"(?<!%)(%%)*%(?!%)", " ".join(reported)), "a specifier"
    reported = [word.replace("%%", "%") for word in reported]
    return [word.replace("$$", "$") for word in reported] if dollars else reported


@given(st.lists(words, min_size=1, max_size=5))
@some_examples
def test_every_word_comes_back_from_a_unit(given_words: list[str]) -> None:
    line = " ".join(quoted(word, dollar="$$") for word in given_words)
    assert "\n" not in line
    assert read_back(line, dollars=True) == given_words
    assert ";" not in line.split(), "a word by itself that ends a command"


@given(words)
@some_examples
def test_every_variable_comes_back_from_a_unit(value: str) -> None:
    assert read_back(quoted(f"NAME={value}"), dollars=False) == [f"NAME={value}"]


def unit_of(job: Job) -> configparser.ConfigParser:
    text = Systemd().written(job)
    parsed = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#",), strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read_string(text)
    return parsed


def job(*command: str, **environment: str) -> Job:
    return Job(command=command, environment=environment, log=Path("/jay/daemon.log"))


def test_the_unit_says_what_it_should() -> None:
    unit = unit_of(job("/usr/bin/scrubjay", "serve", "--data=/my jay", SCRUBJAY_EMBEDDER="none"))
    service = unit["Service"]
    assert service["ExecStart"] == '/usr/bin/scrubjay serve "--data=/my jay"'
    assert service["Environment"] == "SCRUBJAY_EMBEDDER=none"
    assert service["Restart"] == "on-failure"
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert service["RestartPreventExitStatus"] == "2 5 65 77"
    assert unit["Install"]["WantedBy"] == "default.target"
    assert MARK in Systemd().written(job("/x"))


@pytest.mark.parametrize(
    "path", ["/a$b/scrubjay", '/a"b/scrubjay', "/a'b/scrubjay", "/a\\b/scrubjay", "/a\nb/scrubjay"]
)
def test_a_program_that_systemd_cannot_name_is_started_by_a_shell(path: str) -> None:
    started = read_back(unit_of(job(path, "serve"))["Service"]["ExecStart"], dollars=True)
    assert started == ["/bin/sh", "-c", 'exec "$0" "$@"', path, "serve"]


@pytest.mark.parametrize("folder", ["usual", "my jay", "50% %h", "ü☕;#", 'my "$5" \\jay', "it's\nmine"])
def test_systemd_itself_accepts_the_unit(tmp_path: Path, folder: str) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not on this machine")
    program = tmp_path / folder / "scrubjay"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / "scrubjay.service"
    unit.write_text(Systemd().written(job(str(program), "serve", *ODD, SCRUBJAY_KEY_FILE='/my "jay"/50%\\x')))
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


def test_the_property_list_says_what_it_should() -> None:
    command = ("/Users/jay/my <jay> & co/scrubjay", "serve", "--data=/ü☕ \"'")
    text = Launchd().written(job(*command, SCRUBJAY_EMBEDDER="none"))
    assert MARK in text
    reported = plistlib.loads(text.encode())
    assert reported["ProgramArguments"] == list(command)
    assert reported["EnvironmentVariables"] == {"SCRUBJAY_EMBEDDER": "none"}
    assert reported["KeepAlive"] == {"SuccessfulExit": False}
    assert reported["Label"] == "dev.scrubjay.daemon"
    assert reported["RunAtLoad"] is True
    assert reported["StandardErrorPath"] == "/jay/daemon.log"
    with pytest.raises(InvalidInput, match="property list"):
        Launchd().written(job("/a\x01b"))


def test_the_job_has_the_settings_but_no_secrets(tmp_path: Path) -> None:
    settings = Settings(
        home=str(tmp_path), embedder="none", key="a secret", embedding_key="another", allow_download=True,
        http="127.0.0.1:3000", space="work", tools="core,kg", index_path=str(tmp_path / "fast"), agent="cli",
    )  # fmt: skip
    made = daemon_job(settings)
    start = made.command.index("serve")
    assert made.command[start:] == (
        "serve", f"--data={tmp_path}", "--space=work", "--http=127.0.0.1:3000", "--tools=core,kg",
        f"--index_path={tmp_path / 'fast'}",
    )  # fmt: skip
    assert made.environment == {"SCRUBJAY_EMBEDDER": "none", "SCRUBJAY_ALLOW_DOWNLOAD": "true"}
    assert set(made.secrets) == {"SCRUBJAY_KEY", "SCRUBJAY_EMBEDDING_KEY"}
    assert "a secret" not in repr(made)


def test_the_usual_settings_go_without_saying(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = daemon_job(Settings(home=str(tmp_path)))
    assert made.command[-2:] == ("serve", f"--data={tmp_path}")
    assert (made.environment, made.secrets) == ({}, ())
    monkeypatch.chdir(tmp_path)
    assert daemon_job(Settings(home=str(tmp_path), key_file="key")).environment == {
        "SCRUBJAY_KEY_FILE": str(tmp_path / "key")
    }


def test_a_folder_that_no_file_can_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="UTF-8"):
        daemon_job(Settings(home=os.fsdecode(os.fsencode(tmp_path) + b"/\xff")))
    with pytest.raises(InvalidInput, match="cannot be handed"):
        daemon_job(Settings(home=str(tmp_path), embedding_model="a\0b"))
