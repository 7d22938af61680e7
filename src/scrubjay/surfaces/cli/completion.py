"""What a shell offers where a command line ends, from a table that `make docs` writes: commands, options and choices.

It imports the standard library only, because people wait for it while they type.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict, cast

TABLE = Path(__file__).with_name("completion.json")
Offer = tuple[str, str]
"""A word, and what it means."""
_HELP: Offer = ("--help", "Show this message and exit.")


class ShownValue(TypedDict, total=False):
    """A value that is typed: one of `choices`, or a name or label of the store, of this field."""

    choices: list[str]
    field: str


class ShownOption(ShownValue):
    """An option with all of its names; `takes` if a value follows."""

    names: list[str]
    help: str
    takes: bool


class ShownArgument(ShownValue):
    """A value without the name of an option; `repeats` if several may follow each other."""

    repeats: bool


class ShownCommand(TypedDict):
    """A command, or a group of them with each name and its meaning."""

    commands: list[Offer]
    options: list[ShownOption]
    arguments: list[ShownArgument]


class CompletionPlace(NamedTuple):
    """Where a command line ends: the offers that begin with `prefix`, or the labels of `field`, all after `start`."""

    offers: tuple[Offer, ...]
    field: str = ""
    prefix: str = ""
    start: str = ""

    def with_labels(self, labels: Sequence[str]) -> tuple[Offer, ...]:
        """Return what a shell offers, with labels of the field."""
        offers = (*self.offers, *((label, "") for label in labels))
        return tuple((f"{self.start}{word}", meaning) for word, meaning in offers)


def find_place(arguments: Sequence[str], incomplete: str) -> CompletionPlace | None:
    """Return where the arguments and an incomplete word end; None: only the command line knows."""
    try:
        table = cast("dict[str, ShownCommand]", json.loads(TABLE.read_bytes()))
    except (OSError, ValueError):
        return None
    if "" not in table:
        return None
    # Shells split `--tag=work` in different ways.
    words = [word for word in arguments if word != "="]
    start = ""
    if incomplete == "=":
        incomplete = ""
    elif incomplete.startswith("--") and "=" in incomplete:
        name, _, incomplete = incomplete.partition("=")
        words, start = [*words, name], f"{name}="
    place = _find_in(table, words, incomplete)
    offers = tuple(offer for offer in place.offers if offer[0].startswith(incomplete))
    return CompletionPlace(offers, place.field, incomplete, start)


def _find_in(table: dict[str, ShownCommand], words: Sequence[str], incomplete: str) -> CompletionPlace:
    path, rest = "", list(words)
    while rest and table[path]["commands"]:
        word = rest.pop(0)
        if word.startswith("-"):
            continue
        path = f"{path} {word}".strip()
        if path not in table:
            return CompletionPlace(())
    command = table[path]
    options = {name: option for option in command["options"] for name in option["names"]}
    if rest and (taking := options.get(rest[-1])) and taking["takes"]:
        return _place_of(taking)
    if incomplete.startswith("-"):
        return CompletionPlace((*((name, option["help"]) for name, option in options.items()), _HELP))
    if command["commands"]:
        return CompletionPlace(tuple((name, meaning) for name, meaning in command["commands"]))
    return _next_argument(command["arguments"], typed=_count_values(rest, options))


def _next_argument(arguments: Sequence[ShownArgument], *, typed: int) -> CompletionPlace:
    if typed < len(arguments):
        return _place_of(arguments[typed])
    return _place_of(arguments[-1]) if arguments and arguments[-1]["repeats"] else CompletionPlace(())


def _place_of(value: ShownValue) -> CompletionPlace:
    offers = tuple((choice, "") for choice in value.get("choices", ()))
    return CompletionPlace(offers, value.get("field", ""))


def _count_values(words: Sequence[str], options: dict[str, ShownOption]) -> int:
    """Return how many of the words are neither options nor their values."""
    befores = ("", *words)
    return sum(
        not word.startswith("-") and not (before in options and options[before]["takes"])
        for before, word in zip(befores, words, strict=False)
    )
