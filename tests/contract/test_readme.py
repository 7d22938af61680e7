"""The examples of the README and the docs run as files, because new users copy them."""

import os
import re
from pathlib import Path

import pytest

from scrubjay import SyncMemoryClient
from tests.contract.source import ROOT, pages

_PYTHON = re.compile(r"^```python\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    pytest.param(block["body"], id=f"{page.relative_to(ROOT)}-{number}")
    for page in pages()
    for number, block in enumerate(_PYTHON.finditer(page.read_text(encoding="utf-8")), start=1)
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SCRUBJAY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SCRUBJAY_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(code, "example", "exec"), names)
    if isinstance(memory := names.get("memory"), SyncMemoryClient):
        # A file leaves this to the end of the program.
        memory.close()


def test_the_readme_names_the_two_commands_and_has_a_tour() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make run" in text
    assert "make test" in text
    # `make tour` takes it and compares, beside the tests: that is half a minute of commands on a slow machine.
    assert "```console tour\n$ scrubjay" in text
