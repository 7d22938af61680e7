"""Resources: every memory of the caller's own space is `memory://{space}/{name}`, read as Markdown."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from urllib.parse import quote, unquote

from mcp_types import (
    Annotations,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from scrubjay.errors import Ambiguous, InvalidInput, NotAllowed, NotFound
from scrubjay.lookup.references import SoundReader, resolve
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter
from scrubjay.model.timestamps import to_iso
from scrubjay.recalling.collapse import passes
from scrubjay.surfaces.mcp.budget import MOST_TOKENS, beginning, cut, room_for
from scrubjay.surfaces.mcp.cursors import foreign, pack, unpack
from scrubjay.surfaces.mcp.static_resources import Fixed
from scrubjay.surfaces.mcp.subscriptions import EVERYTHING
from scrubjay.surfaces.mcp.suggestions import shown
from scrubjay.surfaces.mcp.tool import ToolContext

TEMPLATE = "memory://{space}/{name}"
_URI = re.compile(r"memory://([^/?#]+)/([^/?#]+)")
_MARKDOWN = "text/markdown"
_LONGEST = 2_000
_PAGE = 50
_MOST_WATCHED = 1_000
_DESCRIPTION_TOKENS = 40
# What the note about a cut costs.
_NOTE_TOKENS = 120
# What no name may be made of that stands in an address: it would be read as a way to somewhere else.
_TRICKS = re.compile(r"[/\\\x00-\x1f\x7f]|^\.{1,2}$")


def uri_of(memory: Memory) -> str:
    """The address of a memory: by name, or by id where the name would not pass for one."""
    name = memory.id if _TRICKS.search(memory.name) else memory.name
    return f"memory://{quote(memory.space, safe='')}/{quote(name, safe='')}"


def name_in(uri: str, *, space: str) -> str:
    """The name that an address asks for; raises unless it is one of ours, in the caller's own space."""
    if len(uri) > _LONGEST:
        raise InvalidInput(f"the URI has {len(uri):,} characters; the limit is {_LONGEST:,}", field="uri")
    found = _URI.fullmatch(uri)
    if found is None:
        raise InvalidInput(f"{shown(uri)} is not the URI of a memory", hint=f"Write it as {TEMPLATE}", field="uri")
    whose, name = _decoded(found[1]), _decoded(found[2])
    if whose != space:
        raise NotAllowed(
            f"the space of {shown(uri)} is not yours", hint=f"Yours is memory://{quote(space, safe='')}/", field="uri"
        )
    if _TRICKS.search(name):
        raise InvalidInput(
            f"{shown(uri)} names a way, not a memory", hint="Address a memory with such a name by its id", field="uri"
        )
    return name


async def find(context: ToolContext, uri: str, *, fixed: Mapping[str, Fixed]) -> str:
    """The id of the memory at an address, or EVERYTHING for one that tells of the whole space."""
    if uri in fixed:
        return EVERYTHING
    name = name_in(uri, space=context.who.space)
    return (await resolve(context.engine.store, name, space=context.who.space)).id


async def find_all(context: ToolContext, uris: Sequence[str], *, fixed: Mapping[str, Fixed]) -> dict[str, str]:
    """The same for several addresses; an address of nobody's is left out."""
    found: dict[str, str] = {}
    for uri in uris[:_MOST_WATCHED]:
        with suppress(InvalidInput, NotAllowed, NotFound, Ambiguous):
            found[uri] = await find(context, uri, fixed=fixed)
    return found


async def read_resource(context: ToolContext, uri: str, *, fixed: Mapping[str, Fixed]) -> ReadResourceResult:
    """A memory as Markdown, or what a fixed resource tells; a long one up to the limit, with the way to its rest."""
    if uri in fixed:
        kind, text = fixed[uri].mime_type, await fixed[uri].read(context)
    else:
        found = await context.memory.read(await find(context, uri, fixed=fixed))
        kind, text = _MARKDOWN, _within_limit(found.memories[0], found.texts[0])
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=kind, text=text)])


def _within_limit(memory: Memory, text: str) -> str:
    end = cut(text, tokens=room_for(MOST_TOKENS) - _NOTE_TOKENS)
    if end == len(text):
        return text
    # The tool reads the same Markdown, so the cursor goes on right here.
    rest = f'the tool read tells the rest, with ids ["{memory.id}"] and cursor "{pack(0, end, memory.version)}"'
    return f"{text[:end]}\n\n(characters 0 to {end:,} of {len(text):,}: {rest})"


async def list_resources(context: ToolContext, cursor: str, *, fixed: Mapping[str, Fixed]) -> ListResourcesResult:
    """What is fixed, the pinned memories, then the others, most recently changed first."""
    page = await _list_memories(context, cursor)
    if not cursor:
        page.resources[:0] = [_fixed(one) for one in fixed.values()]
    return page


async def _list_memories(context: ToolContext, cursor: str) -> ListResourcesResult:
    store, space = context.engine.store, context.who.space
    part, after = _place(cursor)
    pinned = await store.pinned(space)
    left = _behind(pinned, after) if part == "pinned" else []
    if len(left) >= _PAGE:
        return await _page(context, left[:_PAGE], pack("pinned", left[_PAGE - 1]))
    room = _PAGE - len(left)
    ids = await store.list_ids(space, Filter(), limit=room, after=after if part == "recent" else None)
    others = [id_ for id_ in ids if id_ not in set(pinned)]
    return await _page(context, [*left, *others], pack("recent", ids[-1]) if len(ids) == room else "")


def list_templates() -> ListResourceTemplatesResult:
    """The one form that all addresses have."""
    template = ResourceTemplate(
        name="memory",
        title="A memory",
        uri_template=TEMPLATE,
        mime_type=_MARKDOWN,
        description="A memory of your space, by name, title or id",
    )
    return ListResourceTemplatesResult(resource_templates=[template])


async def _page(context: ToolContext, ids: Sequence[str], cursor: str) -> ListResourcesResult:
    memories = await SoundReader(context.engine.store, space=context.who.space).get(ids)
    now = context.engine.clock.now()
    shown_ones = [_resource(memory) for memory in memories if passes(memory, Filter(), now=now)]
    return ListResourcesResult(resources=shown_ones, next_cursor=cursor or None)


def _fixed(one: Fixed) -> Resource:
    return Resource(uri=one.uri, name=one.name, title=one.title, description=one.description, mime_type=one.mime_type)


def _resource(memory: Memory) -> Resource:
    text = memory.content or "; ".join(observation.text for observation in memory.observations)
    return Resource(
        uri=uri_of(memory),
        name=memory.name,
        title=memory.title or None,
        description=beginning(" ".join(text[:_LONGEST].split()), tokens=_DESCRIPTION_TOKENS),
        mime_type=_MARKDOWN,
        annotations=Annotations(
            audience=["user", "assistant"],
            priority=1.0 if memory.pinned else 0.5,
            last_modified=to_iso(memory.updated_at),
        ),
    )


def _behind(ids: list[str], after: str) -> list[str]:
    """Those behind the last that was told; none, if that one has left the list since."""
    if not after:
        return ids
    return ids[ids.index(after) + 1 :] if after in ids else []


def _place(cursor: str) -> tuple[str, str]:
    if not cursor:
        return "pinned", ""
    part, after = map(str, unpack(cursor, str, str))
    if part not in ("pinned", "recent"):
        raise foreign()
    return part, after


def _decoded(part: str) -> str:
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise InvalidInput(f"{shown(part)} is not UTF-8 in percent signs", field="uri") from None
