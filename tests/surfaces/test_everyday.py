"""Commands under the names that people know, in the folders that they mean."""

import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.daemon_process import Daemon
from tests.surfaces.shell import remember, run, run_json

from scrubjay.paths import daemon_log
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.main import COMMANDS_BY_MODULE, SECTIONS

pytestmark = pytest.mark.usefixtures("home")
EDITOR = "import sys; file = sys.argv[1]; text = open(file).read(); open(file, 'w').write({change})"


def test_every_command_is_in_one_section_of_the_help() -> None:
    listed = [name for names in SECTIONS.values() for name in names]
    assert sorted(listed) == sorted(name for names in COMMANDS_BY_MODULE.values() for name in names)


def test_the_usual_words_are_commands() -> None:
    memory = str(run_json("add", "The jay hid an acorn under the pine")["id"])
    assert memory in run("search", "where is the acorn").out
    assert "acorn" in run("show", memory).out
    assert "The jay hid an acorn" in run("list").out
    assert run("delete", memory).code == 0
    assert run("list").out == "there are no memories\n"
    assert "acorn" in run("list", "--state", "trashed").out


def test_a_list_has_pinned_memories() -> None:
    run("remember", "The user likes jazz", "--pinned", "--name", "jazz", "--tag", "music")
    assert "The user likes jazz" in run("list").out
    assert "The user likes jazz" in run("list", "--tag", "music").out
    assert run("list", "--tag", "food").out == "there are no memories\n"


@pytest.mark.parametrize(
    ("word", "meant"), [("ls", "list"), ("rember", "remember"), ("kill", "stop"), ("rm", "forget"), ("serch", "search")]
)
def test_a_wrong_word_suggests_the_right_one(word: str, meant: str) -> None:
    assert f"Did you mean {meant!r}" in run(word).err


@pytest.mark.embedded
def test_reading_makes_no_folder_and_names_the_one_that_is_meant(tmp_path: Path) -> None:
    run("remember", "The jay hid an acorn", "--data", str(tmp_path / "memory"))
    answer = run("recall", "acorn", "--data", str(tmp_path / "memroy"))
    assert answer.code == 3
    assert f"there is no memory at {tmp_path / 'memroy'}" in answer.err
    assert f"Did you mean --data {tmp_path / 'memory'}?" in answer.err
    assert run("list", "--data", str(tmp_path / "elsewhere")).code == 3
    assert {folder.name for folder in tmp_path.iterdir()} == {"memory", "data"}


# Some of them change a memory, but none stores anything in a new one.
NEED_A_MEMORY = (
    ("backup", "create", "{file}"), ("doctor",), ("status",), ("open", "--print"), ("jobs", "run"),
    ("notes", "export", "--to", "{file}"), ("notes", "sync"), ("prune",), ("curate",),
    ("code", "run", "{file}"), ("forget", "acorn"), ("revise", "acorn", "--text", "two"), ("edit", "acorn"),
    ("restore", "acorn"), ("purge", "acorn", "--yes"), ("confirm", "acorn"), ("undo",), ("tags", "synonyms"),
    ("relate", "acorn", "pine"), ("rules", "reset"), ("conflicts", "scan"), ("inbox", "approve", "--all"),
    ("reembed", "--model", "bundled"),
)  # fmt: skip
IMPORTS = (
    ("import", "{texts}"), ("extract", "{chat}"), ("notes", "import", "{vault}"),
    ("notes", "adopt", "{vault}", "--yes"),
)  # fmt: skip


@pytest.mark.embedded
def test_only_a_command_that_stores_something_new_makes_a_memory(tmp_path: Path) -> None:
    run("remember", "The jay hid an acorn", "--data", str(tmp_path / "memory"))
    (tmp_path / "plain").mkdir()
    files = {"file": tmp_path / "new"}
    before = set(tmp_path.rglob("*"))
    for command in NEED_A_MEMORY:
        typed = [word.format(**files) for word in command]
        for folder, hint in (("memroy", f"Did you mean --data {tmp_path / 'memory'}?"), ("plain", "leave --data out")):
            answer = run(*typed, "--data", str(tmp_path / folder))
            assert answer.code == 3, (command, answer)
            assert f"there is no memory at {tmp_path / folder}. " in answer.err
            assert hint in answer.err
        assert set(tmp_path.rglob("*")) == before, command


@pytest.mark.embedded
@pytest.mark.parametrize("command", [("rules", "set", "gate=off"), ("tags", "add", "tree", "oak"), *IMPORTS])
def test_a_memory_begins_with_its_rules_or_with_what_is_imported(tmp_path: Path, command: tuple[str, ...]) -> None:
    files = _things_to_import(tmp_path)
    typed = [word.format(**files) for word in command]
    assert run(*typed, "--data", str(tmp_path / "new")).code == 0
    assert run("status", "--data", str(tmp_path / "new")).code == 0


