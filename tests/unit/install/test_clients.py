"""The configuration file of each client on each platform, and the format of its entries."""

import sys
from pathlib import Path

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.install.clients import CLIENTS, find_client, mcp_address, stale_keys
from scrubjay.model.memory import Json
from scrubjay.paths import home_folder, named_folder, settings_folder

VARIABLES = ("XDG_CONFIG_HOME", "APPDATA", "LOCALAPPDATA", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME")


@pytest.fixture
def jay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("platform", "client", "file"),
    [
        ("linux", "claude-code", ".claude.json"),
        ("darwin", "claude-code", ".claude.json"),
        ("win32", "claude-code", ".claude.json"),
        ("linux", "claude-desktop", ".config/Claude/claude_desktop_config.json"),
        ("darwin", "claude-desktop", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", "claude-desktop", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("linux", "codex", ".codex/config.toml"),
        ("win32", "codex", ".codex/config.toml"),
        ("linux", "cursor", ".cursor/mcp.json"),
        ("darwin", "cursor", ".cursor/mcp.json"),
        ("linux", "vscode", ".config/Code/User/mcp.json"),
        ("darwin", "vscode", "Library/Application Support/Code/User/mcp.json"),
        ("win32", "vscode", "AppData/Roaming/Code/User/mcp.json"),
        ("linux", "gemini", ".gemini/settings.json"),
    ],
)
def test_each_client_has_a_file_on_each_platform(
    jay: Path, monkeypatch: pytest.MonkeyPatch, platform: str, client: str, file: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert CLIENTS[client].file() == jay / file


@pytest.mark.parametrize(
    ("variable", "client", "file"),
    [
        ("CLAUDE_CONFIG_DIR", "claude-code", ".claude.json"),
        ("CODEX_HOME", "codex", "config.toml"),
        ("XDG_CONFIG_HOME", "vscode", "Code/User/mcp.json"),
        ("XDG_CONFIG_HOME", "claude-desktop", "Claude/claude_desktop_config.json"),
        ("GEMINI_CLI_HOME", "gemini", ".gemini/settings.json"),
    ],
)
def test_a_variable_of_the_client_moves_its_file(
    jay: Path, monkeypatch: pytest.MonkeyPatch, variable: str, client: str, file: str
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv(variable, str(jay / "elsewhere"))
    assert CLIENTS[client].file() == jay / "elsewhere" / file


def test_a_packaged_desktop_on_windows_has_a_folder_of_its_own(jay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(jay / "Local"))
    folders = [
        jay / "Local" / "Packages" / name / "LocalCache" / "Roaming" / "Claude" for name in ("Claude_a", "Claude_b")
    ]
    for folder in folders:
        folder.mkdir(parents=True)
    assert CLIENTS["claude-desktop"].file() == folders[0] / "claude_desktop_config.json"
    (folders[1] / "claude_desktop_config.json").write_text("{}")
    assert CLIENTS["claude-desktop"].file() == folders[1] / "claude_desktop_config.json"


@pytest.mark.parametrize(
    ("client", "file"),
    [
        ("claude-code", ".mcp.json"),
        ("codex", ".codex/config.toml"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("gemini", ".gemini/settings.json"),
    ],
)
def test_a_project_has_a_file_of_its_own(tmp_path: Path, client: str, file: str) -> None:
    assert CLIENTS[client].file(scope="project", folder=tmp_path) == tmp_path / file


def test_an_unknown_scope_or_client_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no settings for a project"):
        CLIENTS["claude-desktop"].file(scope="project")
    with pytest.raises(InvalidInput, match="there is no scope 'team'"):
        CLIENTS["cursor"].file(scope="team")
    with pytest.raises(InvalidInput, match="there is no client 'emacs'"):
        find_client("emacs")


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"HOME": "/home/jay"}, "/home/jay/.config"),
        ({"HOME": "/home/jay", "XDG_CONFIG_HOME": "/etc/jay"}, "/etc/jay"),
        ({"HOME": "/home/jay", "XDG_CONFIG_HOME": "here"}, "/home/jay/.config"),
    ],
)
def test_the_folder_of_settings_follows_the_platform(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], folder: str
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert settings_folder(environment=environment) == Path(folder)
    assert home_folder(environment=environment) == Path("/home/jay")


