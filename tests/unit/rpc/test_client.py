"""Offline answers are bounded, and stored by request and spaces."""

from scrubjay.model.memory import Json
from scrubjay.rpc.client import OfflineAnswers, request_key
from scrubjay.rpc.frames import encode_frame


def _line(result: Json) -> bytes:
    return encode_frame({"id": 1, "result": result})


def test_only_the_same_request_finds_its_answer() -> None:
    answers = OfflineAnswers()
    answers.store(request_key("recall", {"b": 1, "a": 2}, ["s"]), _line({"hits": []}))
    assert answers.find(request_key("recall", {"a": 2, "b": 1}, ["s"])) == {"hits": []}
    assert answers.find(request_key("recall", {"a": 2}, ["s"])) is None
    assert answers.find(request_key("read", {"a": 2, "b": 1}, ["s"])) is None
    for spaces in (["t"], ["s", "t"], ["t", "s"]):
        assert answers.find(request_key("recall", {"a": 2, "b": 1}, spaces)) is None


def test_the_oldest_answers_go_first() -> None:
    answers = OfflineAnswers()
    for number in range(300):
        answers.store(request_key("recall", {"q": number}, ["s"]), _line(number))
    assert answers.find(request_key("recall", {"q": 0}, ["s"])) is None
    assert answers.find(request_key("recall", {"q": 299}, ["s"])) == 299
    for number in range(20):
        answers.store(request_key("recall", {"big": number}, ["s"]), _line("x" * 500_000))
    assert answers.find(request_key("recall", {"q": 299}, ["s"])) is None
    assert answers.find(request_key("recall", {"big": 19}, ["s"])) is not None
    answers.store(request_key("recall", {"huge": 1}, ["s"]), _line("x" * 2_000_000))
    assert answers.find(request_key("recall", {"huge": 1}, ["s"])) is None
