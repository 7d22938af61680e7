"""A command that the daemon carries out: this side sends what was typed, and prints the answer.

It imports the standard library only, because every command waits for its imports.
"""

import json
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import BinaryIO, cast

from scrubjay.paths import data_folder, known_socket
from scrubjay.rpc.peercred import is_owned_by
from scrubjay.surfaces.cli.console import print_error, print_line, print_spans
from scrubjay.version import PROTOCOL, VERSION

SPEAKS = "commands"
SERVED = frozenset(
    {
        "remember", "recall", "read", "revise", "forget", "restore", "confirm", "relate", "unrelate", "undo", "context",
        "due", "summarize", "usage", "status", "spaces", "health", "list", "history", "log", "diff", "commit", "revert",
        "branch", "branches", "switch", "merge-branch", "drop-branch", "related", "graph", "path", "rules", "tags",
        "inbox", "conflicts", "skill", "jobs", "notes", "tokens",
    }
)  # fmt: skip
"""The commands, and groups of commands, of which a daemon carries out some."""
ALIASES = {"add": "remember", "search": "recall", "show": "read", "delete": "forget"}
"""Other names of commands, as people know them from other programs."""
# On a terminal they ask, so that their own process must carry them out.
_REVIEWED = frozenset({"conflicts", "inbox"})
SENT_VARIABLES = ("SCRUBJAY_SPACE", "SCRUBJAY_AGENT")
# With these, a command goes elsewhere, or is not a command.
_ELSEWHERE = ("SCRUBJAY_URL", "SCRUBJAY_TOKEN")
_COMPLETE = "_SCRUBJAY_COMPLETE"
_TIMEOUT = 120.0
# Completion waits no longer: people go on typing.
_PATIENCE = 2.0
_BASH, _ZSH, _FISH = "complete_bash", "complete_zsh", "complete_fish"
_INTERRUPTED = 130
_INTERRUPTION = "interrupted; a change that the daemon has accepted is still made: `scrubjay undo` takes it back"
_DATA = "--data"

Frame = dict[str, object]


def run_by_daemon(arguments: Sequence[str]) -> int | None:
    """Let the daemon carry out a command; return its exit code. None: this process must do it, nothing was done."""
    if _COMPLETE in os.environ:
        return _complete(os.environ[_COMPLETE])
    arguments = [*(ALIASES.get(name, name) for name in arguments[:1]), *arguments[1:]]
    if not _may_be_served(arguments) or any(os.environ.get(name) for name in _ELSEWHERE):
        return None
    folder = _named_folder(arguments)
    try:
        data = data_folder(folder)
    except RuntimeError:
        # There is no home folder, as the command that this process carries out says.
        return None
    sent: Frame = {
        "arguments": list(arguments),
        "folder": folder,
        "data": str(data),
        "run": _new_run(),
        "environment": {name: os.environ[name] for name in SENT_VARIABLES if name in os.environ},
    }
    try:
        return _carried_out(arguments, sent, data=data)
    except KeyboardInterrupt:
        sys.stderr.write(f"\n{_INTERRUPTION}\n")
        return _INTERRUPTED


def _carried_out(arguments: Sequence[str], sent: Frame, *, data: Path) -> int | None:
    try:
        answer, peer = _exchange(str(known_socket(data)), sent)
        if answer is not None and "stdin" in answer:
            answer, peer = _exchange(str(known_socket(data)), sent | {"stdin": _read_stdin()})
    except (OSError, ValueError):
        # No daemon runs, or the input is not UTF-8: the command that this process carries out says so.
        return None
    if answer is None:
        return _explain_loss(arguments, run=str(sent["run"]), peer=peer)
    return None if answer.get("local") else _print(answer)


def _complete(instruction: str) -> int | None:
    """Print what the shell offers; None: the command line must do it, which knows nothing of the store."""
    words, incomplete = _typed_words(instruction)
    if words is None or sys.platform == "win32":
        return None
    from scrubjay.surfaces.cli.completion import find_place  # noqa: PLC0415 - not for other commands

    place = find_place(words, incomplete)
    labels = _labels_of_daemon(place.field, place.prefix, words=words) if place and place.field else []
    if place is None or labels is None:
        return None
    return _print_offers(instruction, place.with_labels(labels))


def _labels_of_daemon(field: str, prefix: str, *, words: Sequence[str]) -> list[str] | None:
    """Return the labels of a field that begin with a prefix; None if there is no daemon."""
    if any(os.environ.get(name) for name in _ELSEWHERE):
        return None
    environment = {name: os.environ[name] for name in SENT_VARIABLES if name in os.environ}
    sent: Frame = {"arguments": list(words), "labels": field, "prefix": prefix, "environment": environment}
    try:
        answer, _ = _exchange(str(known_socket(data_folder(_named_folder(words)))), sent, seconds=_PATIENCE)
    except (OSError, ValueError, RuntimeError):
        return None
    return cast("list[str] | None", answer.get("labels")) if answer else None


def _print_offers(instruction: str, offers: Sequence[tuple[str, str]]) -> int:
    if instruction == _BASH:
        sys.stdout.write("".join(f"{_escape_for_bash(word)}\n" for word, _ in offers))
    elif instruction == _ZSH:
        lines = [
            f'"{_escape_for_zsh(word)}"' + (f':"{_escape_for_zsh(text)}"' if text else "") for word, text in offers
        ]
        sys.stdout.write("_arguments '*: :((" + "\n".join(lines) + "))'\n" if lines else "_files\n")
    elif os.environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
        # Without arguments, it offers files.
        return 0 if offers else 1
    else:
        sys.stdout.write("".join(f"{word}\t{' '.join(text.split())}\n" for word, text in offers))
    return 0


