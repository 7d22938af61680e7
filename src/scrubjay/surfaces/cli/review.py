"""Decisions on a terminal: one question after the other, each answered by a key."""

import os
import shutil
import sys
import textwrap
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

import typer
from typer.core import TyperGroup

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput, NotFound, ScrubjayError, WrongState
from scrubjay.lazy import dataclass
from scrubjay.surfaces.cli.command import typed
from scrubjay.surfaces.cli.console import Span, paint, say

T = TypeVar("T")
MOST = 1_000
"""As many questions as one request can return."""
_LIST, _REVIEW = "list", "review"
# They say that a list is wanted, in a certain form.
_OF_A_LIST = frozenset(("--json", "--status", "--limit", "-n"))
_SKIP, _UNDO, _QUIT = "s", "u", "q"
_ENTER = ("\r", "\n")
_ESCAPE = "\x1b"
# Ctrl-C, and Ctrl-D, which ends an input.
_ENDS = ("\x03", "\x04")
_KEY_BYTES = 64
_COMMON = ((_SKIP, "skip"), (_UNDO, "undo"), (_QUIT, "quit"))
_MIN_WIDTH, _MAX_WIDTH = 20, 100


class ReviewGroup(TyperGroup):
    """A group that runs `review` on a terminal if no command is named, and else `list`."""

    def parse_args(self, ctx: "typer.Context", args: list[str]) -> list[str]:  # type: ignore[override]
        """Insert the default command."""
        first = args[0] if args else ""
        is_option = first.startswith("-") and first != "--help"
        if first and not is_option:
            return super().parse_args(ctx, args)
        wants_list = any(argument.partition("=")[0] in _OF_A_LIST for argument in args)
        return super().parse_args(ctx, [_LIST if wants_list or not on_terminal() else _REVIEW, *args])


def on_terminal() -> bool:
    """Return whether someone can answer; a daemon that parses a command cannot."""
    return typed.get() is None and sys.stdin.isatty() and sys.stdout.isatty()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What a decision has done, and the run that `undo` takes back."""

    text: str
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A possible answer: its key, empty for Enter; what it means; and what it does."""

    key: str
    text: str
    decide: Callable[[], Awaitable[Decided]]


class Reviewed(ABC, Generic[T]):
    """What is decided about: conflicts, or waiting memories."""

    name: str

    @abstractmethod
    async def load(self) -> Sequence[T]:
        """Return what waits for a decision, up to `MOST`."""

    @abstractmethod
    async def is_open(self, item: T) -> bool:
        """Return whether it still waits: an earlier decision may have settled it too."""

    @abstractmethod
    def id_of(self, item: T) -> str:
        """Return its id."""

    @abstractmethod
    def describe(self, item: T) -> Sequence[tuple[Span, str]]:
        """Return its parts: each has a head, and a text of any length."""

    @abstractmethod
    def choices(self, item: T) -> Sequence[Choice]:
        """Return the possible answers."""


async def review(client: MemoryClient, reviewed: Reviewed[T]) -> str:
    """Ask about one after the other until nothing is left or the user quits; return what was done."""
    if not on_terminal():
        raise InvalidInput("a review needs a terminal", hint="`list` prints what waits; others decide by an id")
    with _keys_at_once():
        return await _Review(client, reviewed).run()


