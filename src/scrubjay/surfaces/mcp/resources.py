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
from scrubjay.lookup.references import TolerantReader, resolve
from scrubjay.model.labels import fence, mark_of_all
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter
from scrubjay.model.timestamps import to_iso
from scrubjay.recalling.collapse import passes
from scrubjay.surfaces.mcp.arguments import display
from scrubjay.surfaces.mcp.budget import MAX_TOKENS, cost_of, find_cut, room_for, shorten
from scrubjay.surfaces.mcp.cursors import invalid_cursor, pack, unpack
from scrubjay.surfaces.mcp.subscriptions import ALL_MEMORIES
from scrubjay.surfaces.mcp.tool import StaticResource, ToolContext
from scrubjay.surfaces.mcp.toolsets.render import HEADING

TEMPLATE = "memory://{space}/{name}"
_URI = re.compile(r"memory://([^/?#]+)/([^/?#]+)")
_MARKDOWN = "text/markdown"
_MAX_URI = 2_000
_MAX_DESCRIBED = 2_000
_PAGE = 50
_MAX_WATCHED = 1_000
_DESCRIPTION_TOKENS = 40
# The tokens of the note about a cut.
_NOTE_TOKENS = 120
# A name in a URI must not contain these: clients would read it as a path.
_PATH_CHARACTERS = re.compile(r"[/\\\x00-\x1f\x7f]|^\.{1,2}$")

_Static = Mapping[str, StaticResource]


def uri_of(memory: Memory) -> str:
    """Return the URI of a memory: by name, or by id if the name looks like a path."""
    name = memory.id if _PATH_CHARACTERS.search(memory.name) else memory.name
    return f"memory://{quote(memory.space, safe='')}/{quote(name, safe='')}"


def name_from_uri(uri: str, *, space: str) -> str:
    """Return the name in a URI; raises unless it is the URI of a memory in the caller's own space."""
    if len(uri) > _MAX_URI:
        raise InvalidInput(f"the URI has {len(uri):,} characters; the limit is {_MAX_URI:,}", field="uri")
    match = _URI.fullmatch(uri)
    if match is None:
        raise InvalidInput(f"{display(uri)} is not the URI of a memory", hint=f"Write it as {TEMPLATE}", field="uri")
    uri_space, name = _decode(match[1]), _decode(match[2])
    if uri_space != space:
        raise NotAllowed(
            f"the space of {display(uri)} is not yours", hint=f"Yours is memory://{quote(space, safe='')}/", field="uri"
        )
    if _PATH_CHARACTERS.search(name):
        raise InvalidInput(
            f"{display(uri)} contains a path, not the name of a memory", hint="Use the id of the memory", field="uri"
        )
    return name


async def resolve_uri(context: ToolContext, uri: str, *, static: _Static) -> str:
    """Return the id of the memory at a URI, or ALL_MEMORIES for a static resource."""
    if uri in static:
        return ALL_MEMORIES
    name = name_from_uri(uri, space=context.who.space)
    return (await resolve(context.engine.reader, name, space=context.who.space)).id


async def resolve_uris(context: ToolContext, uris: Sequence[str], *, static: _Static) -> dict[str, str]:
    """Return the ids of the memories at several URIs; leave out URIs without a memory."""
    ids: dict[str, str] = {}
    for uri in uris[:_MAX_WATCHED]:
        with suppress(InvalidInput, NotAllowed, NotFound, Ambiguous):
            ids[uri] = await resolve_uri(context, uri, static=static)
    return ids


async def read_resource(context: ToolContext, uri: str, *, static: _Static) -> ReadResourceResult:
    """Return a memory as Markdown, or a static resource; a long memory is cut and says how to read the rest."""
    if uri in static:
        mime_type, text = static[uri].mime_type, await static[uri].read(context)
    else:
        result = await context.memory.read(await resolve_uri(context, uri, static=static))
        mime_type, text = _MARKDOWN, _cut_to_limit(result.memories[0], result.texts[0])
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=mime_type, text=text)])


