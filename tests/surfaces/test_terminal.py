"""Commands on a terminal: conflicts and the inbox ask, and Ctrl-C says what was kept; with and without a daemon."""

from collections.abc import Generator
from contextlib import nullcontext
from pathlib import Path

import pytest
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.shell import remember, run, run_json
from tests.surfaces.terminal import Terminal

from scrubjay.settings import Settings
from scrubjay.surfaces.mcp.bridge.options import InvalidOption, read_options

CHANGED = (
    ("Ann lives in Berlin near the old harbour.", "Ann lives in Paris near the old harbour."),
    ("The invoice of the plumber costs 200 euros.", "The invoice of the plumber costs 300 euros."),
    ("The tomatoes in the greenhouse get water on Monday.", "The tomatoes in the greenhouse get water on Friday."),
)


@pytest.fixture(params=["daemon", "alone"])
def _served(request: pytest.FixtureRequest, settings: Settings) -> Generator[None]:
    with background_daemon(settings, http="") if request.param == "daemon" else nullcontext():
        yield


def _pending() -> int:
    return len(run_json("conflicts")["conflicts"])  # type: ignore[arg-type]


@pytest.mark.usefixtures("_served")
def test_conflicts_are_decided_by_keys_on_a_narrow_terminal() -> None:
    run_json("rules", "set", "gate=off", "density=off")
    for older, newer in CHANGED:
        remember(older)
        remember(newer)
    run_json("conflicts", "scan")
    assert _pending() == 3
    assert "2 of 3: --limit 3 shows them" in run("conflicts", "--limit", "2").out
    with Terminal("conflicts", columns=40) as terminal:
        first = terminal.expect("q: quit")
        assert "conflict 1 of 3" in first
        assert max(map(len, first.splitlines())) <= 40
        terminal.send("u")
        terminal.expect("there is nothing to undo")
        terminal.send("z")
        terminal.expect("q: quit")
        # The older one holds; the decision is taken back and made again, for the newer one.
        terminal.send("o")
        assert "superseded" in terminal.expect("conflict 2 of 3")
        terminal.expect("q: quit")
        terminal.send("u")
        assert "undone" in terminal.expect("conflict 1 of 3")
        terminal.expect("q: quit")
        assert _pending() == 3
        terminal.send("n")
        terminal.expect("conflict 2 of 3")
        terminal.expect("q: quit")
        terminal.send("s")
        terminal.expect("conflict 3 of 3")
        terminal.expect("q: quit")
        # Enter takes what is suggested, and then nothing is left to ask.
        terminal.send("\r")
        terminal.expect("decided 2, skipped 1; 1 left")
        assert terminal.wait() == 0
    assert _pending() == 1
    with Terminal("conflicts") as terminal:
        terminal.expect("q: quit")
        terminal.send("\x03")
        assert "decided 0, skipped 0; 1 left" in terminal.expect("left")
        assert terminal.wait() == 0
    # What asks for a list gets one, and so does who cannot answer.
    with Terminal("conflicts", "-n", "5") as terminal:
        terminal.expect("CONFLICT")
        assert terminal.wait() == 0
    assert "a review needs a terminal" in run("conflicts", "review").err


@pytest.mark.usefixtures("_served")
def test_the_inbox_is_decided_by_keys() -> None:
    run_json("rules", "set", "review=all")
    for number, bird in enumerate(("jay", "owl")):
        assert run("remember", f"The {bird} has {number + 2} nests").code == 0
    assert len(run("inbox").out.splitlines()) == 6
    with Terminal("inbox") as terminal:
        assert "The owl has 3 nests" in terminal.expect("q: quit")
        terminal.send("d")
        assert "declined" in terminal.expect("memory 2 of 2")
        terminal.expect("q: quit")
        terminal.send("u")
        assert "The owl has 3 nests" in terminal.expect("q: quit")
        terminal.send("a")
        terminal.expect("memory 2 of 2")
        terminal.expect("q: quit")
        terminal.send("q")
        terminal.expect("decided 1, skipped 0; 1 left")
        assert terminal.wait() == 0
    assert "owl" in run("list").out
    assert "jay" in run("inbox", "list").out


@pytest.mark.usefixtures("home")
def test_an_interrupted_import_says_what_was_kept_and_goes_on(tmp_path: Path) -> None:
    file, lines = tmp_path / "texts.jsonl", 800
    file.write_text("".join(f'{{"text": "Jay {n} hid {n} acorns", "name": "jay-{n}"}}\n' for n in range(lines)))
    run_json("rules", "set", "gate=off", "density=off")
    with Terminal("import", str(file), columns=100) as terminal:
        terminal.expect("/800")
        terminal.expect(" left")
        terminal.send("\x03")
        output = terminal.expect("run the same command again to go on")
        assert terminal.wait() == 130
    assert "interrupted after " in output
    assert "Traceback" not in terminal.text
    counts = run_json("import", str(file))["counts"]
    assert isinstance(counts, dict)
    assert counts["unchanged"] >= 500  # type: ignore[operator]
    assert sum(counts.values()) == lines  # type: ignore[arg-type]
    assert run_json("status")["memories"] == {"live": lines}


@pytest.mark.usefixtures("_served")
def test_colours_are_for_terminals_and_lines_fit_them(monkeypatch: pytest.MonkeyPatch) -> None:
    remember("The jay hid an acorn under the old pine, and came back for it in spring", "--name", "jay")

    def shown(*arguments: str, columns: int = 80, **environment: str) -> tuple[str, str]:
        with Terminal(*arguments, columns=columns, **environment) as terminal:
            terminal.wait()
            return terminal.raw, terminal.text

    raw, text = shown("list", columns=40)
    assert "\x1b[1m" in raw
    assert max(map(len, text.splitlines())) <= 40
    assert "…" in text
    assert shown("list")[1].count("\n") == 1
    assert "\x1b[31merror:" in shown("list", "--space", "nowhere")[0]
    assert "\x1b[3" not in shown("list", "--space", "nowhere", NO_COLOR="1")[0]
    assert "\x1b" not in shown("list", TERM="dumb")[0]
    assert "\x1b" not in run("list").out
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1mjay" in run("list").out


def test_without_a_home_folder_the_error_names_the_setting(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert run("list").code == 0
    for name in ("HOME", "SCRUBJAY_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    answer = run("list")
    assert answer.code == 2
    assert "there is no home folder for the memory. Set HOME, or choose a data folder with --data" in answer.err
    assert run("list", "--data", str(home)).code == 0
    with pytest.raises(InvalidOption, match="there is no home folder"):
        read_options([], environment={})
