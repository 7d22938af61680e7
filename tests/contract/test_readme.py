"""The README is what a new user types, so it is typed here."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.contract.source import ROOT, pages

_PYTHON = re.compile(r"^```python\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    pytest.param(block["body"], id=f"{page.relative_to(ROOT)}-{number}")
    for page in pages()
    for number, block in enumerate(_PYTHON.finditer(page.read_text(encoding="utf-8")), start=1)
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs(code: str, tmp_path: Path) -> None:
    # Examples may await at the top level, as a notebook or an async function would.
    wrapped = f"import asyncio\nasync def example():\n{textwrap.indent(code, '    ')}\nasyncio.run(example())\n"
    done = _run([sys.executable, "-c", wrapped], folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_names_the_two_commands_and_has_a_tour() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make run" in text
    assert "make test" in text
    # `make tour` takes it and compares, beside the tests: that is half a minute of commands on a slow machine.
    assert "```console tour\n$ scrubjay" in text


def _run(command: list[str], *, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SCRUBJAY_")}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment | {"SCRUBJAY_HOME": str(folder / "data"), "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
