"""Where things lie on disk. Standard library only, so that anything small may import it."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

_FOLDER = "scrubjay"
_SOCKET = "daemon.sock"
# The kernel keeps a socket's name in 108 bytes on Linux, 104 elsewhere, one of them the closing NUL.
_LONGEST_SOCKET = 103


def data_folder(given: str | Path | None = None, *, environment: Mapping[str, str] | None = None) -> Path:
    """The folder of the truth: given, else SCRUBJAY_HOME or MEMORY_DIR, else the platform's place for user data."""
    env = os.environ if environment is None else environment
    chosen = given or env.get("SCRUBJAY_HOME") or env.get("MEMORY_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return _user_data(env) / _FOLDER


def database_file(data: Path) -> Path:
    """The record store."""
    return data / "memory.db"


def index_folder(data: Path, given: str | Path | None = None) -> Path:
    """What can be rebuilt: the vector index."""
    return Path(given).expanduser().absolute() if given else data / "index"


def notes_folder(data: Path, given: str | Path | None = None) -> Path:
    """Memories as Markdown files, for people and their editors."""
    return Path(given).expanduser().absolute() if given else data / "notes"


def notes_ledger(index: Path) -> Path:
    """What the folder of notes and the store agreed on last; it can be rebuilt."""
    return index / "notes.db"


def notes_whereabouts(data: Path) -> Path:
    """Which folder the notes of each space were last kept in."""
    return data / "notes.json"


def lock_file(data: Path) -> Path:
    """Held shared by everyone who has the store open, alone by whoever replaces it."""
    return data / "store.lock"


def socket_file(data: Path, *, environment: Mapping[str, str] | None = None) -> Path:
    """Where a data folder's daemon listens: in the folder, or in a shorter place when its name would be too long."""
    # By whichever of its names a folder is opened, its daemon is the same.
    real = Path(os.path.realpath(data))
    near = real / "run" / _SOCKET
    if len(os.fsencode(near)) <= _LONGEST_SOCKET:
        return near
    # Rarely needed, and slow to import for a bridge that must start in milliseconds.
    import hashlib  # noqa: PLC0415
    import tempfile  # noqa: PLC0415

    env = os.environ if environment is None else environment
    user = getattr(os, "getuid", lambda: 0)()
    runtime = Path(env.get("XDG_RUNTIME_DIR", ""))
    folder = runtime / _FOLDER if runtime.is_absolute() else Path(tempfile.gettempdir()) / f"{_FOLDER}-{user}"
    return folder / f"{hashlib.sha256(os.fsencode(real)).hexdigest()[:20]}.sock"


def known_socket(data: Path) -> Path:
    """Where to knock: where the daemon that runs has written it listens, else where one would."""
    expected = socket_file(data)
    if expected.name == _SOCKET:
        return expected
    # Outside the folder the place depends on the environment, and the daemon's may be another than ours.
    try:
        written = Path(json.loads(daemon_file(data).read_bytes())["socket"])
        # A copy of a folder brings along what the original's daemon wrote; only its name tells whose it is.
        return written if written.name == expected.name and written.exists() else expected
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return expected


def daemon_file(data: Path) -> Path:
    """Held locked by the daemon while it lives, with its pid in it."""
    return data / "daemon.lock"


def daemon_log(data: Path) -> Path:
    """What a daemon that nobody watches has to say."""
    return data / "daemon.log"


def home_folder(*, environment: Mapping[str, str] | None = None) -> Path:
    """The user's home."""
    env = os.environ if environment is None else environment
    return Path(env.get("USERPROFILE" if sys.platform == "win32" else "HOME") or Path.home())


def settings_folder(*, environment: Mapping[str, str] | None = None) -> Path:
    """Where programs keep a user's settings."""
    env = os.environ if environment is None else environment
    home = home_folder(environment=env)
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(env.get("APPDATA") or home / "AppData" / "Roaming")
    # A relative one is to be ignored, says the specification.
    chosen = Path(env.get("XDG_CONFIG_HOME", ""))
    return chosen if chosen.is_absolute() else home / ".config"


def named_folder(variable: str, default: Path, *, environment: Mapping[str, str] | None = None) -> Path:
    """The folder that a variable of another program names, else that program's usual one."""
    env = os.environ if environment is None else environment
    chosen = env.get(variable, "").strip()
    return Path(chosen).expanduser().absolute() if chosen else default


def _user_data(env: Mapping[str, str]) -> Path:
    home = Path(env.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(env.get("LOCALAPPDATA") or home / "AppData" / "Local")
    return Path(env.get("XDG_DATA_HOME") or home / ".local" / "share")
