"""Arguments of verbs: each is declared once, as a field with its description, and checked the same way everywhere."""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import datetime
from enum import Enum
from functools import cache, partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Generic, Literal, Self, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.checks import (
    require_flag,
    require_fraction,
    require_integer,
    require_moment,
    require_text,
    wrong_type,
)
from scrubjay.model.memory import Json, Source
from scrubjay.model.snapshot import source_from_json
from scrubjay.model.timestamps import parse_moment

R_co = TypeVar("R_co", covariant=True)
_Check = Callable[[object], object]


class Unset(Enum):
    """The type of UNSET."""

    UNSET = "unset"


UNSET = Unset.UNSET
"""The value of an argument that was left out, where None is a value of its own."""


@dataclass(frozen=True, slots=True)
class Arg:
    """What every surface tells about an argument.

    `brief` is for models, which pay for each word, where the name does not say enough. `length` and `items` are the
    largest sizes of a text and of a list, `positional` arguments need no name, and `single` lists accept one item.
    The arguments of a `flat` one are arguments of the verb. An `is_searched` text is never stored, so it may be invalid
    Unicode. `flags` are the options of the command line, if they
    differ from the name; `aliases` are other names that are accepted.
    """

    help: str
    example: Json = None
    brief: str = ""
    minimum: int | None = None
    maximum: int | None = None
    length: int | None = None
    items: int | None = None
    positional: bool = False
    single: bool = False
    flat: bool = False
    is_searched: bool = False
    flags: str = ""
    metavar: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of a verb; `type` is its annotation without the description. A required one has no default."""

    name: str
    type: object
    about: Arg
    default: object = MISSING

    @property
    def is_required(self) -> bool:
        """Whether a call must have it."""
        return self.default is MISSING

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that it may have, if they are few; for a list, those of an item."""
        for kind in _members(self.type):
            choices = _choices(get_args(kind)[0] if get_origin(kind) is tuple else kind)
            if choices:
                return choices
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentGroup:
    """A group of arguments. Values of the types that JSON and people use are converted: "2026-05-31" to a time."""

    def __post_init__(self) -> None:
        """Convert and check every argument; raises InvalidInput, which names the first that is wrong."""
        for name, check, default in _checks(type(self)):
            value = getattr(self, name)
            # Most are left out: of a request with thirty arguments, three are given.
            if value is default:
                continue
            checked = check(value)
            if checked is not value:
                object.__setattr__(self, name, checked)

    @classmethod
    def of(cls, **values: object) -> Self:
        """Return the arguments with these values, by their names or aliases, those of flat groups among them."""
        names = _names(cls)
        unknown = [name for name in values if name not in names]
        if unknown:
            raise InvalidInput(
                f"{label_of(cls)} has no argument {unknown[0][:100]!r}",
                hint=f"Its arguments are {', '.join(argument.name for argument in arguments_of(cls))}",
                field=unknown[0][:100],
            )
        own: dict[str, object] = {}
        groups: dict[str, dict[str, object]] = {}
        for name, value in values.items():
            group, target = names[name]
            into = groups.setdefault(group, {}) if group else own
            if target in into:
                raise InvalidInput(f"{name} is another name of {target}", hint="Give one of them", field=name)
            into[target] = value
        for group, members in groups.items():
            if group in own:
                raise InvalidInput(f"{group} is given twice", hint=f"Give {group}, or its fields", field=group)
            own[group] = _types(cls)[group].of(**members)
        for name in _required(cls):
            if name not in own:
                raise InvalidInput(f"{label_of(cls)} needs the argument {name}", field=name)
        return cls(**own)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(ArgumentGroup, Generic[R_co]):
    """The arguments of one verb, and the type of its result."""


@cache
def arguments_of(kind: type[ArgumentGroup]) -> tuple[Argument, ...]:
    """Return the arguments in the order of their declaration, those of flat groups in the place of the group."""
    arguments: list[Argument] = []
    for argument in _own_arguments(kind):
        if argument.about.flat:
            arguments += arguments_of(cast("type[ArgumentGroup]", argument.type))
        else:
            arguments.append(argument)
    return tuple(arguments)


@cache
def result_of(kind: type[Request[object]]) -> object:
    """Return the type of the result of a verb."""
    for base in kind.__mro__:
        for generic in getattr(base, "__orig_bases__", ()):
            if get_origin(generic) is Request:
                return get_args(generic)[0]
    raise TypeError(f"{kind.__name__} does not name its result")


@cache
def label_of(kind: type[ArgumentGroup]) -> str:
    """Return the name of a group of arguments in messages: `merge_branch` for MergeBranchRequest."""
    words = "".join(f"_{char.lower()}" if char.isupper() else char for char in kind.__name__)
    return words.strip("_").removesuffix("_request")


@cache
def _own_arguments(kind: type[ArgumentGroup]) -> tuple[Argument, ...]:
    hints = get_type_hints(kind, include_extras=True)
    arguments: list[Argument] = []
    for field in fields(kind):
        hint = hints[field.name]
        about = next((part for part in getattr(hint, "__metadata__", ()) if isinstance(part, Arg)), None)
        if about is not None:
            default = field.default if field.default_factory is MISSING else field.default_factory()
            arguments.append(Argument(name=field.name, type=get_args(hint)[0], about=about, default=default))
    return tuple(arguments)


@cache
def _names(kind: type[ArgumentGroup]) -> dict[str, tuple[str, str]]:
    """Return by every accepted name the flat group it belongs to, if any, and its real name."""
    names: dict[str, tuple[str, str]] = {}
    for argument in _own_arguments(kind):
        names |= dict.fromkeys((argument.name, *argument.about.aliases), ("", argument.name))
        if argument.about.flat:
            inner = _names(cast("type[ArgumentGroup]", argument.type))
            names |= {name: (argument.name, target) for name, (_, target) in inner.items()}
    return names