def test_a_variable_names_a_folder(jay: Path) -> None:
    default = Path("/default")
    assert named_folder("X_HOME", default, environment={}) == default
    assert named_folder("X_HOME", default, environment={"X_HOME": "  "}) == default
    assert named_folder("X_HOME", default, environment={"X_HOME": "~/x"}) == jay / "x"


@pytest.mark.parametrize(
    ("client", "entry"),
    [
        (
            "claude-code",
            {"type": "http", "url": "https://a/mcp", "headers": {"Authorization": "Bearer ${SCRUBJAY_TOKEN}"}},
        ),
        ("codex", {"url": "https://a/mcp", "bearer_token_env_var": "SCRUBJAY_TOKEN"}),
        ("cursor", {"url": "https://a/mcp", "headers": {"Authorization": "Bearer ${env:SCRUBJAY_TOKEN}"}}),
        (
            "vscode",
            {"type": "http", "url": "https://a/mcp", "headers": {"Authorization": "Bearer ${env:SCRUBJAY_TOKEN}"}},
        ),
        ("gemini", {"httpUrl": "https://a/mcp", "headers": {"Authorization": "Bearer ${SCRUBJAY_TOKEN}"}}),
    ],
)
def test_a_remote_server_has_the_format_of_the_client(client: str, entry: dict[str, Json]) -> None:
    assert CLIENTS[client].remote_entry("https://a/mcp") == entry


def test_a_client_that_only_starts_programs_refuses_an_address() -> None:
    with pytest.raises(InvalidInput, match="Claude Desktop starts its servers as programs"):
        CLIENTS["claude-desktop"].remote_entry("https://a/mcp")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:7272", "http://127.0.0.1:7272/mcp"),
        ("https://a/", "https://a/mcp"),
        ("https://a/mcp/kg", "https://a/mcp/kg"),
        ("  https://[::1]:7/x ", "https://[::1]:7/x"),
    ],
)
def test_an_address_gets_its_path(url: str, expected: str) -> None:
    assert mcp_address(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        *(
            "a.example.org",
            "ftp://a",
            "https://",
            "https://a:99999/",
            "https://a:0",
            "file:///etc/passwd",
            "https://[a",
        ),
        *("https://a/mcp?token=secret", "https://jay:secret@a/mcp", "https://a/#x", "https://a/\n", "https://a/\x00x"),
    ],
)
def test_an_invalid_address_is_refused_without_repeating_secrets(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        mcp_address(url if url != "https://a/\n" else "https://a/x\ny")
    assert "secret" not in str(caught.value).replace("Keep secrets", "")


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [
        ({"command": "a", "args": [], "env": {}, "timeout": 1}, {"url": "u"}, ("command", "args", "env")),
        ({"url": "u", "headers": {}, "disabled": True}, {"command": "a", "args": []}, ("url", "headers")),
        ({"type": "http", "url": "u"}, {"command": "a"}, ("url", "type")),
        ({"type": "stdio", "command": "b"}, {"command": "a"}, ()),
        ({"type": "stdio", "command": "b"}, {"type": "http", "url": "u"}, ("command",)),
        ({"type": "sse", "url": "u"}, {"httpUrl": "u"}, ("url", "type")),
        ({"command": "a", "cwd": "/x"}, {"command": "b"}, ()),
    ],
)
def test_keys_that_contradict_the_new_entry_are_stale(
    old: dict[str, Json], new: dict[str, Json], stale: tuple[str, ...]
) -> None:
    assert stale_keys(old, new) == stale


@pytest.mark.parametrize(("client", "folder"), [("cursor", "/a/${x}"), ("gemini", "/a/$x"), ("vscode", "${env:X}")])
def test_a_variable_that_a_client_would_replace_is_refused(client: str, folder: str) -> None:
    with pytest.raises(InvalidInput, match="dollar sign"):
        CLIENTS[client].local_entry({"command": "scrubjay", "args": ["mcp", "--data", folder]})


def test_a_dollar_sign_that_the_client_does_not_replace_is_fine() -> None:
    for client, folder in (("cursor", "/a/$x"), ("codex", "/a/${x}"), ("claude-desktop", "/${x}"), ("gemini", "/5$")):
        entry = CLIENTS[client].local_entry({"command": "scrubjay", "args": ["mcp", "--data", folder]})
        assert entry["args"] == ["mcp", "--data", folder]
