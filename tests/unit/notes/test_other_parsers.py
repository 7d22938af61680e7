"""Third-party parsers of YAML and of Markdown read our files as we mean them."""

from dataclasses import replace
from typing import cast

from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from ruamel.yaml import YAML
from tests.unit.notes.drafting import notes
from tests.unit.notes.test_format import NOON, WHOLE, WRITTEN

from scrubjay.notes.markdown.format import MARKER, render
from scrubjay.notes.markdown.note import Link, Note

TEXT_FIELDS = ("id", "title", "category", "kind")


def parts_of(data: bytes) -> tuple[dict[str, object], SyntaxTreeNode]:
    text = data.decode()
    assert text.startswith("---\n")
    # The last line of the frontmatter may end with the same characters.
    head, body = text[3:].split("\n---\n", 1)
    read = cast("dict[str, object] | None", YAML(typ="safe", pure=True).load(head))
    return read or {}, SyntaxTreeNode(MarkdownIt("commonmark").parse(body))


def section(tree: SyntaxTreeNode, title: str) -> list[str]:
    """Return the items of the list below a second-level heading."""
    children = tree.children
    [at] = [
        at
        for at, node in enumerate(children)
        if node.type == "heading" and node.tag == "h2" and node.children[0].content == title
    ]
    assert children[at + 1].type == "bullet_list"
    return [
        "\n\n".join(inline.content for inline in item.walk() if inline.type == "inline")
        for item in children[at + 1].children
    ]


def test_a_file_is_frontmatter_a_text_and_two_lists() -> None:
    head, tree = parts_of(WRITTEN.encode())
    assert (
        head
        == {
            "id": WHOLE.id,
            "title": WHOLE.title,
            "tags": list(WHOLE.tags),
            "category": "work",
            "created_at": NOON,
            "updated_at": NOON,
            "last_reviewed": NOON,
            "links": list(WHOLE.links),
            "kind": "decision",
            "pinned": True,
            "aliases": ["Q4"],
        }
        or head["created_at"] == WHOLE.created_at
    )
    assert [node.type for node in tree.children] == [
        "heading", "bullet_list", "html_block", "heading", "bullet_list", "heading", "bullet_list",
    ]  # fmt: skip
    assert tree.children[2].content == f"{MARKER}\n"
    assert section(tree, "Observations") == ["one atomic fact", "a longer one\n\nin two paragraphs"]
    assert section(tree, "Links") == [f"[[{WHOLE.linked[0].target}|Related project ideas]]"]


@given(note=notes)
@example(note=Note(kind="\u00b9---"))
@settings(max_examples=50, deadline=None)
def test_a_parser_of_yaml_reads_every_field_as_the_text_it_is(note: Note) -> None:
    head, _ = parts_of(render(replace(note, content="", observations=(), linked=())))
    for name in TEXT_FIELDS:
        assert head.get(name, "") == getattr(note, name)
    assert tuple(tag.removeprefix("#") for tag in cast("list[str]", head.get("tags", []))) == note.tags
    assert tuple(cast("list[str]", head.get("links", []))) == note.links


@given(texts=st.lists(st.text("abc\u00e4\U0001f600\u05d0", min_size=1), max_size=4))
@settings(max_examples=50, deadline=None)
def test_a_parser_of_markdown_finds_every_item(texts: list[str]) -> None:
    note = replace(WHOLE, observations=tuple(texts), linked=tuple(Link(target=text, text=text) for text in texts))
    _, tree = parts_of(render(note))
    if texts:
        assert section(tree, "Observations") == texts
        assert section(tree, "Links") == [f"[[{text}|{text}]]" for text in texts]
