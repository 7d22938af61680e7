"""Connects to the daemon of a data folder, and starts one if none runs."""

import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress

from scrubjay.paths import daemon_log, known_socket
from scrubjay.surfaces.mcp.bridge.link import ConnectionClosed, DaemonLink, DaemonUnreachable, NoDaemon, connect
from scrubjay.surfaces.mcp.bridge.options import BridgeOptions, working_folder
from scrubjay.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen

_CONNECT_SECONDS = 30.0
_FIRST_PAUSE, _MAX_PAUSE = 0.005, 0.1
# A daemon that another supervisor runs and restarts gets this long to come back.
_RESTART_SECONDS = 3.0
# A daemon exits with this code if another one holds the lock; that one may be about to exit too.
_LOCKED_CODE = 75
_LOCKED_SECONDS = 5.0
_IDLE_SECONDS = "600"
_LOG_TAIL = 1000
_MAX_LOG = 1024 * 1024

# A daemon serves all clients, and for long. Of the environment of the client that starts it, it gets neither that
# client's own settings, nor secrets that are not Scrubjay's, nor variables that make Python load other code.
_OWN_PREFIX = "SCRUBJAY_"
_CLIENT_ONLY = ("SCRUBJAY_AGENT", "SCRUBJAY_SPACE", "SCRUBJAY_TOOLS")
_PASSED = frozenset(
    (
        *("MEMORY_DIR", "HOME", "PATH", "LANG", "LANGUAGE", "TZ", "TMPDIR", "USER", "LOGNAME", "VIRTUAL_ENV"),
        # Certificate authorities.
        *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        # The keyring that may hold the encryption key.
        *("DBUS_SESSION_BUS_ADDRESS", "PYTHON_KEYRING_BACKEND"),
        # Where sentence-transformers keeps its models, and whether it may download others.
        *("HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "SENTENCE_TRANSFORMERS_HOME", "TORCH_HOME"),
        # Python itself needs these on macOS and Windows.
        *("__CF_USER_TEXT_ENCODING", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP"),
        *("USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA"),
    )
)
_PASSED_PREFIXES = (_OWN_PREFIX, "LC_", "XDG_", "SSL_CERT_")
_PATHS = frozenset(
    (
        *("SCRUBJAY_HOME", "SCRUBJAY_INDEX_PATH", "SCRUBJAY_NOTESTORE_PATH", "SCRUBJAY_KEY_FILE"),
        *("MEMORY_DIR", "TMPDIR", "VIRTUAL_ENV"),
        *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"),
        *("HF_HOME", "HF_HUB_CACHE", "SENTENCE_TRANSFORMERS_HOME", "TORCH_HOME"),
    )
)
# The name of a model, or a folder with one: only a value that cannot be a name counts as a path.
_MODEL = "SCRUBJAY_EMBEDDING_MODEL"


def print_error(text: str) -> None:
    """Print a message for people to standard error; standard output belongs to the protocol."""
    lines = "".join(f"scrubjay: {line}\n" for line in text.splitlines())
    with suppress(OSError):  # Standard error may be closed.
        os.write(2, lines.encode(errors="backslashreplace"))


class DaemonConnector:
    """Connects to the daemon of one data folder."""

    def __init__(self, options: BridgeOptions) -> None:
        self._options = options
        self._starter = _DaemonStarter(options)
        self._reported_version = ""

    def connect(self, *, again: bool, seconds: float | None = None) -> DaemonLink:
        """Return a link to the daemon, and start one if necessary; raises DaemonUnreachable.

        `again`: the bridge had a link before.
        """
        seconds = _CONNECT_SECONDS if seconds is None else seconds
        began = time.monotonic()
        pause = _FIRST_PAUSE
        reason = "it did not listen"
        try:
            while (left := began + seconds - time.monotonic()) > 0:
                try:
                    return self._try_connect(left)
                except NoDaemon:
                    self._start_daemon(began + (_RESTART_SECONDS if again else 0.0))
                except ConnectionClosed as error:
                    reason = str(error)
                time.sleep(pause)
                pause = min(pause * 1.5, _MAX_PAUSE)
        finally:
            self._starter.release()
        raise DaemonUnreachable(f"the daemon could not be reached in {seconds:.0f} s: {reason}. {self._starter.hint}")

    def _try_connect(self, seconds: float) -> DaemonLink:
        options = self._options
        hello = {
            "space": options.space,
            "agent": options.agent,
            "project": options.project,
            "tools": options.tools,
        }
        link = connect(known_socket(options.data), hello=hello, seconds=seconds)
        if link.version not in (VERSION, self._reported_version):
            self._reported_version = link.version
            print_error(f"the daemon is Scrubjay {link.version}, this bridge is {VERSION}; they are compatible")
        return link

    def _start_daemon(self, give_up_at: float) -> None:
        if self._options.may_start:
            self._starter.start_once()
        elif time.monotonic() >= give_up_at:
            raise DaemonUnreachable(
                f"no daemon runs for {self._options.data}, and SCRUBJAY_NO_DAEMON forbids starting one. "
                "Start it with `scrubjay serve`"
            )


class _DaemonStarter:
    """Starts a daemon; of all bridges that find none, only one starts it at a time."""

    def __init__(self, options: BridgeOptions) -> None:
        self._options = options
        self._log = daemon_log(options.data)
        self._lock: int | None = None
        self._child: Popen[bytes] | None = None
        self._log_start = 0
        self._not_before = 0.0
        self.hint = f"Its log is {self._log}"

    def start_once(self) -> None:
        """Start a daemon unless one is starting; raises DaemonUnreachable if it fails to start."""
        code = None if self._child is None else self._child.poll()
        if code == _LOCKED_CODE:
            self._child, self._not_before = None, time.monotonic() + _LOCKED_SECONDS
        elif code is not None:
            self._child = None
            raise DaemonUnreachable(f"the daemon could not be started, it exited with code {code}: {self._read_log()}")
        if self._child is not None or time.monotonic() < self._not_before:
            return
        if self._lock is not None:
            self._start()
        else:
            # The previous holder of the lock may have started one: connect once more before starting.
            self._take_lock()

    def release(self) -> None:
        """Leave the daemon running, and let other bridges try."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if self._child is not None:
            import signal  # noqa: PLC0415 - as in _start

            # Without this, the exited daemon would stay in the process table, since the bridge never waits for it.
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            self._child = None

    def _take_lock(self) -> None:
        import fcntl  # noqa: PLC0415 - rarely needed, and not on every system

        try:
            self._options.data.mkdir(parents=True, exist_ok=True, mode=0o700)
            # The log serves as the lock: it exists anyway, and the daemon never locks it.
            lock = os.open(self._log, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise DaemonUnreachable(
                f"{self._log} cannot be written: {error.strerror}. Choose a folder with --data"
            ) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return
        except OSError:
            pass  # This file system has no locks: the daemon's own lock decides.
        if self._is_current(lock):
            self._lock = lock
        else:
            os.close(lock)  # The next attempt locks the new log.

    def _is_current(self, log: int) -> bool:
        """Return whether this is still the log; a long log is rotated, and replaces the one before it."""
        with suppress(OSError):  # A log that cannot be rotated keeps growing.
            stat = os.fstat(log)
            if not os.path.samestat(stat, self._log.stat()):
                return False
            if stat.st_size > _MAX_LOG:
                self._log.replace(self._log.with_name(f"{self._log.name}.old"))
                return False
        return True

    def _start(self) -> None:
        import signal  # noqa: PLC0415 - slow to load, and rarely needed
        from subprocess import DEVNULL, Popen  # noqa: PLC0415 - the same

        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        data = self._options.data
        minutes = int(_IDLE_SECONDS) // 60
        print_error(f"no daemon runs for {data}: starting one, which exits {minutes} minutes after its last client")
        command = [sys.executable, "-P", "-m", "scrubjay", "serve", "--data", str(data), "--idle", _IDLE_SECONDS]
        environment = daemon_environment(self._options.environment, folder=working_folder())
        if not environment.get("SCRUBJAY_HTTP"):
            # Every user of the machine can reach a port, and a user who connects one agent did not ask for that.
            command += ["--http", "off"]
        try:
            with self._log.open("ab") as log:
                self._log_start = log.tell()
                # The daemon must not depend on the client's folder, nor load code from it: hence `cwd`, and -P.
                self._child = Popen(  # noqa: S603 - ourselves
                    command,
                    stdin=DEVNULL,
                    stdout=DEVNULL,
                    stderr=log,
                    cwd=data,
                    env=environment,
                    start_new_session=True,
                )
        except OSError as error:
            raise DaemonUnreachable(f"the daemon could not be started: {error}") from None

    def _read_log(self) -> str:
        """Return the end of the log since the daemon was started."""
        try:
            with self._log.open("rb") as log:
                log.seek(max(self._log_start, log.seek(0, os.SEEK_END) - _LOG_TAIL))
                text = log.read().decode(errors="replace").strip()
        except OSError:
            text = ""
        return text or f"nothing is in {self._log}"


def daemon_environment(environment: Mapping[str, str], *, folder: str) -> dict[str, str]:
    """Return the variables that a daemon gets; relative paths start at `folder`, since it works in another one."""
    variables: dict[str, str] = {}
    for name, value in environment.items():
        if name in _CLIENT_ONLY:
            continue
        if name in _PASSED or name.startswith(_PASSED_PREFIXES) or name.upper().endswith("_PROXY"):
            variables[name] = _make_absolute(folder, value) if _is_path(name, value) else value
    return variables


def _is_path(name: str, value: str) -> bool:
    if name == _MODEL:
        return value.startswith(("./", "../"))
    return name in _PATHS and bool(value)


def _make_absolute(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder, os.path.expanduser(path)))  # noqa: PTH111, PTH118 - for text
