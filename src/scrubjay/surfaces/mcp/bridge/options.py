"""What a client's configuration says to the bridge: the command line first, then the environment."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from scrubjay.paths import data_folder

_PATHS = ("index_path", "notestore_path")
_TAKEN = ("agent", "data", *_PATHS, "project", "space", "tools")
_FALSE = ("", "0", "false", "no", "off")


class WrongOption(Exception):
    """The command line cannot be understood; the text says why."""


class Options:
    """Which daemon to talk to, and what to tell it of the client."""

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
) -> Options:
    """Options from the command line and the environment; raises WrongOption."""
    env = os.environ if environment is None else environment
    given = _given(arguments)
    return Options(
        data=data_folder(given.get("data"), environment=env),
        space=_text(given, env, "space"),
        agent=_text(given, env, "agent"),
        project=_text(given, {}, "project") if "project" in given else project_of(folder or working_folder()),
        tools=_text(given, env, "tools"),
        may_start=env.get("SCRUBJAY_NO_DAEMON", "").strip().lower() in _FALSE,
        # For a daemon that is started; one that runs already has folders of its own.
        environment={**env, **{f"SCRUBJAY_{name.upper()}": given[name] for name in _PATHS if name in given}},
    )


def project_of(folder: str, *, home: str | None = None) -> str:
    """The repository that a folder lies in, else the folder itself; nothing for a home folder or the root."""
    nowhere = {"", os.path.realpath(home or os.path.expanduser("~"))}  # noqa: PTH111 - as realpath, for text
    here = os.path.realpath(folder) if folder else ""
    above = here
    while above not in nowhere and os.path.dirname(above) != above:  # noqa: PTH120 - quicker than a Path, as below
        if os.path.exists(os.path.join(above, ".git")):  # noqa: PTH110, PTH118
            return _name_of(above)
        above = os.path.dirname(above)  # noqa: PTH120
    return "" if here in nowhere else _name_of(here)


def working_folder() -> str:
    """Where the client has started the bridge; nothing if that is gone."""
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return ""  # It has been removed under the client's feet.


def _given(arguments: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    words = iter(arguments)
    for word in words:
        option, equals, value = word.partition("=")
        name = option.removeprefix("--").replace("-", "_")
        if not option.startswith("--") or name not in _TAKEN:
            known = ", ".join(f"--{one}" for one in _TAKEN)
            raise WrongOption(f"mcp has no option {_shown(word)}. It has {known}; `scrubjay mcp --help` explains them")
        if not equals:
            value = next(words, "--")
            if value.startswith("--"):
                raise WrongOption(f"{option} needs a value: {option} VALUE or {option}=VALUE")
        given[name] = value
    return given


def _name_of(folder: str) -> str:
    # A name may be any bytes; a project is text.
    return os.fsencode(os.path.basename(folder)).decode("utf-8", "replace")  # noqa: PTH119


def _text(given: Mapping[str, str], env: Mapping[str, str], name: str) -> str:
    """What is given, else what the environment says."""
    variable = f"SCRUBJAY_{name.upper()}"
    value = given.get(name, env.get(variable, ""))
    try:
        value.encode()
    except UnicodeEncodeError:
        where = f"--{name}" if name in given else variable
        raise WrongOption(f"{where} is not text in UTF-8: {_shown(value)}") from None
    return value


def _shown(word: str) -> str:
    return ascii(word[:100])
