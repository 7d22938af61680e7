"""Calls of the programs of a supervisor."""

from pathlib import Path

import pytest

from scrubjay.install.supervisor import SupervisorUnavailable, require_success, run_program


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    script = tmp_path / "ctl"
    script.write_text("#!/bin/sh\necho out $*\necho 'why  not' >&2\nexit $1\n")
    script.chmod(0o755)
    return script


def test_a_program_is_run(program: Path) -> None:
    assert (run_program("ctl", "0").out, run_program("ctl", "3").code) == ("out 0\n", 3)
    assert require_success("ctl", "0").err == "why  not\n"
    with pytest.raises(SupervisorUnavailable, match=r"^ctl 3: why not$"):
        require_success("ctl", "3")


def test_a_program_without_output_is_reported_with_its_exit_code(program: Path) -> None:
    program.write_text("#!/bin/sh\nexit 7\n")
    with pytest.raises(SupervisorUnavailable, match="it ended with 7"):
        require_success("ctl")


def test_a_program_that_cannot_run_is_reported(program: Path) -> None:
    program.write_bytes(b"\x00\x01\x02")
    with pytest.raises(SupervisorUnavailable, match="ctl cannot be run"):
        run_program("ctl")
    program.unlink()
    with pytest.raises(SupervisorUnavailable, match="ctl is not on this machine"):
        run_program("ctl")