def _typed_words(instruction: str) -> tuple[list[str] | None, str]:
    """Return the words that are typed and the incomplete one, as the script of Typer for each shell passes them."""
    import shlex  # noqa: PLC0415 - not for other commands

    try:
        if instruction == _BASH:
            words, number = _split(os.environ["COMP_WORDS"], shlex.split), int(os.environ["COMP_CWORD"])
            return words[1:number], words[number] if number < len(words) else ""
        if instruction in (_ZSH, _FISH):
            text = os.environ["_TYPER_COMPLETE_ARGS"]
            words = _split(text, shlex.split)[1:]
            return (words, "") if text.endswith(" ") or not words else (words[:-1], words[-1])
    except (KeyError, ValueError):
        pass
    return None, ""


def _split(text: str, split: Callable[[str], list[str]]) -> list[str]:
    try:
        return split(text)
    except ValueError:
        # A quotation mark that is not closed yet.
        return text.split()


def _escape_for_bash(word: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "_-./:@%+,=" else f"\\{letter}" for letter in word)


def _escape_for_zsh(text: str) -> str:
    for old, new in (('"', '""'), ("'", "''"), ("$", "\\$"), ("`", "\\`"), (":", "\\\\:")):
        text = text.replace(old, new)
    return text


def running_pid(data: Path) -> int | None:
    """Return the process of the daemon of a data folder; None if none runs."""
    try:
        with _connect(str(known_socket(data))) as connection, cast("BinaryIO", connection.makefile("rwb")) as stream:
            greeting = _ask(stream, {"scrubjay": VERSION, "protocol": PROTOCOL, "speak": SPEAKS})
    except (OSError, ValueError):
        return None
    pid = greeting.get("pid") if greeting else None
    return int(pid) if isinstance(pid, int | str) else None


def _may_be_served(arguments: Sequence[str]) -> bool:
    is_served = bool(arguments) and arguments[0] in SERVED and "--help" not in arguments
    if not is_served or sys.platform == "win32" or sys.stdin is None or sys.stdout is None:
        return False
    may_ask = arguments[0] in _REVIEWED and (len(arguments) == 1 or arguments[1].startswith("-"))
    return not (may_ask and sys.stdin.isatty() and sys.stdout.isatty())


def _named_folder(arguments: Sequence[str]) -> str | None:
    """Return the folder that seems to be named; the daemon checks that it is its own."""
    for number, argument in enumerate(arguments):
        if argument == _DATA and number + 1 < len(arguments):
            return arguments[number + 1]
        if argument.startswith(f"{_DATA}="):
            return argument.removeprefix(f"{_DATA}=")
    return None


def _exchange(path: str, frame: Frame, *, seconds: float = _TIMEOUT) -> tuple[Frame | None, str]:
    """Return the answer of the daemon, None if it went away while it worked, and the id of its process."""
    with _connect(path, seconds=seconds) as connection, cast("BinaryIO", connection.makefile("rwb")) as stream:
        greeting = _ask(stream, {"scrubjay": VERSION, "protocol": PROTOCOL, "speak": SPEAKS})
        if greeting is None or greeting.get("scrubjay") != VERSION or "error" in greeting:
            # It has another version, or another language: its process explains it.
            return {"local": True}, ""
        try:
            return _ask(stream, frame), str(greeting.get("pid", ""))
        except OSError:
            return None, str(greeting.get("pid", ""))


def _connect(path: str, *, seconds: float = _TIMEOUT) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(seconds)
        connection.connect(path)
        if is_owned_by(connection, os.getuid()):
            return connection
    except BaseException:
        connection.close()
        raise
    connection.close()
    raise ConnectionRefusedError(path)


def _ask(stream: BinaryIO, frame: Mapping[str, object]) -> Frame | None:
    stream.write(json.dumps(frame, separators=(",", ":")).encode() + b"\n")
    stream.flush()
    line = stream.readline()
    return cast("Frame", json.loads(line)) if line.endswith(b"\n") else None


def _read_stdin() -> str:
    """Return standard input. It can be read once more, by the command that this process may have to carry out."""
    raw = sys.stdin.buffer.read()
    sys.stdin = TextIOWrapper(BytesIO(raw), encoding=sys.stdin.encoding)
    return raw.decode("utf-8")


def _print(answer: Frame) -> int:
    for line in cast("list[str | list[list[str]]]", answer.get("lines", [])):
        if isinstance(line, str):
            print_line(line)
        else:
            print_spans([(text, style) for text, style in line])
    sys.stdout.write(str(answer.get("json", "")))
    print_error(str(answer.get("error", "")))
    return int(cast("int", answer.get("exit", 0)))


def _new_run() -> str:
    """Return an id of this change, by which the daemon tells whether it was written."""
    digits = os.urandom(16).hex()
    return "-".join(_pieces(digits, (8, 4, 4, 4, 12)))


def _pieces(text: str, sizes: Sequence[int]) -> Iterator[str]:
    start = 0
    for size in sizes:
        yield text[start : start + size]
        start += size


def _explain_loss(arguments: Sequence[str], *, run: str, peer: str) -> int | None:
    # Loaded on demand: a daemon rarely goes away while it works.
    from scrubjay.surfaces.cli.served import explain_loss  # noqa: PLC0415

    return explain_loss(arguments, run=run, peer=peer)