class _Review(Generic[T]):
    def __init__(self, client: MemoryClient, reviewed: Reviewed[T]) -> None:
        self._client = client
        self._reviewed = reviewed
        self._waiting: deque[T] = deque()
        self._seen: set[str] = set()
        self._decided: list[tuple[T, Decided]] = []
        self._skipped = 0
        self._keys: deque[str] = deque()

    async def run(self) -> str:
        has_quit = False
        while not has_quit and await self._refill():
            item = self._waiting[0]
            if await self._reviewed.is_open(item):
                has_quit = not await self._ask(item)
            else:
                self._waiting.popleft()
        return await self._summarize()

    async def _refill(self) -> bool:
        if not self._waiting:
            loaded = await self._reviewed.load()
            self._waiting.extend(item for item in loaded if self._reviewed.id_of(item) not in self._seen)
            self._seen.update(map(self._reviewed.id_of, loaded))
        return bool(self._waiting)

    async def _ask(self, item: T) -> bool:
        """Ask until the question is answered; return False if the user quits."""
        self._show(item)
        choices = {choice.key: choice for choice in self._reviewed.choices(item)}
        while True:
            key = self._read_key()
            if key == _QUIT:
                return False
            if key == _SKIP:
                self._waiting.popleft()
                self._skipped += 1
                return True
            if key == _UNDO:
                if await self._undo():
                    return True
            elif (choice := choices.get(key)) is not None:
                if await self._decide(item, choice):
                    return True
            else:
                self._show_keys(item)

    async def _decide(self, item: T, choice: Choice) -> bool:
        try:
            decision = await choice.decide()
        except (NotFound, WrongState) as error:
            say(f"error: {error}")
            self._waiting.popleft()
            return True
        except ScrubjayError as error:
            say(f"error: {error}")
            return False
        paint([(f"  {decision.text}", "green")])
        if not decision.run:
            return False
        self._waiting.popleft()
        self._decided.append((item, decision))
        return True

    async def _undo(self) -> bool:
        """Take the last decision back and ask again; return whether there is one."""
        if not self._decided:
            say("  there is nothing to undo")
            return False
        item, decision = self._decided[-1]
        try:
            undone = await self._client.undo(run=decision.run)
        except ScrubjayError as error:
            say(f"error: {error}")
            return False
        for reason in undone.skipped:
            say(f"  skipped: {reason}")
        self._decided.pop()
        if undone.skipped and not undone.done:
            return False
        paint([("  undone", "yellow")])
        self._waiting.appendleft(item)
        return True

    def _show(self, item: T) -> None:
        number = len(self._decided) + self._skipped + 1
        total = number + len(self._waiting) - 1
        more = " or more" if len(self._waiting) >= MOST else ""
        say("")
        paint([(f"{self._reviewed.name} {number:,} of {total:,}{more}", "bold")])
        for (head, style), text in self._reviewed.describe(item):
            for line in _wrapped(head, indent=""):
                paint([(line, style)])
            for line in _wrapped(text, indent="  "):
                say(line)
        self._show_keys(item)

    def _show_keys(self, item: T) -> None:
        choices = [(choice.key or "Enter", choice.text) for choice in self._reviewed.choices(item)]
        keys = [f"{key}: {text}" for key, text in (*choices, *_COMMON)]
        # A line break inside of a choice would be hard to read.
        for line in _wrapped("  ".join(key.replace(" ", "\0") for key in keys), indent=""):
            paint([(line.replace("\0", " "), "cyan")])

    def _read_key(self) -> str:
        """Return the next key; "" is Enter, and who interrupts or closes the input quits."""
        sys.stdout.flush()
        while not self._keys:
            keys = _read_keys()
            if keys.startswith(_ESCAPE):
                # A key such as an arrow begins with it.
                keys = _QUIT if keys == _ESCAPE else ""
            self._keys.extend(keys)
        key = self._keys.popleft().lower()
        if key in _ENDS:
            return _QUIT
        return "" if key in _ENTER else key

    async def _summarize(self) -> str:
        count = len(await self._reviewed.load())
        left = "nothing is left" if not count else f"{count:,}{' or more' if count >= MOST else ''} left"
        return f"decided {len(self._decided):,}, skipped {self._skipped:,}; {left}"


@contextmanager
def _keys_at_once() -> Generator[None]:
    """Let keys arrive as they are typed, those that interrupt too, and show none; not only while one is awaited."""
    if sys.platform == "win32":
        yield
        return
    import termios  # noqa: PLC0415 - not available on Windows

    before = termios.tcgetattr(sys.stdin.fileno())
    mode = list(before)
    mode[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
    termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, mode)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)


def _read_keys() -> str:
    if sys.platform == "win32":
        try:
            return typer.getchar()
        except (KeyboardInterrupt, EOFError):
            return _QUIT
    return os.read(sys.stdin.fileno(), _KEY_BYTES).decode(errors="ignore") or _QUIT


def _wrapped(text: str, *, indent: str) -> list[str]:
    width = min(max(shutil.get_terminal_size().columns - 1, _MIN_WIDTH), _MAX_WIDTH)
    return [
        part
        for line in text.splitlines()
        for part in textwrap.wrap(line, width, initial_indent=indent, subsequent_indent=indent) or [""]
    ]
