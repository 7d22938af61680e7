"""Lazy dataclasses and expressions are those of the standard library in all that their users see."""

import copy
import dataclasses
import pickle
import re
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar, cast

import pytest

from scrubjay.lazy import dataclass, regex

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Named(Generic[T]):
    """A base class with a check."""

    name: T
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an empty name."""
        if not self.name:
            raise ValueError("no name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted(Named[str]):
    """A subclass with all sorts of fields."""

    counts: dict[str, int] = dataclasses.field(default_factory=dict[str, int], hash=False)
    note: str = dataclasses.field(default="none", compare=False, repr=False)
    length: int = dataclasses.field(default=7, init=False)


@dataclass(frozen=True, slots=True)
class Pair:
    """Its arguments need no names."""

    first: int
    second: int = 2


@dataclass(frozen=True, slots=True)
class Wide:
    """It has fields of all kinds, enough that they are set together, and changes one of them afterwards."""

    first: int
    second: int = 2
    third: dict[str, int] = dataclasses.field(default_factory=dict[str, int], kw_only=True)
    fourth: str = dataclasses.field(kw_only=True)
    fifth: tuple[int, ...] = dataclasses.field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        """Refuse an empty field, and put another in order."""
        if not self.fourth:
            raise ValueError("no fourth")
        object.__setattr__(self, "fifth", tuple(sorted(self.fifth)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchecked:
    """It has as many fields, and nothing to do afterwards."""

    first: int
    second: int = 2
    third: int = 3
    fourth: list[int] = dataclasses.field(default_factory=list[int], init=False)


class Same(Wide):
    """A subclass with a dictionary, which is no dataclass itself."""


class Slotted(Wide):
    """A subclass with the very same slots."""

    __slots__ = ()


@dataclasses.dataclass(frozen=True)
class Extended(Pair):
    """A subclass by the standard library."""

    third: int = 3


USES: dict[str, Callable[[], object]] = {
    "repr": lambda: repr(_bare(Pair)),
    "equal": lambda: _bare(Pair) == Pair(1),
    "unequal": lambda: (_bare(Pair) == Pair(1, 3), Pair(1) == Extended(1)),
    "hash": lambda: hash(_bare(Pair)) == hash(Pair(1, 2)),
    "replace": lambda: dataclasses.replace(_bare(Pair), second=5),
    "copies": lambda: [make(_bare(Pair)) == Pair(1) for make in (copy.copy, copy.deepcopy, _through_pickle)],
    "match": lambda: Pair.__match_args__,
}  # fmt: skip
EXPECTED: dict[str, object] = {
    "repr": "Pair(first=1, second=2)",
    "equal": True,
    "unequal": (False, False),
    "hash": True,
    "replace": Pair(1, 5),
    "copies": [True, True, True],
    "match": ("first", "second"),
}


@pytest.mark.parametrize("first", USES)
def test_whichever_method_comes_first_all_work(first: str) -> None:
    for method in ("__init__", "__repr__", "__eq__", "__hash__"):
        setattr(Pair, method, _UNCOMPILED[method])
    assert USES[first]() == EXPECTED[first]
    assert {name: use() for name, use in USES.items()} == EXPECTED


def test_fields_defaults_and_checks_are_inherited() -> None:
    noted, other = Counted(name="a", counts={"x": 1}, note="n"), Counted(name="a", counts={"x": 1})
    assert noted == other
    assert hash(noted) == hash(Counted(name="a"))
    assert (noted.tags, noted.length, noted.note, other.note) == ((), 7, "n", "none")
    assert Counted(name="b").counts is not Counted(name="b").counts
    assert repr(other) == "Counted(name='a', tags=(), counts={'x': 1}, length=7)"
    assert not hasattr(noted, "__dict__")
    with pytest.raises(ValueError, match="no name"):
        Counted(name="")
    with pytest.raises(TypeError, match="unexpected keyword argument 'length'"):
        Counted(name="a", length=3)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'name'"):
        Counted()  # pyright: ignore[reportCallIssue]
    assert repr(Extended(1)) == "Extended(first=1, second=2, third=3)"


def test_nothing_changes_before_or_after_the_first_use() -> None:
    for pair in (_bare(Pair), Pair(1), Extended(1)):
        for change in (lambda: setattr(pair, "first", 9), lambda: delattr(pair, "first")):  # noqa: B023
            with pytest.raises(dataclasses.FrozenInstanceError):
                change()
        assert pair.first == 1
    with pytest.raises(TypeError, match="non-frozen"):
        dataclasses.dataclass(type("Loose", (Pair,), {}))


@pytest.mark.parametrize("kind", [Wide, Same, Slotted])
def test_fields_that_are_set_together_are_those_of_the_standard_library(kind: type[Wide]) -> None:
    wide, other = kind(1, fourth="x", fifth=(3, 1)), kind(first=1, second=5, third={"a": 1}, fourth="y")
    assert (wide.first, wide.second, wide.third, wide.fourth, wide.fifth) == (1, 2, {}, "x", (1, 3))
    assert (other.second, other.third, other.fifth) == (5, {"a": 1}, ())
    assert wide.third is not kind(1, fourth="x").third
    assert type(wide) is kind
    assert [make(wide) == wide for make in (copy.copy, copy.deepcopy, dataclasses.replace)] == [True] * 3
    for change in (lambda: setattr(wide, "first", 9), lambda: delattr(wide, "first")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()


def test_fields_that_are_set_together_may_have_no_check() -> None:
    unchecked = Unchecked(first=1)
    assert (type(unchecked), unchecked.fourth) == (Unchecked, [])
    assert [field.type for field in dataclasses.fields(unchecked)] == [int, int, int, list[int]]
    assert dataclasses.replace(unchecked, second=5) == Unchecked(first=1, second=5) != unchecked
    with pytest.raises(dataclasses.FrozenInstanceError):
        unchecked.third = 4  # pyright: ignore[reportAttributeAccessIssue]


def test_a_subclass_may_come_after_the_first_object() -> None:
    assert Unchecked(first=1).third == 3
    late = type("Late", (Unchecked,), {"__slots__": ("more",)})
    assert (type(late(first=7)), late(first=7).first) == (late, 7)
    decorated: Any = dataclass(frozen=True, slots=True, kw_only=True)(
        type("Decorated", (Unchecked,), {"__annotations__": {"fifth": int}, "fifth": 5})
    )
    made = decorated(first=8)
    assert (type(made), made.fifth, made.fourth) == (decorated, 5, [])
    assert type(Unchecked(first=1)) is Unchecked
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.first = 9


def test_what_is_missing_or_refused_of_many_fields_is_said_as_by_the_standard_library() -> None:
    assert pickle.loads(pickle.dumps(Wide(1, fourth="x"))) == Wide(1, fourth="x")
    make = cast("Callable[..., Wide]", Wide)
    with pytest.raises(TypeError, match=r"^Wide.__init__\(\) missing 1 required positional argument: 'first'$"):
        make()
    with pytest.raises(TypeError, match=r"^Wide.__init__\(\) missing 1 required keyword-only argument: 'fourth'$"):
        make(1)
    with pytest.raises(TypeError, match=r"^Wide.__init__\(\) got an unexpected keyword argument 'sixth'$"):
        make(1, fourth="x", sixth=6)
    with pytest.raises(ValueError, match="no fourth"):
        Wide(1, fourth="")


_UNCOMPILED = {name: getattr(Pair, name) for name in ("__init__", "__repr__", "__eq__", "__hash__")}


def _bare(kind: type[Pair]) -> Pair:
    """Return a pair that no method of its class has made."""
    pair = object.__new__(kind)
    object.__setattr__(pair, "first", 1)
    object.__setattr__(pair, "second", 2)
    return pair


def _through_pickle(pair: Pair) -> Pair:
    return pickle.loads(pickle.dumps(pair))


@pytest.mark.parametrize("part", ["search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"])
def test_an_expression_is_the_compiled_one_whatever_is_asked_first(part: str) -> None:
    pattern, flags, text = r"(?P<word>[a-z]+)(\d*)", re.IGNORECASE, "Ab12 cd"
    lazy, compiled = regex(pattern, flags), re.compile(pattern, flags)
    arguments = ("-", text) if part.startswith("sub") else (text,)
    result, expected = (getattr(each, part)(*arguments) for each in (lazy, compiled))
    assert _plain(result) == _plain(expected)
    for name in ("pattern", "flags", "groups", "groupindex"):
        assert getattr(lazy, name) == getattr(compiled, name)


def test_an_expression_with_an_error_is_refused_at_its_first_use() -> None:
    wrong = regex("(")
    for _ in range(2):
        with pytest.raises(re.error):
            wrong.search("text")
    with pytest.raises(AttributeError):
        wrong.serch  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]


def _plain(result: object) -> object:
    """Return a result in a form that can be compared."""
    if isinstance(result, re.Match):
        return cast("re.Match[str]", result).span()
    return [_plain(each) for each in cast("Iterable[object]", result)] if hasattr(result, "__next__") else result
