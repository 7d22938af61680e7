"""`scrubjay tags`: the tags of a space, what stands for them, and what would become of others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.model.tags import TagCount, TagPreview, TagReason, TagSynonyms, TagTable
from scrubjay.surfaces.cli.command import verb

app = typer.Typer()
tags_app = typer.Typer(help="Tags of a space, and what stands for them.", no_args_is_help=True)
app.add_typer(tags_app, name="tags")

_Variants = Annotated[list[str], typer.Argument(help="Words that stand for a tag.", show_default=False)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The tags of a space."""

    tags: tuple[TagCount, ...]
    more: bool

    def __str__(self) -> str:
        if not self.tags:
            return "no tags"
        width = len(f"{self.tags[0].memories:,}")
        lines = [f"{tag.memories:>{width},}  {tag.tag}" for tag in self.tags]
        return "\n".join([*lines, *(["there are more: --limit shows them"] if self.more else [])])


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What stands for what in a space."""

    synonyms: tuple[TagSynonyms, ...]
    built_in: tuple[TagSynonyms, ...]
    off: tuple[str, ...]

    def __str__(self) -> str:
        own = _lines(self.synonyms) or ["  none; `scrubjay tags add TAG VARIANT` makes some"]
        off = [f"switched off here: {', '.join(self.off)}"] if self.off else []
        return "\n".join(("of this space", *own, "with Scrubjay", *_lines(self.built_in), *off))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What would become of tags."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    suggested: tuple[str, ...]
    why: tuple[TagReason, ...]

    def __str__(self) -> str:
        head = f"{', '.join(self.after) or 'none'}"
        more = [f"suggested: {', '.join(self.suggested)}"] if self.suggested else []
        why = [f"  {one.tag} -> {', '.join(one.becomes) or 'left out'}: {one.why}" for one in self.why]
        return "\n".join((head, *more, *why))


@verb(tags_app, name="list")
async def list_(
    client: MemoryClient, *, limit: Annotated[int, typer.Option(metavar="N", help="How many tags at most.")] = 200
) -> Listed:
    """List the tags of the space, the most used first, and how many memories have each."""
    found = await client.tags(limit=limit)
    return Listed(tags=found.tags, more=found.more)


@verb(tags_app)
async def synonyms(client: MemoryClient) -> Words:
    """List what stands for what: the space's own synonyms, and those that come with Scrubjay."""
    return _words(await client.tags(limit=1))


@verb(tags_app)
async def add(
    client: MemoryClient,
    tag: Annotated[str, typer.Argument(help="The tag that they stand for.", show_default=False)],
    variants: _Variants,
) -> Words:
    """Let words stand for a tag, in what is written from now on."""
    return _words(await client.add_synonyms(tag, variants))


@verb(tags_app)
async def remove(client: MemoryClient, variants: _Variants) -> Words:
    """Let words stand for themselves again; what comes with Scrubjay is switched off in this space."""
    return _words(await client.remove_synonyms(variants))


@verb(tags_app)
async def preview(
    client: MemoryClient,
    tags: Annotated[list[str] | None, typer.Argument(help="Tags to be tried out.", show_default=False)] = None,
    *,
    text: Annotated[str, typer.Option(help="A text, which others may be suggested for.")] = "",
) -> Tried:
    """Say what would become of tags, and why; nothing is stored."""
    found: TagPreview = await client.preview_tags(tags or [], text=text)
    return Tried(before=found.before, after=found.after, suggested=found.suggested, why=found.why)


def _words(table: TagTable) -> Words:
    return Words(synonyms=table.synonyms, built_in=table.built_in, off=table.off)


def _lines(synonyms: Sequence[TagSynonyms]) -> list[str]:
    return [_line(synonym) for synonym in synonyms]


def _line(one: TagSynonyms) -> str:
    stay = [f"beside it {', '.join(one.named)}"] if one.named else []
    return f"  {one.tag}: {'; '.join([', '.join(one.variants), *stay] if one.variants else stay)}"
