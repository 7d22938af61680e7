"""An independent parser reads the vault, and every link in it leads to a file."""

import random
import re
from pathlib import Path, PurePosixPath

from markdown_it import MarkdownIt

from scrubjay.model.requests import RelateRequest
from tests.scenarios.notes.harness import AGENT, VaultHarness

TITLES = (
    "Plan", "plan", "PLAN!", "Über die Straße", "日本語のメモ", "مرحبا بالعالم", "🦉 owl", "a/b: c?", "x | y",
    "[brackets]", "double ]] end", "..", "con", "Straße", "STRASSE", "e\u0301cole", "école", "a" * 290, "-", "#",
)  # fmt: skip
_LINK = re.compile(r"\[\[([^\[\]|#]+)(?:#[^\[\]|]*)?(?:\|((?:[^\[\]]|\](?!\])|\[(?!\[))*))?\]\]")


def links_in(path: Path) -> set[str]:
    """Return the targets of the wiki links in a file, without code, as a Markdown parser finds them."""
    head, _, body = path.read_text().removeprefix("---\n").partition("\n---\n")
    assert "id: " in head
    targets: set[str] = set()
    for token in MarkdownIt("commonmark").parse(body):
        for child in token.children or ():
            if child.type == "text":
                targets |= {match[1].strip() for match in _LINK.finditer(child.content)}
    return targets


def unresolved(harness: VaultHarness) -> dict[str, set[str]]:
    """Return the links that lead to no file by its path or name without `.md`, as an editor resolves them."""
    paths = [str(PurePosixPath(file).with_suffix("")) for file in harness.files()]
    names = {name.casefold() for path in paths for name in (path, path.rpartition("/")[2])}
    by_file = {
        file: {link for link in links_in(harness.root / file) if link.casefold() not in names}
        for file in harness.files()
    }
    return {file: links for file, links in by_file.items() if links}


async def test_every_link_leads_to_a_file(harness: VaultHarness) -> None:
    rng = random.Random(4)
    ids = [
        await harness.write(
            f"Text of {number}, with `[[no link]]` in code.", title=title, category=rng.choice(("", "a/b"))
        )
        for number, title in enumerate(TITLES)
    ]
    for note_id in ids:
        await harness.engine.relate(
            RelateRequest(
                source=note_id, target=rng.choice([other for other in ids if other != note_id]), text=TITLES[7]
            ),
            who=AGENT,
        )
        await harness.engine.relate(
            RelateRequest(source=note_id, target=rng.choice([other for other in ids if other != note_id])), who=AGENT
        )
    await harness.sync()
    assert unresolved(harness) == {}
    assert sum(len(links_in(harness.root / file)) for file in harness.files()) >= len(ids)
    harness.save("by hand/first.md", f"See [[{(await harness.file(ids[0])).stem}|that]] and [[second]].\n")
    harness.save("by hand/second.md", "See [[by hand/first]].\n")
    await harness.sync()
    for number in range(40):
        note_id = rng.choice(ids)
        path = await harness.path_of(note_id)
        match rng.choice(("title", "move", "forget", "restore", "link")):
            case "title" if path:
                await harness.edit(note_id, title=f"{rng.choice(TITLES)[:200]} {number}")
            case "move" if path:
                target = harness.root / f"moved {number % 3}" / f"file {number}.md"
                target.parent.mkdir(exist_ok=True)
                path.rename(target)
            case "forget" if path:
                await harness.forget(note_id)
            case "restore" if not path:
                await harness.restore(note_id)
            case "link" if path:
                await harness.engine.relate(
                    RelateRequest(source=note_id, target=rng.choice([other for other in ids if other != note_id])),
                    who=AGENT,
                )
            case _:
                continue
        await harness.sync()
        assert unresolved(harness) == {}
    assert await harness.vault.drift() == ()
    assert await harness.vault.problems() == ()
