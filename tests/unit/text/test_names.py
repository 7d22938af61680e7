"""Names in a text, and names of one company."""

import pytest

from scrubjay.text.names import bare_name, names_in, phrases_in


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Meeting with Sarah from Acme Corp about the min-memory project", ("Sarah", "Acme Corp", "min-memory")),
        (
            "Sarah moved to Berlin in May. She works with J\u00fcrgen M\u00fcller.",
            ("Sarah", "Berlin", "J\u00fcrgen M\u00fcller"),
        ),
        ("I told Caroline that Melanie loves New York.", ("Caroline", "Melanie", "New York")),
        ("asked @bob about `scrubjay.engine` and my_module", ("@bob", "scrubjay.engine", "my_module")),
        ("Sarah Miller called. I like Sarah.", ("Sarah Miller",)),
        ("The weather is nice. It rains on Monday.", ()),
        ("a well-known follow-up", ()),
        ("", ()),
    ],
)
def test_names_are_found(text: str, names: tuple[str, ...]) -> None:
    assert names_in(text) == names


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("Acme", "acme"),
        ("Acme Corp", "acme"),
        ("ACME Corp.", "acme"),
        ("Acme,  Inc.", "acme"),
        ("Foo Bar S.A.", "foo bar"),
        ("Muster GmbH", "muster"),
        ("Company", "company"),
        ("such as", "such as"),
        ("C++", "c++"),
    ],
)
def test_the_bare_name_of_a_company_has_no_legal_form(name: str, bare: str) -> None:
    assert bare_name(name) == bare
    assert bare_name(bare) == bare


def test_phrases_begin_and_end_with_no_stop_word() -> None:
    assert phrases_in("the house of cards") == ("house", "cards", "house of cards")


@pytest.mark.parametrize("piece", ["A", "Aa ", "a_", "aB", "`", "@a", "a-"])
def test_only_the_beginning_of_a_long_text_is_read(piece: str) -> None:
    assert len(names_in(piece * 100_000)) <= 20
    assert len(phrases_in(piece * 100_000)) <= 800
