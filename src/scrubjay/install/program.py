"""How to start this very installation from elsewhere."""

import shutil
import sys
from pathlib import Path

from scrubjay.install.syntax import Entry
from scrubjay.model.memory import Json
from scrubjay.paths import data_folder

_PROGRAM = "scrubjay"


def own_command() -> tuple[str, ...]:
    """The words that start this installation, by its full path: programs with a window have another PATH."""
    here = Path(sys.executable).with_name(f"{_PROGRAM}.exe" if sys.platform == "win32" else _PROGRAM)
    on_path = shutil.which(_PROGRAM)
    # A link in a folder of the user's own outlives the environment that it leads to.
    if on_path and (not here.exists() or Path(on_path).samefile(here)):
        return (str(Path(on_path).absolute()),)
    return (str(here),) if here.exists() else (sys.executable, "-m", _PROGRAM)


def bridge_entry(
    *, data: Path, space: str = "", agent: str = "", tools: str = "", by_name: bool = False
) -> dict[str, Json]:
    """The entry for a client's configuration: this program, and what of it is not as usual.

    By its name alone where it is on the PATH, for what is shared or shown to people.
    """
    program = (_PROGRAM,) if by_name and shutil.which(_PROGRAM) else own_command()
    # The client may have another environment, so only the folder that needs none goes without saying.
    folder = "" if data == data_folder(environment={}) else str(data)
    inputs = {"--tools": tools, "--space": space, "--agent": agent, "--data": folder}
    options = [word for option, value in inputs.items() if value for word in (option, value)]
    return {"command": program[0], "args": [*program[1:], "mcp", *options]}


def is_ours(entry: Entry) -> bool:
    """Whether an entry starts Scrubjay, whatever it is called."""
    command = entry.get("command")
    arguments = entry.get("args")
    words = [command, *(arguments if isinstance(arguments, list) else [])]
    return "mcp" in words and any(isinstance(word, str) and Path(word).stem == _PROGRAM for word in words)
