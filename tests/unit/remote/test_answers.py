"""Answers kept for bad times: bounded, by what was asked, each space by itself."""

from scrubjay.remote.answers import Answers


def test_the_same_question_finds_its_answer_and_no_other() -> None:
    answers = Answers()
    answers.keep("recall", {"b": 1, "a": 2}, {"hits": []}, space="s")
    assert answers.find("recall", {"a": 2, "b": 1}, space="s") == {"hits": []}
    assert answers.find("recall", {"a": 2}, space="s") is None
    assert answers.find("read", {"a": 2, "b": 1}, space="s") is None
    assert answers.find("recall", {"a": 2, "b": 1}, space="t") is None


def test_the_oldest_answers_go_first() -> None:
    answers = Answers()
    for number in range(300):
        answers.keep("recall", {"q": number}, number, space="s")
    assert answers.find("recall", {"q": 0}, space="s") is None
    assert answers.find("recall", {"q": 299}, space="s") == 299
    for number in range(20):
        answers.keep("recall", {"big": number}, "x" * 500_000, space="s")
    assert answers.find("recall", {"q": 299}, space="s") is None
    assert answers.find("recall", {"big": 19}, space="s") is not None
    answers.keep("recall", {"huge": 1}, "x" * 2_000_000, space="s")
    assert answers.find("recall", {"huge": 1}, space="s") is None
