"""Labels that are nearly what somebody wrote."""

from scrubjay.text.near_spelling import nearly

LABELS = ["system architecture", "sarah chen", "invoice", "invoices"]


def test_a_letter_or_two_may_be_wrong() -> None:
    assert nearly("sistem architecure", LABELS, limit=3) == ["system architecture"]
    assert nearly("sarha chen", LABELS, limit=3) == ["sarah chen"]
    assert nearly("invoise", LABELS, limit=3) == ["invoice", "invoices"]
    assert nearly("invoise", LABELS, limit=1) == ["invoice"]


def test_another_word_is_another_word() -> None:
    assert nearly("harbour", LABELS, limit=3) == []
