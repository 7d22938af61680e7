"""An idempotency key belongs to one request: the engine refuses a request with the same key and other fields."""

from dataclasses import replace

import pytest

from scrubjay.errors import KeyReused
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.identity import new_id
from tests.scenarios.wiring import Wiring

WHO = Caller(agent="tester")
REQUEST = Draft(text="Sarah prefers tea", id=new_id(), idempotency_key="k-1")


@pytest.mark.parametrize(
    "change", [{"id": new_id()}, {"relevance": 0.5}, {"fixed": True}], ids=lambda change: next(iter(change))
)
async def test_a_request_that_differs_in_one_field_is_another_request(
    wiring: Wiring, change: dict[str, object]
) -> None:
    first = await wiring.engine.remember(REQUEST, who=WHO)
    assert (await wiring.engine.remember(REQUEST, who=WHO)).id == first.id
    with pytest.raises(KeyReused):
        await wiring.engine.remember(replace(REQUEST, **change), who=WHO)
