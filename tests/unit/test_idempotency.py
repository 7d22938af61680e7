"""What happens once, under a key."""

import pytest
from tests.fakes.build import an_origin

from scrubjay.errors import InvalidInput, KeyReused, TooLarge
from scrubjay.idempotency import IdempotentRequest, asking
from scrubjay.model.memory import Json
from scrubjay.ports import Commit, Committed, RecordStore

SPACE = "work"
ANSWER: dict[str, Json] = {"action": "updated", "id": "x", "names": ["a", None, 1.5], "é": {"b": True}}


async def keep(store: RecordStore, ask: IdempotentRequest, answer: dict[str, Json]) -> Committed:
    return await store.commit(Commit(space=SPACE, origin=an_origin(), once=ask.once(answer)))


async def test_without_a_key_nothing_is_kept(any_store: RecordStore) -> None:
    ask = asking("", {"verb": "revise"})
    assert ask.once(ANSWER) is None
    assert await ask.answered(any_store, space=SPACE) is None


async def test_the_same_request_gets_the_first_answer(any_store: RecordStore) -> None:
    ask = asking("key", {"verb": "revise", "ref": "x"})
    assert await ask.answered(any_store, space=SPACE) is None
    assert ask.first(await keep(any_store, ask, ANSWER)) is None
    # The order in which it is told is no part of a request.
    again = asking("key", {"ref": "x", "verb": "revise"})
    assert await again.answered(any_store, space=SPACE) == ANSWER
    assert again.first(await keep(any_store, again, {"action": "other"})) == ANSWER


async def test_another_request_is_refused(any_store: RecordStore) -> None:
    await keep(any_store, asking("key", {"verb": "revise", "ref": "x"}), ANSWER)
    for other in ({"verb": "revise", "ref": "y"}, {"verb": "revert", "ref": "x"}, {}):
        ask = asking("key", other)
        with pytest.raises(KeyReused):
            await ask.answered(any_store, space=SPACE)
        with pytest.raises(KeyReused):
            await keep(any_store, ask, ANSWER)


async def test_a_key_belongs_to_its_space(any_store: RecordStore) -> None:
    ask = asking("key", {"verb": "revise"})
    await keep(any_store, ask, ANSWER)
    assert await ask.answered(any_store, space="home") is None


def test_a_key_is_a_text_of_a_bounded_length() -> None:
    assert asking("k" * 300, {}).key == "k" * 300
    with pytest.raises(TooLarge) as caught:
        asking("k" * 301, {})
    assert caught.value.fields["field"] == "idempotency_key"
    for key in ("\ud800", 5, None):
        with pytest.raises(InvalidInput):
            asking(key, {})  # type: ignore[arg-type]


def test_a_request_of_any_text_is_known_again() -> None:
    one, other = asking("key", {"ref": "\ud800"}), asking("key", {"ref": "\ud801"})
    assert one == asking("key", {"ref": "\ud800"})
    assert one != other
