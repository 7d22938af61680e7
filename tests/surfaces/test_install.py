"""`scrubjay install` on copies of real configurations: with comments, odd keys and odd line ends."""

import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.surfaces.daemon_process import Daemon
from tests.surfaces.shell import CommandResult, run, run_json
from tests.surfaces.terminal import Terminal

from scrubjay.errors import CODES, Conflict, InvalidInput, StoreReadOnly, TooLarge
from scrubjay.install.clients import CLIENTS
from scrubjay.install.files import MAX_BYTES
from scrubjay.install.json_syntax import JsonSyntax

CONFIGURATIONS = Path(__file__).with_name("configurations")
PROGRAM = str(Path(sys.executable).with_name("scrubjay"))
JSON_CLIENTS = ("claude-code", "cursor", "vscode", "gemini", "claude-desktop")
ALL_CLIENTS = (*JSON_CLIENTS, "codex")


@pytest.fixture(autouse=True)
def user(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user without clients, and a project folder as the working directory."""
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "LOCALAPPDATA", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sys, "platform", "linux")
    (tmp_path / "user").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "user"


def config_file(client: str) -> Path:
    return CLIENTS[client].file()


def copy_configuration(client: str) -> tuple[Path, bytes]:
    """Copy an example configuration to the place where the client reads it; return the path and the bytes."""
    (source,) = CONFIGURATIONS.glob(f"{client}.*")
    file = config_file(client)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(source.read_bytes())
    return file, source.read_bytes()


def parse_file(file: Path) -> dict[str, Any]:
    text = file.read_text(encoding="utf-8-sig")
    return tomllib.loads(text) if file.suffix == ".toml" else JsonSyntax().parse(text)


def servers(client: str, file: Path | None = None) -> dict[str, Any]:
    return cast("dict[str, Any]", parse_file(file or config_file(client))[CLIENTS[client].servers])


def assert_refused(answer: CommandResult, error: type[Exception], *words: str) -> None:
    assert answer.code == CODES[cast("Any", error)].exit, answer
    assert answer.out == ""
    for word in words:
        assert word in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("client", ALL_CLIENTS)
def test_an_entry_is_added_to_the_others_and_removed_without_a_trace(client: str, home: Path) -> None:
    file, before = copy_configuration(client)
    expected = parse_file(file)
    done = run_json("install", client)
    assert (done["action"], done["file"]) == ("installed", str(file))
    entry = servers(client)["scrubjay"]
    assert (entry["command"], entry["args"]) == (PROGRAM, ["mcp", "--data", str(home)])
    expected[CLIENTS[client].servers]["scrubjay"] = entry
    assert parse_file(file) == expected
    # Every old line is still there, in the same order; one of them may have a new comma.
    lines = iter(file.read_bytes().splitlines(keepends=True))
    for splitline in before.splitlines(keepends=True):
        assert any(line == splitline or line in comma_variants(splitline) for line in lines), splitline
    assert Path(str(done["copy"])).read_bytes() == before
    again = run_json("install", client)
    assert (again["action"], again["copy"]) == ("unchanged", "")
    assert run_json("install", client, "--uninstall")["action"] == "removed"
    assert file.read_bytes() == before


def comma_variants(line: bytes) -> set[bytes]:
    return {line[:at] + b"," + line[at:] for at in range(len(line))}


@pytest.mark.parametrize("client", ALL_CLIENTS)
def test_a_client_without_a_file_gets_one_that_only_the_user_can_read(client: str) -> None:
    file = config_file(client)
    answer = run("install", client)
    assert answer.code == 0
    assert answer.out.splitlines()[0] == f"scrubjay is installed for {CLIENTS[client].title} in {file}"
    assert answer.out.splitlines()[-1].startswith("  next    ")
    assert file.stat().st_mode & 0o777 == 0o600
    assert [item.name for item in file.parent.iterdir()] == [file.name]
    assert servers(client)["scrubjay"]["command"] == PROGRAM
    assert file.read_text() == run_json("install", client, "--print")["entry"]
    assert run("install", client, "--uninstall").out.startswith(f"scrubjay is removed from {file}\n")
    assert servers(client) == {} if client != "codex" else parse_file(file) == {}
    assert run_json("install", client, "--uninstall")["action"] == "absent"


@pytest.mark.parametrize("client", ALL_CLIENTS)
def test_looking_changes_nothing(client: str) -> None:
    file, before = copy_configuration(client)
    folder = sorted(file.parent.iterdir())
    shown = run("install", client, "--print").out
    assert PROGRAM in shown
    assert "browser" not in shown
    diff = run("install", client, "--dry-run").out
    assert diff.startswith(f"--- {file}\n+++ {file}\n@@")
    assert any(line.startswith("+") and "scrubjay" in line for line in diff.splitlines()[2:])
    assert run_json("install", client, "--dry-run")["dry_run"] is True
    assert file.read_bytes() == before
    assert sorted(file.parent.iterdir()) == folder
    run("install", client)
    assert run("install", client, "--dry-run").out == f"{file} would not change\n"
    removal = run("install", client, "--uninstall", "--dry-run").out
    assert any(line.startswith("-") and "scrubjay" in line for line in removal.splitlines()[2:])


@pytest.mark.parametrize("client", ["cursor", "codex"])
async def test_the_written_entry_starts_a_working_server(client: str, home: Path) -> None:
    run_json("install", client, "--tools", "kg")
    entry = servers(client)["scrubjay"]
    parameters = StdioServerParameters(command=entry["command"], args=entry["args"], env={"SCRUBJAY_NO_DAEMON": "1"})
    with Daemon(home):
        async with Client(cast("Any", stdio_client(parameters))) as connected:
            assert "search_nodes" in {tool.name for tool in (await connected.list_tools()).tools}


def test_the_options_are_written(home: Path) -> None:
    entry = run_json(
        "install", "cursor", "--print", "--tools", "core,kg", "--space", "work", "--agent", "me", "--name", "my_jay"
    )
    written = json.loads(str(entry["entry"]))["mcpServers"]["my_jay"]
    assert written == {
        "type": "stdio",
        "command": PROGRAM,
        "args": ["mcp", "--tools", "core,kg", "--space", "work", "--agent", "me", "--data", str(home)],
    }


def test_the_default_folder_is_not_written(user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCRUBJAY_HOME")
    run_json("install", "cursor")
    assert servers("cursor")["scrubjay"]["args"] == ["mcp"]


@pytest.mark.parametrize("client", ALL_CLIENTS)
def test_an_entry_changed_by_hand_keeps_its_own_keys(client: str) -> None:
    file, _ = copy_configuration(client)
    run("install", client)
    text = file.read_bytes().decode()
    # The last match, because the first may be inside a string.
    head, own, tail = text.rpartition("[mcp_servers.scrubjay]\n" if client == "codex" else '"scrubjay": {')
    extra = (
        'startup_timeout_sec = 60\nenv = { A = "1" }\n'
        if client == "codex"
        else '"env": {"A": "1"}, "startup_timeout_sec": 60, '
    )
    file.write_bytes(f"{head}{own}{extra}{tail}".encode())
    done = run_json("install", client, "--space", "work")
    assert done["action"] == "updated"
    entry = servers(client)["scrubjay"]
    assert (entry["env"], entry["startup_timeout_sec"]) == ({"A": "1"}, 60)
    assert entry["args"][:3] == ["mcp", "--space", "work"]


@pytest.mark.parametrize("client", [item for item in ALL_CLIENTS if item != "claude-desktop"])
def test_a_remote_server_and_back(client: str) -> None:
    file, before = copy_configuration(client)
    answer = run("install", client, "--url", "https://memory.example.org")
    assert answer.code == 0
    assert "Set SCRUBJAY_TOKEN where" in answer.out
    entry = servers(client)["scrubjay"]
    assert "https://memory.example.org/mcp" in entry.values()
    assert "SCRUBJAY_TOKEN" in json.dumps(entry)
    assert "command" not in entry
    assert run_json("install", client)["action"] == "updated"
    entry = servers(client)["scrubjay"]
    assert entry["command"] == PROGRAM
    assert "SCRUBJAY_TOKEN" not in file.read_text(encoding="utf-8-sig")
    assert run_json("install", client, "--url", "https://memory.example.org")["action"] == "updated"
    assert run_json("install", client, "--uninstall")["action"] == "removed"
    assert file.read_bytes() == before


def test_a_token_is_never_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRUBJAY_TOKEN", "very-secret")
    for client in ALL_CLIENTS:
        answer = run("install", client, "--url", "https://memory.example.org/mcp", "--json")
        assert "very-secret" not in answer.out + answer.err
        assert client == "claude-desktop" or "very-secret" not in config_file(client).read_text()
    assert_refused(run("install", "claude-desktop", "--url", "https://a/mcp"), InvalidInput, "Claude Desktop", "--url")
    answer = run("install", "cursor", "--url", "https://a/mcp?token=very-secret")
    assert_refused(answer, InvalidInput, "SCRUBJAY_TOKEN")
    assert "very-secret" not in answer.err
    assert_refused(run("install", "cursor", "--url", "https://a", "--tools", "kg"), InvalidInput, "--tools")


def test_a_shared_project_file_gets_no_path_of_this_machine(
    tmp_path: Path, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = run("install", "claude-code", "--scope", "project")
    assert "let it use the server" in answer.out
    assert f"does not name {os.environ['SCRUBJAY_HOME']}: set SCRUBJAY_HOME" in answer.out
    assert "on the PATH" in answer.out
    file = tmp_path / "project" / ".mcp.json"
    assert servers("claude-code", file)["scrubjay"] == {"type": "stdio", "command": "scrubjay", "args": ["mcp"]}
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "scrubjay").symlink_to(PROGRAM)
    # A folder below the home folder is named so that it is that of every reader.
    answer = run("install", "claude-code", "--scope", "project", "--data", str(user / "team memory"))
    assert "note" not in answer.out
    assert servers("claude-code", file)["scrubjay"]["args"] == ["mcp", "--data", "~/team memory"]
    monkeypatch.delenv("SCRUBJAY_HOME")
    assert run_json("install", "claude-code", "--scope", "project")["kept"] == ["--data", "~/team memory"]
    assert_refused(run("install", "claude-desktop", "--scope", "project"), InvalidInput, "no settings for a project")
    assert_refused(run("install", "cursor", "--scope", "team"), InvalidInput, "user or project")
    assert_refused(run("install", "--yes", "--scope", "team"), InvalidInput, "user or project")


@pytest.mark.parametrize("client", ["cursor", "codex"])
def test_a_repeated_install_keeps_what_was_chosen_before(client: str, home: Path) -> None:
    run_json("install", client, "--tools", "core,kg", "--space", "work", "--agent", "me")
    before = config_file(client).read_bytes()
    again = run("install", client)
    assert config_file(client).read_bytes() == before
    assert "kept    --tools core,kg --space work --agent me" in again.out
    changed = run_json("install", client, "--tools", "notes")
    assert (changed["action"], changed["kept"]) == ("updated", ["--space", "work", "--agent", "me"])
    assert servers(client)["scrubjay"]["args"] == [
        "mcp", "--tools", "notes", "--space", "work", "--agent", "me", "--data", str(home),
    ]  # fmt: skip


def test_another_file_can_be_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    assert run_json("install", "vscode", "--file", str(file))["file"] == str(file)
    assert "scrubjay" in servers("vscode", file)
    assert not config_file("vscode").exists()


def test_the_list_shows_where_it_is_installed(tmp_path: Path) -> None:
    run("install", "gemini")
    run("install", "vscode", "--scope", "project")
    copy_configuration("cursor")
    config_file("codex").parent.mkdir()
    config_file("codex").write_text("not = = toml")
    listed = run_json("install", "--list")
    rows = {(row["client"], row["scope"]): row for row in cast("list[dict[str, Any]]", listed["clients"])}
    assert set(rows) == {*((client, "user") for client in CLIENTS), ("vscode", "project")}
    assert [key for key, row in rows.items() if row["installed"]] == [("vscode", "project"), ("gemini", "user")]
    assert rows["cursor", "user"]["exists"]
    assert not rows["claude-code", "user"]["exists"]
    assert "not valid TOML" in rows["codex", "user"]["trouble"]
    answer = run("install")
    assert answer.code == 0
    lines = {tuple(line.split()[:2]): line for line in answer.out.splitlines()}
    assert "installed" in lines["gemini", "user"]
    assert "unreadable" in lines["codex", "user"]
    assert "not used here" in lines["claude-code", "user"]
    assert "ready to set up" in lines["cursor", "user"]
    # Without a terminal it only says what to type.
    assert answer.out.splitlines()[-2:] == [
        "set up one   scrubjay install cursor",
        "set up all   scrubjay install --yes",
    ]


def test_clients_are_found_by_their_programs_and_their_settings(tmp_path: Path, user: Path) -> None:
    assert "None of these clients is used on this machine" in run("install").out
    (user / ".codex").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to(PROGRAM)
    copy_configuration("cursor")
    config_file("gemini").parent.mkdir()
    config_file("gemini").write_text("{")
    planned = run_json("install", "--dry-run")
    assert [row["client"] for row in cast("list[dict[str, Any]]", planned["clients"])] == [
        "claude-code", "codex", "cursor",
    ]  # fmt: skip
    assert not config_file("codex").exists()
    done = run_json("install", "--yes", "--tools", "kg")
    assert [row["action"] for row in cast("list[dict[str, Any]]", done["clients"])] == ["installed"] * 3
    assert servers("codex")["scrubjay"]["args"][:3] == ["mcp", "--tools", "kg"]
    assert config_file("gemini").read_text() == "{"
    removed = run("install", "--yes", "--uninstall")
    assert removed.out.count("scrubjay is removed from") == 3
    config_file("cursor").chmod(0o444)
    answer = run("install", "--yes")
    assert (answer.code, answer.out.count("is installed for"), answer.out.count("error: ")) == (1, 2, 1)
    assert_refused(run("install", "--print"), InvalidInput, "claude-code")


def test_on_a_terminal_it_asks_about_each_client_that_it_finds(user: Path) -> None:
    (user / ".codex").mkdir()
    (user / ".cursor").mkdir()
    with Terminal("install", columns=200) as terminal:
        terminal.expect(f"Add Scrubjay to Codex ({config_file('codex')})? [Y/n]")
        terminal.send("\r")
        terminal.expect("Add Scrubjay to Cursor")
        terminal.send("n\r")
        assert terminal.wait() == 0
        assert "scrubjay is installed for Codex" in terminal.text
    assert "scrubjay" in servers("codex")
    with Terminal("install", "--uninstall") as terminal:
        terminal.expect("Remove Scrubjay from Codex")
        assert terminal.interrupt() != 0
    assert "scrubjay" in servers("codex")
    assert not config_file("cursor").exists()


BROKEN = [
    ("cursor", b'{"mcpServers": {', InvalidInput, "line 1"),
    ("cursor", b"\xff\xfe{\x00}\x00", InvalidInput, "UTF-8"),
    ("cursor", b'{"mcpServers": []}', InvalidInput, "mcpServers is not an object"),
    ("cursor", b'{"mcpServers": {"scrubjay": 7}}', InvalidInput, "mcpServers.scrubjay is not an object"),
    ("cursor", b'{"mcpServers": {}, "mcpServers": {}}', InvalidInput, "mcpServers occurs 2 times"),
    ("cursor", b'{"mcpServers": {"scrubjay": {}, "scrubjay": {}}}', InvalidInput, "occurs 2 times"),
    ("cursor", b"[]", InvalidInput, "not an object"),
    ("cursor", b"\x00", InvalidInput, "not valid JSON"),
    ("cursor", b"[" * 1_000_000, InvalidInput, "levels"),
    ("codex", b"model = ", InvalidInput, "not valid TOML"),
    ("codex", b"mcp_servers = []", InvalidInput, "mcp_servers is not a table"),
    ("codex", b"[mcp_servers]\nscrubjay = 1\n", InvalidInput, "mcp_servers.scrubjay is not a table"),
    ("codex", b"[a]\n[a]\n", InvalidInput, "not valid TOML"),
    ("codex", b"\xe9", InvalidInput, "UTF-8"),
    ("cursor", b" " * (MAX_BYTES + 1), TooLarge, "--print"),
]  # fmt: skip


@pytest.mark.parametrize(("client", "content", "error", "word"), BROKEN, ids=range(len(BROKEN)))
@pytest.mark.parametrize("how", [(), ("--uninstall",), ("--dry-run",)])
def test_an_unreadable_file_is_reported_and_not_changed(
    client: str, content: bytes, error: type[Exception], word: str, how: tuple[str, ...]
) -> None:
    file = config_file(client)
    file.parent.mkdir()
    file.write_bytes(content)
    assert_refused(run("install", client, *how), error, word, str(file))
    assert file.read_bytes() == content
    assert list(file.parent.iterdir()) == [file]


def test_a_read_only_file_is_reported_and_not_changed(tmp_path: Path) -> None:
    file, before = copy_configuration("cursor")
    file.chmod(0o444)
    assert_refused(run("install", "cursor"), StoreReadOnly, "read-only", "--file")
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]
    assert_refused(run("install", "cursor", "--file", str(tmp_path)), InvalidInput, "is a folder")
    os.mkfifo(tmp_path / "pipe")
    assert_refused(run("install", "cursor", "--file", str(tmp_path / "pipe")), InvalidInput, "is not a regular file")


def test_a_link_to_a_folder_of_dotfiles_is_written_through(tmp_path: Path) -> None:
    file, before = copy_configuration("codex")
    (tmp_path / "dotfiles").mkdir()
    real = file.rename(tmp_path / "dotfiles" / "config.toml")
    file.symlink_to(real)
    run_json("install", "codex")
    assert file.is_symlink()
    assert "scrubjay" in tomllib.loads(real.read_text())["mcp_servers"]
    assert [item.name for item in real.parent.iterdir()] == ["config.toml"]
    run_json("install", "codex", "--uninstall")
    assert real.read_bytes() == before


def test_the_copy_is_from_before_the_first_install() -> None:
    file, before = copy_configuration("gemini")
    run_json("install", "gemini")
    assert Path(str(run_json("install", "gemini", "--space", "work")["copy"])).read_bytes() == before
    assert run_json("install", "gemini", "--uninstall")["copy"] == f"{file}.before-scrubjay"
    assert Path(f"{file}.before-scrubjay").read_bytes() == before


def test_only_an_entry_of_scrubjay_is_removed() -> None:
    file, before = copy_configuration("cursor")
    assert_refused(run("install", "cursor", "--uninstall", "--name", "github"), Conflict, "github", "by hand")
    assert file.read_bytes() == before


@pytest.mark.parametrize("name", ["", "my jay", "jay.two", "é", "x" * 65, '"', "../x"])
def test_a_name_that_clients_do_not_accept_is_refused(name: str) -> None:
    assert_refused(run("install", "codex", "--name", name), InvalidInput, "letters, digits")


def test_invalid_options_are_refused() -> None:
    assert_refused(run("install", "emacs"), InvalidInput, "claude-code")
    assert_refused(run("install", "cursor", "--tools", "cor"), InvalidInput, "core")
    assert_refused(run("install", "cursor", "--print", "--uninstall"), InvalidInput, "exclude each other")
    error = run("install", "cursor", "--tools", "cor", "--json").error()
    assert (error["code"], error["field"]) == ("invalid_input", "tools")


def test_a_folder_that_no_configuration_can_name(tmp_path: Path) -> None:
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    assert_refused(run("install", "cursor", "--data", odd), InvalidInput, "UTF-8")
    assert_refused(run("install", "cursor", "--data", str(tmp_path / "${HOME}")), InvalidInput, "dollar sign")
    folder = tmp_path / 'with "quotes", \\, ü and\nlines'
    run_json("install", "cursor", "--data", str(folder))
    run_json("install", "codex", "--data", str(folder))
    assert servers("cursor")["scrubjay"]["args"][-1] == str(folder)
    assert servers("codex")["scrubjay"]["args"][-1] == str(folder)
