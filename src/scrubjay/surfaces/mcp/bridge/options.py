"""The options of the bridge: from the command line first, then from the environment."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from scrubjay.paths import data_folder

_PATHS = ("index_path", "notestore_path")
_NAMES = ("agent", "data", *_PATHS, "project", "space", "tools")
_FALSE = ("", "0", "false", "no", "off")


class InvalidOption(Exception):
    """The command line is invalid; the text says why."""


class BridgeOptions:
    """The daemon to connect to, and the settings of this client."""

    __slots__ = ("agent", "data", "environment", "may_start", "project", "space", "tools")

    def __init__(
        self,
        *,
        data: Path,
        space: str = "",
        agent: str = "",
        project: str = "",
        tools: str = "",
        may_start: bool = True,
        environment: Mapping[str, str],
    ) -> None:
        self.data = data
        self.space = space
        self.agent = agent
        self.project = project
        self.tools = tools
        self.may_start = may_start
        self.environment = environment


def read_options(
    arguments: Sequence[str], *, environment: Mapping[str, str] | None = None, folder: str | None = None
) -> BridgeOptions:
    """Read the command line and the environment; raises InvalidOption."""
    env = os.environ if environment is None else environment
    options = _parse(arguments)
    try:
        data = data_folder(options.get("data"), environment=env)
    except RuntimeError:
        raise InvalidOption("there is no home folder: set HOME, or choose a data folder with --data") from None
    return BridgeOptions(
        data=data,
        space=_text(options, env, "space"),
        agent=_text(options, env, "agent"),
        project=_text(options, {}, "project") if "project" in options else project_of(folder or working_folder()),
        tools=_text(options, env, "tools"),
        may_start=env.get("SCRUBJAY_NO_DAEMON", "").strip().lower() in _FALSE,
        # These paths are for a daemon that the bridge starts; a running one has its own.
        environment={**env, **{f"SCRUBJAY_{name.upper()}": options[name] for name in _PATHS if name in options}},
    )


def project_of(folder: str, *, home: str | None = None) -> str:
    """Return the name of the repository around a folder, else of the folder; empty for a home folder or the root."""
    excluded = {"", os.path.realpath(home or os.path.expanduser("~"))}  # noqa: PTH111 - as realpath, for text
    here = os.path.realpath(folder) if folder else ""
    above = here
    while above not in excluded and os.path.dirname(above) != above:  # noqa: PTH120 - quicker than a Path, as below
        if os.path.exists(os.path.join(above, ".git")):  # noqa: PTH110, PTH118
            return _folder_name(above)
        above = os.path.dirname(above)  # noqa: PTH120
    return "" if here in excluded else _folder_name(here)


def working_folder() -> str:
    """Return the folder in which the client started the bridge; empty if it was removed."""
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return ""


def _parse(arguments: Sequence[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    words = iter(arguments)
    for word in words:
        option, equals, value = word.partition("=")
        name = option.removeprefix("--").replace("-", "_")
        if not option.startswith("--") or name not in _NAMES:
            names = ", ".join(f"--{valid}" for valid in _NAMES)
            raise InvalidOption(
                f"mcp has no option {_display(word)}. It has {names}; `scrubjay mcp --help` explains them"
            )
        if not equals:
            value = next(words, "--")
            if value.startswith("--"):
                raise InvalidOption(f"{option} needs a value: {option} VALUE or {option}=VALUE")
        options[name] = value
    return options


def _folder_name(folder: str) -> str:
    # The name of a folder may be any bytes; a project is text.
    return os.fsencode(os.path.basename(folder)).decode("utf-8", "replace")  # noqa: PTH119


def _text(options: Mapping[str, str], env: Mapping[str, str], name: str) -> str:
    """Return an option, by default from the environment."""
    variable = f"SCRUBJAY_{name.upper()}"
    value = options.get(name, env.get(variable, ""))
    try:
        value.encode()
    except UnicodeEncodeError:
        where = f"--{name}" if name in options else variable
        raise InvalidOption(f"{where} is not text in UTF-8: {_display(value)}") from None
    return value


def _display(word: str) -> str:
    return ascii(word[:100])
