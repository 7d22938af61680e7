"""A request under an idempotency key is executed once."""

import pytest
from tests.fakes.build import an_origin

from scrubjay.errors import InvalidInput, KeyReused, TooLarge
from scrubjay.idempotency import IdempotentRequest, idempotent_request, stored_key
from scrubjay.model.memory import Json
from scrubjay.ports import Commit, Committed, RecordStore

SPACE = "work"
ANSWER: dict[str, Json] = {"action": "updated", "id": "x", "names": ["a", None, 1.5], "é": {"b": True}}


async def commit(store: RecordStore, request: IdempotentRequest, answer: dict[str, Json]) -> Committed:
    return await store.commit(Commit(space=SPACE, origin=an_origin(), once=request.record(answer)))


async def test_without_a_key_no_answer_is_stored(store: RecordStore) -> None:
    request = idempotent_request("", {"verb": "revise"})
    assert request.record(ANSWER) is None
    assert await request.find_answer(store, space=SPACE) is None


async def test_the_same_request_gets_the_first_answer(store: RecordStore) -> None:
    request = idempotent_request("key", {"verb": "revise", "ref": "x"})
    assert await request.find_answer(store, space=SPACE) is None
    assert request.earlier_answer(await commit(store, request, ANSWER)) is None
    # The order of its arguments is no part of a request.
    again = idempotent_request("key", {"ref": "x", "verb": "revise"})
    assert await again.find_answer(store, space=SPACE) == ANSWER
    assert again.earlier_answer(await commit(store, again, {"action": "other"})) == ANSWER


async def test_a_different_request_under_the_same_key_is_refused(store: RecordStore) -> None:
    await commit(store, idempotent_request("key", {"verb": "revise", "ref": "x"}), ANSWER)
    for other in ({"verb": "revise", "ref": "y"}, {"verb": "revert", "ref": "x"}, {}):
        request = idempotent_request("key", other)
        with pytest.raises(KeyReused):
            await request.find_answer(store, space=SPACE)
        with pytest.raises(KeyReused):
            await commit(store, request, ANSWER)


async def test_a_key_belongs_to_its_space(store: RecordStore) -> None:
    request = idempotent_request("key", {"verb": "revise"})
    await commit(store, request, ANSWER)
    assert await request.find_answer(store, space="home") is None


def test_a_key_is_a_text_of_a_bounded_length() -> None:
    # A key may be a secret: its digest is stored.
    assert idempotent_request("k" * 300, {}).key == stored_key("k" * 300) != "k" * 300
    with pytest.raises(TooLarge) as caught:
        idempotent_request("k" * 301, {})
    assert caught.value.fields["field"] == "idempotency_key"
    for key in ("\ud800", 5, None):
        with pytest.raises(InvalidInput):
            idempotent_request(key, {})  # type: ignore[arg-type]


def test_a_request_of_any_text_has_a_digest() -> None:
    first, other = idempotent_request("key", {"ref": "\ud800"}), idempotent_request("key", {"ref": "\ud801"})
    assert first == idempotent_request("key", {"ref": "\ud800"})
    assert first != other
