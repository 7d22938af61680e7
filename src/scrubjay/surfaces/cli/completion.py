"""What a shell offers where a command line ends: commands, options, and the names and labels of the memory."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any, Protocol

from scrubjay.lazy import dataclass

Offer = tuple[str, str]
"""A word, and what it means."""
_OPTION = "option"
# The labels that a parameter takes, by its name.
_LABELS = {
    **dict.fromkeys(("tag", "tags", "any_tag"), "tag"),
    **{field: field for field in ("session", "project", "category", "entity", "kind", "space")},
    "memory": "name",
}
_NAMED = frozenset(("id", "ids", "identifier", "note", "source", "target"))
# Their ids are not those of memories.
_OTHER_IDS = frozenset(("conflicts", "jobs"))


class LabelSource(Protocol):
    """The names and labels of a memory."""

    async def labels(self, field: str, prefix: str) -> Sequence[str]:
        """Return the labels of a field that begin with a prefix."""
        ...


@dataclass(frozen=True, slots=True)
class CompletionPlace:
    """Where a command line ends: at a word of a list, at the name of an option, or at the value of a parameter."""

    words: tuple[Offer, ...]
    _: KW_ONLY
    field: str = ""


async def complete(root: Any, arguments: Sequence[str], incomplete: str, source: LabelSource) -> list[Offer]:
    """Return what can follow the arguments in place of an incomplete word."""
    # Shells split `--tag=work` in different ways.
    words = [word for word in arguments if word != "="]
    start = ""
    if incomplete == "=":
        incomplete = ""
    elif incomplete.startswith("--") and "=" in incomplete:
        name, _, incomplete = incomplete.partition("=")
        words, start = [*words, name], f"{name}="
    place = _find_place(root, words, incomplete)
    offers = [(word, meaning) for word, meaning in place.words if word.startswith(incomplete)]
    if place.field:
        offers += [(label, "") for label in await source.labels(place.field, incomplete)]
    return [(f"{start}{word}", meaning) for word, meaning in offers]


def _find_place(root: Any, words: Sequence[str], incomplete: str) -> CompletionPlace:
    command, rest = root, list(words)
    while rest and hasattr(command, "commands"):
        word = rest.pop(0)
        if word.startswith("-"):
            continue
        if word not in command.commands:
            return CompletionPlace(())
        command = command.commands[word]
    options = [parameter for parameter in command.params if parameter.param_type_name == _OPTION]
    last = rest[-1] if rest else ""
    taking = next((option for option in options if last in option.opts and not option.is_flag), None)
    if taking is not None:
        return _value(taking, field=_LABELS.get(taking.name, ""))
    if incomplete.startswith("-"):
        return CompletionPlace(tuple(_option_names(options)))
    if hasattr(command, "commands"):
        return CompletionPlace(
            tuple((name, command.commands[name].get_short_help_str(80)) for name in command.commands)
        )
    positional = [parameter for parameter in command.params if parameter.param_type_name != _OPTION]
    position = len(_positional(rest, options))
    if positional:
        # The last one may take several.
        chosen = positional[min(position, len(positional) - 1)]
        is_name = chosen.name in _NAMED and words[0] not in _OTHER_IDS
        if position < len(positional) or chosen.nargs < 0:
            return _value(chosen, field="name" if is_name else _LABELS.get(chosen.name, ""))
    return CompletionPlace(())


def _value(parameter: Any, *, field: str) -> CompletionPlace:
    choices = str(parameter.metavar or "").split("|")
    if len(choices) > 1:
        return CompletionPlace(tuple((choice, "") for choice in choices))
    return CompletionPlace((), field=field)


def _option_names(options: Sequence[Any]) -> Iterator[Offer]:
    for option in options:
        for name in (*option.opts, *option.secondary_opts):
            if name.startswith("--"):
                yield name, str(option.help or "")
    yield "--help", "Show this message and exit."


def _positional(words: Sequence[str], options: Sequence[Any]) -> list[str]:
    """Return the words that are neither options nor their values."""
    taking = {name for option in options if not option.is_flag for name in option.opts}
    values: list[str] = []
    before = ""
    for word in words:
        if not word.startswith("-") and before not in taking:
            values.append(word)
        before = word
    return values
