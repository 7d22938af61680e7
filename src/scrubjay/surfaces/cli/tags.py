"""`scrubjay tags`: the tags of a space, their synonyms, and a preview of how tags are normalized."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.model.tags import TagCount, TagPreview, TagReason, TagSynonyms, TagTable
from scrubjay.surfaces.cli.command import verb

app = typer.Typer()
tags_app = typer.Typer(help="Tags of a space, and their synonyms.", no_args_is_help=True)
app.add_typer(tags_app, name="tags")

_Variants = Annotated[list[str], typer.Argument(help="Synonyms of a tag.", show_default=False)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TagList:
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
class SynonymList:
    """The synonyms of tags in a space."""

    synonyms: tuple[TagSynonyms, ...]
    built_in: tuple[TagSynonyms, ...]
    off: tuple[str, ...]

    def __str__(self) -> str:
        own = _describe_synonyms(self.synonyms) or ["  none; `scrubjay tags add TAG VARIANT` adds one"]
        off = [f"disabled in this space: {', '.join(self.off)}"] if self.off else []
        return "\n".join(("of this space", *own, "built in", *_describe_synonyms(self.built_in), *off))


@dataclass(frozen=True, slots=True, kw_only=True)
class TagPreviewResult:
    """The tags that would be stored, and why."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    suggested: tuple[str, ...]
    why: tuple[TagReason, ...]

    def __str__(self) -> str:
        head = f"{', '.join(self.after) or 'none'}"
        more = [f"suggested: {', '.join(self.suggested)}"] if self.suggested else []
        reasons = [f"  {reason.tag} -> {', '.join(reason.becomes) or 'dropped'}: {reason.why}" for reason in self.why]
        return "\n".join((head, *more, *reasons))


@verb(tags_app, name="list")
async def list_(
    client: MemoryClient, *, limit: Annotated[int, typer.Option(metavar="N", help="Maximum number of tags.")] = 200
) -> TagList:
    """List the tags of the space, the most used first.

    Each line shows how many memories have the tag.
    """
    table = await client.tags(limit=limit)
    return TagList(tags=table.tags, more=table.more)


@verb(tags_app)
async def synonyms(client: MemoryClient) -> SynonymList:
    """List the synonyms of the space, and the built-in ones."""
    return _synonym_list(await client.tags(limit=1))


@verb(tags_app)
async def add(
    client: MemoryClient,
    tag: Annotated[str, typer.Argument(help="The tag that replaces them.", show_default=False)],
    variants: _Variants,
) -> SynonymList:
    """Add synonyms of a tag, for memories written from now on."""
    return _synonym_list(await client.add_synonyms(tag, variants))


@verb(tags_app)
async def remove(client: MemoryClient, variants: _Variants) -> SynonymList:
    """Remove synonyms; built-in ones are disabled in this space."""
    return _synonym_list(await client.remove_synonyms(variants))


@verb(tags_app)
async def preview(
    client: MemoryClient,
    tags: Annotated[list[str] | None, typer.Argument(help="Tags to normalize.", show_default=False)] = None,
    *,
    text: Annotated[str, typer.Option(help="Text for which to suggest more tags.")] = "",
) -> TagPreviewResult:
    """Show how tags would be stored, and why; nothing is stored."""
    result: TagPreview = await client.preview_tags(tags or [], text=text)
    return TagPreviewResult(before=result.before, after=result.after, suggested=result.suggested, why=result.why)


def _synonym_list(table: TagTable) -> SynonymList:
    return SynonymList(synonyms=table.synonyms, built_in=table.built_in, off=table.off)


def _describe_synonyms(synonyms: Sequence[TagSynonyms]) -> list[str]:
    lines: list[str] = []
    for synonym in synonyms:
        named = [f"kept as well: {', '.join(synonym.named)}"] if synonym.named else []
        variants = [", ".join(synonym.variants)] if synonym.variants else []
        lines.append(f"  {synonym.tag}: {'; '.join([*variants, *named])}")
    return lines
