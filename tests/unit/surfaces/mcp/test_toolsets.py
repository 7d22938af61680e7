"""A list of names switches toolsets on."""

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.surfaces.mcp.arguments import did_you_mean, display, nearest_names
from scrubjay.surfaces.mcp.toolsets import TOOLSETS, pick


def _names(tools: str) -> list[str]:
    return [tool.name for tool in pick(tools)]


def test_the_default_is_core() -> None:
    assert _names("") == _names(" ") == _names("core") == [tool.name for tool in TOOLSETS["core"]]
    assert len(_names("core")) == 7


def test_several_are_named_with_commas_in_any_order() -> None:
    both = [tool.name for name in ("core", "items") for tool in TOOLSETS[name]]
    assert _names("items, core,") == both
    assert _names("core,core,items") == both


def test_all_is_all() -> None:
    assert set(_names("all")) == {tool.name for tools in TOOLSETS.values() for tool in tools}
    assert _names("all") == _names("core,all")
    assert len(_names("all")) == len(set(_names("all")))


@pytest.mark.parametrize(("wrong", "hint"), [("cor", "core"), ("core,itms", "items"), ("xyz", "There are core")])
def test_an_unknown_one_is_named_with_the_nearest(wrong: str, hint: str) -> None:
    with pytest.raises(InvalidInput, match=hint):
        pick(wrong)


def test_suggestions() -> None:
    assert nearest_names("remembr", ["recall", "remember"])[0] == "remember"
    assert nearest_names("qqqq", ["recall"]) == ()
    assert did_you_mean("recal", ["recall", "forget"]) == "Did you mean recall?"
    assert did_you_mean("qqqq", ["recall", "forget"]) == "There are recall, forget"
    assert display("x" * 100).endswith("… (102 characters)")
