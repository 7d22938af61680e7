"""`scrubjay rules`, `tags` and `inbox`: what a space does with new memories."""

import re
from collections.abc import Sequence
from typing import Annotated, TypeVar, cast

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model import requests
from scrubjay.model.memory import Json, Memory
from scrubjay.model.results import Outcome
from scrubjay.model.rules import Rules, read_rule
from scrubjay.model.tags import TagCount, TagPreview, TagReason, TagSynonyms, TagTable
from scrubjay.surfaces.cli.command import Make, plain, verb
from scrubjay.surfaces.cli.console import Span, shorten
from scrubjay.surfaces.cli.review import MOST, Choice, Decided, Reviewed, ReviewGroup, review

app = typer.Typer()
rules_app = typer.Typer(help="Rules of a space, applied to every new memory.", no_args_is_help=True)
tags_app = typer.Typer(help="Tags of a space, and their synonyms.", no_args_is_help=True)
inbox_app = typer.Typer(help="Memories that wait for approval.", cls=ReviewGroup)
app.add_typer(rules_app, name="rules")
app.add_typer(tags_app, name="tags")
app.add_typer(inbox_app, name="inbox")

_CHANGE = re.compile(r"(?P<name>\w+)\s*(?P<operator>\+=|-=|=)\s*(?P<value>.*)", re.DOTALL)
Deciding = TypeVar("Deciding", requests.ApproveRequest, requests.DeclineRequest)
All = Annotated[bool, typer.Option("--all", help="All waiting memories.")]
# A person approves what they have seen in the list, by its id.
_OMITS = ("filter", "group")
_HELPS = {"ids": "Ids, names or titles; or --all."}
_MAX_TEXT = 300


plain(rules_app, requests.RulesRequest, "Show all rules; a star marks changed ones.")


# The rules are given as NAME=VALUE, not as options.
@verb(rules_app, name="set", begins=True, served=True)
async def set_(
    client: MemoryClient,
    changes: Annotated[
        list[str],
        typer.Argument(help="NAME=VALUE; for a list also NAME+=VALUE and NAME-=VALUE.", show_default=False),
    ],
) -> Rules:
    """Change rules; they apply to memories written from now on."""
    parsed = [_parse_change(change) for change in changes]
    current = await client.rules() if any(operator != "=" for _, operator, _ in parsed) else Rules()
    return await _set_rules(client, _new_values(parsed, current))


@verb(rules_app, served=True)
async def reset(
    client: MemoryClient,
    names: Annotated[list[str] | None, typer.Argument(help="Names of rules. Default: all.")] = None,
) -> Rules:
    """Reset rules to their defaults."""
    return await _set_rules(client, dict.fromkeys(names or Rules().as_json))


async def _set_rules(client: MemoryClient, changes: dict[str, Json]) -> Rules:
    values = {name: value if value is None else read_rule(name, value) for name, value in changes.items()}
    Rules().with_changes(dict.fromkeys(values))
    return await client.call(requests.SetRulesRequest.of(**values))


def _parse_change(change: str) -> tuple[str, str, str]:
    match = _CHANGE.fullmatch(change.strip())
    if match is None:
        raise InvalidInput(
            f"{change[:100]!r} is not a change of a rule", hint="Write NAME=VALUE, for example density=reject",
            field="changes",
        )  # fmt: skip
    return match["name"], match["operator"], match["value"].strip()


def _new_values(changes: Sequence[tuple[str, str, str]], current: Rules) -> dict[str, Json]:
    """Return the values to set; each change of a list adds to its result so far."""
    current_values = current.as_json
    values: dict[str, Json] = {}
    for name, operator, value in changes:
        if not isinstance(current_values.get(name), list):
            if operator != "=":
                raise InvalidInput(
                    f"{name[:100]} is not a list, so {operator} does not apply", hint="Set it with =", field=name[:100]
                )
            values[name] = value
            continue
        items = cast("list[Json]", values.get(name, current_values[name] if operator != "=" else []))
        values[name] = [item for item in items if item != value] + ([value] if operator != "-=" and value else [])
    return values


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


@verb(tags_app, served=True)
async def synonyms(client: MemoryClient) -> SynonymList:
    """List the synonyms of the space, and the built-in ones."""
    return _synonym_list(await client.tags(limit=1))


