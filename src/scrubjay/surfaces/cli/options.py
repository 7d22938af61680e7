"""Options and positional arguments of a command, made from the arguments of its request."""

import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypedDict, Union, cast, get_args, get_origin

import typer
from typer.models import OptionInfo

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.arguments import Argument, ArgumentGroup, Request, Unset, arguments_of

# The standard input of the user, where a daemon carries out a command.
sent_stdin: ContextVar[str | None] = ContextVar("sent_stdin", default=None)
_NEVER = "never"
STDIN = "-"
_SIMPLE: tuple[object, ...] = (bool, int, float, Path)
_AS_TEXT: tuple[object, ...] = (str, datetime)


class Differences(TypedDict, total=False):
    """Where the options of a command differ from the arguments of its request.

    `omits`: arguments without an option. `reads`: those for which `-` means standard input. `defaults` and `helps`:
    other defaults and descriptions.
    """

    omits: Sequence[str]
    reads: Sequence[str]
    defaults: Mapping[str, object]
    helps: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of an argument; `group` is the argument that it is a part of, `shown` its name in messages."""

    argument: Argument
    group: str = ""
    name: str
    shown: str
    parameter: inspect.Parameter
    reads: bool = False

    def value(self, typed: object) -> object:
        """Return the value of the argument for what was typed."""
        if self.reads and typed == STDIN:
            return read_stdin()
        if typed == _NEVER and _can_be_cancelled(self.argument):
            return None
        return parse_object(str(typed), name=self.shown) if _is_object(_type_of(self.argument)) else typed


class RequestOptions:
    """The options of a command: those of its request, and its own, which replace those of the same name."""

    def __init__(
        self, request: type[Request[object]] | None, own: Sequence[inspect.Parameter], differences: Differences
    ) -> None:  # fmt: skip
        self.request = request
        replaced = {parameter.name: parameter for parameter in own}
        arguments = arguments_of(request) if request else ()
        made = list(_make_options(arguments, differences, without=replaced))
        self._options = [option for option in made if isinstance(option, Option)]
        placed = [option.parameter if isinstance(option, Option) else replaced[option] for option in made]
        names = {parameter.name for parameter in placed}
        placed += [parameter for parameter in own if parameter.name not in names]
        self.parameters = sorted(placed, key=_is_option)
        self.names = {option.argument.name: option.shown for option in self._options}
        self.names |= {name: _shown(parameter) for name, parameter in replaced.items()}
        self.reads = tuple(option.name for option in self._options if option.reads)
        self.names_files = any(parameter.annotation is Path for parameter in placed)

    def make(self, values: Mapping[str, object]) -> Callable[..., Request[object]]:
        """Return the function that makes the request from what was typed and from further arguments."""

        def make(**changes: object) -> Request[object]:
            if self.request is None:
                raise TypeError("the command has no request")
            typed: dict[str, Any] = {}
            for option in self._options:
                value = values.get(option.name)
                if value is not None and value not in ([], option.argument.default):
                    into = typed.setdefault(option.group, {}) if option.group else typed
                    into[option.argument.name] = option.value(value)
            return self.request.of(**{**typed, **changes})

        return make


def read_stdin() -> str:
    """Return the text on standard input."""
    if (sent := sent_stdin.get()) is not None:
        return sent
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"standard input is not UTF-8 at byte {error.start}", hint="Convert it first, for example with iconv"
        ) from None


def parse_object(text: str, *, name: str) -> dict[str, object]:
    """Return the object that an option has as JSON."""
    hint = f"""For example {name} '{{"source": "mail"}}'"""
    try:
        parsed: object = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"{name} is not JSON: {error}", hint=hint) from None
    if not isinstance(parsed, dict):
        raise InvalidInput(f"{name} must be a JSON object", hint=hint)
    return cast("dict[str, object]", parsed)


def _make_options(
    arguments: Sequence[Argument], differences: Differences, *, without: Mapping[str, object], group: str = ""
) -> Iterator[Option | str]:
    """Yield the options in order, and the name for an argument that the command replaces."""
    for argument in arguments:
        kind = _type_of(argument)
        if argument.name in without:
            yield argument.name
        elif argument.name in differences.get("omits", ()):
            continue
        elif isinstance(kind, type) and issubclass(kind, ArgumentGroup):
            yield from _make_options(arguments_of(kind), differences, without=without, group=argument.name)
        elif (option := _make_option(argument, differences, group=group)) is not None:
            yield option


def _make_option(argument: Argument, differences: Differences, *, group: str) -> Option | None:
    kind = _typed_as(argument)
    if kind is None:
        return None
    about = argument.about
    default = differences.get("defaults", {}).get(argument.name, _default(argument))
    reads = argument.name in differences.get("reads", ())
    text = _help(argument, differences, reads=reads)
    if about.positional:
        name = shown = about.metavar.lower() or argument.name.removesuffix("_id")
        info = typer.Argument(default, help=text, show_default=False)
    else:
        flags = about.flags.split() or [_flag(argument)]
        shown = flags[0].split("/")[0]
        name = argument.name if "/" in flags[0] else shown.removeprefix("--").replace("-", "_")
        info = typer.Option(default, *flags, help=text, metavar=_metavar(argument))
    parameter = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=info, annotation=kind)
    return Option(argument=argument, group=group, name=name, shown=shown, parameter=parameter, reads=reads)


def _help(argument: Argument, differences: Differences, *, reads: bool) -> str:
    text = differences.get("helps", {}).get(argument.name, argument.about.help)
    if reads:
        text = f"{text.removesuffix('.')}; `-` reads standard input."
    return text.replace("null", f"`{_NEVER}`") if _can_be_cancelled(argument) else text


def _flag(argument: Argument) -> str:
    words = argument.name.replace("_", "-")
    is_switch = _type_of(argument) is bool and argument.default is not False
    return f"--{words}/--no-{words}" if is_switch else f"--{words}"


def _default(argument: Argument) -> object:
    """Return the default to show: none for a value that is empty, or left out."""
    if argument.is_required:
        return ...
    default = argument.default
    return default if isinstance(default, bool | int | float | str) else None


def _metavar(argument: Argument) -> str | None:
    if argument.about.metavar:
        return argument.about.metavar
    kind = _type_of(argument)
    if kind is datetime:
        return "TIME"
    return "JSON" if _is_object(kind) else "|".join(filter(None, argument.choices)) or None


def _typed_as(argument: Argument) -> object:
    """Return the type of what is typed for an argument; None if the command line has no form for it."""
    kind = _type_of(argument)
    if get_origin(kind) is tuple:
        return list[str] if get_args(kind)[0] is str or argument.choices else None
    if kind in _SIMPLE:
        return kind
    return str if kind in _AS_TEXT or argument.choices or _is_object(kind) else None


def _type_of(argument: Argument) -> object:
    """Return its type without the ways to leave it out; None if there are several."""
    accepted = [kind for kind in _members(argument.type) if kind is not NoneType and kind is not Unset]
    return accepted[0] if len(accepted) == 1 else None


def _members(kind: object) -> tuple[object, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _can_be_cancelled(argument: Argument) -> bool:
    """Return whether it is a time of which None is a value of its own."""
    members = _members(argument.type)
    return datetime in members and NoneType in members and Unset in members


def _is_object(kind: object) -> bool:
    return get_origin(kind) is Mapping


def _is_option(parameter: inspect.Parameter) -> bool:
    return isinstance(parameter.default, OptionInfo) or _own_option(parameter) is not None


def _own_option(parameter: inspect.Parameter) -> OptionInfo | None:
    parts = getattr(parameter.annotation, "__metadata__", ())
    return next((part for part in parts if isinstance(part, OptionInfo)), None)


def _shown(parameter: inspect.Parameter) -> str:
    """Return the name of an option that a command declares itself."""
    info = _own_option(parameter)
    if info is None:
        return parameter.name
    return next(iter(info.param_decls or ()), f"--{parameter.name.replace('_', '-')}").split("/")[0]
