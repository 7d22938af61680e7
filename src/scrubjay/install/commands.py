"""The commands that start this installation: the MCP bridge for a client, and the daemon for a service."""

import shutil
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.install.syntax import ServerEntry
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json
from scrubjay.paths import daemon_log, data_folder, home_folder
from scrubjay.settings import Settings

_PROGRAM = "scrubjay"
_BRIDGE = "mcp"
# Options of the bridge that name a folder.
_PATHS = ("--data", "--notestore_path", "--index_path")
# Folders of uv's cache, which has the environments of `uvx`.
_TEMPORARY = ("archive-v0", "environments-v2")
# Settings that are options of the command, or that a daemon does not use.
_NOT_IN_ENVIRONMENT = ("home", "space", "agent", "http", "tools", "index_path", "notestore_path")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCommand:
    """A command with its environment. `secrets` names the variables that must not be written to a file."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path
    secrets: tuple[str, ...] = ()


def own_command() -> tuple[str, ...]:
    """Return the command of this installation with its full path, because desktop programs have another PATH."""
    here = Path(sys.executable).with_name(f"{_PROGRAM}.exe" if sys.platform == "win32" else _PROGRAM)
    on_path = shutil.which(_PROGRAM)
    # A link on the PATH outlives the environment that it leads to.
    if on_path and (not here.exists() or Path(on_path).samefile(here)):
        return (str(Path(on_path).absolute()),)
    return (str(here),) if here.exists() else (sys.executable, "-m", _PROGRAM)


def bridge_entry(
    *,
    data: Path | None = None,
    space: str = "",
    agent: str = "",
    tools: str = "",
    former: Mapping[str, str] = MappingProxyType({}),
    shared: bool = False,
) -> dict[str, Json]:
    """Return the entry for the configuration of a client: this program, its options, and others of a `former` entry.

    A file that people share gets a `shared` entry, which has no path of this machine.
    """
    program = (_PROGRAM,) if shared else own_command()
    values = {**dict.fromkeys(("--tools", "--space", "--agent", "--data"), ""), **former}
    values |= {name: value for name, value in {"--tools": tools, "--space": space, "--agent": agent}.items() if value}
    if data is not None:
        # The environment of the client may differ, so only the default folder can be omitted.
        values["--data"] = "" if data == data_folder(environment={}) else str(data)
    if shared:
        values |= {name: shared_path(values[name]) for name in _PATHS if values.get(name)}
    options = [word for option, value in values.items() if value for word in (option, value)]
    return {"command": program[0], "args": [*program[1:], "mcp", *options]}


def shared_path(path: str) -> str:
    """Return a path as it means the same folder to everyone: from the home folder, or empty if it is elsewhere."""
    expanded = Path(path).expanduser()
    home = home_folder()
    return f"~/{expanded.relative_to(home).as_posix()}" if expanded.is_relative_to(home) else ""


def own_options(entry: ServerEntry | None) -> dict[str, str]:
    """Return the options of an entry that starts Scrubjay."""
    if entry is None or not is_own_entry(entry):
        return {}
    words = [str(word) for word in cast("list[Json]", entry["args"])]
    rest = iter(words[words.index(_BRIDGE) + 1 :])
    options: dict[str, str] = {}
    for word in rest:
        name, has_value, value = word.partition("=")
        if name.startswith("--"):
            options[f"--{name[2:].replace('-', '_')}"] = value if has_value else next(rest, "")
    return options


def is_temporary_program() -> bool:
    """Return whether this program runs from an environment that `uvx` or `pipx run` may delete."""
    parts = Path(sys.prefix).parts
    return any(part in _TEMPORARY for part in parts) or (".cache" in parts and "pipx" in parts)


def is_own_entry(entry: ServerEntry) -> bool:
    """Return whether an entry starts Scrubjay, under any name."""
    command = entry.get("command")
    arguments = entry.get("args")
    words = [command, *(arguments if isinstance(arguments, list) else [])]
    return (
        _BRIDGE in words
        and isinstance(arguments, list)
        and any(isinstance(word, str) and Path(word).stem == _PROGRAM for word in words)
    )


def daemon_command(settings: Settings) -> ServiceCommand:
    """Return the command of a daemon with these settings, for any environment."""
    default = Settings()
    options = {
        "--data": str(settings.data),
        "--space": "" if settings.space == default.space else settings.space,
        "--http": "" if settings.http == default.http else settings.http,
        "--tools": "" if settings.tools == default.tools else settings.tools,
        "--index_path": str(settings.index) if settings.index_path else "",
        "--notestore_path": str(settings.notestore) if settings.notestore_path else "",
    }
    changed = [
        field
        for field in fields(settings)
        if field.name not in _NOT_IN_ENVIRONMENT and getattr(settings, field.name) != field.default
    ]
    service = ServiceCommand(
        command=(*own_command(), "serve", *(f"{name}={value}" for name, value in options.items() if value)),
        environment={field.metadata["env"]: _variable(field.name, settings) for field in changed if field.repr},
        log=daemon_log(settings.data),
        secrets=tuple(field.metadata["env"] for field in changed if not field.repr),
    )
    _check(service)
    return service


def _variable(name: str, settings: Settings) -> str:
    value: object = getattr(settings, name)
    if name == "key_file":
        return str(Path(str(value)).expanduser().absolute())
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check(service: ServiceCommand) -> None:
    for word in (*service.command, *service.environment.values()):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise InvalidInput(f"{word!r} cannot be written as UTF-8, which the file of a service requires") from None
        if "\0" in word:
            raise InvalidInput(f"{word!r} contains a NUL character, which no program accepts")