plain(
    tags_app,
    requests.AddSynonymsRequest,
    "Add synonyms of a tag, for memories written from now on.",
    shown=_synonym_list,
    begins=True,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxList:
    """The waiting memories, the newest first; `count` counts all that there are, up to a thousand."""

    memories: tuple[Memory, ...]
    count: int = 0

    def __str__(self) -> str:
        if not self.memories:
            return "the inbox is empty; `scrubjay rules set review=agents` sends memories of agents to it"
        lines = [_describe(memory) for memory in self.memories]
        if self.count > len(self.memories):
            all_ = f"{self.count:,} or more" if self.count >= MOST else f"{self.count:,}"
            lines += [f"{len(self.memories):,} of {all_}: --limit {self.count} shows them"]
        return "\n".join(lines)


@verb(inbox_app, name="list", served=True)
async def list_(client: MemoryClient, make: Make[requests.InboxRequest]) -> InboxList:
    """List the waiting memories, the newest first."""
    request = make()
    memories = await client.call(request)
    # Only where there may be more, these are counted.
    count = len(memories if len(memories) < request.limit else await client.inbox(limit=MOST))
    return InboxList(memories=memories, count=count)


@verb(inbox_app, name="review", omits=("limit",))
async def review_(client: MemoryClient, make: Make[requests.InboxRequest]) -> str:
    """Decide about the waiting memories one by one, each with a key.

    On a terminal, `scrubjay inbox` does this. Every decision can be undone, at once or later with `scrubjay undo`.
    """
    return await review(client, _WaitingMemories(client, make(limit=MOST)))


class _WaitingMemories(Reviewed[Memory]):
    name = "memory"

    def __init__(self, client: MemoryClient, request: requests.InboxRequest) -> None:
        self._client = client
        self._request = request

    async def load(self) -> Sequence[Memory]:
        return await self._client.call(self._request)

    async def is_open(self, item: Memory) -> bool:
        # No decision about another one settles it.
        return bool(item.id)

    def id_of(self, item: Memory) -> str:
        return item.id

    def describe(self, item: Memory) -> list[tuple[Span, str]]:
        return [((_headline(item), "green"), _text(item))]

    def choices(self, item: Memory) -> list[Choice]:
        async def approve() -> Decided:
            return _decision("approved", await self._client.approve([item.id]))

        async def decline() -> Decided:
            return _decision("declined, it is in the trash", await self._client.decline([item.id]))

        return [Choice(key="a", text="approve", decide=approve), Choice(key="d", text="decline", decide=decline)]


def _decision(text: str, outcome: Outcome) -> Decided:
    return Decided(text=text, run=outcome.run)


async def _selected(client: MemoryClient, make: Make[Deciding], *, everything: bool) -> Deciding:
    request = make()
    if not everything:
        return request
    if request.ids:
        raise InvalidInput("ids and --all exclude each other", hint="Give one of them", field="ids")
    return make(ids=[memory.id for memory in await client.inbox(limit=MOST)])


@verb(inbox_app, served=True, omits=_OMITS, helps=_HELPS)
async def approve(client: MemoryClient, make: Make[requests.ApproveRequest], *, everything: All = False) -> Outcome:
    """Approve waiting memories."""
    return await client.call(await _selected(client, make, everything=everything))


@verb(inbox_app, served=True, omits=_OMITS, helps=_HELPS)
async def decline(client: MemoryClient, make: Make[requests.DeclineRequest], *, everything: All = False) -> Outcome:
    """Move waiting memories to the trash; `restore` brings them back."""
    return await client.call(await _selected(client, make, everything=everything))


def _describe(memory: Memory) -> str:
    return f"{_headline(memory)}\n   {shorten(_text(memory), limit=_MAX_TEXT)}\n   {memory.id}"


def _headline(memory: Memory) -> str:
    by = f" by {memory.source.agent}" if memory.source.agent else ""
    about = f" [{memory.entity}]" if memory.entity else ""
    flags = f"  ({', '.join(memory.flags)})" if memory.flags else ""
    return f"{memory.label}{about}  {memory.created_at.date()}{by}{flags}"


def _text(memory: Memory) -> str:
    return memory.content or "; ".join(observation.text for observation in memory.observations)