@cache
def _types(kind: type[ArgumentGroup]) -> dict[str, type[ArgumentGroup]]:
    return {argument.name: cast("type[ArgumentGroup]", argument.type) for argument in _own_arguments(kind)}


@cache
def _required(kind: type[ArgumentGroup]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.default is field.default_factory is MISSING)


@cache
def _checks(kind: type[ArgumentGroup]) -> tuple[tuple[str, _Check, object], ...]:
    """Return the checks by name, each with the default that it would leave as it is; MISSING if there is none."""
    checks: list[tuple[str, _Check, object]] = []
    for argument in _own_arguments(kind):
        check = _checker(argument.type, argument)
        is_right = not argument.is_required and check(argument.default) is argument.default
        checks.append((argument.name, check, argument.default if is_right else MISSING))
    return tuple(checks)


def _checker(kind: object, argument: Argument) -> _Check:
    """Return the function that converts and checks values of an annotated type."""
    members = _members(kind)
    accepted = [member for member in members if member is not NoneType and member is not Unset]
    if len(accepted) > 1:
        # Several types, such as a number or a name: the verb checks them.
        return lambda value: value
    check = _single_checker(accepted[0], argument)
    if accepted[0] is datetime and NoneType in members:
        check = partial(_optional_moment, field=argument.name)
    empty = tuple(value for member, value in ((NoneType, None), (Unset, UNSET)) if member in members)
    if not empty:
        # A caller that leaves an object out may say so with None.
        return partial(_default_or, argument, check) if isinstance(argument.default, Mapping) else check
    return lambda value: value if any(value is item for item in empty) else check(value)


def _default_or(argument: Argument, check: _Check, value: object) -> object:
    return argument.default if value is None else check(value)


def _single_checker(kind: object, argument: Argument) -> _Check:
    field, about = argument.name, argument.about
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        expected = "a list of texts" if item is str else "a list"
        return partial(_tuple, field=field, expected=expected, check=_checker(item, argument), single=about.single)
    if _choices(kind):
        return partial(_one_of, field=field, kind=kind)
    if kind is str:
        return partial(_searched_text if about.is_searched else require_text, field=field)
    if kind is bool:
        return partial(require_flag, field=field)
    if kind is int:
        least = 1 if about.minimum is None else about.minimum
        most = {} if about.maximum is None else {"most": about.maximum}
        return partial(require_integer, field=field, least=least, **most)
    if kind is float:
        return partial(require_fraction, field=field)
    converter = _CONVERTERS.get(cast("type", kind))
    if converter is not None:
        return partial(converter, field=field)
    if isinstance(kind, type) and issubclass(kind, ArgumentGroup):
        return partial(_group, field=field, kind=kind)
    return partial(_mapping, field=field)


def _searched_text(value: object, *, field: str) -> object:
    if not isinstance(value, str):
        raise wrong_type(field, "a text", value)
    return value


def _tuple(value: object, *, field: str, expected: str, check: _Check, single: bool) -> object:
    if single and isinstance(value, str):
        return (check(value),)
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise wrong_type(field, expected, value)
    unchecked = cast("Sequence[object]", value)
    items = tuple(check(item) for item in unchecked)
    return unchecked if unchecked == items else items


def _one_of(value: object, *, field: str, kind: object) -> object:
    choices = _choices(kind)
    text = value.lower() if isinstance(value, str) and value not in choices else value
    if not isinstance(text, str) or text not in choices:
        listed = ", ".join(filter(None, choices))
        raise InvalidInput(f"{field} must be one of {listed}, not {str(value)[:60]!r}", field=field)
    return kind(text) if isinstance(kind, type) else text


def _moment(value: object, *, field: str) -> object:
    if isinstance(value, str):
        return parse_moment(value, field=field)
    require_moment(value, field=field)
    return value


def _optional_moment(value: object, *, field: str) -> object:
    # For those who cannot write null, an empty text means no time.
    return None if value == "" else _moment(value, field=field)


def _source(value: object, *, field: str) -> object:
    if isinstance(value, Source):
        return value
    if not isinstance(value, Mapping):
        raise wrong_type(field, "an object", value)
    return source_from_json(dict(cast("Mapping[str, Json]", value)))


def _path(value: object, *, field: str) -> object:
    if not isinstance(value, str | Path):
        raise wrong_type(field, "a path", value)
    # A daemon has another working folder.
    return Path(value).expanduser().absolute()


def _data(value: object, *, field: str) -> object:
    if isinstance(value, bytes):
        return value
    try:
        return base64.b64decode("".join(require_text(value, field=field).split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInput(f"{field} is not base64", hint="Encode the bytes of the file", field=field) from error


def _mapping(value: object, *, field: str) -> object:
    if not isinstance(value, Mapping):
        raise wrong_type(field, "an object", value)
    return cast("Mapping[str, Json]", value)


def _group(value: object, *, field: str, kind: type[ArgumentGroup]) -> object:
    if isinstance(value, kind):
        return value
    return kind.of(**cast("Mapping[str, object]", _mapping(value, field=field)))


_CONVERTERS: dict[type, Callable[..., object]] = {datetime: _moment, Source: _source, Path: _path, bytes: _data}


def _members(kind: object) -> tuple[object, ...]:
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _choices(kind: object) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(kind) if isinstance(kind, type) and issubclass(kind, Enum) and issubclass(kind, str) else ()
