"""A parser that is none of ours reads the vault, and every link in it leads to a file."""

import random
import re
from pathlib import Path, PurePosixPath

from markdown_it import MarkdownIt

from tests.scenarios.notes.vaults import AGENT, Desk

TITLES = (
    "Plan", "plan", "PLAN!", "Über die Straße", "日本語のメモ", "مرحبا بالعالم", "🦉 owl", "a/b: c?", "x | y",
    "[brackets]", "double ]] end", "..", "con", "Straße", "STRASSE", "e\u0301cole", "école", "a" * 290, "-", "#",
)  # fmt: skip
_LINK = re.compile(r"\[\[([^\[\]|#]+)(?:#[^\[\]|]*)?(?:\|((?:[^\[\]]|\](?!\])|\[(?!\[))*))?\]\]")


def links_in(path: Path) -> set[str]:
    """The targets of the wiki links in a file, by a parser of Markdown; code is none of its text."""
    head, _, body = path.read_text().removeprefix("---\n").partition("\n---\n")
    assert "id: " in head
    results: set[str] = set()
    for token in MarkdownIt("commonmark").parse(body):
        for child in token.children or ():
            if child.type == "text":
                results |= {match[1].strip() for match in _LINK.finditer(child.content)}
    return results


def unresolved(context: Desk) -> dict[str, set[str]]:
    """The links that lead to no file, as an editor looks for one: by its path or its name, without `.md`."""
    paths = [str(PurePosixPath(file).with_suffix("")) for file in context.files()]
    names = {name.casefold() for path in paths for name in (path, path.rpartition("/")[2])}
    results = {
        file: {link for link in links_in(context.root / file) if link.casefold() not in names}
        for file in context.files()
    }
    return {item: links for item, links in results.items() if links}


async def test_every_link_leads_to_a_file(context: Desk) -> None:
    drawn = random.Random(4)
    ids = [
        await context.write(
            f"Text of {number}, with `[[no link]]` in code.", title=title, category=drawn.choice(("", "a/b"))
        )
        for number, title in enumerate(TITLES)
    ]
    for item in ids:
        await context.engine.relate(
            item, drawn.choice([other for other in ids if other != item]), who=AGENT, text=TITLES[7]
        )
        await context.engine.relate(item, drawn.choice([other for other in ids if other != item]), who=AGENT)
    await context.sync()
    assert unresolved(context) == {}
    assert sum(len(links_in(context.root / file)) for file in context.files()) >= len(ids)
    context.save("by hand/first.md", f"See [[{(await context.file(ids[0])).stem}|that]] and [[second]].\n")
    context.save("by hand/second.md", "See [[by hand/first]].\n")
    await context.sync()
    for number in range(40):
        item = drawn.choice(ids)
        path = await context.path_of(item)
        match drawn.choice(("title", "move", "forget", "restore", "link")):
            case "title" if path:
                await context.edit(item, title=f"{drawn.choice(TITLES)[:200]} {number}")
            case "move" if path:
                target = context.root / f"moved {number % 3}" / f"file {number}.md"
                target.parent.mkdir(exist_ok=True)
                path.rename(target)
            case "forget" if path:
                await context.forget(item)
            case "restore" if not path:
                await context.restore(item)
            case "link" if path:
                await context.engine.relate(item, drawn.choice([other for other in ids if other != item]), who=AGENT)
            case _:
                continue
        await context.sync()
        assert unresolved(context) == {}
    assert await context.vault.drift() == ()
    assert await context.vault.problems() == ()
