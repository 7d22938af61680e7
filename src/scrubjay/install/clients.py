"""The clients that we know: where each keeps its servers, and in which words."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.install.json_text import JsonText
from scrubjay.install.syntax import Entry, Syntax
from scrubjay.install.toml_text import TomlText
from scrubjay.model.memory import Json
from scrubjay.paths import home_folder, named_folder, settings_folder

TOKEN = "SCRUBJAY_TOKEN"  # noqa: S105 - the name of a variable
_USER, _PROJECT = "user", "project"
SCOPES = (_USER, _PROJECT)
_JSON = JsonText()
# What only means something to a program that is started, and what only to an address.
_LOCAL_KEYS = ("command", "args", "env", "env_vars", "envFile", "cwd")
_REMOTE_KEYS = (
    *("url", "httpUrl", "serverUrl", "headers", "oauth", "auth"),
    *("bearer_token_env_var", "http_headers", "env_http_headers"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A program that speaks MCP."""

    name: str
    title: str
    user_file: Callable[[], Path]
    # In the folder of a project; nothing where a client has no such file.
    project_file: str = ""
    syntax: Syntax = _JSON
    servers: str = "mcpServers"
    # What it wants to be told beside the command.
    local: tuple[tuple[str, Json], ...] = ()
    # What it puts something else in place of, wherever it stands in an entry.
    replaces: str = r"\$\{"
    # The entry for an address; nothing where a client can only start programs.
    remote: Callable[[str], dict[str, Json]] | None = None
    after: str
    after_in_project: str = ""

    def file(self, *, scope: str = _USER, folder: Path | None = None) -> Path:
        """Where its servers stand."""
        if scope not in SCOPES:
            raise InvalidInput(f"there is no scope {scope[:80]!r}", hint="It is user or project", field="scope")
        if scope == _USER:
            return self.user_file()
        if not self.project_file:
            raise InvalidInput(
                f"{self.title} has no settings for a project", hint="Leave --scope out, or name a --file", field="scope"
            )
        return (folder or Path.cwd()) / self.project_file

    def local_entry(self, entry: Entry) -> dict[str, Json]:
        """The entry for a program that it starts."""
        for word in (str(entry.get("command", "")), *cast("list[str]", entry.get("args", []))):
            if self.replaces and re.search(self.replaces, word):
                raise InvalidInput(
                    f"{self.title} would put something else in place of the dollar sign in {word!r}",
                    hint="Use a folder without one in its name",
                    field="data",
                )
        return {**dict(self.local), **entry}

    def remote_entry(self, url: str) -> dict[str, Json]:
        """The entry for a server elsewhere; the token is taken from the environment and never written down."""
        if self.remote is None:
            raise InvalidInput(
                f"{self.title} starts its servers as programs and takes no address from a file",
                hint="Leave --url out to use Scrubjay on this machine, or add the address in its own settings",
                field="url",
            )
        return self.remote(url)

    def next_step(self, *, scope: str) -> str:
        """What to do once the file is written."""
        return self.after_in_project if scope == _PROJECT and self.after_in_project else self.after


def client_named(name: str) -> Client:
    """The client of that name."""
    if name not in CLIENTS:
        raise InvalidInput(f"there is no client {name[:80]!r}", hint=f"There are {', '.join(CLIENTS)}", field="client")
    return CLIENTS[name]


def stale_keys(old: Entry, new: Entry) -> tuple[str, ...]:
    """What an entry had for the other way to reach a server, which would contradict the new one."""
    is_local = "command" in new
    stale = [key for key in (_REMOTE_KEYS if is_local else _LOCAL_KEYS) if key in old and key not in new]
    # Only one address is meant.
    stale += [key for key in ("url", "httpUrl", "serverUrl") if not is_local and key in old and key not in new]
    if "type" in old and "type" not in new and not (is_local and old["type"] == "stdio"):
        stale.append("type")
    return tuple(stale)


def _bearer(variable: str) -> dict[str, Json]:
    return {"Authorization": f"Bearer {variable}"}


def _claude_desktop() -> Path:
    name = "claude_desktop_config.json"
    usual = settings_folder() / "Claude" / name
    # A packaged app on Windows sees a folder of its own in place of the usual one.
    packages = named_folder("LOCALAPPDATA", home_folder() / "AppData" / "Local") / "Packages"
    packaged = [item / name for item in sorted(packages.glob("Claude_*/LocalCache/Roaming/Claude"))]
    return next((item for item in packaged if item.exists()), packaged[0] if packaged else usual)


_KNOWN = (
    Client(
        name="claude-code",
        title="Claude Code",
        user_file=lambda: named_folder("CLAUDE_CONFIG_DIR", home_folder()) / ".claude.json",
        project_file=".mcp.json",
        local=(("type", "stdio"),),
        remote=lambda url: {"type": "http", "url": url, "headers": _bearer(f"${{{TOKEN}}}")},
        after="Start Claude Code anew; /mcp lists its servers.",
        after_in_project="Start Claude Code in this folder and let it use the server; /mcp lists them.",
    ),
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        user_file=_claude_desktop,
        replaces="",
        after="Quit Claude Desktop altogether and start it again: closing its window is not enough.",
    ),
    Client(
        name="codex",
        title="Codex",
        user_file=lambda: named_folder("CODEX_HOME", home_folder() / ".codex") / "config.toml",
        project_file=".codex/config.toml",
        syntax=TomlText(),
        servers="mcp_servers",
        replaces="",
        remote=lambda url: {"url": url, "bearer_token_env_var": TOKEN},
        after="Start Codex anew; /mcp lists its servers.",
        after_in_project="Start Codex anew; it reads this file only in a project that you trust.",
    ),
    Client(
        name="cursor",
        title="Cursor",
        user_file=lambda: home_folder() / ".cursor" / "mcp.json",
        project_file=".cursor/mcp.json",
        local=(("type", "stdio"),),
        remote=lambda url: {"url": url, "headers": _bearer(f"${{env:{TOKEN}}}")},
        after="Restart Cursor, and switch the server on in its settings under MCP if it is off.",
    ),
    Client(
        name="vscode",
        title="VS Code",
        user_file=lambda: settings_folder() / "Code" / "User" / "mcp.json",
        project_file=".vscode/mcp.json",
        servers="servers",
        local=(("type", "stdio"),),
        remote=lambda url: {"type": "http", "url": url, "headers": _bearer(f"${{env:{TOKEN}}}")},
        after="In VS Code choose MCP: List Servers from the command palette, and start it.",
    ),
    Client(
        name="gemini",
        title="Gemini CLI",
        user_file=lambda: named_folder("GEMINI_CLI_HOME", home_folder()) / ".gemini" / "settings.json",
        project_file=".gemini/settings.json",
        replaces=r"\$\{|\$\w",
        remote=lambda url: {"httpUrl": url, "headers": _bearer(f"${{{TOKEN}}}")},
        after="Start Gemini CLI anew; /mcp lists its servers.",
    ),
)
CLIENTS = {item.name: item for item in _KNOWN}
