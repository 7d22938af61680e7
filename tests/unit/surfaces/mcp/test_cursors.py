"""A cursor unpacks to its position, and no other text is a cursor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.errors import InvalidInput
from scrubjay.surfaces.mcp.cursors import pack, unpack


@given(st.text(max_size=50), st.integers())
def test_a_cursor_comes_back(text: str, number: int) -> None:
    assert unpack(pack(text, number), str, int) == (text, number)


@given(st.text())
def test_nothing_else_is_a_cursor(text: str) -> None:
    with pytest.raises(InvalidInput, match="without a cursor"):
        unpack(text, str, int, str, int)


@pytest.mark.parametrize("place", [("1",), (1, 2), (True,), ()])
def test_a_cursor_of_another_list_is_refused(place: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="does not belong to this list"):
        unpack(pack(*place), int)
