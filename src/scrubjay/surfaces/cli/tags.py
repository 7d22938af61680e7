"""`scrubjay tags`: the tags of a space, their synonyms, and a preview of how tags are normalized."""

from collections.abc import Sequence
from dataclasses import dataclass

import typer

from scrubjay.client import MemoryClient
from scrubjay.model import requests
from scrubjay.model.tags import TagCount, TagPreview, TagReason, TagSynonyms, TagTable
from scrubjay.surfaces.cli.command import plain, verb

app = typer.Typer()
tags_app = typer.Typer(help="Tags of a space, and their synonyms.", no_args_is_help=True)
app.add_typer(tags_app, name="tags")


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


def _tag_list(table: TagTable) -> TagList:
    return TagList(tags=table.tags, more=table.more)


def _synonym_list(table: TagTable) -> SynonymList:
    return SynonymList(synonyms=table.synonyms, built_in=table.built_in, off=table.off)


def _preview(preview: TagPreview) -> TagPreviewResult:
    return TagPreviewResult(before=preview.before, after=preview.after, suggested=preview.suggested, why=preview.why)


def _describe_synonyms(synonyms: Sequence[TagSynonyms]) -> list[str]:
    lines: list[str] = []
    for synonym in synonyms:
        named = [f"kept as well: {', '.join(synonym.named)}"] if synonym.named else []
        variants = [", ".join(synonym.variants)] if synonym.variants else []
        lines.append(f"  {synonym.tag}: {'; '.join([*variants, *named])}")
    return lines


plain(
    tags_app,
    requests.TagsRequest,
    """List the tags of the space, the most used first.

    Each line shows how many memories have the tag.
    """,
    shown=_tag_list,
)


@verb(tags_app)
async def synonyms(client: MemoryClient) -> SynonymList:
    """List the synonyms of the space, and the built-in ones."""
    return _synonym_list(await client.tags(limit=1))


plain(
    tags_app,
    requests.AddSynonymsRequest,
    "Add synonyms of a tag, for memories written from now on.",
    shown=_synonym_list,
)
plain(
    tags_app,
    requests.RemoveSynonymsRequest,
    "Remove synonyms; built-in ones are disabled in this space.",
    shown=_synonym_list,
)
plain(
    tags_app,
    requests.PreviewTagsRequest,
    "Show how tags would be stored, and why; nothing is stored.",
    shown=_preview,
)
