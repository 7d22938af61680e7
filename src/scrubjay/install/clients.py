"""The supported MCP clients: the configuration file of each, and the format of its entries."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit, urlunsplit

from scrubjay.errors import InvalidInput
from scrubjay.install.json_syntax import JsonSyntax
from scrubjay.install.syntax import ServerEntry, Syntax
from scrubjay.install.toml_syntax import TomlSyntax
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json
from scrubjay.paths import home_folder, named_folder, settings_folder

TOKEN = "SCRUBJAY_TOKEN"  # noqa: S105 - the name of a variable
_USER, _PROJECT = "user", "project"
SCOPES = (_USER, _PROJECT)
_JSON = JsonSyntax()
_MCP_PATH = "/mcp"
# Keys of an entry that apply only to a local program, and only to a remote address.
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
    # In the folder of a project; empty if the client has no such file.
    project_file: str = ""
    syntax: Syntax = _JSON
    servers: str = "mcpServers"
    # Further values of a local entry.
    local: tuple[tuple[str, Json], ...] = ()
    # The pattern of variables that the client replaces in an entry.
    variables: str = r"\$\{"
    # Makes the entry of an address; None if the client only starts programs.
    remote: Callable[[str], dict[str, Json]] | None = None
    # The command that starts it, if it has one.
    program: str = ""
    after: str
    after_in_project: str = ""

    @property
    def is_found(self) -> bool:
        """Whether it is on this machine: it has settings, or its program is on the PATH."""
        file = self.user_file()
        has_folder = file.parent != home_folder() and file.parent.is_dir()
        return file.exists() or has_folder or bool(self.program and shutil.which(self.program))

    def file(self, *, scope: str = _USER, folder: Path | None = None) -> Path:
        """Return its configuration file."""
        if scope not in SCOPES:
            raise InvalidInput(f"there is no scope {scope[:80]!r}", hint="It is user or project", field="scope")
        if scope == _USER:
            return self.user_file()
        if not self.project_file:
            raise InvalidInput(
                f"{self.title} has no settings for a project", hint="Omit --scope, or name a --file", field="scope"
            )
        return (folder or Path.cwd()) / self.project_file

    def local_entry(self, entry: ServerEntry) -> dict[str, Json]:
        """Return the entry of a program that the client starts."""
        for word in (str(entry.get("command", "")), *cast("list[str]", entry.get("args", []))):
            if self.variables and re.search(self.variables, word):
                raise InvalidInput(
                    f"{self.title} would replace the variable after the dollar sign in {word!r}",
                    hint="Use a folder without a dollar sign in its name",
                    field="data",
                )
        return {**dict(self.local), **entry}

    def remote_entry(self, url: str) -> dict[str, Json]:
        """Return the entry of a remote server; it refers to the token in the environment, and never contains it."""
        if self.remote is None:
            raise InvalidInput(
                f"{self.title} starts its servers as programs and takes no address from a file",
                hint="Omit --url to use Scrubjay on this machine, or add the address in the settings of the client",
                field="url",
            )
        return self.remote(url)

    def next_step(self, *, scope: str) -> str:
        """Return the next step after the file is written."""
        return self.after_in_project if scope == _PROJECT and self.after_in_project else self.after


def find_client(name: str) -> Client:
    """Return the client with a name."""
    if name not in CLIENTS:
        raise InvalidInput(f"there is no client {name[:80]!r}", hint=f"There are {', '.join(CLIENTS)}", field="client")
    return CLIENTS[name]


def stale_keys(old: ServerEntry, new: ServerEntry) -> tuple[str, ...]:
    """Return the keys of an old entry that contradict the new one: those of another way to reach the server."""
    is_local = "command" in new
    stale = [key for key in (_REMOTE_KEYS if is_local else _LOCAL_KEYS) if key in old and key not in new]
    # An entry has one address.
    stale += [key for key in ("url", "httpUrl", "serverUrl") if not is_local and key in old and key not in new]
    if "type" in old and "type" not in new and not (is_local and old["type"] == "stdio"):
        stale.append("type")
    return tuple(stale)


def mcp_address(url: str) -> str:
    """Return the address for an entry; a server without a path gets that of its MCP endpoint."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not url.strip().isprintable():
        raise InvalidInput(
            f"{url[:80]!r} is not the address of a server",
            hint="For example --url https://memory.example.org/mcp",
            field="url",
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidInput(
            "the address contains more than a server and a path",
            hint="Keep secrets out of it: the client reads the token from SCRUBJAY_TOKEN when it starts",
            field="url",
        )
    return urlunsplit(parts._replace(path=_MCP_PATH if parts.path in ("", "/") else parts.path))


def _bearer(variable: str) -> dict[str, Json]:
    return {"Authorization": f"Bearer {variable}"}


def _claude_desktop() -> Path:
    name = "claude_desktop_config.json"
    default = settings_folder() / "Claude" / name
    # Windows redirects a packaged app to a folder of its own.
    packages = named_folder("LOCALAPPDATA", home_folder() / "AppData" / "Local") / "Packages"
    packaged = [folder / name for folder in sorted(packages.glob("Claude_*/LocalCache/Roaming/Claude"))]
    return next((file for file in packaged if file.exists()), packaged[0] if packaged else default)


_CLIENTS = (
    Client(
        name="claude-code",
        title="Claude Code",
        program="claude",
        user_file=lambda: named_folder("CLAUDE_CONFIG_DIR", home_folder()) / ".claude.json",
        project_file=".mcp.json",
        local=(("type", "stdio"),),
        remote=lambda url: {"type": "http", "url": url, "headers": _bearer(f"${{{TOKEN}}}")},
        after="Restart Claude Code; /mcp lists its servers.",
        after_in_project="Start Claude Code in this folder and let it use the server; /mcp lists its servers.",
    ),
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        user_file=_claude_desktop,
        variables="",
        after="Quit Claude Desktop and start it again: closing its window is not enough.",
    ),
    Client(
        name="codex",
        title="Codex",
        program="codex",
        user_file=lambda: named_folder("CODEX_HOME", home_folder() / ".codex") / "config.toml",
        project_file=".codex/config.toml",
        syntax=TomlSyntax(),
        servers="mcp_servers",
        variables="",
        remote=lambda url: {"url": url, "bearer_token_env_var": TOKEN},
        after="Restart Codex; /mcp lists its servers.",
        after_in_project="Restart Codex; it reads this file only in a project that you trust.",
    ),
    Client(
        name="cursor",
        title="Cursor",
        program="cursor",
        user_file=lambda: home_folder() / ".cursor" / "mcp.json",
        project_file=".cursor/mcp.json",
        local=(("type", "stdio"),),
        remote=lambda url: {"url": url, "headers": _bearer(f"${{env:{TOKEN}}}")},
        after="Restart Cursor, and switch the server on in its settings under MCP if it is off.",
    ),
    Client(
        name="vscode",
        title="VS Code",
        program="code",
        user_file=lambda: settings_folder() / "Code" / "User" / "mcp.json",
        project_file=".vscode/mcp.json",
        servers="servers",
        local=(("type", "stdio"),),
        remote=lambda url: {"type": "http", "url": url, "headers": _bearer(f"${{env:{TOKEN}}}")},
        after="In VS Code choose MCP: List Servers from the command palette, and start the server.",
    ),
    Client(
        name="gemini",
        title="Gemini CLI",
        program="gemini",
        user_file=lambda: named_folder("GEMINI_CLI_HOME", home_folder()) / ".gemini" / "settings.json",
        project_file=".gemini/settings.json",
        variables=r"\$\{|\$\w",
        remote=lambda url: {"httpUrl": url, "headers": _bearer(f"${{{TOKEN}}}")},
        after="Restart Gemini CLI; /mcp lists its servers.",
    ),
)
CLIENTS = {client.name: client for client in _CLIENTS}
