"""A parser that is none of ours reads the vault, and every link in it leads to a file."""

import random
import re
from pathlib import Path, PurePosixPath

from markdown_it import MarkdownIt

from tests.notes.vaults import AGENT, Desk

TITLES = (
    "Plan", "plan", "PLAN!", "Über die Straße", "日本語のメモ", "مرحبا بالعالم", "🦉 owl", "a/b: c?", "x | y",
    "[brackets]", "double ]] end", "..", "con", "Straße", "STRASSE", "e\u0301cole", "école", "a" * 290, "-", "#",
)  # fmt: skip
_LINK = re.compile(r"\[\[([^\[\]|#]+)(?:#[^\[\]|]*)?(?:\|((?:[^\[\]]|\](?!\])|\[(?!\[))*))?\]\]")


def links_in(path: Path) -> set[str]:
    """The targets of the wiki links in a file, by a parser of Markdown; code is none of its text."""
    head, _, body = path.read_text().removeprefix("---\n").partition("\n---\n")
    assert "id: " in head
    found: set[str] = set()
    for token in MarkdownIt("commonmark").parse(body):
        for child in token.children or ():
            if child.type == "text":
                found |= {match[1].strip() for match in _LINK.finditer(child.content)}
    return found


def unresolved(desk: Desk) -> dict[str, set[str]]:
    """The links that lead to no file, as an editor looks for one: by its path or its name, without `.md`."""
    paths = [str(PurePosixPath(one).with_suffix("")) for one in desk.files()]
    names = {name.casefold() for one in paths for name in (one, one.rpartition("/")[2])}
    found = {one: {link for link in links_in(desk.root / one) if link.casefold() not in names} for one in desk.files()}
    return {one: links for one, links in found.items() if links}


async def test_every_link_leads_to_a_file(desk: Desk) -> None:
    drawn = random.Random(4)
    ids = [
        await desk.write(
            f"Text of {number}, with `[[no link]]` in code.", title=title, category=drawn.choice(("", "a/b"))
        )
        for number, title in enumerate(TITLES)
    ]
    for one in ids:
        await desk.engine.relate(one, drawn.choice([other for other in ids if other != one]), who=AGENT, text=TITLES[7])
        await desk.engine.relate(one, drawn.choice([other for other in ids if other != one]), who=AGENT)
    await desk.sync()
    assert unresolved(desk) == {}
    assert sum(len(links_in(desk.root / one)) for one in desk.files()) >= len(ids)
    desk.save("by hand/first.md", f"See [[{(await desk.file(ids[0])).stem}|that]] and [[second]].\n")
    desk.save("by hand/second.md", "See [[by hand/first]].\n")
    await desk.sync()
    for number in range(40):
        one = drawn.choice(ids)
        path = await desk.path_of(one)
        match drawn.choice(("title", "move", "forget", "restore", "link")):
            case "title" if path:
                await desk.edit(one, title=f"{drawn.choice(TITLES)[:200]} {number}")
            case "move" if path:
                target = desk.root / f"moved {number % 3}" / f"file {number}.md"
                target.parent.mkdir(exist_ok=True)
                path.rename(target)
            case "forget" if path:
                await desk.forget(one)
            case "restore" if not path:
                await desk.restore(one)
            case "link" if path:
                await desk.engine.relate(one, drawn.choice([other for other in ids if other != one]), who=AGENT)
            case _:
                continue
        await desk.sync()
        assert unresolved(desk) == {}
    assert await desk.vault.drift() == ()
    assert await desk.vault.problems() == ()
