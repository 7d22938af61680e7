import io
import sys

import pytest

from scrubjay.surfaces.cli.by_daemon import _read_stdin


def test_what_a_daemon_gives_back_can_be_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("ein Fluß".encode()), encoding="utf-8"))
    assert (_read_stdin(), sys.stdin.read()) == ("ein Fluß", "ein Fluß")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="latin-1"))
    with pytest.raises(UnicodeDecodeError):
        _read_stdin()
    assert sys.stdin.read() == "ÿ"
