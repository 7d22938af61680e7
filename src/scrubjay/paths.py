"""Paths of files and folders. It imports the standard library only, for programs that must start fast."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

_FOLDER = "scrubjay"
_SOCKET = "daemon.sock"
# The name of a socket has up to 108 bytes on Linux and 104 elsewhere, including the final NUL.
_MAX_SOCKET_PATH = 103
_MAX_RECORD = 65_536
_READS = 3


def data_folder(folder: str | Path | None = None, *, environment: Mapping[str, str] | None = None) -> Path:
    """Return the data folder: the argument, else SCRUBJAY_HOME or MEMORY_DIR, else the user data folder."""
    env = os.environ if environment is None else environment
    chosen = folder or env.get("SCRUBJAY_HOME") or env.get("MEMORY_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return _user_data(env) / _FOLDER


def database_file(data: Path) -> Path:
    """Return the file of the record store."""
    return data / "memory.db"


def index_folder(data: Path, folder: str | Path | None = None) -> Path:
    """Return the folder of the vector index, which can be rebuilt."""
    return Path(folder).expanduser().absolute() if folder else data / "index"


def notes_folder(data: Path, folder: str | Path | None = None) -> Path:
    """Return the folder of Markdown notes."""
    return Path(folder).expanduser().absolute() if folder else data / "notes"


def notes_ledger(index: Path) -> Path:
    """Return the file with the last synchronized state of notes and store, which can be rebuilt."""
    return index / "notes.db"


def notes_location_file(data: Path) -> Path:
    """Return the file that records the last folder of notes of each space."""
    return data / "notes.json"


def lock_file(data: Path) -> Path:
    """Return the lock of the store: shared to use it, exclusive to replace it."""
    return data / "store.lock"


def socket_file(data: Path, *, environment: Mapping[str, str] | None = None) -> Path:
    """Return the socket of the daemon: in the data folder, or at a shorter path if that is too long."""
    # All names of a folder lead to the same daemon.
    real = Path(os.path.realpath(data))
    socket = real / "run" / _SOCKET
    if len(os.fsencode(socket)) <= _MAX_SOCKET_PATH:
        return socket
    # Rarely needed, and slow to import for the bridge.
    import hashlib  # noqa: PLC0415
    import tempfile  # noqa: PLC0415

    env = os.environ if environment is None else environment
    user = getattr(os, "getuid", lambda: 0)()
    runtime = Path(env.get("XDG_RUNTIME_DIR", ""))
    folder = runtime / _FOLDER if runtime.is_absolute() else Path(tempfile.gettempdir()) / f"{_FOLDER}-{user}"
    return folder / f"{hashlib.sha256(os.fsencode(real)).hexdigest()[:20]}.sock"


def known_socket(data: Path) -> Path:
    """Return the socket that the running daemon has recorded, else the expected one."""
    expected = socket_file(data)
    if expected.name == _SOCKET:
        return expected
    # Outside the data folder the path depends on the environment, and that of the daemon may differ.
    try:
        recorded = Path(str(read_daemon_record(data)["socket"]))
        # A copied data folder contains the record of the original; the name of the socket identifies the folder.
        return recorded if recorded.name == expected.name and recorded.exists() else expected
    except (OSError, ValueError, KeyError):
        return expected


def daemon_file(data: Path) -> Path:
    """Return the lock file of the daemon, which contains its record."""
    return data / "daemon.lock"


def read_daemon_record(data: Path) -> dict[str, object]:
    """Return the pid and the addresses that the last daemon has recorded; empty if they cannot be read."""
    for _ in range(_READS):
        try:
            with daemon_file(data).open("rb", buffering=0) as file:
                # In one step: between two steps the file may get longer, and the end would not be that of the start.
                record: dict[str, object] | None = json.loads(file.read(_MAX_RECORD))
        except (ValueError, RecursionError):
            # Empty, damaged, or being written at this moment.
            continue
        except OSError:
            break
        return record if isinstance(record, dict) else {}
    return {}


def daemon_log(data: Path) -> Path:
    """Return the log of a daemon in the background."""
    return data / "daemon.log"


def owner_ticket_file(data: Path) -> Path:
    """Return the file with the hash of a ticket, by which the owner of the data is recognized in a browser."""
    return data / "owner.ticket"


def owner_page_file(data: Path) -> Path:
    """Return the page that leads a browser to the daemon with a ticket, which no other user can read."""
    return data / "owner.html"


def home_folder(*, environment: Mapping[str, str] | None = None) -> Path:
    """Return the home folder of the user."""
    env = os.environ if environment is None else environment
    return Path(env.get("USERPROFILE" if sys.platform == "win32" else "HOME") or Path.home())


def settings_folder(*, environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of user settings."""
    env = os.environ if environment is None else environment
    home = home_folder(environment=env)
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(env.get("APPDATA") or home / "AppData" / "Roaming")
    # The specification says to ignore a relative path.
    chosen = Path(env.get("XDG_CONFIG_HOME", ""))
    return chosen if chosen.is_absolute() else home / ".config"


def named_folder(variable: str, default: Path, *, environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder in an environment variable of another program, else its default."""
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
