"""Offline answers are bounded, and stored by request and spaces."""

from scrubjay.rpc.client import OfflineAnswers


def test_only_the_same_request_finds_its_answer() -> None:
    answers = OfflineAnswers()
    answers.store("recall", {"b": 1, "a": 2}, {"hits": []}, spaces=["s"])
    assert answers.find("recall", {"a": 2, "b": 1}, spaces=["s"]) == {"hits": []}
    assert answers.find("recall", {"a": 2}, spaces=["s"]) is None
    assert answers.find("read", {"a": 2, "b": 1}, spaces=["s"]) is None
    for spaces in (["t"], ["s", "t"], ["t", "s"]):
        assert answers.find("recall", {"a": 2, "b": 1}, spaces=spaces) is None


def test_the_oldest_answers_go_first() -> None:
    answers = OfflineAnswers()
    for number in range(300):
        answers.store("recall", {"q": number}, number, spaces=["s"])
    assert answers.find("recall", {"q": 0}, spaces=["s"]) is None
    assert answers.find("recall", {"q": 299}, spaces=["s"]) == 299
    for number in range(20):
        answers.store("recall", {"big": number}, "x" * 500_000, spaces=["s"])
    assert answers.find("recall", {"q": 299}, spaces=["s"]) is None
    assert answers.find("recall", {"big": 19}, spaces=["s"]) is not None
    answers.store("recall", {"huge": 1}, "x" * 2_000_000, spaces=["s"])
    assert answers.find("recall", {"huge": 1}, spaces=["s"]) is None
