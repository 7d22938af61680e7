"""Markdown as plain text."""

import pytest

from scrubjay.notes.markdown.plain import plain_text


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("# Q4 *Goals*\n\n**Date:** 2024", "Q4 Goals\n\nDate: 2024"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        ("- one\n- two\n  - deep\n\n1. x\n2. y", "- one\n- two\n  - deep\n\n1. x\n2. y"),
        ("[[a-b-c|Text]], [[Plain]], ![[pic.png|A jay]] and [link](http://x 't')", "Text, Plain, A jay and link"),
        ("`a*b*`\n\n```py\nx = **1**\n```", "a*b*\n\nx = **1**"),
        ("> said\n> she\n\n---\n\n~~gone~~ <!-- no --> end", "said\nshe\n\ngone  end"),
        ("| a | b |\n|---|---|\n| 1 | *2* |", "a\tb\n1\t2"),
        ("![A jay](jay.png) flies", "A jay flies"),
        ("", ""),
        ("<!-- only\na comment -->", ""),
    ],
)
def test_markup_is_removed_and_words_stay(markdown: str, plain: str) -> None:
    assert plain_text(markdown) == plain


def test_hostile_markdown_is_parsed_quickly() -> None:
    for text in ("**a " * 3_000, "[[" * 3_000, "<!--" * 9_000, "> " * 3_000, "`" * 9_000, "![" * 3_000):
        assert isinstance(plain_text(text), str)
    # The rest of a very long text keeps its markup.
    long = "*word*\n\n" + "<!-- x -->\n\n" * 20_000 + "*end*"
    assert plain_text(long).startswith("word")
    assert plain_text(long).endswith("*end*")
