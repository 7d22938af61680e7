"""Labels that are nearly what somebody wrote."""

from scrubjay.text.near_spelling import close_labels

LABELS = ["system architecture", "sarah chen", "invoice", "invoices"]


def test_a_letter_or_two_may_be_wrong() -> None:
    assert close_labels("sistem architecure", LABELS, limit=3) == ["system architecture"]
    assert close_labels("sarha chen", LABELS, limit=3) == ["sarah chen"]
    assert close_labels("invoise", LABELS, limit=3) == ["invoice", "invoices"]
    assert close_labels("invoise", LABELS, limit=1) == ["invoice"]


def test_another_word_is_another_word() -> None:
    assert close_labels("harbour", LABELS, limit=3) == []
