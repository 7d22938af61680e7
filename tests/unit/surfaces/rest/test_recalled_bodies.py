"""The body of an answer is written once, and kept no longer than the answer."""

import json

from scrubjay.model.results import Recalled
from scrubjay.rpc.codec import to_json
from scrubjay.surfaces.rest.route import RecalledBodies


def test_a_body_lives_as_long_as_its_answer() -> None:
    bodies = RecalledBodies()
    first, equal = (Recalled(hits=(), tokens=7) for _ in range(2))
    body = bodies.body_of(first)
    assert json.loads(body) == to_json(first)
    assert bodies.body_of(first) is body
    assert bodies.body_of(equal) == body
    assert len(bodies) == 2
    del first
    assert len(bodies) == 1
    del equal
    assert not len(bodies)


def test_each_answer_has_its_own_body() -> None:
    bodies = RecalledBodies()
    for tokens in range(100):
        # The last answer is gone, and this one may take its place in memory.
        assert json.loads(bodies.body_of(Recalled(hits=(), tokens=tokens)))["tokens"] == tokens
    assert not len(bodies)