def _cut_to_limit(memory: Memory, text: str) -> str:
    heading = f"{HEADING}\n{', '.join(part for part in (memory.name, mark_of_all(memory)) if part)}:"
    end = find_cut(text, tokens=room_for(MAX_TOKENS) - _NOTE_TOKENS - cost_of(heading))
    if end == len(text):
        return f"{heading}\n{fence(text)}"
    # The tool reads the same Markdown, so its cursor continues here.
    rest = f'the tool read returns the rest, with ids ["{memory.id}"] and cursor "{pack(0, end, memory.version)}"'
    return f"{heading}\n{fence(text[:end])}\n\n(characters 0 to {end:,} of {len(text):,}: {rest})"


async def list_resources(context: ToolContext, cursor: str, *, static: _Static) -> ListResourcesResult:
    """List the static resources, the pinned memories, then the others, most recently changed first."""
    reader, space = context.engine.reader, context.who.space
    part, after = _read_cursor(cursor)
    pinned = await reader.pinned(space)
    listed = _after(pinned, after) if part == "pinned" else []
    if len(listed) >= _PAGE:
        page = await _page(context, listed[:_PAGE], pack("pinned", listed[_PAGE - 1]))
    else:
        room = _PAGE - len(listed)
        ids = await reader.list_ids(space, Filter(), limit=room, after=after if part == "recent" else None)
        others = [id_ for id_ in ids if id_ not in set(pinned)]
        page = await _page(context, [*listed, *others], pack("recent", ids[-1]) if len(ids) == room else "")
    if not cursor:
        page.resources[:0] = [
            Resource(
                uri=resource.uri,
                name=resource.name,
                title=resource.title,
                description=resource.description,
                mime_type=resource.mime_type,
            )
            for resource in static.values()
        ]
    return page


def list_templates() -> ListResourceTemplatesResult:
    """Return the one template that all URIs follow."""
    template = ResourceTemplate(
        name="memory",
        title="A memory",
        uri_template=TEMPLATE,
        mime_type=_MARKDOWN,
        description="A memory of your space, by name, title or id",
    )
    return ListResourceTemplatesResult(resource_templates=[template])


async def _page(context: ToolContext, ids: Sequence[str], cursor: str) -> ListResourcesResult:
    memories = await TolerantReader(context.engine.reader, space=context.who.space).get(ids)
    now = context.engine.clock.now()
    resources = [_describe(memory) for memory in memories if passes(memory, Filter(), now=now)]
    return ListResourcesResult(resources=resources, next_cursor=cursor or None)


def _describe(memory: Memory) -> Resource:
    text = memory.content or "; ".join(observation.text for observation in memory.observations)
    mark = mark_of_all(memory)
    description = shorten(" ".join(text[:_MAX_DESCRIBED].split()), tokens=_DESCRIPTION_TOKENS)
    return Resource(
        uri=uri_of(memory),
        name=memory.name,
        title=memory.title or None,
        description=f"({mark}) {description}" if mark else description,
        mime_type=_MARKDOWN,
        annotations=Annotations(
            audience=["user", "assistant"],
            priority=1.0 if memory.pinned else 0.5,
            last_modified=to_iso(memory.updated_at),
        ),
    )


def _after(ids: list[str], last: str) -> list[str]:
    """Return the ids after the last listed one; none if that one has left the list since."""
    if not last:
        return ids
    return ids[ids.index(last) + 1 :] if last in ids else []


def _read_cursor(cursor: str) -> tuple[str, str]:
    if not cursor:
        return "pinned", ""
    part, after = map(str, unpack(cursor, str, str))
    if part not in ("pinned", "recent"):
        raise invalid_cursor()
    return part, after


def _decode(part: str) -> str:
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise InvalidInput(f"{display(part)} is not percent-encoded UTF-8", field="uri") from None
