"""The command in its own process, as a shell starts it."""

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.shell import run

import scrubjay
from scrubjay.settings import Settings

SOURCES = Path(scrubjay.__file__).parents[1]
COMMAND = [sys.executable, "-m", "scrubjay.surfaces.cli.main"]


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    return dict(os.environ) | {"PYTHONPATH": str(SOURCES)}


def test_a_text_goes_in_and_comes_out_byte_for_byte(environment: dict[str, str]) -> None:
    text = "tabs\there\r\nand ☕ \x1b[31mred\x1b[0m \\".encode()
    made = subprocess.run(
        [*COMMAND, "remember", "-", "--json"], env=environment, input=text, capture_output=True, check=True
    )
    memory_id = str(json.loads(made.stdout)["id"])
    read = subprocess.run(
        [*COMMAND, "read", memory_id, "-f", "plain"], env=environment, capture_output=True, check=True
    )
    assert read.stdout == text + b"\n"
    assert read.stderr == b""


def test_arguments_that_are_not_utf8_are_refused_with_a_message(environment: dict[str, str]) -> None:
    arguments = [b"remember", b"caf\xe9"]
    done = subprocess.run([*map(os.fsencode, COMMAND), *arguments], env=environment, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: ")
    # Python passes such arguments on in the same way for every command.
    for others in ([b"read", b"caf\xe9"], [b"recall", b"x", b"--space", b"caf\xe9"]):
        text = run(*map(os.fsdecode, others))
        assert text.code == 2, others
        assert text.err.startswith("error: ")


def test_a_closed_pipe_causes_no_traceback(environment: dict[str, str], home: Path) -> None:
    assert run("export").out.count("\n") == 1
    with subprocess.Popen(
        [*COMMAND, "export"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert b"Traceback" not in child.stderr.read()


@pytest.mark.parametrize("is_served", [True, False])
def test_a_pipe_that_nobody_reads_ends_a_command_without_a_word(
    environment: dict[str, str], settings: Settings, is_served: bool
) -> None:
    # More than a pipe and the buffers before it hold.
    run("remember", "a long text " * 20_000, "--name", "long")
    with background_daemon(settings, http="") if is_served else nullcontext():
        for number, arguments in enumerate((["status"], ["rules", "reset"], ["read", "long"], ["--help"], ["list"])):
            reads, writes = os.pipe()
            os.close(reads)
            command = [sys.executable, "-m", "scrubjay", *arguments]
            # The error comes when a line is written, or when the buffer is.
            buffered = environment | {"PYTHONUNBUFFERED": "1" if number % 2 else ""}
            done = subprocess.run(command, env=buffered, stdout=writes, stderr=subprocess.PIPE, check=False)
            os.close(writes)
            assert (done.returncode, done.stderr) == (1, b""), arguments


def test_an_invalid_setting_is_reported(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    broken = environment | {"SCRUBJAY_READERS": "many"}
    done = subprocess.run([*COMMAND, "status"], env=broken, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "SCRUBJAY_READERS" in done.stderr
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "crystal-ball")
    text = run("status")
    assert text.code == 2
    assert text.err.startswith("error: ")
    assert "SCRUBJAY_EMBEDDER" in text.err