@pytest.mark.embedded
@pytest.mark.parametrize("command", IMPORTS)
def test_a_dry_run_without_a_memory_shows_what_it_would_do_and_makes_none(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    files = _things_to_import(tmp_path)
    before = set(tmp_path.rglob("*"))
    answer = run(*(word.format(**files) for word in command), "--dry-run", "--data", str(tmp_path / "new"))
    assert answer.code == 0
    assert "1" in answer.out
    assert set(tmp_path.rglob("*")) == before


def _things_to_import(folder: Path) -> dict[str, Path]:
    vault, texts, chat = folder / "vault", folder / "texts.jsonl", folder / "chat.txt"
    vault.mkdir()
    (vault / "Acorn.md").write_text("The jay hid an acorn.\n")
    texts.write_text('{"text": "The jay hid an acorn"}\n')
    chat.write_text("Ann: I live in Berlin.\n")
    return {"vault": vault, "texts": texts, "chat": chat}


@pytest.mark.parametrize("is_served", [True, False])
def test_a_space_that_does_not_exist_is_not_read(settings: Settings, is_served: bool) -> None:
    with background_daemon(settings, http="") if is_served else nullcontext():
        run("remember", "The jay hid an acorn", "--space", "forest")
        run("rules", "set", "gate=off", "--space", "only-rules")
        for command in (("recall", "acorn"), ("list",), ("rules", "show")):
            answer = run(*command, "--space", "forrest")
            assert answer.code == 3
            assert "there is no space 'forrest'. Did you mean --space forest?" in answer.err
        assert "acorn" in run("recall", "acorn", "--space", "forest").out
        assert run("rules", "show", "--space", "only-rules").code == 0
        assert run("recall", "acorn", "--space", "default").code == 0
        assert run("spaces").out == "forest\nonly-rules\n"


def test_a_memory_is_edited_in_an_editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    memory = remember("The jay hid an acorn", "--observation", "It was in May", "--observation", "It rained")
    script = tmp_path / "editor.py"
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def edit(change: str) -> str:
        script.write_text(EDITOR.format(change=change))
        answer = run("edit", memory)
        return answer.out + answer.err

    assert "version 2" in edit("text.replace('an acorn', 'two acorns').replace('- It rained', '- It snowed')")
    assert edit("text") == "nothing was changed\n"
    shown = run("show", memory).out
    assert "two acorns" in shown
    assert "It snowed" in shown
    assert "It rained" not in shown
    assert "It was in May" in shown
    # Another writer is faster: nothing is overwritten, and nothing is lost.
    other = "import subprocess; subprocess.run([sys.executable, '-m', 'scrubjay', 'revise', {!r}, '--text', 'Three'])"
    script.write_text(f"import sys; {other.format(memory)}; open(sys.argv[1], 'w').write('Four')")
    answer = run("edit", memory)
    assert answer.code == 4
    file = Path(answer.err.rpartition("Your text is kept in ")[2].strip())
    assert file.read_text() == "Four"
    assert "Three" in run("show", memory).out
    monkeypatch.setenv("EDITOR", "false")
    assert "nothing was changed" in run("edit", memory).err
    assert run("edit", "nowhere").code == 3


def test_stop_and_logs(tmp_path: Path) -> None:
    home = tmp_path / "data"
    assert "no daemon runs" in run("stop", "--data", str(home)).out
    assert "there is no log" in run("logs", "--data", str(home)).err
    with Daemon(home) as daemon:
        daemon_log(home).write_text("first\nsecond\n")
        assert run("logs", "--data", str(home), "-n", "1").out == "second\n"
        answer = run("stop", "--data", str(home))
        assert answer.out == f"stopped the daemon of {home} (pid {daemon.pid})\n"
        assert daemon.process is not None
        assert daemon.process.wait(PATIENCE) == 0


def test_health_is_shown_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    remember("The jay hid an acorn under the pine")
    for words in (("health",), ("health", "--all"), ("status", "--health")):
        shown = run(*words).out
        assert "space      default" in shown, shown
        assert "1 created" in shown
    checked = run("health", "--check")
    assert (checked.code, checked.out) == (0, "ok\n")
    monkeypatch.setenv("SCRUBJAY_ALERTS", "free_mb=999999999999")
    checked = run("health", "--check")
    assert (checked.code, checked.out.count("ALERT free_mb")) == (1, 1)
    assert run("health").out.startswith("ALERT free_mb")


def test_the_latencies_of_a_daemon_outlive_it(settings: Settings) -> None:
    for number in (1, 2):
        with background_daemon(settings, http=""):
            run("remember", "The jay hid an acorn", "--intent", "new")
            assert f"remember {number} times, p95" in run("health").out
    assert "remember 2 times, p95" in run("health").out
