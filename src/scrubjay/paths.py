"""Where things lie on disk. Standard library only, so that anything small may import it."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

_FOLDER = "scrubjay"
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


def lock_file(data: Path) -> Path:
    """Held shared by everyone who has the store open, alone by whoever replaces it."""
    return data / "store.lock"


def socket_file(data: Path, *, environment: Mapping[str, str] | None = None) -> Path:
    """Where a data folder's daemon listens: in the folder, or in a shorter place when its name would be too long."""
    near = data / "run" / "daemon.sock"
    if len(os.fsencode(near)) <= _LONGEST_SOCKET:
        return near
    # Rarely needed, and slow to import for a bridge that must start in milliseconds.
    import hashlib  # noqa: PLC0415
    import tempfile  # noqa: PLC0415

    env = os.environ if environment is None else environment
    user = getattr(os, "getuid", lambda: 0)()
    runtime = env.get("XDG_RUNTIME_DIR")
    folder = Path(runtime) / _FOLDER if runtime else Path(tempfile.gettempdir()) / f"{_FOLDER}-{user}"
    return folder / f"{hashlib.sha256(os.fsencode(data)).hexdigest()[:20]}.sock"


def daemon_file(data: Path) -> Path:
    """Held locked by the daemon while it lives, with its pid in it."""
    return data / "daemon.lock"


def daemon_log(data: Path) -> Path:
    """What a daemon that nobody watches has to say."""
    return data / "daemon.log"


def _user_data(env: Mapping[str, str]) -> Path:
    home = Path(env.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(env.get("LOCALAPPDATA") or home / "AppData" / "Local")
    return Path(env.get("XDG_DATA_HOME") or home / ".local" / "share")
