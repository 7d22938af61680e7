"""Parts of a statement that it claims: a note before it, a date after it, a clause beside it; and nothing else."""

import pytest

from scrubjay.text.claims.statements import parts_of


@pytest.mark.parametrize(
    ("statement", "part"),
    [
        ("Note: the login failed.", "the login failed."),
        ("Note that the login failed.", "the login failed."),
        ("2026-05-01: The login failed.", "The login failed."),
        ("[2026-05-01] Update: the login failed.", "the login failed."),
        ("Also, the login failed.", "the login failed."),
        ("The login failed since Monday.", "The login failed"),
        ("The login failed (2026-05-01).", "The login failed"),
        ("Note: the login failed, too.", "the login failed"),
        ("The login failed, and Ann fixed the token.", "The login failed"),
    ],
)
def test_what_a_statement_claims_besides_is_part_of_it(statement: str, part: str) -> None:
    assert part in tuple(parts_of(statement))


@pytest.mark.parametrize(
    "statement",
    [
        "Alice denied that the server was hacked.",
        "It is false that the server was hacked.",
        "Bob dreamed the server was hacked.",
        "Bob dreamed the sky fell, the server was hacked.",
        "Formerly we deploy on fridays at noon.",
        "The office is closed on Monday.",
        "We deploy on fridays at 5 and at 6",
        "Note: is the login broken?",
        "The login failed, and that is a lie.",
        "The login failed, and nobody thinks so.",
        "The build passes, and fails every other day.",
        "The login failed, and only on Windows.",
        '"The login failed, and Ann fixed the token" was the headline.',
        "Note: broken",
        "Has the login failed, and Ann fixed the token?",
        "- one two three, and four\n- five",
        "x, and y " * 200,
    ],
)
def test_what_is_only_mentioned_is_no_part(statement: str) -> None:
    assert tuple(parts_of(statement)) == ()
