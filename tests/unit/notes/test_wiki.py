"""Wiki links: find them, ignore text that only looks like a link, and change their targets."""

import pytest
from hypothesis import given, settings
from tests.unit.notes.drafting import texts

from scrubjay.notes.markdown.wiki import Mention, key_of, mentions, retarget_links


@pytest.mark.parametrize(
    ("content", "targets"),
    [
        ("a [[Tea]] and [[pots/Big pot]]", ["Tea", "pots/Big pot"]),
        ("[[a]][[b]]\n[[c\n]] [[]] [[d", ["a", "b"]),
        ("`[[no]]` [[yes]] ``a ` [[no]]`` `[[no", ["yes"]),
        ("a ` lonely [[yes]]\n\nand ` another", ["yes"]),
        ("a `code\nover [[no]] lines` [[yes]]", ["yes"]),
        ("```py\n[[no]]\n```\n[[yes]]\n~~~~\n[[no]]\n~~~\n[[no]]\n~~~~~\n[[too]]", ["yes", "too"]),
        ("> ```\n> [[no]]\n> ```\n- ```\n  [[no]]\n  ```\n[[yes]]", ["yes"]),
        ("1. ~~~ x\n   [[no]]\n   ~~~\n[[yes]]", ["yes"]),
        ("[[yes]]\n```\n[[no]] to the end", ["yes"]),
        ("``` not ` a fence [[yes]]", ["yes"]),
        ("<!-- [[no]]\n[[no]] --> [[yes]] <!-- [[yes too]]", ["yes", "yes too"]),
        ("[[yes]]\n <!-- never closed\n[[no]]", ["yes"]),
        ("\\[[no]] \\\\[[yes]] \\`[[too]]\\` !\\[[no]]", ["yes", "too"]),
        ("[[[a]]] [[b]]] [[[[c]]]] [[d [1] e]]", ["a", "b", "c", "d [1] e"]),
        ("| [[a\\|b]] |", ["a"]),
        ("    [[in a deep list]]", ["in a deep list"]),
    ],
)
def test_links_are_recognized(content: str, targets: list[str]) -> None:
    assert [mention.target for mention in mentions(content)] == targets


def test_the_parts_of_a_link() -> None:
    content = "[[ Tea | with milk ]] ![[cup.png|300]] [[a#B c|d|e]] [[#here]] [[n#^block]]"
    assert mentions(content) == (
        Mention(target="Tea", text="with milk", start=0, end=21),
        Mention(target="cup.png", text="300", embeds=True, start=22, end=38),
        Mention(target="a", heading="B c", text="d|e", start=39, end=52),
        Mention(target="", heading="here", start=53, end=62),
        Mention(target="n", heading="^block", start=63, end=75),
    )


def test_links_get_other_targets_and_all_other_text_stays() -> None:
    content = "[[ Old.md#h | it ]] ![[OLD]] `[[old]]` \\[[old]] [[older]] |[[old\\|x]]| [[#old]] [[b]]\r\n"
    expected = "[[ new/one#h | it ]] ![[new/one]] `[[old]]` \\[[old]] [[older]] |[[new/one\\|x]]| [[#old]] [[c]]\r\n"
    assert retarget_links(content, {"old": "new/one", "B": "c", "": "never"}) == expected
    assert retarget_links(content, {}) == content


@given(content=texts)
@settings(max_examples=100, deadline=None)
def test_every_mention_has_its_position(content: str) -> None:
    links = mentions(content)
    for link in links:
        written = content[link.start : link.end]
        assert written.startswith("![[" if link.embeds else "[[")
        assert written.endswith("]]")
        assert link.target in written
    assert [link.start for link in links] == sorted(link.start for link in links)
    assert retarget_links(content, {link.target: link.target for link in links}) == content


@pytest.mark.parametrize(
    ("spelling", "other"),
    [
        ("Tea time", " tea  TIME "),
        ("Caf\u00e9", "cafe\u0301.md"),
        ("STRASSE", "stra\u00dfe.MD"),
        ("pots/Big", "Pots/big"),
        ("\u0130x", "\u0130X"),
    ],
)
def test_two_spellings_of_one_target_have_one_key(spelling: str, other: str) -> None:
    assert key_of(spelling) == key_of(other)
    assert key_of(key_of(spelling)) == key_of(spelling)


def test_different_targets_have_different_keys() -> None:
    assert len({key_of(target) for target in ("tea", "te a", "tea.txt", "pots/tea", "te\u00e1", "")}) == 6


HOSTILE = [
    "[", "[[", "![[", "[[a", "[[a|", "`", "`[[", "[[x]]`", "<!--", "x<!--[[", "\\", "\\[[", "~~~\n", "```\n~~~~\n[[",
    "> ", "- ", "]]",    "[[\n", "`[[\n\n", "<!-- [[", "[[a]]", "`` ` ", "1. ", " ",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_is_read_to_its_end(piece: str) -> None:
    # A scan with backtracking would take minutes.
    text = "[[" + piece * (100_000 // len(piece)) + "\n\n-->\n\n[[end]]"
    assert len(retarget_links(text, {"nothing": "else"})) == len(text)
    assert len(mentions(text)) <= text.count("]]")
