"""Lazy dataclasses and expressions are those of the standard library in all that their users see."""

import copy
import dataclasses
import pickle
import re
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar, cast

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
