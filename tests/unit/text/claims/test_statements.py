"""A text as statements: blocks stay whole, and the joined text has the same statements."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.text.claims.statements import (
    comparison_key,
    gap_after,
    join_statements,
    parts_of,
    split_statements,
    statements_of,
)

LINES = st.sampled_from(
    [
        "The login failed.", "It works! Does it? Yes.", "Not working:", "- login", "- sync", "  and more", "1. first",
        "# Head", "", "```", "x = 1", "| a | b |", "> said so", "    indented", "no full stop", "---", "Mr. S left.",
    ]
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", ()),
        ("One fact", ("One fact",)),
        ("It failed. Ann fixed it!  Why? Nobody knows", ("It failed.", "Ann fixed it!", "Why?", "Nobody knows")),
        ("It waits 3600 s. Then it ends.", ("It waits 3600 s.", "Then it ends.")),
        (
            "Mr. Smith came on Sept. 5, e.g. by train. Then it broke.",
            ("Mr. Smith came on Sept. 5, e.g. by train.", "Then it broke."),
        ),
        ("A line\nthat is wrapped. Another\none.", ("A line\nthat is wrapped.", "Another\none.")),
        ("- tea\n  with milk\n- coffee", ("- tea\n  with milk", "- coffee")),
        ("Not working:\n- login\n- sync", ("Not working:\n- login\n- sync",)),
        ("## Open\n\nThe login. The sync.", ("## Open\nThe login. The sync.",)),
        ("Run. Then:\n```\na. B.\n\nc\n```\nDone.", ("Run. Then:\n```\na. B.\n\nc\n```", "Done.")),
        ("| a | b |\n| 1 | 2 |", ("| a | b |\n| 1 | 2 |",)),
        ("\u5b83\u574f\u4e86\u3002\u5df2\u4fee\u590d\u3002", ("\u5b83\u574f\u4e86\u3002", "\u5df2\u4fee\u590d\u3002")),
    ],
)
def test_texts_are_taken_apart_where_they_may_be(text: str, statements: tuple[str, ...]) -> None:
    assert statements_of(text) == statements


@settings(max_examples=60, deadline=None)
@given(st.lists(LINES, max_size=12).map("\n".join))
def test_joined_again_they_are_the_same(text: str) -> None:
    statements = split_statements(text)
    assert statements_of(join_statements(statements)) == tuple(statement.text for statement in statements)


@settings(max_examples=60, deadline=None)
@given(st.lists(LINES, max_size=8).map("\n".join), st.lists(LINES, max_size=8).map("\n".join))
def test_texts_that_are_put_together_keep_their_statements(first: str, second: str) -> None:
    both = first + gap_after(first) + second.strip("\n")
    keys = [comparison_key(statement) for statement in statements_of(first)]
    joined_keys = [comparison_key(statement) for statement in statements_of(both)[: len(keys)]]
    assert len(joined_keys) == len(keys)
    assert statements_of(both)[len(keys) :] == statements_of(second.strip("\n"))


def test_a_statement_has_the_same_key_with_any_bullet_first_letter_and_full_stop() -> None:
    assert comparison_key("- The  login\nfailed!") == comparison_key("the login failed.")
    assert comparison_key("Say `a`.") == comparison_key("say `a`")
    assert comparison_key("...") == "..."


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("```\nA\n```", "```\na\n```"),
        ("    a  b", "    a b"),
        ("12. May is the deadline", "13. May is the deadline"),
        ("1. call foo", "2. call foo"),
        ("- 5 degrees", "5 degrees"),
        ("export FOO=Bar", "export FOO=bar"),
        ("US law applies", "us law applies"),
        ("The Polish team", "The polish team"),
        ("rm -rf _build_", "rm -rf _build"),
        ("Keep *.py", "Keep *_.py"),
        ("Keep *.", "Keep *"),
        ("Run `make test:`", "Run `make test`"),
        (".env is ignored", "env is ignored"),
        ("The build passes?", "The build passes."),
        ("Done?", "Done!"),
    ],
)
def test_a_statement_that_may_be_about_another_thing_is_another_one(first: str, second: str) -> None:
    assert comparison_key(first) != comparison_key(second)


@pytest.mark.parametrize(
    "piece", ["A. ", "Mr. ", "word ", "1-", "--", "a\n", "x\ny:\n- a\n", "\u3002", "- a\n", "```\n"]
)
def test_no_text_takes_long(piece: str) -> None:
    # It takes a tenth of a second; a second pass for each sentence would take many seconds.
    text = piece * (100_000 // len(piece))
    before = time.process_time()
    split_statements(text)
    assert time.process_time() - before < 2


def test_a_long_list_with_a_head_does_not_take_long() -> None:
    text = "a\n" * 10_000 + "so:\n" + "- a\n" * 10_000
    before = time.process_time()
    assert len(split_statements(text)) == 1
    assert time.process_time() - before < 2


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
def test_a_statement_claims_its_parts(statement: str, part: str) -> None:
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
def test_a_qualified_clause_is_no_part(statement: str) -> None:
    assert tuple(parts_of(statement)) == ()
