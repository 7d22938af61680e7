"""Reaching the daemon of a data folder, and starting one where none runs."""

import os
import sys
import time
from contextlib import suppress

from scrubjay.paths import daemon_log, known_socket
from scrubjay.surfaces.mcp.bridge.link import HungUp, Link, NobodyThere, Unreachable, connect
from scrubjay.surfaces.mcp.bridge.options import Options, working_folder
from scrubjay.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen

_PATIENCE = 30.0
_FIRST_LOOK, _LONGEST_LOOK = 0.005, 0.1
# A daemon that somebody else runs and restarts gets this long to come back.
_RETURN = 3.0
# A daemon leaves with this code when another holds the lock; that one may be about to leave too.
_ANOTHER_RUNS = 75
_RIVAL = 5.0
_IDLE = "600"
_LAST_WORDS = 1000
_LONGEST_LOG = 1024 * 1024


def say(text: str) -> None:
    """Tell a person something; standard output belongs to the protocol."""
    told = "".join(f"scrubjay: {line}\n" for line in text.splitlines())
    with suppress(OSError):  # Nobody listens.
        os.write(2, told.encode(errors="backslashreplace"))


class Doorway:
    """The way to one data folder's daemon."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._starter = _Starter(options)
        self._noted = ""

    def enter(self, *, again: bool, patience: float | None = None) -> Link:
        """A link to the daemon, which is started if need be; raises Unreachable. `again`: there was one before."""
        patience = _PATIENCE if patience is None else patience
        began = time.monotonic()
        look = _FIRST_LOOK
        trouble = "it did not listen"
        try:
            while (left := began + patience - time.monotonic()) > 0:
                try:
                    return self._greeted(left)
                except NobodyThere:
                    self._have_started(began + (_RETURN if again else 0.0))
                except HungUp as error:
                    trouble = str(error)
                time.sleep(look)
                look = min(look * 1.5, _LONGEST_LOOK)
        finally:
            self._starter.let_go()
        raise Unreachable(f"the daemon could not be reached in {patience:.0f} s: {trouble}. {self._starter.hint}")

    def _greeted(self, seconds: float) -> Link:
        options = self._options
        hello = {
            "space": options.space,
            "agent": options.agent,
            "project": options.project,
            "tools": options.tools,
        }
        link = connect(known_socket(options.data), hello=hello, seconds=seconds)
        if link.version not in (VERSION, self._noted):
            self._noted = link.version
            say(f"the daemon is Scrubjay {link.version}, this bridge is {VERSION}; they understand each other")
        return link

    def _have_started(self, until: float) -> None:
        if self._options.may_start:
            self._starter.keep_trying()
        elif time.monotonic() >= until:
            raise Unreachable(
                f"no daemon runs for {self._options.data}, and SCRUBJAY_NO_DAEMON forbids to start one. "
                "Start it with `scrubjay serve`"
            )


class _Starter:
    """Starts a daemon, one at a time among all the bridges that find none."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._log = daemon_log(options.data)
        self._lock: int | None = None
        self._child: Popen[bytes] | None = None
        self._log_starts = 0
        self._not_before = 0.0
        self.hint = f"Its log is {self._log}"

    def keep_trying(self) -> None:
        """Start a daemon unless one is on its way; raises Unreachable when it cannot be."""
        code = None if self._child is None else self._child.poll()
        if code == _ANOTHER_RUNS:
            self._child, self._not_before = None, time.monotonic() + _RIVAL
        elif code is not None:
            self._child = None
            raise Unreachable(f"the daemon could not be started, it left with code {code}: {self._last_words()}")
        if self._child is not None or time.monotonic() < self._not_before:
            return
        if self._lock is not None:
            self._start()
        else:
            # Whoever had its turn before may have started one since we looked: start only after another look.
            self._take_turn()

    def let_go(self) -> None:
        """Leave the daemon to itself, and let other bridges try."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if self._child is not None:
            import signal  # noqa: PLC0415 - as in _start

            # Nobody will ask how it ended; without this it would then stay in the list of processes.
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            self._child = None

    def _take_turn(self) -> None:
        import fcntl  # noqa: PLC0415 - rarely needed, and not on every system

        try:
            self._options.data.mkdir(parents=True, exist_ok=True, mode=0o700)
            # The log serves as the lock: it is there anyway, and the daemon never locks it.
            lock = os.open(self._log, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise Unreachable(f"{self._log} cannot be written: {error.strerror}. Choose a folder with --data") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return
        except OSError:
            pass  # This disk has no locks: the daemon's own decides.
        if self._is_current(lock):
            self._lock = lock
        else:
            os.close(lock)  # The next look takes a turn with the new log.

    def _is_current(self, log: int) -> bool:
        """Whether this is the log to go on with; a long one is put aside, in the place of the one before it."""
        with suppress(OSError):  # One that cannot be put aside goes on growing.
            found = os.fstat(log)
            if not os.path.samestat(found, self._log.stat()):
                return False
            if found.st_size > _LONGEST_LOG:
                self._log.replace(self._log.with_name(f"{self._log.name}.old"))
                return False
        return True

    def _start(self) -> None:
        import signal  # noqa: PLC0415 - slow to load, and rarely needed
        from subprocess import DEVNULL, Popen  # noqa: PLC0415 - the same

        from scrubjay.surfaces.mcp.bridge.environment import daemon_environment  # noqa: PLC0415 - the same

        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        data = self._options.data
        say(f"no daemon runs for {data}: starting one, which leaves {int(_IDLE) // 60} minutes after its last client")
        command = [sys.executable, "-P", "-m", "scrubjay", "serve", "--data", str(data), "--idle", _IDLE]
        environment = daemon_environment(self._options.environment, folder=working_folder())
        if not environment.get("SCRUBJAY_HTTP"):
            # Every user of the machine can reach a port; to connect one agent is no wish to let them in.
            command += ["--http", "off"]
        try:
            with self._log.open("ab") as log:
                self._log_starts = log.tell()
                # Neither the client's folder nor what lies in it is the daemon's business: hence the folder, and -P.
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
            raise Unreachable(f"the daemon could not be started: {error}") from None

    def _last_words(self) -> str:
        """The end of what the daemon has logged since it was started."""
        try:
            with self._log.open("rb") as log:
                log.seek(max(self._log_starts, log.seek(0, os.SEEK_END) - _LAST_WORDS))
                said = log.read().decode(errors="replace").strip()
        except OSError:
            said = ""
        return said or f"nothing is in {self._log}"
