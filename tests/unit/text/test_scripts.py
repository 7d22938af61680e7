"""Words in ASCII are split as those of any script."""

import string

import pytest

from scrubjay.text.scripts import WORD, ascii_words, words_of_script


@pytest.mark.parametrize(
    "text",
    [
        "the build server listens on port 8080.",
        "snake_case, kebab-case and it's 3pm",
        " \t\n\x1c\x7fa\x00b",
        string.printable,
        "",
    ],
)
def test_words_in_ascii_are_those_of_any_script(text: str) -> None:
    assert ascii_words(text) == WORD.findall(text.replace("_", " "))
    assert words_of_script(text) == ascii_words(text)


def test_without_digits_only_letters_make_words() -> None:
    assert ascii_words("at 3pm, v2 of x86_64", digits=False) == ["at", "pm", "v", "of", "x"]
