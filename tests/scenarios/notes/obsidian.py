"""A vault as Obsidian makes them, and a resolver of links after the documented rules of Obsidian.

The resolver shares no code with ours. The rules: a link names a file by its path from the root, by its path from the
folder of the linking note (`./`, `../`), or by its name alone, which some of its folders may precede. Case does not
matter, `.md` may be left out, and `#` begins a heading or a block. Of several files, that whose path from the root is
the link is meant, even if one of that name is beside the linking note; else one below the folder of that note, else the
one with the shortest path. An alias is not a target: Obsidian writes `[[Name|Alias]]`.
"""

import re
from pathlib import Path, PurePosixPath

_LINK = re.compile(r"!?\[\[([^\[\]\n]+)\]\]")
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`|<!--.*?-->", re.MULTILINE | re.DOTALL)

FILES: dict[str, bytes] = {
    ".obsidian/app.json": b'{"attachmentFolderPath": "./assets", "newLinkFormat": "shortest"}',
    ".obsidian/templates.json": b'{"folder": "Meta/Blueprints"}',
    "Meta/Blueprints/Daily.md": b"---\ncreated: {{date}}\n---\n# {{title}}\n",
    "Home.md": (
        b"Start with [[Projects/Heron]] or [[heron#Budget|the budget]], then [[Reading list]].\n\n"
        b"> [!note] Callout\n> See [[Crane#^plan]] and [[Projects/Heron#^goal]].\n\n![[map.png|300]]\n"
        b"![[Heron#Budget]]\n"
    ),
    "Projects/Heron.md": (
        b"---\ncssclasses:\n  - wide\naliases: [Grey Heron, 'The bird']\ncreated: 2023-04-05T06:07:08\n"
        b"tags:\n- project/bird\n-   outdoor\n# a comment of mine\nrating:    4\n---\n\n# Heron\n\n## Budget\n\n"
        b"About 400 euros. ^goal\n\nBack to [[Home]] and over to [[../Reading list]]. #field-work\n"
    ),
    "Projects/Crane.md": (
        b"\xef\xbb\xbf---\r\ntitle: Crane\r\nid: 20240102\r\nlinks: none\r\n---\r\nPlan. ^plan\r\n\r\n[[Heron]]\r\n"
    ),
    "Projects/Notes.md": b"The notes of the projects; see [[Notes]] and [[Archive/Notes|the old ones]].",
    "Archive/Notes.md": b"The old notes, from before; the new ones are in [[Projects/Notes]].\n\n\n",
    "Reading list.md": b"- [ ] A book about [[Crane|cranes]]\n- [x] [Heron](Projects/Heron.md)\n- [[Unwritten]]\n",
    "Broken head.md": b"---\ntitle: [unclosed\ncreated: <% tp.date.now() %>\n---\nThe text below stays a text.\n",
    "Mixed ends.md": b"One line\r\nand another\nwith trailing spaces   \n\n\t- and a tab",
    "Empty.md": b"",
    "Plan.canvas": b'{"nodes":[{"id":"1","type":"file","file":"Projects/Heron.md"}],"edges":[]}',
    "assets/map.png": b"\x89PNG\r\n\x1a\n" + bytes(range(64)),
}  # fmt: skip


def make_vault(root: Path) -> dict[str, bytes]:
    """Make a vault in a folder, and return its files."""
    for path, data in FILES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return snapshot(root)


def snapshot(root: Path) -> dict[str, bytes]:
    """Return the bytes of all files of a vault, without those that we keep in a folder of our own."""
    files = (file for file in root.rglob("*") if file.is_file() and ".scrubjay" not in file.parts)
    return {str(file.relative_to(root)): file.read_bytes() for file in files}


def resolve(target: str, *, source: str, files: list[str]) -> str | None:
    """Return the file that a link of a source means, or None."""
    path = target.partition("|")[0].removesuffix("\\").partition("#")[0].strip()
    if not path:
        return source
    folder = PurePosixPath(source).parent
    named = path if PurePosixPath(path).suffix in (".md", ".png", ".canvas", ".pdf") else f"{path}.md"
    by_key = {file.lower(): file for file in files}
    if named.startswith(("./", "../")):
        parts: list[str] = []
        for part in (*folder.parts, *named.split("/")):
            if part == "..":
                parts = parts[:-1]
            elif part != ".":
                parts.append(part)
        return by_key.get("/".join(parts).lower())
    key = named.lstrip("/").lower()
    if key in by_key or named.startswith("/"):
        return by_key.get(key)
    matches = sorted(
        (file for lower, file in by_key.items() if lower.endswith(f"/{key}")), key=lambda file: (len(file), file)
    )
    return next((file for file in matches if folder in PurePosixPath(file).parents), matches[0] if matches else None)


def links_of(root: Path) -> dict[str, list[str | None]]:
    """Return the files that the links in the texts of notes mean, in order, by the paths of the notes."""
    files = [path for path in snapshot(root) if not any(part.startswith(".") for part in path.split("/"))]
    links: dict[str, list[str | None]] = {}
    for path in files:
        if path.endswith(".md"):
            text = (root / path).read_bytes().decode("utf-8-sig").partition("<!-- scrubjay -->")[0]
            matches = _LINK.finditer(_CODE.sub("", text))
            links[path] = [resolve(match[1], source=path, files=files) for match in matches]
    return links
