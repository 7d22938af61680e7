"""Frozen dataclasses and regular expressions that are compiled when they are first used.

A process loads several hundred of both and uses a few dozen. Compiling all took a third of a daemon's start.
"""

import dataclasses
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

__all__ = ["dataclass", "regex"]

T = TypeVar("T")
# Most classes that are used are only made: what compares and prints them is compiled apart.
_MAKING = ("__init__",)
_COMPARING = ("__repr__", "__eq__", "__hash__")
_COMPILED = (*_MAKING, *_COMPARING)
# From so many fields on, changing the class of an object twice takes less than setting each field past the refusal.
_MANY_FIELDS = 4
_compiling = threading.RLock()


def _decorator(
    *, frozen: bool = False, eq: bool = True, slots: bool = False, kw_only: bool = False
) -> Callable[[type[T]], type[T]]:
    def decorate(kind: type[T]) -> type[T]:
        bases = [base for base in kind.__mro__ if dataclasses.is_dataclass(base)]
        is_lazy = all(base.__delattr__ is _refuse for base in bases) and kind.__dict__.keys().isdisjoint(_COMPILED)
        # What is written by hand, or inherited from that, is left to the standard library.
        if not (frozen and eq and is_lazy):
            return dataclasses.dataclass(frozen=frozen, eq=eq, slots=slots, kw_only=kw_only)(kind)
        # Else the standard library writes the signature, which takes longer than the rest.
        kind.__doc__ = kind.__doc__ or kind.__name__
        # Nothing is compiled for a class that is not frozen; its bases must not be, either.
        _set_frozen(bases, frozen=False)
        made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(kind)
        _set_frozen([*bases, made], frozen=True)
        _put(made, {name: _compile_first(made, name) for name in _COMPILED})
        _put(made, {"__setattr__": _refuse, "__delattr__": _refuse})
        if slots:
            _put(made, {"__getstate__": _state_of, "__setstate__": _set_state})
        return made

    return decorate


def _compile_first(kind: type[object], name: str) -> Callable[..., object]:
    def compile_and_call(self: object, /, *arguments: object, **options: object) -> object:
        with _compiling:
            if kind.__dict__[name] is compile_and_call:
                _compile(kind, _MAKING if name in _MAKING else _COMPARING)
        return getattr(kind, name)(self, *arguments, **options)

    return compile_and_call


def _compile(kind: type[Any], names: tuple[str, ...]) -> None:
    """Give a class methods of a dataclass of the same fields."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    namespace: dict[str, Any] = {
        "__annotations__": {name: field.type for name, field in fields.items()},
        "__doc__": kind.__doc__,
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
    }
    if hasattr(kind, "__post_init__"):
        namespace["__post_init__"] = kind.__post_init__
    has_slots, makes = "__slots__" in kind.__dict__, names == _MAKING
    if makes and _can_thaw(kind):
        _put(kind, _thawing(kind, namespace, fields))
        return
    decorate = dataclasses.dataclass(frozen=True, slots=has_slots, init=makes, repr=not makes, eq=not makes)
    twin = decorate(type(kind.__name__, (), namespace | fields))
    _put(kind, {name: getattr(twin, name) for name in names})


def _can_thaw(kind: type[Any]) -> bool:
    # An object of a subclass may have more than the slots of its base.
    is_alone = kind.__bases__ == (object,) and not kind.__subclasses__() and "__init_subclass__" not in kind.__dict__
    return is_alone and "__slots__" in kind.__dict__ and len(dataclasses.fields(kind)) >= _MANY_FIELDS


def _thawing(kind: type[Any], namespace: Mapping[str, Any], fields: Mapping[str, object]) -> dict[str, object]:
    """Return methods that make an object in a third of the time: until its fields are set it is of another class.

    That class has the same slots and refuses no change. It is the first that the `__init__` sets, as if it were a
    field; nothing else has it.
    """

    def thaw_or_refuse(self: object, name: str, value: object) -> None:
        if value is not thawed:
            _refuse(self, name)
        object.__setattr__(self, "__class__", thawed)

    def freeze(self: Any) -> None:
        self.__class__ = kind
        if has_checks:
            self.__post_init__()

    def init_subclass(_: object) -> None:
        _put(kind, {"__init__": _compile_first(kind, "__init__")})

    has_checks = hasattr(kind, "__post_init__")
    thawed = type(kind.__name__, (), {"__slots__": kind.__slots__, "__post_init__": freeze})
    first = {"_thawed": dataclasses.field(init=False, default_factory=lambda: thawed)}
    annotations = {"_thawed": type, **namespace["__annotations__"]}
    twin = type(kind.__name__, (), {
        **namespace, **first, **fields, "__annotations__": annotations, "__post_init__": freeze,
    })  # fmt: skip
    init = dataclasses.dataclass(repr=False, eq=False)(twin).__init__
    # In this order: another thread may make an object meanwhile.
    return {
        "__init_subclass__": classmethod(init_subclass), "__setattr__": thaw_or_refuse, "__init__": init,
    }  # fmt: skip


def _set_frozen(kinds: Iterable[Any], *, frozen: bool) -> None:
    for kind in kinds:
        kind.__dataclass_params__.frozen = frozen


def _put(kind: type[object], methods: Mapping[str, object]) -> None:
    for name, method in methods.items():
        setattr(kind, name, method)


def _refuse(self: object, name: str, *value: object) -> None:
    del self, value
    raise dataclasses.FrozenInstanceError(f"cannot change field {name!r}")


def _state_of(self: Any) -> list[object]:
    return [getattr(self, name) for name in _names(self.__class__)]


def _set_state(self: Any, state: list[object]) -> None:
    for name, value in zip(_names(self.__class__), state, strict=True):
        object.__setattr__(self, name, value)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def regex(pattern: str, flags: int | re.RegexFlag = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled when its first method is called; an error in it shows then."""
    return cast("re.Pattern[str]", _Regex(pattern, flags))


class _Regex:
    """What a compiled expression has, once something of it was asked for."""

    __slots__ = (
        "_flags", "_pattern", "findall", "finditer", "flags", "fullmatch", "groupindex", "groups", "match", "pattern",
        "search", "split", "sub", "subn",
    )  # fmt: skip

    def __init__(self, pattern: str, flags: int | re.RegexFlag) -> None:
        self._pattern = pattern
        self._flags = flags

    # Python asks for what is not there yet.
    def __getattr__(self, name: str) -> Any:
        if name not in _PARTS:
            raise AttributeError(name)
        compiled = re.compile(self._pattern, self._flags)
        for part in _PARTS:
            setattr(self, part, getattr(compiled, part))
        return getattr(self, name)


_PARTS = frozenset(_Regex.__slots__) - {"_flags", "_pattern"}

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _decorator
